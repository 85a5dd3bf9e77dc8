"""Every operator on every story of the sample: applies, damages, leaves the rest clean, and is a pure function."""

import random
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import storyalign
from storyalign.corpus.sample import load_sample_stories
from storyalign.preferences.offline_edits.operators import HELD_OUT, OPERATORS, Edit, edit_near, edits
from storyalign.preferences.offline_edits.text import Tale
from storyalign.records import DIMENSIONS
from storyalign.text import count_words

NAMES = [(dimension, name) for dimension, group in OPERATORS.items() for name in group]
TALES = [Tale(s.premise, s.story, s.language, s.theme) for s in load_sample_stories()]


@cache
def some_edits(name: str) -> list[tuple[Tale, Edit]]:
    found = []
    for tale in TALES[::3]:
        donors = [t for t in TALES if t.language == tale.language and t is not tale]
        found += [(tale, e) for e in edits(name, tale, donors, "test", tries=3)[:2]]
    return found


def test_five_dimensions_with_four_operators_or_more_and_one_held_out():
    assert set(OPERATORS) == set(HELD_OUT) == set(DIMENSIONS)
    for dimension, group in OPERATORS.items():
        assert len(group) >= 4
        assert set(HELD_OUT[dimension]) < set(group)
        assert len(set(group) - set(HELD_OUT[dimension])) >= 3
    assert len(NAMES) == len({name for _, name in NAMES})


@pytest.mark.parametrize(("dimension", "name"), NAMES)
def test_every_operator_works_in_both_languages(dimension, name):
    languages = Counter(tale.language for tale, _ in some_edits(name))
    assert languages["en"] >= 4 and languages["zh"] >= 1


@pytest.mark.parametrize(("dimension", "name"), NAMES)
def test_edited_stories_keep_length_and_paragraphs(dimension, name):
    for tale, edit in some_edits(name):
        assert edit.story != tale.story
        assert 0.9 <= count_words(edit.story) / count_words(tale.story) <= 1.1
        assert len(edit.story.split("\n\n")) == len(tale.story.split("\n\n"))


@pytest.mark.parametrize(("dimension", "name"), NAMES)
def test_edited_stories_are_clean(dimension, name):
    for _, edit in some_edits(name):
        story = edit.story
        assert story == story.strip()
        assert not re.search(r"  |\t| [,.;:!?]|\x00|\x01|[{}\[\]]", story), story
        for paragraph in story.split("\n\n"):
            assert paragraph and paragraph == paragraph.strip()
            assert paragraph.count('"') % 2 == 0, story
            assert paragraph.count("“") == paragraph.count("”"), story


@pytest.mark.parametrize(("dimension", "name"), [(d, n) for d, n in NAMES if d != "fluency"])
def test_language_stays_good_where_fluency_is_not_the_aim(dimension, name):
    for tale, edit in some_edits(name):
        if tale.language == "zh":
            assert not re.search("[，。！？；：]{2}", edit.story), edit.story
        else:
            assert not re.search(r"[a-z]\. [a-z]|(?:^|\n)\"?[a-z]", edit.story), edit.story
            assert not re.search(r"\b[Aa] [aeio](?!ne\b|nce\b)|\b[Aa]n [bcdfgjklmnpqrstvwxyz]", edit.story), edit.story
            assert not re.search(r"\.\" (?:he|she|said|asked|says|asks)\b", edit.story), edit.story


def test_edits_are_pure_and_seeded():
    tale, donors = TALES[0], [t for t in TALES[1:] if t.language == "en"]
    for _, name in NAMES:
        once, again = (edits(name, tale, donors, "seed", tries=3) for _ in range(2))
        assert once == again
    assert edits("scenes_out_of_order", tale, [], "seed") != edits("scenes_out_of_order", tale, [], "other seed")


def test_no_operator_needs_a_donor_theme_or_more_than_a_story():
    short = Tale("A man waits.", "He waited.")
    for group in OPERATORS.values():
        for operator in group.values():
            assert operator(short, [], random.Random(0)) is None
            operator(short, [Tale("A woman leaves.", "She left.")], random.Random(0))


def test_edit_near_comes_as_near_as_it_can():
    tale = TALES[0]
    ratios = [e.ratio for e in edits("stock_phrases", tale, [], "near", tries=12)]
    for target in (0.92, 1.0, 1.08):
        edit = edit_near("stock_phrases", tale, [], "near", target, tries=12)
        assert edit is not None and abs(edit.ratio - target) == min(abs(r - target) for r in ratios)


def test_same_edits_in_another_process_with_another_hash_seed():
    program = (
        "from storyalign.preferences.sample import sample_instances, sample_pairs\n"
        "from storyalign.text import digest\n"
        "print(digest(*(t for i in sample_instances() for t in (i.id, i.source, *i.stories))),"
        " digest(*(t for p in sample_pairs() for t in (p.id, p.rejected))))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(storyalign.__file__).parents[1])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
