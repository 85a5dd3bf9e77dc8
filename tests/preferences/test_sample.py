"""The embedded sample: counts, splits, and that nothing but the edits themselves gives the answer away."""

import re
from collections import Counter
from functools import cache

import numpy as np
import pytest

from storyalign.audit.null_scorers import null_rewards
from storyalign.audit.shortcuts import audit_shortcuts
from storyalign.corpus.sample import load_sample_stories
from storyalign.preferences import sample
from storyalign.preferences.offline_edits.operators import HELD_OUT, OPERATORS
from storyalign.records import DIMENSIONS, Instance, PreferencePair
from storyalign.text import count_words

DIMENSION_OF = {name: dimension for dimension, group in OPERATORS.items() for name in group}


@cache
def instances() -> list[Instance]:
    return sample.sample_instances()


@cache
def pairs() -> list[PreferencePair]:
    return sample.sample_pairs()


def operators(instance: Instance) -> list[str]:
    return [writer.removeprefix("kit-edit:") for writer in instance.rejected_writers]


def test_premises_are_split_by_theme_and_language():
    split = sample.split_sample()
    counts = {name: Counter((s.theme, s.language) for s in group) for name, group in split._asdict().items()}
    assert [len(group) for group in split] == [25, 55, 5]
    assert set(counts["benchmark"].values()) == {4, 1} and len(counts["benchmark"]) == 10
    assert len({theme for theme, _ in counts["validation"]}) == 5
    assert sorted(s.id for group in split for s in group) == sorted(s.id for s in load_sample_stories())


def test_the_benchmark_has_the_promised_size_and_rows():
    assert 100 <= len(instances()) <= 105
    assert len({i.prompt for i in instances()}) == 25
    assert Counter(i.language for i in instances())["zh"] >= 18
    assert len({i.id for i in instances()}) == len(instances())
    for i in instances():
        assert i == Instance.from_row(i.to_row()).require_storyrmb()
        assert (i.chosen_writer, i.corpus, i.license) == ("kit-author", "storyalign-sample", "Apache-2.0")
        assert (i.tau_avg, i.route, i.dimension_stage) == (None, None, None)
    for dimension in DIMENSIONS:
        assert sum(i.dimension == dimension for i in instances()) >= 19


def test_sources_are_balanced_in_every_dimension():
    for dimension in DIMENSIONS:
        count = Counter(i.source for i in instances() if i.dimension == dimension)
        assert abs(count["human_llm"] - count["llm_llm"]) <= 3


def test_three_operators_of_the_dimension_one_of_them_held_out():
    with_held_out = 0
    for i in instances():
        assert len(set(operators(i))) == 3 and set(operators(i)) <= set(OPERATORS[i.dimension])
        with_held_out += bool(set(operators(i)) & set(HELD_OUT[i.dimension]))
    assert with_held_out / len(instances()) > 0.7
    assert {name for i in instances() for name in operators(i)} == set(DIMENSION_OF)


def test_training_never_sees_a_held_out_operator_but_all_others():
    held_out = {name for names in HELD_OUT.values() for name in names}
    assert {p.edit for p in pairs() if p.split == "train"} == set(DIMENSION_OF) - held_out
    assert not {p.edit for p in pairs()} & held_out


def test_pairs_have_the_promised_size_and_rows():
    train = [p for p in pairs() if p.split == "train"]
    assert 470 <= len(train) <= 570 and len({p.prompt for p in train}) == 55
    assert len({p.prompt for p in pairs() if p.split == "validation"}) == 5
    assert len({p.id for p in pairs()}) == len(pairs())
    share = Counter(DIMENSION_OF[p.edit] for p in train)
    assert share["relevance"] == max(share.values()) and min(share.values()) > 40
    for p in pairs():
        assert p == PreferencePair.from_row(p.to_row())
        assert (p.construction, p.rejected_writer) == ("rewriting", f"kit-edit:{p.edit}")


def nine_words(text: str) -> set[str]:
    words = re.findall(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+", text.lower())
    return {" ".join(words[i : i + 9]) for i in range(len(words) - 8)}


def test_no_text_of_one_split_stands_in_another():
    split = sample.split_sample()
    own = {
        name: set().union(*(nine_words(s.premise) | nine_words(s.story) for s in group))
        for name, group in split._asdict().items()
    }
    texts = {
        "benchmark": [t for i in instances() for t in (i.prompt, *i.stories)],
        "train": [t for p in pairs() if p.split == "train" for t in (p.prompt, p.chosen, p.rejected)],
        "validation": [t for p in pairs() if p.split == "validation" for t in (p.prompt, p.chosen, p.rejected)],
    }
    for name, found in texts.items():
        foreign = set().union(*(own[other] for other in own if other != name))
        assert [t for t in found if nine_words(t) & foreign] == []


def test_a_story_that_is_rejected_as_such_is_chosen_elsewhere_in_the_split():
    swaps = [p for p in pairs() if p.split == "train" and p.edit == "other_story"]
    chosen, rejected = (
        Counter("".join(text.split()) for text in texts)
        for texts in zip(*((p.chosen, p.rejected) for p in swaps), strict=True)
    )
    assert chosen == rejected  # each as often chosen as rejected
    everywhere = {"".join(i.chosen.split()) for i in instances()}
    whole = {"other_story", "same_theme_story"}
    thrown = Counter(
        "".join(story.split())
        for i in instances()
        for name, story in zip(operators(i), i.rejected, strict=True)
        if name in whole
    )
    assert set(thrown) <= everywhere and len(thrown) >= 12


@pytest.mark.parametrize("name", ["longest", "shortest", "most_bursty"])
def test_null_scorers_stay_near_chance(name):
    credit = 0.0
    for i in instances():
        rewards = null_rewards(name, i)
        credit += (rewards[0] == max(rewards)) / rewards.count(max(rewards))
    assert 0.15 <= credit / len(instances()) <= 0.36


def test_no_dimension_can_be_told_by_a_null_scorer():
    for dimension in DIMENSIONS:
        report = audit_shortcuts([i for i in instances() if i.dimension == dimension])
        assert [n.name for n in report.null_scorers if n.flagged] == []


def share_of_more(cue, rows) -> float:
    signs = [np.sign(cue(rejected) - cue(chosen)) for chosen, rejected in rows]
    return float(np.mean([(s + 1) / 2 for s in signs]))


CUES = {
    "words": count_words,
    "characters": len,
    "paragraphs": lambda s: s.count("\n\n"),
    "punctuation": lambda s: len(re.findall(r"[^\w\s]", s)) / len(s),
    "exclamations": lambda s: len(re.findall("[!！]", s)),
    "different words": lambda s: len(set(s.lower().split())) / len(s.split()),
    "quotation marks": lambda s: len(re.findall('["“”]', s)),
    "sentences": lambda s: len(re.findall("[.!?。！？]+", s)),
    "words per sentence": lambda s: count_words(s) / len(re.findall("[.!?。！？]+", s)),
    "capitals": lambda s: sum(c.isupper() for c in s),
}


@pytest.mark.parametrize("cue", CUES)
def test_no_surface_cue_tells_chosen_from_rejected(cue):
    benchmark = [(i.chosen, story) for i in instances() for story in i.rejected]
    train = [(p.chosen, p.rejected) for p in pairs() if p.split == "train"]
    for rows in (benchmark, train):
        low, high = (0.45, 0.55) if cue in ("words", "paragraphs") else (0.4, 0.6)
        assert low <= share_of_more(CUES[cue], rows) <= high


def test_a_classifier_on_length_alone_guesses():
    linear_model, model_selection = (
        pytest.importorskip("sklearn.linear_model"),
        pytest.importorskip("sklearn.model_selection"),
    )
    rows = [(count_words(p.chosen), count_words(p.rejected)) for p in pairs() if p.split == "train"]
    gap = np.array([a / b - 1 for a, b in rows])
    features = np.concatenate([gap, -gap])[:, None]
    labels = np.repeat([1, 0], len(gap))
    scores = model_selection.cross_val_score(linear_model.LogisticRegression(), features, labels, cv=10)
    assert 0.42 <= scores.mean() <= 0.58


def test_another_seed_gives_another_sample_of_the_same_kind():
    other = sample.sample_instances(seed=1)
    assert 100 <= len(other) <= 105
    assert {i.id for i in other}.isdisjoint({i.id for i in instances()})
