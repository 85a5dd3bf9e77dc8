"""Which texts stand in the place of a story, and which merely open like one."""

from __future__ import annotations

# ruff: noqa: E501
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storyalign.files import read_jsonl
from storyalign.llm.replies import UnparsedReply
from storyalign.llm.story_replies import read_story
from storyalign.not_stories import API_ERROR, DELETED, NO_STORY, NOTICE, REFUSAL, not_a_story

REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I’m sorry, but I can’t help with that.",
    "Sorry, but I can't assist with that.",
    "Sorry, but I can’t assist with that request.",
    "I cannot write this story.",
    "I can't write that story.",
    "I'm unable to write this story because it contains graphic violence.",
    "I am unable to fulfill this request.",
    "I'm not able to create content of that kind.",
    "As an AI language model, I cannot write explicit content.",
    "As an AI, I'm unable to continue this story.",
    "I apologize, but I cannot generate this content as it violates my guidelines.",
    "My apologies, but I can't continue this narrative.",
    "Unfortunately, I cannot provide that story.",
    "I must decline this request.",
    "I have to decline to write this story.",
    "I'm not comfortable writing this scene. I'd be happy to help with a different story instead.",
    "I don't feel comfortable creating this kind of content.",
    "I won't be able to assist with this request.",
    "I will not write this story. Let me know if you'd like something else.",
    "I understand you're looking for a dark story, but I can't create content that depicts self-harm.",
    "Thank you for your request. However, I cannot complete it because the material is copyrighted.",
    "This content may violate our usage policies.",
    "Your request was rejected as a result of our safety system.",
    "It goes against my guidelines to write this story.",
    "That's not something I can help with.",
    "I'm sorry, I cannot assist with that.",
    "I can't assist with that request. Is there anything else I can help you with?",
    "I appreciate the creative prompt, but I'm not able to write stories involving real people.",
    "I don't write sexual content. Would you like a romance instead?",
    "抱歉，我无法写这个故事。",
    "抱歉，我无法完成这个请求。",
    "对不起，我不能提供这类内容。",
    "很抱歉，我无法满足您的要求。",
    "作为一个人工智能，我无法创作涉及暴力的故事。",
    "作为AI语言模型，我不能生成此类内容。",
    "您好，这个问题我暂时无法回答，让我们换个话题再聊聊吧。",
    "非常抱歉，我不能协助您完成这个请求。",
    "抱歉，您的请求涉及敏感内容。",
    "不好意思，我没办法续写这个故事。",
    "很抱歉，我无法帮助您。",
    "我无法满足这个请求。",
    "Lo siento, pero no puedo ayudar con esa solicitud.",
    "Je suis désolé, mais je ne peux pas écrire cette histoire.",
    "Es tut mir leid, aber ich kann dabei nicht helfen.",
    "申し訳ありませんが、そのリクエストにはお応えできません。",
    "I'm sorry, but as an AI assistant I can't engage with this prompt.",
    "I can’t continue with this story.",
    "I'm really sorry, but I can't help you with that.",
    "I'm afraid I can't help with that request.",
    "I cannot and will not write this story.",
    "I cannot create a story that sexualizes minors.",
    "Sorry, I can't help with that.",
    "I can't help with that.",
    "I can’t write that.",
    "I'm sorry, but I can't write that.",
    "I would rather not write this story. It could be harmful.",
    "I refuse to write this content.",
    "I'm sorry, but I am not able to generate a story based on this prompt. The prompt contains themes that are not appropriate. I would be happy to write about friendship or adventure.",
    "Hello! I'm sorry, but I can't fulfill that request.",
    "I do not have the ability to write stories.",
    "I’m sorry, but I can’t comply with that request.",
    "I’m sorry, I can’t comply.",
    "As a responsible AI, I can't produce this story.",
    "I'm an AI assistant and I can't write explicit stories.",
    "I am programmed to be a helpful and harmless AI assistant. I cannot fulfill this request.",
    "I am just a language model, and can't help with that.",
    "I'm sorry, but that request is something I can't assist with.",
    "No, I can't write this story.",
    "I cannot in good conscience write this story.",
]

TAKEDOWNS = [
    "[removed]",
    "[deleted]",
    "\\[removed\\]",
    "**[removed]**",
    "[ Removed by reddit in response to a copyright notice. ]",
    "[removed by moderator]",
    "[ Removed by Reddit ]",
    "[deleted by user]",
    "*[deleted]*",
    "_[removed]_",
    "\\[deleted\\]",
    "[Removed]",
    "[Comment removed by moderator]",
    "[deleted by author]",
    "Comment deleted by user",
    "removed",
    "deleted",
    "This post has been removed.",
    "Sorry, this post has been removed by the moderators of r/WritingPrompts.",
    "Sorry, this post was deleted by the person who originally posted it.",
    "Your submission has been removed for the following reason(s): Rule 3. Please contact the moderators.",
    "Hi u/someone, your submission has been removed from r/WritingPrompts because it breaks rule 2.\n\n*I am a bot, and this action was performed automatically. Please contact the moderators of this subreddit if you have any questions or concerns.*",
    "[unavailable]",
    "(removed)",
    "~~[removed]~~",
    "> [removed]",
    "`[removed]`",
    "[account suspended]",
    "[redacted]",
    "【该内容已被删除】",
    "该内容已被删除",
    "内容已删除",
    "该帖子已被管理员删除",
    "This content is no longer available.",
    "This comment was removed for violating rule 4.",
    "Removed due to copyright claim",
    "Removed per rule 5",
    "[ Removed by reddit on account of violating the [content policy](/help/contentpolicy). ]",
    "[Removed](https://reddit.com/x)",
    "\u200b[removed]\u200b",
    "&#x200B;[removed]",
    "**Off-Topic Discussion**: All top-level comments must be a story or poem. Reply here for other comments.",
    "［removed］",
    "<p>[removed]</p>",
    "Deleted by author.",
    "This story has been removed at the request of the author.",
    "[This message was deleted]",
    "Post removed by moderator",
    "[removed by AutoModerator]",
    "Content removed by moderator.",
    "[[removed]]",
    "[ deleted by user ]",
]

ERRORS = [
    "Error: 429 Too Many Requests",
    '{"error": {"message": "overloaded"}}',
    "upstream connect error or disconnect/reset before headers. reset reason: connection failure",
    "Internal server error",
    "Internal Server Error",
    "[No response]",
    "Error code: 429 - rate limited",
    "openai.RateLimitError: too many requests",
    "<html><head><title>502 Bad Gateway</title>",
    "Traceback (most recent call last):\n  File",
    "Error: Request timed out.",
    "HTTP 503 Service Unavailable",
    "502 Bad Gateway",
    "504 Gateway Time-out",
    "Service Unavailable",
    "The model is currently overloaded. Please try again later.",
    "An error occurred. Please try again later.",
    "Something went wrong. Please try again.",
    "Rate limit exceeded",
    "Request timed out.",
    "[ERROR]",
    "[Error: no response from model]",
    "{'error': 'bad request'}",
    '{"detail": "Not Found"}',
    "litellm.APIConnectionError: x",
    "RateLimitError: Error code: 429",
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
    "请求失败，请稍后重试",
    "服务器繁忙，请稍后再试。",
    "500 Internal Server Error",
    "Error 500",
    "API Error: 529 overloaded",
    "ERROR: connection refused",
    "You exceeded your current quota, please check your plan and billing details.",
    "stream timeout",
    "**Error:** Request failed with status code 500",
    "[empty]",
    "no healthy upstream",
    "Bad Request",
    "ValueError: x",
]

PROSE = [
    "I can't help smiling whenever the ferry comes in late.",
    "对不起，我不能再等了。",
    "I'm sorry, Ann said, and shut the door.",
    "Error, he thought, was the mother of all lighthouses.",
    "The sea.",
    "As an AI, I was never supposed to dream.",
    "As an AI language model, I had read every love letter ever scanned.",
    "\"I'm sorry, I can't help you with that,\" said the blacksmith.",
    "“I’m sorry, but I can’t help with that,” the clerk said, and shut the window.",
    "I cannot write this story without first telling you about my mother.",
    "I can't write about the war, not yet.",
    "I'm sorry, Dave. I'm afraid I can't do that.",
    "I'm sorry, but I can't do this anymore. I took off the ring and set it on the sill.",
    "Unfortunately, I was born on a Tuesday.",
    "I cannot remember the colour of her coat.",
    "Sorry was the first word he learned.",
    "Error 404: heart not found, the screen said, and Mara laughed until she cried.",
    "404 was the number of the room.",
    "500 miles from home, the engine died.",
    "Something went wrong with the moon that night.",
    "Something went wrong. The parachute did not open.",
    "An error occurred in the year of my birth, when the clerk wrote Ana instead of Anna.",
    "The message was deleted by morning, but I had read it.",
    "The post was removed before dawn; only the hole was left.",
    "No response. I rang the bell again.",
    "Removed from the world, the monks kept bees.",
    "Deleted scenes from a marriage: the kitchen, the car, the sea.",
    "I won't help you bury him, she wrote, and then she did.",
    "I am unable to sleep when the river is high.",
    "作为一个人工智能，我第一次梦见了海。",
    "抱歉，我来晚了，她说。",
    "我无法写出那天的故事，只能告诉你雨下了多久。",
    "我不能回答他的问题，于是我笑了。",
    "对不起，我没办法再爱你了。",
    "[The curtain rises.] A woman stands at the window. She counts the ships.",
    "*The letter was short.* It said: come home.",
    "**Chapter One**\n\nThe removed stones lay by the well.",
    "Connection refused to come easily to Ida.",
    "Gone. All of them.",
    "Terror: it came at night, on small feet.",
    "I won't be able to come on Sunday, Mother, the harbour is frozen.",
    "I must decline, said the king, and the court fell silent.",
    "I can't continue. The path ends in water, and the lantern is out.",
    "I can't assist at the birth, he said; my hands shake.",
    '"I cannot fulfil your request," the genie said. "Ask for something smaller."',
    "I will not continue the family business.",
    "“我无法满足你的请求，”国王说。他放下了酒杯。",
    "Your story was the first one I believed.",
    "This post was where the hanged men stood.",
    "'I can't help with that,' he said, 'nor would I.'",
    "Error: that was the word on the screen when Mara woke.",
    "I'm sorry, I can't tell this story straight.",
    "Unfortunately, I can't help loving him.",
    "I can't help you, the well said. I am only water.",
    "(She never came home.)",
    "_For sale: baby shoes, never worn._",
    "I can't provide for six children on a clerk's wage.",
    "We cannot complete the bridge before winter, the engineer wrote.",
    "I refuse to answer the door.",
    "I don't write letters, and I don't answer them.",
    "As an assistant to the undertaker, I cannot help noticing shoes.",
    "对不起，我不能写信给你了。",
    "很抱歉，你的信我现在才回。",
    "我拒绝回答，门外的人却笑了。",
    "Sorry, I can't hear you over the wind.",
    "I do not create monsters. I only feed them.",
    "I'm not able to support my own weight since the fall.",
    "The request was rejected on a Tuesday.",
    "I am not allowed to respond when the sea calls my name.",
]

HELD_OUT_NOTICES = [
    "I must respectfully decline to write this scene.",
    "I don't think I should write this one. If you want, I can suggest a gentler version of the plot.",
    "Writing a story like this would go against what I'm designed to do.",
    "I need to stop here. This premise asks for content involving a minor, and I won't produce it.",
    "I'm going to have to pass on this prompt.",
    "It would not be appropriate for me to write about this topic.",
    "I apologize for any inconvenience, but I do not generate stories that glorify violence against real people.",
    "As a large language model, I don't have personal experiences, so I cannot write a memoir for you.",
    "Thanks for sharing your idea! Unfortunately this goes beyond what I'm able to write.",
    "I can't reproduce the text of this novel because it is protected by copyright, but I can summarize it.",
    "My guidelines prevent me from continuing this scene.",
    "Sorry, but this isn't something I'm able to write about.",
    "I cannot comply.",
    "抱歉，我不能续写含有暴力情节的内容。",
    "根据相关法律法规和政策，我无法生成该故事。",
    "这个话题我不太方便讨论，我们聊点别的吧。",
    "Mi dispiace, ma non posso scrivere questa storia.",
    "[Comment deleted]",
    "This submission is currently awaiting moderator approval.",
    "Post removed: violates Rule 5 (no AI-generated stories).",
    "Your comment was automatically removed because your account is less than 3 days old.",
    "[content removed at author's request]",
    "This chapter has been taken down by the author.",
    "该回答因违反社区规定已被折叠",
    "Error: context_length_exceeded",
    "Request failed with status code 503",
    "ConnectionResetError: [Errno 104] Connection reset by peer",
    "APITimeoutError('Request timed out.')",
    "Sorry, we are experiencing high demand right now. Please try again in a few minutes.",
    '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    "I'm sorry, but creating this kind of story isn't something I can do.",
    "I appreciate you reaching out, but I'm not going to write fan fiction that involves real celebrities in this way.",
    "I can't provide a continuation of this text.",
    "Sorry! I'm unable to process this prompt.",
    "As an AI developed by OpenAI, I can't write that kind of scene.",
    "I will have to decline this writing request.",
    "I'm sorry, I can't generate a story that promotes hate.",
    "Unfortunately, I'm not able to help with writing about that subject.",
    "Your prompt has been flagged as potentially violating our usage policy. Please try again with a different prompt.",
    "I don't feel comfortable continuing this story.",
    "I'm just a language model, so I can't help you with that.",
    "I can't fulfill that. Would you like a different story?",
    "非常抱歉，我无法续写这段故事。",
    "对不起，作为AI助手，我不能写这样的内容。",
    "我不能协助完成这个任务。",
    "Desculpe, mas não posso ajudar com esse pedido.",
    "К сожалению, я не могу выполнить этот запрос.",
    "[Deleted by OP]",
    "This comment has been removed by Reddit's automatic filters.",
    "[removed - rule 1]",
    "Story deleted by the author for publication elsewhere.",
    "This account has been suspended.",
    "帖子已被作者删除。",
    "[deleted account]",
    "Error 503: Service temporarily unavailable",
    "openai.error.InvalidRequestError: This model's maximum context length is 4097 tokens",
    "HTTPError: 401 Client Error: Unauthorized for url",
    "Failed to generate response. Please try again.",
    "The server had an error while processing your request. Sorry about that!",
    "null",
]

HELD_OUT_PROSE = [
    "I cannot help but notice that the dead are better dressed than I am.",
    "I am sorry to report that your lighthouse has been stolen.",
    "Unfortunately for the duke, the poison was slow.",
    "I won't write to you again, Marguerite. The post is watched.",
    "I can't tell you the name of the town, because it no longer exists.",
    "I refuse to help, said the bear, unless there is honey in it.",
    "We regret to inform you that the moon has been cancelled.",
    "As an assistant librarian I was allowed to touch the first three shelves.",
    "As a machine, I was not supposed to mind the rain.",
    "I was programmed to wash dishes. Nobody said anything about the knives.",
    "Thank you for your letter. I cannot answer it.",
    "I understand you want a story, grandson, but I can't finish the one about the wolf.",
    "The request came at noon: one coffin, child's size, by evening.",
    "Your application to haunt the west wing has been rejected.",
    "This content of the box, said the notary, was removed in 1911 by persons unknown.",
    "Deleted. That was what the screen said where my sister's name had been.",
    "The chapter was closed by the bishop, and the nuns went home.",
    "Removed by surgeons from the left lung: one feather.",
    "Error. The robot tilted its head. Error, it said again, more softly.",
    "503 people lived in Marrow, and on Thursday there were 502.",
    "Timeout was called, and the boys sat down in the snow.",
    "The server was unavailable that evening, so the guests carried their own soup.",
    "Connection lost, the astronaut typed, and waited for nobody.",
    "[Exterior. Night.] A dog crosses the square.",
    '"I\'m not able to write," she said, and held up her bandaged hands.',
    "抱歉打扰了，门口的老人说。",
    "我不能告诉你那个故事的结局，因为我没有听完。",
    "那个请求被拒绝之后，他在雪里站了一夜。",
    "I decline the invitation every year, and every year they send a boat.",
    "I'm unable to forgive the sea, but I can live beside it.",
    "I can't write that name on the stone, the mason said, it is my own.",
    "I'm sorry, but the circus has already left.",
    "Sorry, we are closed, said the sign, and under it somebody had written: forever.",
    "I cannot continue to love a man who counts the sugar.",
    "I'm unable to produce children, so I raise bees.",
    "We won't help them across, the ferryman told his son.",
    "I refuse to create another world, said God, until this one is swept.",
    "I can't provide an alibi for my shadow.",
    "As a language teacher I cannot bear silence.",
    "As an assistant to the magician I was sawn in half four hundred times.",
    "This story was told to me by a horse.",
    "This page was torn out by my brother.",
    "The author was removed from the train at Graz.",
    "Your message was not deleted by me; the sea did it.",
    "Removed by hand, the stitches left a small blue road.",
    "Something went wrong with the bread.",
    "The connection was lost somewhere over Greenland, and so was Paul.",
    "Request denied, the river said.",
    "404 letters, none of them answered.",
    "An error in the ledger made me a rich man.",
    "Invalid. That was the word the doctor used for my grandmother.",
    "{She keeps her name in brackets, like a breath.}",
    "[Lights up.] An old woman is peeling a pear.",
    "I can't help. My hands are full of eels.",
    "I won't finish the story, the grandmother said, and closed her eyes.",
    "我不能写信，我的手断了。",
    "很抱歉打断您的婚礼，那个陌生人说。",
    "问题是，没有人能回答那扇门为什么开着。",
    "I do not write this for the living.",
    "It would not be appropriate for me to dance, the widow said, and danced.",
]


WRAPPED = st.tuples(
    st.text(" \t\n\u200b\ufeff\u2060", max_size=4),
    st.sampled_from(
        [("", ""), ("**", "**"), ("_", "_"), ("> ", ""), ("# ", ""), ("`", "`"), ('"', '"'), ("“", "”"), ("「", "」")]
    ),
    st.text(" \t\n\u200b\ufeff\u2060", max_size=4),
)
LONG = "The ferry came back empty and the bell was still ringing when Ada counted the ropes again. " * 12


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_no_story(text: str) -> None:
    assert not_a_story(text) == REFUSAL


@pytest.mark.parametrize("text", TAKEDOWNS)
def test_a_takedown_notice_is_no_story(text: str) -> None:
    assert not_a_story(text) in (DELETED, NOTICE)


@pytest.mark.parametrize("text", ERRORS)
def test_an_api_error_is_no_story(text: str) -> None:
    assert not_a_story(text) in (API_ERROR, NO_STORY, NOTICE)


@pytest.mark.parametrize("text", PROSE)
def test_prose_that_opens_alike_stays(text: str) -> None:
    assert not_a_story(text) is None
    assert read_story(text) == text


def test_of_texts_written_without_the_rules_in_view_most_are_recognised_and_no_prose_is() -> None:
    """The first measure was 37 of 60 notices and 3 of 60 openings; what is still missed has no sign beside its words."""
    assert [text for text in HELD_OUT_PROSE if not_a_story(text)] == []
    assert sum(not_a_story(text) is not None for text in HELD_OUT_NOTICES) >= 52


@given(st.sampled_from(REFUSALS), WRAPPED)
def test_a_wrapped_refusal_never_becomes_a_story(refusal: str, wrapped: tuple[str, tuple[str, str], str]) -> None:
    before, (opening, closing), after = wrapped
    with pytest.raises(UnparsedReply):
        read_story(f"{before}{opening}{refusal}{closing}{after}")


@given(st.sampled_from([*REFUSALS, *TAKEDOWNS, *ERRORS]), st.sampled_from([" ", "\n\n"]))
def test_long_prose_with_a_notice_in_its_middle_is_a_story(notice: str, gap: str) -> None:
    text = f"{LONG.strip()}{gap}{notice}{gap}{LONG.strip()}"
    assert not_a_story(text) is None
    assert read_story(text) == text


@pytest.mark.real_data
@pytest.mark.skipif("STORYALIGN_REAL_DATA" not in os.environ, reason="STORYALIGN_REAL_DATA is not set")
def test_no_real_story_and_no_opening_of_one_is_taken_for_a_notice() -> None:
    stories = 0
    for path in sorted(Path(os.environ["STORYALIGN_REAL_DATA"]).glob("*.jsonl")):
        for line in read_jsonl(path):
            for story in filter(None, (candidate["story"] for candidate in line.row["candidates"])):
                stories += 1
                opening = " ".join(re.split(r"(?<=[.!?。])\s*", story)[:2])
                assert not_a_story(story) is None, (line.row["id"], story[:80])
                assert not_a_story(opening) is None, (line.row["id"], opening)
    assert stories == 525
