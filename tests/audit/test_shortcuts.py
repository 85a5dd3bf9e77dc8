"""Planted shortcuts are flagged, clean sets and clean scorers are not."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from scipy import stats

from storyalign.audit.reward_bias import audit_rewards
from storyalign.audit.shortcuts import audit_shortcuts
from storyalign.records import Instance
from storyalign.text import count_words

WORDS = ["sea", "dog", "lamp", "road", "winter", "letter", "brother", "garden", "ship", "bell", "stone", "river"]


def story(generator, n_words):
    """Give sentences of 3 to 12 words."""
    words = [generator.choice(WORDS) for _ in range(n_words)]
    text, start = [], 0
    while start < n_words:
        end = start + generator.randint(3, 12)
        text.append(" ".join(words[start:end]).capitalize() + ".")
        start = end
    return " ".join(text)


def benchmark(n=100, seed=0, chosen_length=None, premises=None):
    """Make groups of four; the chosen story is as long as any other, or exactly ``chosen_length`` words."""
    generator = random.Random(seed)
    return [
        Instance(
            id=f"g-{i}",
            prompt=f"Premise {i % (premises or n)} about the {generator.choice(WORDS)}.",
            chosen=story(generator, chosen_length or generator.randint(60, 140)),
            rejected=tuple(story(generator, generator.randint(60, 140)) for _ in range(3)),
        )
        for i in range(n)
    ]


def rewards_of(instances, reward):
    return {i.id: [reward(i, j) for j in range(4)] for i in instances}


def quality(seed=1):
    """Give a scorer that is right nearly always and knows nothing of length."""
    generator = random.Random(seed)
    return lambda instance, j: (2.0 if j == 0 else 0.0) + generator.gauss(0, 0.5)


def by_length(instance, j):
    return float(count_words(instance.stories[j]))


def flagged_cues(report):
    return {result.name for result in report.null_scorers if result.flagged}


def test_planted_length_shortcut_is_flagged():
    report = audit_shortcuts(benchmark(chosen_length=150))
    longest = next(result for result in report.null_scorers if result.name == "longest")
    assert longest.accuracy == 1.0 and longest.flagged and longest.p_value < 0.001
    assert any("'longest' reaches 100.0% where chance is 25.0%" in flag for flag in report.flags)
    # never the shortest: the same shortcut from its other end
    assert "shortest" in flagged_cues(report)


@pytest.mark.parametrize("seed", range(5))
def test_clean_set_is_not_flagged(seed):
    report = audit_shortcuts(benchmark(seed=seed), rewards_of(benchmark(seed=seed), quality(seed)), "careful")
    assert report.flags == []
    assert report.chance == 0.25 and report.n == 100 and report.n_premises == 100


def test_false_alarms_are_as_rare_as_promised():
    alarms = sum(bool(audit_shortcuts(benchmark(n=40, seed=100 + seed)).flags) for seed in range(40))
    assert alarms <= 6  # 5% of 40 are 2; 7 or more would happen once in 200 times


def test_p_value_is_the_binomial_one_where_nothing_ties_or_repeats():
    # shares of the longest near 2 in 5, so that the p-value is neither tiny nor large
    instances = [*benchmark(n=12, seed=3, chosen_length=150), *benchmark(n=28, seed=4)]
    instances = [
        Instance(id=f"{n}", prompt=f"{n}", chosen=i.chosen, rejected=i.rejected) for n, i in enumerate(instances)
    ]
    result = next(r for r in audit_shortcuts(instances).null_scorers if r.name == "longest")
    wins = round(result.accuracy * 40)
    probabilities = stats.binom.pmf(range(41), 40, 0.25)
    exact = sum(p for k, p in enumerate(probabilities) if abs(k - 10) >= abs(wins - 10))
    assert result.p_value == pytest.approx(4 * exact, rel=0.15, abs=0.002)


def test_groups_of_one_premise_do_not_count_as_many():
    once = benchmark(n=12, seed=8)
    copies = [
        Instance(id=f"{i.id}-{c}", prompt=i.prompt, chosen=i.chosen, rejected=i.rejected)
        for c in range(20)
        for i in once
    ]
    alone, copied = audit_shortcuts(once), audit_shortcuts(copies)
    for a, b in zip(alone.null_scorers[2:], copied.null_scorers[2:], strict=True):
        assert (b.p_value is None) == (a.p_value is None)  # no story of these groups shares a word with its premise
        assert b.p_value is None or b.p_value == pytest.approx(a.p_value, rel=0.1, abs=0.02)


def test_a_cue_that_never_differs_is_untested_and_not_found_clean():
    def of(n):  # five words in one sentence each, the premise's words in none: no cue differs anywhere
        stories = [" ".join(letter * 3 for _ in range(5)) + "." for letter in "abcd"]
        return Instance(f"g{n}", f"Premise {n}", stories[0], tuple(stories[1:]))

    report = audit_shortcuts([of(n) for n in range(12)])
    assert report.flags == [] and report.verdict == ""
    assert [line.split(" could not be tested")[0] for line in report.untested] == [
        "length",
        "burstiness",
        "overlap with the prompt",
    ]
    longer = [*(of(n) for n in range(11)), Instance("g11", "Premise 11", "aaa aaa aaa aaa.", ("bbb bbb bbb bbb bbb.",))]
    report = audit_shortcuts(longer)
    assert report.verdict == "no shortcut found among the cues that could be tested"
    assert [line.split(" could")[0] for line in report.untested] == ["burstiness", "overlap with the prompt"]


def test_what_a_scorer_leans_on_is_untested_without_pairs_that_differ():
    same = [Instance(i.id, i.prompt, i.chosen, (i.chosen[::-1],)) for i in benchmark(n=20)]
    bias = audit_rewards(same, {i.id: [1.0, 0.0] for i in same}, "s")
    assert bias.length_gap.pairs == (0, 0) and bias.flags == []
    assert "it takes 10 pairs of each, there are 0 and 0" in bias.untested[0]
    few = benchmark(n=7)
    bias = audit_rewards(few, rewards_of(few, by_length), "s")
    assert any(line.startswith("s: reward and length could not be tested") for line in bias.untested)
    assert not bias.correlation["length"].flagged
    many = benchmark(n=20)
    assert audit_rewards(many, rewards_of(many, by_length), "s").untested == []


def test_scorer_that_counts_words_is_flagged_on_a_clean_set():
    instances = benchmark()
    report = audit_shortcuts(instances, rewards_of(instances, by_length), "counter")
    assert not flagged_cues(report)
    assert report.scorer.correlation["length"].rho == 1.0
    assert report.scorer.correlation["length"].flagged
    assert report.scorer.length_gap.gap == 1.0 and report.scorer.length_gap.flagged
    assert any("leans on length" in flag and "100.0%" in flag for flag in report.flags)


def test_good_scorer_on_a_set_whose_best_stories_are_longer_is_not_blamed():
    instances = benchmark(chosen_length=141)
    bias = audit_rewards(instances, rewards_of(instances, quality()), "careful")
    assert bias.correlation["length"].gold > 0.7
    assert bias.flags == []


def test_correlation_is_spearmans_averaged_over_the_groups():
    instances = benchmark(n=30, seed=5)
    given = rewards_of(instances, lambda i, j: round(random.Random(f"{i.id}{j}").random(), 1))
    found = audit_rewards(instances, given, "s").correlation["length"]
    lengths = [[count_words(s) for s in i.stories] for i in instances]
    each = [stats.spearmanr(given[i.id], own).statistic for i, own in zip(instances, lengths, strict=True)]
    assert found.rho == pytest.approx(np.mean(each)) and found.n == 30
    gold = [stats.spearmanr([1, 0, 0, 0], own).statistic for own in lengths]
    assert found.gold == pytest.approx(np.mean(gold))
    assert found.ci[0] < found.rho < found.ci[1]


def test_length_matched_accuracy_by_hand():
    def of(*lengths):
        return [" ".join(["word"] * n) for n in lengths]

    instances = [
        Instance("a", "p1", (s := of(100, 110, 50, 200))[0], tuple(s[1:])),  # 110 is within a tenth
        Instance("b", "p2", (s := of(100, 111, 89, 300))[0], tuple(s[1:])),  # none is
        Instance("c", "p3", (s := of(100, 90, 95, 10))[0], tuple(s[1:])),  # 90 and 95 are
    ]
    given = {"a": [1.0, 0.0, 9.0, 9.0], "b": [1.0, 0.0, 0.0, 0.0], "c": [1.0, 2.0, 0.0, 0.0]}
    bias = audit_rewards(instances, given, "s")
    assert bias.length_matched["n"] == 2 and bias.length_matched["accuracy"] == 0.5
    assert bias.length_matched["chance"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    # shorter rejected: a 50 lost, b 89 won, c 10 won; longer: a 200 lost, b 111 and 300 won
    assert bias.length_gap.shorter_rejected["accuracy"] == pytest.approx(2 / 3)
    assert bias.length_gap.longer_rejected["accuracy"] == pytest.approx(2 / 3)
    assert bias.length_gap.matched["n"] == 3
    assert bias.length_gap.gap == pytest.approx(0) and not bias.length_gap.flagged


def test_unscored_groups_are_left_out_and_counted():
    instances = benchmark(n=20)
    given = rewards_of(instances, by_length)
    given["g-0"] = [None, 1.0, 2.0, 3.0]
    bias = audit_rewards(instances, given, "s")
    assert bias.overall["n_unscored"] == 1
    assert bias.correlation["length"].n == 19


def test_constant_rewards_have_no_correlation():
    instances = benchmark(n=20)
    bias = audit_rewards(instances, rewards_of(instances, lambda i, j: 0.0), "constant")
    assert bias.correlation["length"].rho is None and bias.correlation["length"].n == 0
    assert bias.overall["accuracy"] == 0.25 and bias.flags == []


def test_report_is_plain_json():
    instances = benchmark(n=10, premises=4)
    report = audit_shortcuts(instances, rewards_of(instances, by_length), "counter")
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["n_premises"] <= 10
