"""Mean scores of chosen stories, by hand."""

from __future__ import annotations

import pytest

from storyalign.evaluation.best_of_n import choices_of
from storyalign.evaluation.judged_choices import chosen_instances, judged_choices
from tests.support.scored import instance, scored_set

ITEMS = [instance(n, size=3) for n in range(4)]


def choosing(name, *places):
    return choices_of(ITEMS, scored_set(name, ITEMS, lambda item, c: float(c == places[ITEMS.index(item)])))


def test_every_chosen_story_is_judged_once():
    gathered = chosen_instances(ITEMS, [choosing("a", 0, 1, 2, 0), choosing("b", 0, 2, 2, 1)])
    assert [len(item.stories) for item in gathered] == [1, 2, 1, 2]
    assert gathered[1].stories == ITEMS[1].stories[1:]
    assert [item.id for item in gathered] == [item.id for item in ITEMS]


def test_means_over_prompts_and_criteria():
    choices = choosing("a", 0, 1, 2, 0)
    given = [{"x": 1.0, "y": 3.0}, {"x": 5.0, "y": 4.0}, {"x": 3.0, "y": 2.0}]  # the fourth could not be read
    scores = {(i.id, i.stories[choices[i.id].chosen]): own for i, own in zip(ITEMS, given, strict=False)}
    found = judged_choices("a", ITEMS, choices, scores)
    assert (found.n, found.unscored) == (3, 1)
    assert found.score == pytest.approx((2 + 4.5 + 2.5) / 3)
    assert found.criteria == {"x": 3.0, "y": 3.0}
    assert found.ci is None  # three prompts are too few
    nothing = judged_choices("a", ITEMS, choices, {})
    assert (nothing.score, nothing.n, nothing.unscored) == (None, 0, 4)
