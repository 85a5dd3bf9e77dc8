"""Null scorers choose what their names say, and gain nothing from where the chosen story is stored."""

from __future__ import annotations

import pytest

from storyalign.accuracy import top1_report
from storyalign.audit.null_scorers import NULL_SCORERS, null_rewards, shown_order
from storyalign.records import Instance


def instance(number, *stories, premise="A lost dog returns."):
    return Instance(id=f"i-{number}", prompt=premise, chosen=stories[0], rejected=tuple(stories[1:]))


def best(name, item):
    rewards = null_rewards(name, item)
    return [i for i, reward in enumerate(rewards) if reward == max(rewards)]


def test_names():
    assert list(NULL_SCORERS) == ["random", "first", "longest", "shortest", "most_bursty", "most_prompt_overlap"]


def test_length_is_words_and_then_characters():
    item = instance(0, "one two three", "one two three four", "a b c", "four words are here")
    assert best("longest", item) == [3]  # 4 words like candidate 1, but 19 characters against 18
    assert best("shortest", item) == [2]  # 3 words like candidate 0, fewer characters


def test_burstiness_and_overlap():
    even, uneven = "He left. She left. They left.", "He left. She stayed there until the long winter was over. No."
    assert best("most_bursty", instance(0, even, uneven)) == [1]
    assert best("most_prompt_overlap", instance(0, "Rain fell.", "The lost dog returns.")) == [1]


@pytest.mark.parametrize("name", ["first", "random"])
def test_chosen_story_is_not_favoured_for_being_stored_first(name):
    items = [instance(n, "a", "b", "c", "d") for n in range(4000)]
    accuracy = top1_report([null_rewards(name, item) for item in items], [0] * 4000)["accuracy"]
    assert accuracy == pytest.approx(0.25, abs=0.03)  # more than four standard errors


@pytest.mark.parametrize("name", NULL_SCORERS)
def test_rewards_are_the_same_every_time_and_belong_to_the_stories(name):
    item = instance(7, "One two. Three.", "Four five six seven. Eight. Nine ten.", "A dog.", "Lost? Lost.")
    rewards = null_rewards(name, item)
    assert rewards == null_rewards(name, item)
    assert len(rewards) == 4
    if name not in ("random", "first"):  # these two do not look at the stories
        turned = Instance(id="another", prompt=item.prompt, chosen=item.rejected[2], rejected=item.stories[:3])
        assert null_rewards(name, turned) == [rewards[3], *rewards[:3]]


def test_order_depends_on_the_id_alone():
    assert shown_order(instance(1, "a", "b", "c")) == shown_order(instance(1, "x", "y", "z", premise="Other"))
    orders = {tuple(shown_order(instance(n, "a", "b", "c"))) for n in range(100)}
    assert len(orders) == 6
