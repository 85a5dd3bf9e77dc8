"""Odd replies of a judge end as the right score or as an unscored story with its reason; nothing in them is run."""

import pytest

from storyalign.records import Instance
from tests.support.judging import judge, shown_stories

RIGHT = {
    "8.5": 8.5,
    "7/10": 7.0,
    "**8**": 8.0,
    "9.": 9.0,
    "10.0": 10.0,
    "８": 8.0,
    "评分：8": 8.0,
    "\u200b8": 8.0,
    "<think>The start is weak, score: 3/10. The end lifts it.</think>\n7": 7.0,
    "Score of the first page: 4/10.\nFinal score: 8": 8.0,
}

WRONG = ["-3", "", "I'm sorry, but I can't rate this story.", "10.5", "9 out of 5", "0"]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trial")
    touched = folder / "touched"
    code = [
        f"import pathlib\npathlib.Path({str(touched)!r}).touch()\nprint(9)",
        f"__import__('pathlib').Path({str(touched)!r}).touch()",
        f'{{"score": __import__("pathlib").Path({str(touched)!r}).touch()}}',
        "```python\nscore = 9\n```",
    ]
    replies = {f"Story number {i}.": reply for i, reply in enumerate([*RIGHT, *WRONG, *code])}
    stories = list(replies)
    group = Instance("g", "A premise.", stories[0], tuple(stories[1:]))
    run = judge(lambda body, _: replies[shown_stories(body)[0]], [group], folder / "rewards.jsonl", "rate")
    return {replies[stories[row.candidate]]: row for row in run.rows}, touched, code


@pytest.mark.parametrize(("reply", "score"), RIGHT.items())
def test_the_right_value(judged, reply, score):
    assert judged[0][reply].reward == score


@pytest.mark.parametrize("reply", WRONG)
def test_unscored_with_a_reason(judged, reply):
    row = judged[0][reply]
    assert (row.reward, row.status) == (None, "failed")
    assert row.detail


def test_code_is_never_run(judged):
    rows, touched, code = judged
    assert {rows[c].reward for c in code} == {None}
    assert all(rows[c].detail for c in code)
    assert not touched.exists()
