import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranking import rank_stories
from ranking_files import ranking_csv, ranking_json
from ranking_html import ranking_html
from story_scorer import Scored

from storyalign.web.story_html import folded_story, message, name, story_block
from tests.support.shown_html import HOSTILE, Shown


@given(st.one_of(st.text(), st.sampled_from(HOSTILE)))
def test_a_story_is_shown_as_its_own_text(story):
    shown = Shown(story_block(story))
    assert shown.text == story.replace("\r\n", "\n").replace("\r", "\n") or shown.text == story
    assert shown.tags == ["div"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_nothing_that_a_visitor_wrote_becomes_markup(hostile):
    clean = Shown(_page("calm", "calm", None))
    dirty = Shown(_page(hostile, hostile, hostile))
    assert set(dirty.tags) == set(clean.tags)
    assert set(dirty.attributes) <= set(clean.attributes)


def _page(story, label, detail):
    scored = [Scored(1.0), Scored(0.5, truncated=True), Scored(None, detail=detail or "reason")]
    ranking = rank_stories(story, [label] * 3, [story * 3, story + "\n", "x"], scored, scorer=label, signature=label)
    return ranking_html(ranking) + message("error", label, story) + folded_story(story * 40) + name(label)


def test_downloads_hold_every_story_and_survive_a_round_trip():
    stories = ['Erste Geschichte; mit "Zeichen"', '=HYPERLINK("x")', "第三个故事\n第二行"]
    ranking = rank_stories(
        "p", ["A", "=B", "C"], stories, [Scored(1.0), Scored(2.0), Scored(None, detail="r")], scorer="s"
    )
    value = json.loads(ranking_json(ranking))
    assert [row["story"] for row in value["stories"]] == [stories[1], stories[0], stories[2]]
    assert value["stories"][0]["beats_next"] == pytest.approx(0.7310585786300049)  # 1 / (1 + 1/e)
    assert value["stories"][2]["reward"] is None
    rows = list(csv.DictReader(io.StringIO(ranking_csv(ranking).decode("utf-8-sig"))))
    assert [row["place"] for row in rows] == ["1", "2", ""]
    assert rows[0]["name"] == "'=B" and rows[0]["opening"].startswith("'=HYPERLINK")  # no formula for a spreadsheet
    assert rows[2]["opening"] == "第三个故事 第二行"
