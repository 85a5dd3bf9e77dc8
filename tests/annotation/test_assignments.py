from __future__ import annotations

from collections import Counter

from storyalign.annotation.assignments import PATIENCE, Pick, Standing, deal, due_checks, next_pick


def standing(name: str, state: str = "open", by: str = "", claims: tuple = ()) -> Standing:
    return Standing(name, state, frozenset(by), claims)


def pick(groups: list[Standing], who: str = "a", role: str = "annotator", **options) -> Pick | None:
    return next_pick(groups, who, role, needed=2, now=10_000.0, **options)


def test_the_deal_is_the_same_for_one_and_differs_between_people() -> None:
    assert deal(4, "a", "g1") == deal(4, "a", "g1")
    assert sorted(deal(16, "a", "g1")) == list(range(16))
    first = Counter(deal(4, f"annotator-{i}", "g1")[0] for i in range(400))
    assert set(first) == {0, 1, 2, 3} and min(first.values()) > 60  # 100 expected, 8.7 standard deviation


def test_groups_that_lack_the_fewest_come_first_then_the_file_order() -> None:
    assert pick([standing("g0"), standing("g1")]) == ("g0", "independent")
    assert pick([standing("g0"), standing("g1", by="b")]) == ("g1", "independent")


def test_nobody_judges_a_group_twice_or_a_full_one() -> None:
    assert pick([standing("g0", by="a"), standing("g1", by="bc"), standing("g2", "settled", "bc")]) is None


def test_a_group_in_other_hands_is_left_alone_until_patience_ends() -> None:
    fresh = standing("g0", by="b", claims=(("c", 9_990.0),))
    assert pick([fresh, standing("g1")]) == ("g1", "independent")
    stale = standing("g0", by="b", claims=(("c", 10_000.0 - PATIENCE),))
    assert pick([stale, standing("g1")]) == ("g0", "independent")
    assert pick([standing("g0", claims=(("b", 9_990.0),))]) == ("g0", "independent")  # one of two places is free


def test_a_senior_gets_disputes_of_others_only() -> None:
    groups = [standing("g0"), standing("g1", "disputed", "ab"), standing("g2", "disputed", "bc")]
    assert pick(groups, role="senior") == ("g2", "senior")
    assert pick(groups[:2], role="senior") is None
    taken = standing("g2", "disputed", "bc", (("s", 9_999.0),))
    assert pick([taken], role="senior") is None


def test_checks_go_before_new_groups() -> None:
    assert pick([standing("g0")], checks=["g7"]) == ("g7", "check")
    assert pick([standing("g0", "disputed", "bc")], role="senior", checks=["g7"]) == ("g0", "senior")


def test_a_sample_of_every_fifty_comes_back_once() -> None:
    done = [f"g{i}" for i in range(120)]
    assert due_checks(done[:49], [], 50, 5, "a") == []
    due = due_checks(done[:50], [], 50, 5, "a")
    assert len(set(due)) == 5 and set(due) <= set(done[:50])
    assert due_checks(done[:99], due, 50, 5, "a") == []
    later = due_checks(done, due, 50, 5, "a")
    assert len(later) == 5 and set(later) <= set(done[50:100])
    assert due_checks(done[:50], [], 50, 5, "b") != due
    assert due_checks(done[:50], due[:2], 50, 5, "a") == due[2:]
    assert due_checks(done, [], 0, 5, "a") == []
    assert due_checks(done[:2], [], 2, 5, "a") != [] and len(due_checks(done[:2], [], 2, 5, "a")) == 2
