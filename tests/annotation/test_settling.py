from __future__ import annotations

from itertools import permutations

import pytest
from scipy.stats import kendalltau

from storyalign.annotation.settling import settle, state_of, tau
from tests.support.annotated_groups import ranked, task, unsure

RANK, CONFIRM, HUMAN = task(), task(ranking=[2, 0, 1, 3]), task(human=1)


def test_tau_is_scipys() -> None:
    for other in permutations(range(4)):
        places = [other.index(c) for c in range(4)]
        assert tau((0, 1, 2, 3), other) == pytest.approx(kendalltau([0, 1, 2, 3], places).statistic)
    assert tau((5,), (5,)) == 1.0


def test_one_verdict_of_two_leaves_a_group_open() -> None:
    assert state_of(RANK, [], 2) == "open"
    assert state_of(RANK, [ranked(RANK, "a", 0, 1, 2, 3)], 2) == "open"
    assert state_of(RANK, [ranked(RANK, "a", 0, 1, 2, 3)], 1) == "settled"


def test_two_that_agree_settle_it() -> None:
    # Scores by candidate: a gives 10, 9, 8, 7 and b 10, 8, 9, 7; places of 1 and 2 are 1.5 each, scores 8.5 each;
    # nobody gave an order before, so the first annotator's stands.
    settled = settle(RANK, [ranked(RANK, "a", 0, 1, 2, 3), ranked(RANK, "b", 0, 2, 1, 3, seconds=5.0)], 2)
    assert settled is not None
    assert (settled.verdict, settled.ranking, settled.scores) == ("reordered", (0, 1, 2, 3), (10.0, 8.5, 8.5, 7.0))
    assert (settled.settled_by, settled.annotators, settled.seconds) == ("annotators", ("a", "b"), 15.0)


def test_another_best_story_is_a_dispute() -> None:
    assert state_of(RANK, [ranked(RANK, "a", 0, 1, 2, 3), ranked(RANK, "b", 1, 0, 2, 3)], 2) == "disputed"


def test_the_same_best_story_with_another_order_below_is_a_dispute() -> None:
    # 0 first in both, the other three reversed: 3 of 6 pairs turn round, tau 0.
    assert state_of(RANK, [ranked(RANK, "a", 0, 1, 2, 3), ranked(RANK, "b", 0, 3, 2, 1)], 2) == "disputed"


def test_the_senior_settles_it() -> None:
    two = [ranked(RANK, "a", 0, 1, 2, 3), ranked(RANK, "b", 1, 0, 2, 3)]
    settled = settle(RANK, [*two, ranked(RANK, "s", 3, 2, 1, 0, kind="senior")], 2)
    assert settled is not None
    assert (settled.ranking, settled.settled_by, settled.annotators) == ((3, 2, 1, 0), "senior", ("s",))


def test_undecided_keeps_the_given_order() -> None:
    settled = settle(CONFIRM, [unsure(CONFIRM, "a"), ranked(CONFIRM, "b", 2, 0, 1, 3)], 2)
    assert settled is not None and (settled.verdict, settled.ranking) == ("confirmed", (2, 0, 1, 3))
    both = settle(CONFIRM, [unsure(CONFIRM, "a"), unsure(CONFIRM, "b")], 2)
    assert both is not None and (both.verdict, both.ranking) == ("unsure", (2, 0, 1, 3))
    assert state_of(CONFIRM, [unsure(CONFIRM, "a"), ranked(CONFIRM, "b", 0, 2, 1, 3)], 2) == "disputed"


def test_undecided_without_a_given_order() -> None:
    assert state_of(RANK, [unsure(RANK, "a"), ranked(RANK, "b", 0, 1, 2, 3)], 2) == "disputed"
    both = settle(RANK, [unsure(RANK, "a"), unsure(RANK, "b")], 2)
    assert both is not None and (both.verdict, both.ranking) == ("unsure", None)


def test_is_the_human_story_best() -> None:
    yes = settle(HUMAN, [ranked(HUMAN, "a", 1), ranked(HUMAN, "b", 1)], 2)
    assert yes is not None and (yes.verdict, yes.ranking) == ("confirmed", (1,))
    no = settle(HUMAN, [ranked(HUMAN, "a", 3), ranked(HUMAN, "b", 3)], 2)
    assert no is not None and (no.verdict, no.ranking) == ("reordered", (3,))
    assert state_of(HUMAN, [ranked(HUMAN, "a", 1), unsure(HUMAN, "b")], 2) == "disputed"
    dropped = settle(HUMAN, [unsure(HUMAN, "a"), unsure(HUMAN, "b")], 2)
    assert dropped is not None and dropped.verdict == "unsure"


def test_a_check_settles_nothing() -> None:
    again = ranked(RANK, "a", 0, 1, 2, 3, kind="check")
    assert state_of(RANK, [ranked(RANK, "a", 0, 1, 2, 3), again], 2) == "open"


def test_a_late_third_verdict_changes_nothing() -> None:
    two = [ranked(RANK, "a", 0, 1, 2, 3), ranked(RANK, "b", 0, 1, 2, 3)]
    assert settle(RANK, [*two, ranked(RANK, "c", 3, 2, 1, 0)], 2) == settle(RANK, two, 2)
