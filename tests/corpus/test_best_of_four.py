from __future__ import annotations

import pytest

from storyalign.corpus.best_of_four import (
    HUMAN_NOT_BEST,
    NO_CLEAR_BEST,
    TOO_FEW,
    Clear,
    agreement,
    draw_instances,
    draw_pairs,
    mean_tau,
)
from storyalign.corpus.judged_groups import Candidate, JudgedGroup
from storyalign.corpus.open_sets import IN_BENCHMARK, LEAKS, OTHER_SPLIT, TWICE, OpenSets
from storyalign.corpus.tally import Tally
from storyalign.records import PreferencePair


def candidate(writer: str, story: str | None = None, **ratings: tuple[float, ...]) -> Candidate:
    text = f"The story of {writer} about a lamp and the sea." if story is None else story
    means = {key: sum(values) / len(values) for key, values in ratings.items()}
    return Candidate(text, writer, means, ratings)


def group(*candidates: Candidate, same_raters: bool = True, premise: str = "A lighthouse.") -> JudgedGroup:
    return JudgedGroup("g", premise, candidates, corpus="set", license="mit", same_raters=same_raters)


CLEAR = Clear("q")


def test_agreement_is_the_share_of_raters_a_tie_counts_half() -> None:
    one, other = candidate("a", q=(3, 2, 5)), candidate("b", q=(1, 2, 6))
    assert agreement(one, other, "q", same_raters=True) == pytest.approx(0.5)  # above, tie, below
    # all nine pairs: 3 > 1, 2; 2 > 1, = 2; 5 > 1, 2: five and a half of nine
    assert agreement(one, other, "q", same_raters=False) == pytest.approx(5.5 / 9)


def test_tau_is_the_mean_over_pairs_of_raters() -> None:
    # first rater 4321, second 4312: five pairs agree, one not: 4/6. Third 1234: -6/6 and -4/6 against the others
    four = [
        candidate("a", q=(4, 4, 1)),
        candidate("b", q=(3, 3, 2)),
        candidate("c", q=(2, 1, 3)),
        candidate("d", q=(1, 2, 4)),
    ]
    assert mean_tau(four, "q") == pytest.approx((4 / 6 - 1 - 4 / 6) / 3)
    assert mean_tau([candidate("a", q=(1,)), candidate("b", q=(2,))], "q") is None


def test_disjoint_groups_of_four_from_best_to_worst() -> None:
    stories = [candidate(f"m{n}", q=(9.0 - n, 9.0 - n)) for n in range(9)]
    instances, dropped = draw_instances(group(*stories), CLEAR)
    assert len(instances) == 2
    assert instances[0].chosen_writer == "m0"
    used = [story for instance in instances for story in instance.stories]
    assert len(set(used)) == 8
    for instance in instances:
        assert list(instance.rejected_writers) == sorted(instance.rejected_writers)  # m1, m2, ...: best to worst
        assert (instance.source, instance.tau_avg, instance.route) == ("llm_llm", 1.0, "annotators")
        assert (instance.corpus, instance.license, instance.dimension) == ("set", "mit", None)
    assert instances == draw_instances(group(*stories), CLEAR)[0]
    assert not dropped


def test_the_best_must_be_beyond_doubt() -> None:
    # The mean of m0 is highest, but only one of three raters puts it above m1: no group with m1 in it.
    stories = [
        candidate("m0", q=(9, 5, 5)),
        candidate("m1", q=(6, 6, 6)),
        candidate("m2", q=(3, 3, 3)),
        candidate("m3", q=(2, 2, 2)),
        candidate("m4", q=(1, 1, 1)),
    ]
    [instance], _ = draw_instances(group(*stories), CLEAR)
    assert set(instance.rejected_writers) == {"m2", "m3", "m4"}
    none, dropped = draw_instances(group(*stories[:4]), CLEAR)
    assert none == []
    assert dropped == {NO_CLEAR_BEST: 1}
    none, dropped = draw_instances(group(*stories), Clear("q", min_margin=9))
    assert none == []
    assert dropped == {NO_CLEAR_BEST: 1}


def test_a_human_story_is_chosen_or_left_out() -> None:
    machines = [candidate(f"m{n}", q=(5.0 - n,)) for n in range(4)]
    [instance], dropped = draw_instances(group(*machines, candidate("human", q=(9,))), CLEAR)
    assert (instance.source, instance.chosen_writer) == ("human_llm", "human")
    assert not dropped
    [instance], dropped = draw_instances(group(*machines, candidate("human", q=(0,))), CLEAR)
    assert (instance.source, instance.chosen_writer) == ("llm_llm", "m0")
    assert "human" not in instance.rejected_writers
    assert dropped == {HUMAN_NOT_BEST: 1}


def test_stories_without_text_or_rating_or_that_are_errors_do_not_count() -> None:
    stories = [candidate(f"m{n}", q=(5.0 - n,)) for n in range(3)]
    withheld, error = Candidate(None, "human", {"q": 9.0}, {"q": (9.0,)}), candidate("m9", "Error code: 500", q=(1,))
    _, dropped = draw_instances(group(*stories, withheld, error, candidate("m8")), CLEAR)
    assert dropped[TOO_FEW] == 1
    assert sum(dropped.values()) == 4


@pytest.mark.parametrize(
    ("best", "dimension"),
    [
        ({"plot": (9,), "wit": (5,)}, "coherence"),  # plot has the largest gap, and is mapped
        ({"plot": (5,), "wit": (9,)}, None),  # wit has, and is no dimension
        ({"plot": (9,), "wit": (9,)}, None),  # neither has
    ],
)
def test_a_dimension_only_where_its_criterion_sets_the_best_apart(
    best: dict[str, tuple[float]], dimension: str | None
) -> None:
    others = [candidate(f"m{n}", q=(1,), plot=(1,), wit=(1,)) for n in range(3)]
    [instance], _ = draw_instances(
        group(candidate("m9", q=(9,), **best), *others), Clear("q", dimensions={"plot": "coherence"})
    )
    assert instance.dimension == dimension


def test_pairs_are_those_with_a_clearly_better_story() -> None:
    stories = [candidate("a", q=(3, 3, 1)), candidate("b", q=(2, 2, 2)), candidate("c", q=(1, 1, 3))]
    pairs, dropped = draw_pairs(group(*stories), CLEAR)  # means 7/3, 2, 5/3; two of three raters each time
    assert [(p.chosen_writer, p.rejected_writer) for p in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert not dropped
    pairs, dropped = draw_pairs(group(*stories), Clear("q", min_agreement=0.7))
    assert pairs == []
    assert sum(dropped.values()) == 3


WORDS = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]


def pair(number: int, prompt: str, chosen: str, rejected: str) -> PreferencePair:
    return PreferencePair(f"p{number}", prompt, chosen, rejected, "imported")


def test_pairs_share_nothing_with_the_benchmark_nor_with_the_other_split() -> None:
    long = " ".join(WORDS)
    best = candidate("m9", long, q=(9,))
    sets = OpenSets()
    sets.add_groups("set", [group(best, *(candidate(f"m{n}", q=(1.0,)) for n in range(3)))], CLEAR, "set")
    assert len(sets.instances) == 1
    near = " ".join([*WORDS[:80], *("xyz",) * 20])
    # The split goes by the premise: these two fall on different sides (five in a hundred are for validation).
    prompts = {
        s: next(f"Premise {n}." for n in range(999) if split_of(f"Premise {n}.") == s) for s in ("train", "validation")
    }
    given = [
        pair(0, "a LIGHTHOUSE!", "One.", "Two."),
        pair(1, prompts["train"], near, "Two."),
        pair(2, prompts["train"], "Three.", "Four."),
        pair(3, prompts["train"], "Four.", "Three."),
        pair(4, prompts["validation"], "Three.", "Five."),
        pair(5, prompts["validation"], "Six.", "Seven."),
    ]
    tally = Tally(read=6, kept=6)
    kept = list(sets.clean_of_benchmark(given, tally))
    assert [(p.id, p.split) for p in kept] == [("p2", "train"), ("p5", "validation")]
    assert tally.dropped == {IN_BENCHMARK: 1, LEAKS: 1, TWICE: 1, OTHER_SPLIT: 1}
    assert (tally.read, tally.kept) == (6, 2)


def split_of(prompt: str) -> str:
    return next(iter(OpenSets().clean_of_benchmark([pair(0, prompt, "a", "b")], Tally()))).split
