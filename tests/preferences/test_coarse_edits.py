"""Coarse damage: every kind, from training stories alone, shorter and longer than the story."""

from __future__ import annotations

from collections import Counter

from storyalign.preferences.coarse_edits import COARSE, PREFIX, coarse_pairs
from storyalign.preferences.sample import sample_instances, split_sample
from storyalign.records import PreferencePair
from storyalign.text import count_words


def test_every_kind_equally_often_and_from_training_stories_alone() -> None:
    pairs, split = coarse_pairs(), split_sample()
    train = {story.premise for story in split.train if story.language == "en"}
    assert {pair.prompt for pair in pairs} == train
    counts = Counter(pair.edit.removeprefix(PREFIX) for pair in pairs)
    assert set(counts) == set(COARSE) and max(counts.values()) - min(counts.values()) <= 1
    held = {story.story for story in (*split.benchmark, *split.validation)}
    held |= {story for instance in sample_instances() for story in instance.stories}
    assert not held & {text for pair in pairs for text in (pair.chosen, pair.rejected)}
    assert len({pair.id for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert pair == PreferencePair.from_row(pair.to_row())
        assert pair.rejected_writer == f"kit-edit:{pair.edit}" and pair.chosen != pair.rejected
    assert coarse_pairs() == pairs


def test_kinds_are_what_their_names_say() -> None:
    def of(name: str) -> list[PreferencePair]:
        return [pair for pair in coarse_pairs() if pair.edit == PREFIX + name]

    for name in ("words_shuffled", "some_words_swapped", "sentences_shuffled"):
        assert all(sorted(pair.rejected.split()) == sorted(pair.chosen.split()) for pair in of(name))
    assert all(pair.chosen.startswith(pair.rejected) for pair in of("half"))
    assert all(pair.rejected == pair.prompt for pair in of("premise_copied"))
    stories = {story.story for story in split_sample().train}
    assert all(pair.rejected in stories - {pair.chosen} for pair in of("other_premise"))
    longer = {pair.edit for pair in coarse_pairs() if count_words(pair.rejected) > 1.2 * count_words(pair.chosen)}
    shorter = {pair.edit for pair in coarse_pairs() if count_words(pair.rejected) < 0.8 * count_words(pair.chosen)}
    assert PREFIX + "paragraph_repeated_long" in longer and PREFIX + "keywords" in shorter
