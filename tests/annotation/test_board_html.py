from __future__ import annotations

import json

import pytest

from storyalign.annotation.board_html import board_html, finished_html
from storyalign.annotation.exchange import seats_of
from storyalign.annotation.store import Claim
from storyalign.annotation.tasks import MODES, Task
from tests.support.annotated_groups import ranked, row, task, unsure
from tests.support.shown_html import HOSTILE, Shown

FIELDS = {"rank": {}, "confirm": {"ranking": [2, 0, 1, 3]}, "human-best": {"human": 1}, "best-of-n": {}}


def claim(about: Task, kind="independent", **draft) -> Claim:
    return Claim(about, "annotator-1", kind, 0.0, draft)


def state(html: str) -> dict:
    shown = {}

    class Page(Shown):
        def handle_starttag(self, tag, attrs):
            shown.update(dict(attrs))

    Page(html.split(">", 1)[0] + ">")
    return json.loads(shown["data-state"])


@pytest.mark.parametrize("mode", MODES)
def test_nothing_tells_stories_apart_but_their_text(mode: str) -> None:
    about = task(0, mode=mode, **FIELDS[mode])
    html = board_html(claim(about))
    assert "model-" not in html and "human" not in html.replace("human-best", "")
    seats = seats_of(about, "annotator-1", "independent")
    text = Shown(html).text
    found = [text.index(about.stories[candidate]) for candidate in seats]
    assert found == sorted(found)
    given = state(html)["given"]
    assert [seats[seat] for seat in given] == ([2, 0, 1, 3] if mode == "confirm" else [])


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("mode", MODES)
def test_stories_are_shown_as_text(hostile: str, mode: str) -> None:
    given = row(0, mode=mode, **FIELDS[mode])
    calm = board_html(claim(Task.from_row(given)))
    given["prompt"] = hostile
    given["candidates"][0]["story"] = hostile
    dirty = board_html(claim(Task.from_row(given), open=hostile))
    assert Shown(dirty).tags == Shown(calm).tags
    assert set(Shown(dirty).attributes) == set(Shown(calm).attributes)
    assert hostile in Shown(dirty).text


def test_a_senior_sees_both_verdicts_by_letters() -> None:
    about = task(0)
    letters = ["ABCD"[seats_of(about, "annotator-1", "senior").index(c)] for c in (3, 1, 0, 2)]
    said = Shown(board_html(claim(about, "senior"), [ranked(about, "x", 3, 1, 0, 2), unsure(about, "y")])).text
    assert f"First annotator: {' > '.join(letters)}" in said
    assert "Second annotator: could not decide" in said


def test_a_group_that_comes_back_says_so() -> None:
    assert "You may know this group" in board_html(claim(task(0), "check"))
    assert seats_of(task(0, n=16), "a", "check") != seats_of(task(0, n=16), "a", "independent")


def test_states_without_a_group() -> None:
    assert "There are no groups yet" in finished_html(0, senior=False, empty=True, waiting=0)
    assert "Nothing to settle" in finished_html(0, senior=True, empty=False, waiting=3)
    done = finished_html(1, senior=False, empty=False, waiting=3)
    assert "You judged 1 group. Thank you." in done and "3 groups wait for other people" in done
