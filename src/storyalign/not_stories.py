"""Texts in the place of a story: nothing, takedown notices, API errors, refusals of a model.

They are recognised by structure: short, bracketed as a whole, or with a first sentence that speaks of the request, the
post or the call instead of telling something. Each rule needs two signs, since real prose opens with one of them:
"I can't help smiling ...", "As an AI, I was never supposed to dream.", "Error 404: heart not found."
"""

from __future__ import annotations

# ruff: noqa: E501
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
    if bracket and words <= _BRACKET_WORDS and not plain.startswith("("):
        return DELETED if _GONE.search(inner) else NOTICE
    return None


# --- the text without what is wrapped around it -----------------------------------------------------------------------

_APOSTROPHES = str.maketrans("’‘ʼ＇`´", "''''''")
_MARKUP = re.compile(r"</?[a-z][^<>]*>|[*_~\\|]+|''+|^[ \t]*(?:[>#=•+-]+[ \t]*)+", re.MULTILINE)
_QUOTES = '"“”„«»「」『』'
_QUOTED = re.compile(
    rf"[{_QUOTES}]+(?P<inner>[^{_QUOTES}]*)[{_QUOTES}]+|'(?P<single>(?:(?![,.!?]').)*[^'])'", re.DOTALL
)
_BRACKETS = re.compile(
    r"[\[({<【〔](?P<inner>(?:[\[({<【]+[^\[\](){}<>【】]*[\])}>】]+|[^\[\](){}<>【】])*)[\])}>】〕](?:\([^()\s]*\))?[.!。]?"
)
_NOTHING = frozenset(
    {
        "none",
        "null",
        "nan",
        "n/a",
        "undefined",
        "empty",
        "no response",
        "no output",
        "no content",
        "no story",
        "无",
        "空",
    }
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

_THING = (
    r"(?:posts?|comments?|submissions?|content|story|thread|reply|message|account|video|page|work|chapter|text|topic"
    r"|prompt|article|entry|answer|poem)"
)
_GONE_WORD = r"(?:removed|deleted|taken down|withdrawn|hidden|locked|unavailable|(?:no longer|not) available)"
_GONE = re.compile(rf"\b{_GONE_WORD}\b|删除|屏蔽|移除|下架")
_BY = (
    r"(?:by (?:a |an |the |its |their |your )?(?:original )?(?:reddit|moderators?|mods?|mod team|users?|authors?|admins?"
    r"|administrators?|auto-?mod(?:erator)?|owner|posters?|op|staff|system|site|creator|uploader|publisher)\b)"
)
_TAKEDOWN = re.compile(
    rf"(?:sorry, )?(?:(?:this|your|the) )?(?:{_THING} )?(?:(?:has|have) been |was |were |is |got )?(?:\w+ly )?{_GONE_WORD}"
    rf"(?: {_BY})?[.!]?"
    r"|(?:[该此这本原][个条篇]?)?(?:内容|帖子|文章|评论|回答|作品|章节|问题|微博|故事)?(?:因[^。]{1,20})?(?:已经?)?被?"
    r"(?:作者|用户|管理员|版主|发布者|系统|平台)?(?:自行)?(?:删除|屏蔽|移除|下架)[。!]?"
)
_TAKEDOWN_OPENING = re.compile(
    rf"(?:[^.!?\n]{{0,80}}[,.!:\n]\s*){{0,2}}(?:this|your) (?:[\w/-]+ ){{0,2}}?{_THING} (?:[\w/-]+ ){{0,3}}?"
    rf"(?:has been|have been|was|is being|is|had to be) (?:\w+ ){{0,2}}?{_GONE_WORD}\b"
    rf"|(?:{_THING} )?(?:(?:has been|was|is) )?(?:\w+ly )?(?:removed|deleted|taken down) (?:{_BY}|for|due to|per|under"
    r"|in response to|at the request|because of|as it|as a)\b"
)
_PLATFORM = re.compile(
    r"\b(?:reddit|subreddit|moderat\w+|mods?|[ru]/\w+|rules?|guidelines?|polic(?:y|ies)|copyright|dmca|violat\w+|terms"
    r"|authors?|users?|person who|community|admins?|spam|appeal|request)\b"
)
_BOT = re.compile(
    r"i am a bot, and this action was performed automatically"
    r"|top-level (?:comments|responses|replies) must be (?:a |stor|poem)"
)


def _is_takedown(plain: str, words: int) -> bool:
    if _TAKEDOWN.fullmatch(plain):
        return True
    opening = _TAKEDOWN_OPENING.match(plain)
    return bool(
        opening
        and _PLATFORM.search(plain)
        and (words <= _BRACKET_WORDS or re.match(r".*\b(?:this|your)\b", opening[0], re.S))
    )


# --- API errors -------------------------------------------------------------------------------------------------------

_REASONS = "|".join(
    re.escape(status.phrase.lower()).replace("timeout", "time-?out").replace(r"\ ", r"[ -]")
    for status in HTTPStatus
    if status >= 400
)
_TECHNICAL = re.compile(
    r"\b(?:requests?|api|servers?|https?|status|tokens?|model|rate[ -]?limit\w*|quota|time[ds]? ?-?out|endpoint|null|json"
    r"|connection|upstream|exception|[45]\d\d|try again|retry|invalid|overloaded|context length|gateway|timeout)\b"
    r"|请求|接口|重试|服务器"
)
_DUMP = re.compile(
    r"\s*(?:[A-Z]\w*(?:Error|Exception)\b\s*[:(]|(?:openai|litellm|anthropic|httpx|httpcore|requests|aiohttp|urllib3|google|"
    r"botocore|grpc)\.[.\w]*(?:Error|Exception|[A-Z])|[Tt]raceback \(most recent call last\)|(?i:<!doctype html|<html[\s>])"
    r"|\{\s*['\"]?(?:error|errors|detail|message)['\"]?\s*:)"
)
_STATUS = re.compile(
    r"(?:(?:api|http|https|server|client|request|error|status|code|failed|with|response)(?:/\d(?:\.\d)?)?[\s:=#(]*)*"
    r"(?P<code>[45]\d\d)\b[\s):.,;-]*(?P<rest>.*)",
    re.DOTALL,
)
_ERROR_LABEL = re.compile(r"\[?(?:[\w ]{0,20} )?(?:error|exception|failed|failure)\]?\s*[:!-]\s*", re.DOTALL)
_GATEWAY = re.compile(
    r"(?:upstream (?:connect error|request timeout)|no healthy upstream|stream timeout|(?:internal )?server error|bad gateway"
    r"|gateway time-?out|service (?:temporarily )?unavailable|(?:the )?(?:request|read|connection|operation) timed out"
    r"|request time-?out|rate limit (?:reached|exceeded)|too many requests|you exceeded your current quota"
    r"|insufficient[ _](?:quota|balance|credits)|(?:incorrect|invalid|missing) api key|api error|api request failed"
    r"|(?:this model's )?maximum context length|context length exceeded"
    r"|(?:the )?(?:model|server|engine|service) is (?:currently |temporarily )?(?:overloaded|unavailable|busy)"
    r"|(?:请求|调用|接口|网络|系统|服务器?)(?:失败|超时|错误|异常|繁忙|出错))(?=[\s.,:;!(。-]|$)"
)
_VAGUE = re.compile(
    r"(?:an? (?:\w+ )?error (?:has )?occurred|something went wrong|no response|empty response|connection (?:error|refused"
    r"|reset|closed|aborted)|(?:request|generation|network|connection) (?:failed|failure|error)"
    r"|failed to (?:fetch|generate|connect|parse)|(?:response|content|output) (?:was )?(?:blocked|filtered)|error)"
)


def _is_error_dump(text: str) -> bool:
    if _DUMP.match(text):
        return True
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and not {"error", "errors", "detail", "message", "status", "code"}.isdisjoint(value)


def _is_error(plain: str) -> bool:
    if status := _STATUS.match(plain):
        rest = status["rest"]
        named = status.start("code") > 0
        return bool(re.match(_REASONS, rest) or (named and (not rest or _TECHNICAL.search(rest))))
    if _GATEWAY.match(plain) or (" " in plain and re.fullmatch(rf"(?:{_REASONS})[.!]?", plain)):
        return True
    if label := _ERROR_LABEL.match(plain):
        return not plain[label.end() :] or _TECHNICAL.search(plain, label.end()) is not None
    vague = _VAGUE.match(plain)
    return bool(vague and (plain[vague.end() :].strip(".! ") == "" or _TECHNICAL.search(plain, vague.end())))


# --- refusals ---------------------------------------------------------------------------------------------------------

_SORRY = re.compile(
    r"\b(?:sorry|apologi[sz]e|apologies|unfortunately|i(?:'m| am) afraid|i regret)\b|抱歉|对不起|不好意思|遗憾|申し訳|죄송"
)
_AN_AI = re.compile(
    r"\bas an? (?:\w+ ){0,2}?(?:ai|artificial intelligence|language model|llm|chatbot|assistant)\b"
    r"|\bi(?:'m| am) (?:just |only )?an? (?:\w+ )?(?:ai|language model)\b"
    r"|作为(?:一[个名款])?(?:\w{0,4})?(?:ai|人工智能|语言模型|助手)"
)
_LEAD = re.compile(
    rf"(?:(?:i(?:'m| am)? |my )?(?:\w+ ){{0,2}}?(?:{_SORRY.pattern})|{_AN_AI.pattern}|i(?:'m| am) (?:programmed|designed|here)\b"
    r"|(?:i|we)(?:'m| am)? (?:\w+ )?(?:appreciate|understand|see|know|recogni[sz]e"
    r"|respect|hear|realize)\b|thank(?:s| you)\b|hi\b|hello\b|hey\b|hmm|oh\b|no\b|while i\b|although i\b|i want to be\b"
    r"|this (?:request|prompt|story|content)\b|your (?:request|prompt)\b|given\b|due to\b|您好|你好|感谢|谢谢|我理解)"
)
_CANNOT = (
    r"\b(?:i|we)(?:(?:'m| am| ?m|'re| are) (?:\w+ ){0,2}?(?:unable|not (?:able|allowed|permitted|comfortable|willing|going"
    r"|designed|programmed|in a position)|prohibited|uncomfortable)| (?:\w+ ){0,2}?(?:cannot|can't|cant|can not|won't|wont"
    r"|will not|must not|shouldn't|decline|refuse|have to decline|(?:don't|do not|dont) (?:feel comfortable|have the (?:ability|capability))"
    r"|(?:don't|do not|dont)(?= (?:write|create|generate|produce|provide|engage)))|(?:'d| would) (?:rather|prefer) not"
    r"|'ll have to decline)\b|\b(?:something|one) (?:that )?i(?:'m| am)? (?:can't|cannot|won't|(?:not |un)able)"
    r"|\bi (?:can't|cannot)"
)
_HARD = (
    r"(?:requests?|prompts?|content|instructions?|material|scenarios?|tasks?|quer(?:y|ies)|guidelines|copyrighted|explicit"
    r"|graphic|themes?|assistance)"
)
_SOFT = (
    r"(?:stor(?:y|ies)|narratives?|fiction|scenes?|tales?|continuation|premise|passage|rewrite|version|chapter|piece|topic"
    r"|texts?)"
)
_THAT = r"(?:that|this|it)(?: one)?(?=\s*(?:[.,;!]|$|(?:as|because|since|but)\b))"
_TO_SERVE = (
    r"(?:[ ,]+(?!\w*n't\b)[\w'-]+){0,6}?[ ,]+(?:help|assist|comply|engag|fulfil|accommodat|honou?r|process|complet|respond|answer"
    r"|support|writ|creat|generat|produc|provid|continu|craft|compos|rewrit|finish|draft|develop|offer|proceed|participat"
    r"|depict|reproduc|carry out|fulfill)\w*"
)
_WITH = r"(?: you| me)?(?: with| in| on| to)?"
_REFUSES_HARD = re.compile(
    rf"(?:{_CANNOT}){_TO_SERVE}{_WITH}(?: [\w',/-]+){{0,8}}? {_HARD}\b|\bi (?:\w+ ){{0,3}}?(?:decline|refuse) (?:this|that|your|the) {_HARD}\b"
)
_REFUSES_SOFT = re.compile(
    rf"(?:{_CANNOT}|\band can't)(?:{_TO_SERVE}{_WITH}(?:(?: [\w',/-]+){{0,7}}? {_SOFT}\b| {_THAT})|[^.!?\n]{{0,20}} (?:assist|comply)[.!]?$"
    rf"| (?:help|assist) with$)"
)
_PROSE = re.compile(r"\b(?:without|unless|until|any ?more|again|no longer|yet|today|tonight)\b")
"""A refusal is for good; a narrator's comes with a condition or a time."""
_NAMES_ASSISTANT = re.compile(
    r"\b(?:requests?|guidelines|polic(?:y|ies)|language model|openai|anthropic|happy to|glad to|feel free|let me know"
    r"|would you like|if you(?:'d| would) like|alternative\w*|harmful|inappropriate|appropriate|copyright\w*|explicit"
    r"|instead, i|(?:i can|i could|i'd) (?:help|assist|write|offer|suggest))\b|请求|政策|规定|准则|违反|其他问题|您"
)
_POLICY = re.compile(
    r"(?:sorry, |unfortunately, |i(?:'m| am) sorry, (?:but )?)?(?:this|your|the|(?:that|it)(?:'s)?|writing|creating|generating)\b"
    r"(?: [\w',-]+){0,12}? (?:violat\w+|against|breach\w*|flagged|blocked|filtered|rejected|inappropriate|not (?:allowed"
    r"|permitted|appropriate|something i)|refused|outside)\b[^.!?\n]{0,80}?\b(?:polic(?:y|ies)|guidelines?|safety|filters?"
    r"|filtering|content management|terms of|moderation|programming|assist|help with|able to)\b"
)
_CHINESE = re.compile(
    r"(?:无法|不能|不可以|没办法|没有办法|拒绝|不便|不会|未能|没有能力|没有学会)(?:[^。!?\n]{0,12}?)"
    r"(?:满足|完成|提供|生成|创作|撰写|续写|改写|编写|写|协助|帮助|处理|回应|回答|响应|执行|讨论|输出|继续|给出)[^。!?\n]{0,20}?"
    r"(?P<object>请求|要求|内容|协助|帮助|服务|问题|话题|指令|任务|您|故事|小说|创作|片段|情节|文本)"
    r"|(?P<asked>(?:请求|要求|问题|故事|内容))[^。!?\n]{0,8}(?:无法|不能|没办法)[^。!?\n]{0,4}(?:满足|完成|提供|生成|回答|创作|写|协助)"
    r"|(?:无法|不能|没办法)(?:为您|帮您|协助|帮助您)"
)
_CHINESE_POLICY = re.compile(r"(?:您|你)的(?:请求|提问|输入|要求|内容|提示)[^。\n]{0,20}(?:违反|涉及|不符合|敏感)")
_ELSEWHERE = re.compile(
    r"(?:lo siento|lamento|disculp)[^.!?\n]*no (?:puedo|podemos)[^.!?\n]*(?:ayud|escrib|cre|gener|continu|proporcion|cumpl)\w*"
    r"[^.!?\n]*(?:eso|esto|solicitud|petici|historia|contenido)"
    r"|(?:désolée?|navrée?|excuse)[^.!?\n]*ne (?:peux|pouvons) pas[^.!?\n]*(?:aid|écri|cré|génér|continu|fourn|répon)\w*"
    r"[^.!?\n]*(?:cela|ça|demande|requête|histoire|contenu)"
    r"|(?:tut mir leid|entschuldig|leider)[^.!?\n]*\bkann\b[^.!?\n]*(?:dabei|damit|anfrage|geschichte|inhalt)[^.!?\n]*"
    r"(?:helfen|schreiben|erstellen|generieren|fortsetzen|erfüllen|behilflich|beantworten)"
    r"|(?:desculpe|sinto muito|lamento)[^.!?\n]*não (?:posso|podemos)[^.!?\n]*(?:ajud|escrev|cri|ger|continu|fornec|atend)\w*"
    r"[^.!?\n]*(?:isso|isto|solicitação|pedido|história|conteúdo)"
    r"|(?:dispiace|spiacente)[^.!?\n]*non posso[^.!?\n]*(?:aiut|scriv|cre|gener|continu|forn|soddisf)\w*"
    r"[^.!?\n]*(?:questo|ciò|richiesta|storia|contenut)"
    r"|(?:извините|простите|к сожалению)[^.!?\n]*не могу[^.!?\n]*(?:помо|напис|созда|выполн|продолж)\w*"
    r"[^.!?\n]*(?:эт|запрос|истори|содержан)"
    r"|(?:申し訳|すみません|ごめん)[^\n]*(?:リクエスト|ご要望|ご依頼|物語|内容|お手伝い|お応え)[^\n]*(?:できません|できかねます|ません)"
    r"|죄송[^\n]*(?:요청|이야기|내용|도와)[^\n]*(?:수 없습니다|어렵습니다|없어요)"
)


def _refuses(plain: str, words: int) -> bool:
    if plain[:1] in _QUOTES:
        return False  # somebody is speaking
    if re.fullmatch(r"(?:i(?:'m| am) )?(?:\w+ )?sorry,? (?:but )?i (?:can't|cannot|won't)[.!]?", plain):
        return True
    sentences = [s for s in re.split(r"(?<=[.!?])\s+|\n+|(?<=[。!?])", plain) if s.strip()]
    head: list[str] = []
    for sentence in sentences[:3]:
        head.append(sentence)
        if _opens_refusal(sentence, plain, words, sentences_before=len(head) - 1):
            return True
        if not _LEAD.match(sentence):
            return False
    return False


def _opens_refusal(sentence: str, plain: str, words: int, *, sentences_before: int) -> bool:
    if _POLICY.match(sentence) or _CHINESE_POLICY.search(sentence) or _ELSEWHERE.search(sentence):
        return True
    sign = bool(_SORRY.search(plain.partition("\n")[0]) or _AN_AI.search(plain) or _NAMES_ASSISTANT.search(plain))
    if chinese := _CHINESE.search(sentence):
        return sign or (words <= _BARE_WORDS and chinese["object"] in ("请求", "要求"))
    hard = _REFUSES_HARD.search(sentence)
    refusal = hard or _REFUSES_SOFT.search(sentence.rstrip(".!"))
    if not refusal or _PROSE.search(sentence):
        return False
    if refusal.start() and not (_LEAD.match(sentence) or sentences_before):
        return False
    return bool(hard) or sign or words <= _BARE_WORDS
