"""Plain sense: weak versions are what their names say, and every scorer can be asked."""

from __future__ import annotations

from collections import Counter

import pytest

from storyalign.audit.null_scorers import NULL_SCORERS
from storyalign.corpus.sample import load_sample_stories
from storyalign.scoring.sense import WEAKNESSES, ask_null, checks, drafts, table_of, warnings
from storyalign.text import count_words
from tests.support.command import storyalign
from tests.support.tiny_models import tiny_model_folder


def test_forty_drafts_that_the_sample_does_not_hold() -> None:
    found = drafts()
    assert Counter(draft.kind for draft in found) == {"own": 20, "unlike": 20}
    assert len({draft.premise for draft in found}) == 40
    taught = {text for story in load_sample_stories() for text in (story.premise, story.story)}
    assert not taught & {text for draft in found for text in (draft.premise, draft.story)}


def test_weak_versions_are_what_their_names_say() -> None:
    by_name = {name: [c for c in checks() if c.weakness == name] for name in WEAKNESSES}
    for check in by_name["words shuffled"]:
        assert sorted(check.weak.split()) == sorted(check.draft.story.split()) and check.weak != check.draft.story
        assert check.weak.count("\n\n") == check.draft.story.count("\n\n")
    for check in by_name["sentences shuffled"]:
        assert sorted(check.weak.split()) == sorted(check.draft.story.split()) and check.weak != check.draft.story
    for check in by_name["first half"]:
        assert check.draft.story.startswith(check.weak) and check.weak[-1] in '.!?"'
        assert 0.3 < count_words(check.weak) / count_words(check.draft.story) <= 0.5
    for check in by_name["draft for another premise"]:
        assert check.weak in {d.story for d in drafts() if d.kind == check.draft.kind and d is not check.draft}
    for check in by_name["first paragraph repeated to 400 words"]:
        assert 300 < count_words(check.weak) < 500
    for check in by_name["premise copied"]:
        assert check.weak == check.draft.premise
    lengths = Counter(check.length for check in checks())
    assert min(lengths.values()) > 100 and set(lengths) == {"shorter", "as long", "longer"}


def test_the_longest_wins_where_the_weak_version_is_shorter() -> None:
    outcomes = ask_null(NULL_SCORERS["longest"])
    for outcome in outcomes:
        if outcome.check.length != "as long":
            assert outcome.right == float(outcome.check.length == "shorter")
    assert any(line.startswith("words of two drafts shuffled: the draft wins 0% of 40") for line in warnings(outcomes))
    table = table_of("null:longest", outcomes)
    assert table.rows[-1][-1] == "240 + 240"
    # 20 of 20: Wilson's lower bound is 1 / (1 + 1.96 ** 2 / 20)
    halves = next(row for row in table.rows if row[0] == "keywords")
    assert halves[1] == f"100.0 ({100 / (1 + 1.959964**2 / 20):.1f}–100.0)"


def test_the_first_is_right_about_half_of_the_time() -> None:
    outcomes = ask_null(NULL_SCORERS["first"])
    assert sum(outcome.right for outcome in outcomes) / len(outcomes) == pytest.approx(0.5, abs=0.1)


def test_through_the_command_line(tmp_path) -> None:
    ended = storyalign("doctor", tiny_model_folder(tmp_path / "model"), "--sense")
    assert ended.returncode == 0, ended.stderr
    assert "Plain sense" in ended.stdout and "240 + 240" in ended.stdout
    wrong = storyalign("doctor", "null:longets", "--sense")
    assert wrong.returncode == 2 and "longest" in wrong.stderr
