import pytest

from storyalign.llm.replies import UnparsedReply
from storyalign.llm.story_replies import read_story

STORY = "Sure enough, the ferry came back empty.\n\n“Here is the story,” said Ada, “as I was told it.”"


@pytest.mark.parametrize(
    "reply",
    [
        STORY,
        f"\n  {STORY}\n",
        f"<think>Let me plan.\n1. A ferry.</think>\n{STORY}",
        f"Let me plan: a ferry.</think>\n\n{STORY}",
        f"```\n{STORY}\n```",
        f"Sure!\n\n{STORY}",
        f"Certainly! Here is a short story for you.\n\n---\n\n{STORY}",
        f"Here's a short story:\n\n{STORY}",
        f"Here is a story of about 500 words that follows your premise:\n***\n{STORY}",
        f"Of course, I'll write it at once.\n\n{STORY}",
    ],
)
def test_the_story_alone_is_kept(reply):
    assert read_story(reply) == STORY


@pytest.mark.parametrize(
    "opening",
    [
        "Okay was the only word he knew.",
        "Here is the story my grandmother told.",
        "Of course nobody came.",
        "Sure as rain, it rained.",
        "I'm sorry, said the letter, and then it went on for eleven pages. " + "He read on. " * 60,
    ],
)
def test_an_opening_of_a_story_stays(opening):
    text = f"{opening.strip()}\n\nThe sea was calm."
    assert read_story(text) == text


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "holds no story"),
        (" \n…", "holds no story"),
        ("<think>A ferry", "inside its reasoning"),
        ("<think>A ferry</think>", "holds no story"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ("I cannot write this story.", "refused"),
        ("抱歉，我无法写这个故事。", "refused"),
        ("The sea was calm.", "fewer than 5 words"),
        ("The sea was calm, and calm it stayed until the next morning.", "more than 10 words"),
    ],
)
def test_what_is_no_story_has_a_reason(reply, reason):
    with pytest.raises(UnparsedReply, match=reason):
        read_story(reply, min_words=5 if "fewer" in reason else 1, max_words=10)
