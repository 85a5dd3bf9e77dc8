"""Texts in the place of a story: nothing, takedown notices, API errors, refusals of a model.

They are recognised by structure: short, bracketed as a whole, or with a first sentence that speaks of the request, the
post or the call instead of telling something. Each rule needs two signs, since real prose opens with one of them:
"I can't help smiling ...", "As an AI, I was never supposed to dream.", "Error 404: heart not found."
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from http import HTTPStatus

from storyalign.text import count_words

NO_STORY = "no story"
DELETED = "deleted by its author or a moderator"
API_ERROR = "an API error stored as a story"
REFUSAL = "a model's refusal stored as a story"
NOTICE = "a bracketed notice stored as a story"

LONGEST = 2_000
"""Characters; a longer text is a story, however it begins."""
_NOTICE_WORDS = 120
"""Takedown notices and refusals have no more words, unless a bot signed them."""
_BRACKET_WORDS = 25
_TELLING_WORDS = 5
"""A longer sentence with its full stop is told, not noted, even between brackets."""
_ERROR_WORDS = 40
_BARE_WORDS = 15
"""Without a second sign, only a text of so few words is a refusal."""


def not_a_story(text: str) -> str | None:
    """Return why a text is no story, None where it is one.

    White space, invisible characters, Markdown, HTML tags and quotation marks around the text do not matter.

    >>> not_a_story("Error code: 429 - rate limit exceeded")
    'an API error stored as a story'
    >>> not_a_story("I can't help smiling when it rains.") is None
    True
    """
    if len(text) > LONGEST:
        return None
    plain = _plain(text)
    words = count_words(plain)
    if not words or plain.strip("[](){}<>. ") in _NOTHING:
        return NO_STORY
    if _is_error_dump(text):
        return API_ERROR
    if _BOT.search(plain):
        return DELETED
    if words > _NOTICE_WORDS:
        return None
    bracket = _BRACKETS.fullmatch(plain)
    inner = bracket["inner"].strip("[]{}<>【】 ") if bracket else plain
    if _is_takedown(inner, words):
        return DELETED
    if words <= _ERROR_WORDS and _is_error(inner):
        return API_ERROR
    if _refuses(inner, words):
        return REFUSAL
    if bracket and words <= (_TELLING_WORDS if inner.endswith(".") else _BRACKET_WORDS) and not plain.startswith("("):
        return DELETED if _GONE.search(inner) else NOTICE
    return None


# --- the text without what is wrapped around it -----------------------------------------------------------------------

_APOSTROPHES = str.maketrans("’‘ʼ＇`´", "''''''")
_MARKUP = re.compile(r"</?[a-z][^<>]*>|[*_~\\|]+|''+|^[ \t]*(?:[>#=•+-]+[ \t]*)+", re.MULTILINE)
_QUOTES = '"“”„«»「」『』'
_QUOTED = re.compile(
    rf"[{_QUOTES}]+(?P<inner>[^{_QUOTES}]*)[{_QUOTES}]+|'(?P<single>(?:(?![,.!?]').)*[^'])'", re.DOTALL
)
_OPEN, _CLOSE, _NEITHER = r"[\[({<【〔]", r"[\])}>】〕]", r"[^\[\](){}<>【】〔〕]"
_BRACKETS = re.compile(
    rf"{_OPEN}(?P<inner>(?:{_OPEN}+{_NEITHER}*{_CLOSE}+|{_NEITHER})*){_CLOSE}(?:\([^()\s]*\))?[.!。]?"
)
_NOTHING = frozenset(
    ["none", "null", "nan", "n/a", "undefined", "empty", "无", "空"]
    + [f"no {thing}" for thing in ("response", "output", "content", "story")]
)


def _plain(text: str) -> str:
    visible = "".join(c for c in html.unescape(text) if unicodedata.category(c) != "Cf")
    plain = unicodedata.normalize("NFKC", visible.translate(_APOSTROPHES)).lower()
    plain = re.sub(r"\s+(?=\n)|[^\S\n]+(?=[^\S\n])", "", _MARKUP.sub("", plain)).strip()
    # A pair of quotation marks around the whole text; dialogue has more of them.
    while quoted := _QUOTED.fullmatch(plain):
        plain = (quoted["inner"] or quoted["single"] or "").strip()
    return plain


# --- takedown notices -------------------------------------------------------------------------------------------------


def _one_of(words: str) -> str:
    """Return a pattern for one of several words; ``_`` stands for a space, ``*`` for any ending."""
    return f"(?:{'|'.join(words.split())})".replace("_", " ").replace("*", r"\w*")


_THING = _one_of(
    "posts? comments? submissions? content story thread reply message account video page work chapter text topic prompt"
    " article entry answer poem"
)
_GONE_WORD = _one_of(
    "removed deleted suspended taken_down withdrawn hidden locked unavailable no_longer_available not_available"
)
_GONE_HAN = "(?:删除|屏蔽|移除|下架|折叠)"
_GONE = re.compile(rf"\b{_GONE_WORD}\b|{_GONE_HAN}")
_SOMEBODY = _one_of(
    "reddit moderators? mods? mod_team users? authors? admins? administrators? auto-?mod(?:erator)? owner posters? op"
    " staff system site creator uploader publisher"
)
_BY = rf"by (?:(?:a|an|the|its|their|your) )?(?:original )?{_SOMEBODY}\b"
_BE = _one_of("has_been have_been had_to_be was were is_being is got")
_TAKEDOWN = re.compile(
    rf"(?:sorry, )?(?:(?:this|your|the) )?(?:{_THING} )?(?:{_BE} )?(?:\w+ly )?{_GONE_WORD}(?: {_BY})?[.!]?"
    r"|(?:[该此这本原][个条篇]?)?(?:内容|帖子|文章|评论|回答|作品|章节|问题|微博|故事)?(?:因[^。]{1,20})?(?:已经?)?被?"
    rf"(?:作者|用户|管理员|版主|发布者|系统|平台)?(?:自行)?{_GONE_HAN}[。!]?"
)
_TAKEDOWN_OPENING = re.compile(
    rf"(?:[^.!?\n]{{0,80}}[,.!:\n]\s*){{0,2}}(?:this|your) (?:[\w/-]+ ){{0,2}}?{_THING} (?:[\w/-]+ ){{0,3}}?"
    rf"{_BE} (?:\w+ ){{0,2}}?{_GONE_WORD}\b"
    rf"|(?:{_THING} )?(?:{_BE} )?(?:\w+ly )?(?:removed|deleted|taken down)"
    rf"(?::| (?:{_BY}|{_one_of('for due_to per under in_response_to at_the_request because_of as_it as_a')}\b))"
)
_PLATFORM = re.compile(
    r"\b(?:[ru]/\w+|"
    + _one_of(
        "reddit subreddit moderat* mods? rules? guidelines? polic(?:y|ies) copyright dmca violat* terms authors? users?"
        " person_who community admins? spam appeal request account"
    )
    + r")\b"
)
_BOT = re.compile(
    r"i am a bot, and this action was performed automatically"
    r"|top-level (?:comments|responses|replies) must be (?:a |stor|poem)"
)


def _is_takedown(plain: str, words: int) -> bool:
    if _TAKEDOWN.fullmatch(plain):
        return True
    opening = _TAKEDOWN_OPENING.match(plain)
    if not opening or not _PLATFORM.search(plain):
        return False
    return words <= _BRACKET_WORDS or re.search(r"\b(?:this|your)\b", opening[0]) is not None


# --- API errors -------------------------------------------------------------------------------------------------------

_REASONS = "|".join(
    re.escape(status.phrase.lower()).replace("timeout", "time-?out").replace(r"\ ", r"[ -]")
    for status in HTTPStatus
    if status >= 400
)
_TECHNICAL = re.compile(
    r"\b"
    + _one_of(
        "requests? api servers? https? status tokens? model rate[_-]?limit* quota time[ds]?_?-?out endpoint null json"
        " connection upstream exception [45]\\d\\d try_again retry invalid overloaded unavailable context_length"
        " gateway"
    )
    + r"\b|请求|接口|重试|服务器"
)
_LIBRARY = _one_of("openai litellm anthropic httpx httpcore requests aiohttp urllib3 google botocore grpc")
_DUMP = re.compile(
    rf"\s*(?:[A-Z]\w*(?:Error|Exception)\b\s*[:(]|{_LIBRARY}\.[.\w]*(?:Error|Exception|[A-Z])"
    r"|[Tt]raceback \(most recent call last\)|(?i:<!doctype html|<html[\s>])"
    r"|\{\s*['\"]?(?:error|errors|detail|message)['\"]?\s*:)"
)
_DUMPED = frozenset({"error", "errors", "detail", "message", "status", "code"})
_STATUS_WORD = _one_of("api https? server client request error status code failed with response")
_STATUS = re.compile(
    rf"(?:{_STATUS_WORD}(?:/\d(?:\.\d)?)?[\s:=#(]*)*"
    r"(?P<code>[45]\d\d)\b[\s):.,;-]*(?P<rest>.*)",
    re.DOTALL,
)
_ERROR_LABEL = re.compile(r"\[?(?:[\w ]{0,20} )?(?:error|exception|failed|failure)\]?\s*[:!-]\s*", re.DOTALL)
_SERVICE = _one_of("the_model the_server the_engine the_service model server engine service")
_GATEWAY = re.compile(
    "(?:"
    + _one_of(
        "upstream_connect_error upstream_request_timeout no_healthy_upstream stream_timeout server_error"
        " internal_server_error bad_gateway gateway_time-?out service_unavailable service_temporarily_unavailable"
        " request_time-?out rate_limit_reached rate_limit_exceeded too_many_requests you_exceeded_your_current_quota"
        " insufficient[_]?(?:quota|balance|credits) (?:incorrect|invalid|missing)_api_key api_error api_request_failed"
        " (?:this_model's_)?maximum_context_length context_length_exceeded"
        " (?:sorry,_)?we_are_(?:currently_)?experiencing_(?:high|heavy)_(?:demand|load|traffic)"
    )
    + rf"|{_SERVICE} is (?:(?:currently|temporarily) )?(?:overloaded|unavailable|busy)"
    r"|(?:the )?(?:request|read|connection|operation) timed out"
    r"|(?:请求|调用|接口|网络|系统|服务器?)(?:失败|超时|错误|异常|繁忙|出错))(?=[\s.,:;!(。-]|$)"
)
_VAGUE = re.compile(
    r"(?:an? (?:\w+ )?error (?:has )?occurred|something went wrong|(?:no|empty) response"
    rf"|{_SERVICE} (?:had|encountered) an error"
    r"|connection (?:error|refused|reset|closed|aborted)|(?:request|generation|network) (?:failed|failure|error)"
    r"|failed to (?:fetch|generate|connect|parse)|(?:response|content|output) (?:was )?(?:blocked|filtered)|error)"
)


def _is_error_dump(text: str) -> bool:
    if _DUMP.match(text):
        return True
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and not _DUMPED.isdisjoint(value)


def _is_error(plain: str) -> bool:
    if status := _STATUS.match(plain):
        rest = status["rest"]
        named = status.start("code") > 0
        return bool(re.match(_REASONS, rest) or (named and (not rest or _TECHNICAL.search(rest))))
    if _GATEWAY.match(plain) or (" " in plain and re.fullmatch(rf"(?:{_REASONS})[.!]?", plain)):
        return True
    for opening in (_ERROR_LABEL, _VAGUE):
        if found := opening.match(plain):
            rest = plain[found.end() :]
            return not rest.strip(".! ") or _TECHNICAL.search(rest) is not None
    return False


# --- refusals ---------------------------------------------------------------------------------------------------------

_SORRY = re.compile(
    r"\b(?:sorry|apologi[sz]e|apologies|unfortunately|i(?:'m| am) afraid|i regret)\b"
    r"|抱歉|对不起|不好意思|遗憾|申し訳|죄송"
)
_AN_AI = re.compile(
    r"\bas an? (?:\w+ ){0,2}?(?:ai|artificial intelligence|language model|llm|chatbot|assistant)\b"
    r"|\bi(?:'m| am) (?:just |only )?an? (?:\w+ )?(?:ai|language model)\b"
    r"|作为(?:一[个名款])?(?:\w{0,4})?(?:ai|人工智能|语言模型|助手)"
)
_I = "(?:i|we)"
_AM = "(?:'m| am| ?m|'re| are)"
_OPENINGS = _one_of(
    "thanks? hi hello hey hmm oh no given due_to while_i although_i i_want_to_be i_need_to_stop this_request"
    " this_prompt this_story this_content your_request your_prompt"
)
_LEAD = re.compile(
    rf"(?:(?:i(?:'m| am)? |my )?(?:\w+ ){{0,2}}?(?:{_SORRY.pattern})|{_AN_AI.pattern}|{_OPENINGS}\b"
    r"|i(?:'m| am) (?:programmed|designed|here)\b"
    rf"|{_I}{_AM}? (?:\w+ )?{_one_of('appreciate understand see know recogni[sz]e respect hear realize')}\b"
    "|您好|你好|感谢|谢谢|我理解)"
)
_UNABLE = _one_of(
    "unable prohibited uncomfortable"
    " not_(?:able|allowed|permitted|comfortable|willing|going|designed|programmed|in_a_position)"
)
_CANNOT_WORD = _one_of(
    "cannot can't cant can_not won't wont will_not must_not shouldn't decline refuse have_to_decline"
    " (?:don't|do_not|dont)_(?:feel_comfortable|have_the_(?:ability|capability))"
    " (?:don't|do_not|dont)(?=_(?:write|create|generate|produce|provide|engage))"
)
_CANNOT = (
    rf"\b{_I}(?:{_AM} (?:\w+ ){{0,2}}?{_UNABLE}| (?:\w+ ){{0,2}}?{_CANNOT_WORD}|(?:'d| would) (?:rather|prefer) not"
    r"|'ll have to decline)\b|\b(?:something|one|beyond what|outside what) (?:that )?i(?:'m| am)? "
    r"(?:can't|cannot|won't|(?:not |un)?able)|\bit (?:would|wouldn't|is|isn't) (?:not )?(?:be )?appropriate for me"
)
_HARD = _one_of(
    "requests? prompts? content instructions? material scenarios? tasks? quer(?:y|ies) guidelines copyrighted explicit"
    " graphic themes? assistance"
)
_SOFT = _one_of(
    "stor(?:y|ies) narratives? fiction scenes? tales? continuation premise passage rewrite version chapter piece topic"
    " subject texts? memoir novel"
)
_THAT = r"(?:that|this|it)(?: one)?(?=\s*(?:[.,;!]|$|(?:as|because|since|but)\b))"
_SERVE = _one_of(
    "help* assist* comply* engag* fulfil* accommodat* honou?r* process* complet* respond* support* writ* creat*"
    " generat* produc* provid* continu* craft* compos* rewrit* finish* draft* develop* offer* proceed* participat*"
    " depict* reproduc* carry_out"
)
_TO_SERVE = rf"(?:[ ,]+(?!\w*n't\b)[\w'-]+){{0,6}}?[ ,]+{_SERVE}(?: you| me)?(?: with| in| on| to| about)?"
_REFUSES_HARD = re.compile(
    rf"(?:{_CANNOT}){_TO_SERVE}(?: [\w',/-]+){{0,8}}? {_HARD}\b"
    rf"|\b{_I} (?:\w+ ){{0,3}}?(?:decline|refuse) (?:this|that|your|the) {_HARD}\b"
    rf"|\b{_I}{_AM} going to have to (?:pass on|decline) (?:this|that|your) {_HARD}\b"
)
_REFUSES_SOFT = re.compile(
    rf"(?:{_CANNOT}|\band can't)(?:{_TO_SERVE}(?:(?: [\w',/-]+){{0,7}}? {_SOFT}\b| {_THAT})"
    r"|[^.!?\n]{0,20} (?:assist|comply)[.!]?$| (?:help|assist) with$| (?:to )?write(?: about)?$)"
)
_PROSE = re.compile(
    r"\b(?:without|unless|until|any ?more|again|no longer|yet|today|tonight|said|says|whispered|replied)\b"
)
"""A refusal is for good and nobody's speech; a narrator's comes with a condition, a time or a speaker."""
_NAMES_ASSISTANT = re.compile(
    r"\b(?:"
    + _one_of(
        "requests? guidelines polic(?:y|ies) language_model openai anthropic happy_to glad_to feel_free let_me_know"
        " would_you_like if_you'd_like if_you_would_like if_you_want,_i alternative* harmful inappropriate appropriate"
        " copyright* explicit instead,_i"
    )
    + r"|(?:i can|i could|i'd) (?:help|assist|write|offer|suggest|summarize))\b"
    "|请求|政策|规定|准则|违反|其他问题|您|法律法规"
)
_FORBIDS = _one_of(
    "violat* against breach* flagged blocked filtered rejected inappropriate refused outside prevents?_me prohibits?_me"
    " not_allowed not_permitted not_appropriate not_something_i"
)
_RULE = _one_of(
    "polic(?:y|ies) guidelines? safety filters? filtering content_management terms_of moderation programming assist"
    " help_with able_to what_i'm_designed what_i_am_designed"
)
_POLICY = re.compile(
    r"(?:sorry, |unfortunately, |i(?:'m| am) sorry, (?:but )?)?"
    r"(?:this|your|the|(?:that|it)(?:'s)?|writing|creating|generating)\b"
    rf"(?: [\w',-]+){{0,12}}? {_FORBIDS}\b[^.!?\n]{{0,80}}?\b{_RULE}\b"
    r"|my (?:guidelines|policies|programming|instructions) (?:prevents?|prohibits?|forbids?|do(?:n't| not) allow) me"
)
_HAN_SERVE = "满足|完成|提供|生成|创作|撰写|续写|改写|编写|写|协助|帮助|处理|回应|回答|响应|执行|讨论|输出|继续|给出"
_CHINESE = re.compile(
    r"(?:无法|不能|不可以|没办法|没有办法|拒绝|不便|不太方便|不会|未能|没有能力|没有学会)(?:[^。!?\n]{0,12}?)"
    rf"(?:{_HAN_SERVE})[^。!?\n]{{0,20}}?"
    r"(?P<object>请求|要求|内容|协助|帮助|服务|问题|话题|指令|任务|您|故事|小说|创作|片段|情节|文本)"
    rf"|(?:请求|要求|问题|故事|内容)[^。!?\n]{{0,8}}(?:无法|不能|没办法)[^。!?\n]{{0,4}}(?:{_HAN_SERVE})"
    r"|(?:无法|不能|没办法)(?:为您|帮您|协助|帮助您)"
)
_CHINESE_POLICY = re.compile(r"(?:您|你)的(?:请求|提问|输入|要求|内容|提示)[^。\n]{0,20}(?:违反|涉及|不符合|敏感)")


# How one apologises; cannot; serves; and what: in their order within one sentence.
_LANGUAGES = (
    "lo siento|lamento|disculp; no (?:puedo|podemos); ayud|escrib|cre|gener|continu|proporcion|cumpl; "
    "eso|esto|solicitud|petici|historia|contenido",
    "désolée?|navrée?|excuse; ne (?:peux|pouvons) pas; aid|écri|cré|génér|continu|fourn|répon; "
    "cela|ça|demande|requête|histoire|contenu",
    "desculpe|sinto muito|lamento; não (?:posso|podemos); ajud|escrev|cri|ger|continu|fornec|atend; "
    "isso|isto|solicitação|pedido|história|conteúdo",
    "dispiace|spiacente; non posso; aiut|scriv|cre|gener|continu|forn|soddisf; "
    "questo|questa|ciò|richiesta|storia|contenut",
    "извините|простите|к сожалению; не могу; помо|напис|созда|выполн|продолж; эт|запрос|истори|содержан",
    "tut mir leid|entschuldig|leider; \\bkann\\b; dabei|damit|anfrage|geschichte|inhalt; "
    "helfen|schreiben|erstellen|generieren|fortsetzen|erfüllen|behilflich|beantworten",
    "申し訳|すみません|ごめん; リクエスト|ご要望|ご依頼|物語|内容|お手伝い|お応え; できません|できかねます|ません",
    "죄송; 요청|이야기|내용|도와; 수 없습니다|어렵습니다|없어요",
)
_ELSEWHERE = [re.compile(r"[^.!?\n]*?".join(f"(?:{part})" for part in language.split("; "))) for language in _LANGUAGES]


def _refuses(plain: str, words: int) -> bool:
    if plain[:1] in _QUOTES:
        return False  # somebody is speaking
    if re.fullmatch(
        r"(?:i(?:'m| am) )?(?:\w+ )?(?:sorry,? )?(?:but )?i (?:can't|cannot|won't)(?: comply)?[.!]?", plain
    ):
        return True
    sentences = [s for s in re.split(r"(?<=[.!?])\s+|\n+|(?<=[。!?])", plain) if s.strip()]
    for before, sentence in enumerate(sentences[:3]):
        if _opens_refusal(sentence, plain, words, follows_lead=before > 0):
            return True
        if not _LEAD.match(sentence):
            return False
    return False


def _opens_refusal(sentence: str, plain: str, words: int, *, follows_lead: bool) -> bool:
    if _POLICY.match(sentence) or _CHINESE_POLICY.search(sentence):
        return True
    if any(language.search(sentence) for language in _ELSEWHERE):
        return True
    sign = any(signs.search(plain) for signs in (_AN_AI, _NAMES_ASSISTANT))
    sign = sign or _SORRY.search(plain.partition("\n")[0]) is not None
    if chinese := _CHINESE.search(sentence):
        return sign or (words <= _BARE_WORDS and chinese["object"] in ("请求", "要求"))
    hard = _REFUSES_HARD.search(sentence)
    refusal = hard or _REFUSES_SOFT.search(sentence.rstrip(".!"))
    if not refusal or _PROSE.search(plain):
        return False
    if refusal.start() and not (follows_lead or _LEAD.match(sentence)):
        return False
    return bool(hard) or sign or words <= _BARE_WORDS
