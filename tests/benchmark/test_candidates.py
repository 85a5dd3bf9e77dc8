import pytest

from storyalign.benchmark.candidates import Writing, groups_of, premises_for, writing_step, writings
from storyalign.benchmark.recipe import Recipe
from storyalign.files import RowsById, write_jsonl
from storyalign.llm.replies import UnparsedReply
from storyalign.llm.steps import Dropped

NAMES = ("a", "b", "c", "d")
RECIPE = Recipe.from_mapping(
    {
        "endpoints": {name: {"url": "http://localhost:1/v1", "model": f"{name}-1"} for name in NAMES},
        "candidates": {"writers": list(NAMES), "human_llm_writers": list(NAMES[:3]), "fewest_words": 3},
    }
)
POOL = [
    {"id": "p", "prompt": "A keeper waits.", "source": "llm_llm", "license": "mit"},
    {"id": "h", "prompt": "A baker rests.", "source": "human_llm", "human_story": "By hand.", "human_writer": "human"},
]


def shelves(tmp_path, stories, failures=()):
    """Two files for each writer: ``stories`` maps (writer, premise) to a text, ``failures`` to a reason."""
    found = {}, {}
    for name in NAMES:
        made = [{"id": i, "story": s, "made_by": {"seed": 1}} for (w, i), s in stories.items() if w == name]
        lost = [{"id": i, "reason": r, "again": True} for (w, i), r in dict(failures).items() if w == name]
        for shelf, rows, kind in zip(found, (made, lost), ("rows", "dropped"), strict=True):
            write_jsonl(tmp_path / f"{name}.{kind}.jsonl", rows)
            for source in ("llm_llm", "human_llm"):
                shelf[Writing(name, source)] = RowsById(tmp_path / f"{name}.{kind}.jsonl")
    return found


def test_each_writer_gets_its_premises_and_never_the_human_story():
    assert writings(RECIPE) == [
        *(Writing(name, "human_llm") for name in NAMES[:3]), *(Writing(name, "llm_llm") for name in NAMES)
    ]  # fmt: skip
    assert list(premises_for(Writing("a", "llm_llm"), POOL)) == [
        {"id": "p", "prompt": "A keeper waits.", "source": "llm_llm"}
    ]
    assert list(premises_for(Writing("a", "human_llm"), POOL)) == [
        {"id": "h", "prompt": "A baker rests.", "source": "human_llm"}
    ]


def test_a_writer_beside_a_human_story_gets_a_prompt_of_its_own():
    asked = {}
    for source in ("llm_llm", "human_llm"):
        step = writing_step(Writing("a", source), RECIPE)
        asked[step.prompt.name] = step.request(POOL[0]).messages[0]["content"]
    assert list(asked) == ["write_candidate", "write_beside_human"]
    assert len(set(asked.values())) == 2
    assert all("A keeper waits." in text and "at least 1500 words" in text for text in asked.values())


def test_a_group_has_four_stories_and_knows_the_human_one(tmp_path):
    stories = {(w, i): f"{w} on {i}" for w in NAMES for i in ("p", "h")}
    llm, human = groups_of(POOL, *shelves(tmp_path, stories), RECIPE)
    assert [(c["writer"], c["story"]) for c in llm["candidates"]] == [(f"{w}-1", f"{w} on p") for w in NAMES]
    assert (llm["human"], llm["license"]) == (None, "mit")
    assert [c["writer"] for c in human["candidates"]] == ["human", "a-1", "b-1", "c-1"]
    assert human["human"] == 0
    assert "human_story" not in human


def test_a_group_that_lacks_a_story_says_whose(tmp_path):
    stories = {(w, i): f"{w} on {i}" for w in NAMES for i in ("p", "h")}
    del stories["b", "p"]
    stories["c", "h"] = stories["a", "h"]
    lost = list(groups_of(POOL, *shelves(tmp_path, stories, {("b", "p"): "HTTP 500"}), RECIPE))
    assert lost == [Dropped("p", "b: HTTP 500", True), Dropped("h", "two writers gave the same story")]


def test_a_group_with_two_near_copies_is_dropped(tmp_path):
    stories = {(w, i): " ".join(f"{w}{i}{n}" for n in range(60)) for w in NAMES for i in ("p", "h")}
    words = stories["a", "p"].split()
    stories["d", "p"] = " ".join([*words[:40], *(f"new{n}" for n in range(8)), *words[48:]])
    lost = [row for row in groups_of(POOL, *shelves(tmp_path, stories), RECIPE) if isinstance(row, Dropped)]
    # runs of three: 58 each, 10 of them broken, 48 common of 68
    assert lost == [Dropped("p", "two writers gave nearly the same story (similarity 0.71)")]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [("A keeper  waits!", "repeats the premise"), ("Waits.", "fewer than 3 words"), ("I'm sorry, I can't.", "refused")],
)
def test_what_is_no_story_is_not_kept(reply, reason):
    with pytest.raises(UnparsedReply, match=reason):
        writing_step(Writing("a", "llm_llm"), RECIPE).read(POOL[0], reply)
