from pathlib import Path

import pytest

from storyalign.benchmark.premise_pool import (
    evenly,
    filter_premises,
    human_premises,
    own_premise,
    review_sheet,
    review_verdicts,
)
from storyalign.benchmark.recipe import Recipe
from storyalign.corpus.table_files import read_table
from storyalign.errors import RowError
from storyalign.llm.steps import Dropped
from storyalign.records import BadRow
from storyalign.text import judged_texts

RECIPE = Recipe.from_mapping({"premises": {"fewest_words": 5, "most_words": 15, "license": "cc0-1.0"}})
KEEPER = "A lighthouse keeper finds a letter that he has not written yet."
BAKER = "In a mountain village a baker must choose which of two ovens may burn."


def reasons(rows, verdicts) -> dict[str, str | None]:
    made = filter_premises(rows, RECIPE, verdicts)
    return dict((row.id, row.reason) if isinstance(row, Dropped) else (row["id"], None) for row in made)


def test_each_filter_names_its_reason():
    rows = [
        {"id": "good", "prompt": KEEPER, "plain": "Somebody on a coast reads his own future handwriting."},
        {"id": "short", "prompt": "A letter arrives."},
        {"id": "long", "prompt": "and then " * 16},
        {"id": "odd", "prompt": BAKER, "faults": ["inconsistent"]},
        {"id": "rough", "prompt": BAKER, "faults": ["sensitive", "empty"]},
        {"id": "literal", "prompt": BAKER, "plain": BAKER.replace("may", "will")},
        {"id": "again", "prompt": KEEPER.upper()},
        {"id": "nearly", "prompt": KEEPER.replace("A lighthouse", "The old lighthouse")},
        {"id": "unloved", "prompt": BAKER},
    ]
    assert reasons(rows, verdicts={judged_texts(BAKER, ()): False, judged_texts(KEEPER, ()): True}) == {
        "good": None,
        "short": "empty: fewer words than a premise needs",
        "long": "too long",
        "odd": "inconsistent",
        "rough": "sensitive",
        "literal": "too literal: restyling changed next to nothing",
        "again": "exact duplicate of good",
        "nearly": "near duplicate of good",
        "unloved": "rejected by a person",
    }


def test_a_premise_keeps_its_way_and_its_licence():
    [row] = filter_premises([{"id": "a", "prompt": KEEPER, "family": "f", "style": "dry", "faults": []}], RECIPE, {})
    assert row == {
        "id": "a", "prompt": KEEPER, "source": "llm_llm", "corpus": "llm_premises", "language": "en",
        "license": "cc0-1.0", "family": "f", "style": "dry",
    }  # fmt: skip


def test_families_share_what_is_wanted():
    sizes = {"a": 5, "b": 1, "c": 3}
    rows = [{"id": f"{family}{n}", "family": family} for family, size in sizes.items() for n in range(size)]
    assert [row["id"] for row in evenly(rows, 6)] == ["a0", "b0", "c0", "a1", "c1", "a2"]
    assert evenly(rows, None) == rows


def test_human_stories_are_drawn_one_for_a_premise():
    story = "word " * 100
    rows = [
        {"id": "a", "prompt": KEEPER, "story": story},
        {"id": "b", "prompt": KEEPER, "story": "another " * 120},
        {"id": "c", "prompt": " ", "story": story},
        {"id": "d", "prompt": BAKER, "story": "word " * 99},
        {"id": "e", "prompt": BAKER, "story": story, "writer": "human", "corpus": "wp", "license": "mit"},
    ]
    recipe = Recipe.from_mapping({"human_premises": {"wanted": 1}})
    made = list(human_premises(lambda: iter(rows), recipe))
    dropped = {row.id: row.reason for row in made if isinstance(row, Dropped)}
    [kept] = [row for row in made if not isinstance(row, Dropped)]
    assert kept["id"] in ("a", "e")
    assert kept["human_story"] == story
    other = "e" if kept["id"] == "a" else "a"
    assert dropped == {
        "b": "exact duplicate of a",
        "c": "no premise",
        "d": "human story under 100 words",
        other: "not drawn",
    }
    assert made == list(human_premises(lambda: iter(rows), recipe))


def test_own_premise_need_a_prompt():
    row = own_premise({"prompt": f" {KEEPER} ", "corpus": "mine"})
    assert (row["prompt"], row["corpus"]) == (KEEPER, "mine")
    with pytest.raises(BadRow, match="prompt"):
        own_premise({"id": "x"})


def reviewed(tmp_path: Path, text: str) -> dict[str, bool]:
    (tmp_path / "reviewed.csv").write_text(text, encoding="utf-8")
    return review_verdicts(read_table(tmp_path / "reviewed.csv", short_rows=True))


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_review_says_yes_no_or_nothing_whatever_its_delimiter(tmp_path, mark):
    text = "id,premise,texts,keep,note\na,P,ta,Yes,\nb,P,tb, n ,\nc,P,tc,,\nd,P,td,no\n".replace(",", mark)
    assert reviewed(tmp_path, text) == {"ta": True, "tb": False, "td": False}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id,keep,texts\na,maybe,t\n", r"reviewed\.csv:2 \(id a\): keep is 'maybe'"),
        ("id,answer,texts\na,no,t\n", r"reviewed\.csv:2 .*no column keep; found id, answer, texts"),
        ("id|keep\na|no\n", r"reviewed\.csv:2: no column id and keep and texts"),
        ("id,keep,texts\na,no,\n", r"reviewed\.csv:2 .*texts is empty"),
        ("id,keep,texts\na,no,t\na,yes,t\n", r"reviewed\.csv:3 .*the other answer"),
    ],
)
def test_a_review_that_says_something_else_is_refused(tmp_path, text, problem):
    with pytest.raises(RowError, match=problem):
        reviewed(tmp_path, text)


def test_a_premise_is_never_a_formula():
    [row] = review_sheet([{"id": "a", "prompt": "=HYPERLINK(1)"}], seed=1)
    texts = judged_texts("=HYPERLINK(1)", ())
    assert row == {"id": "a", "family": "", "premise": "'=HYPERLINK(1)", "keep": "", "note": "", "texts": texts}
