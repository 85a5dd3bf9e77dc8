import math

import pytest
from ranking import rank_stories
from ranking_html import ranking_html
from story_scorer import OneAtATime, Scored, as_scored

from storyalign.errors import ModelError
from storyalign.records import Reward
from storyalign.scoring.ranking import win_probability


def ranked(stories, rewards, **options):
    scored = [reward if isinstance(reward, Scored) else as_scored(reward) for reward in rewards]
    names = [f"Story {chr(65 + i)}" for i in range(len(stories))]
    return rank_stories("a premise", names, stories, scored, scorer="fake", **options)


def words(count):
    return " ".join(["word"] * count)


def test_highest_reward_comes_first_with_the_chance_to_beat_the_next():
    ranking = ranked(["a", "b", "c"], [0.0, math.log(3), -math.log(4)])
    assert [s.name for s in ranking.stories] == ["Story B", "Story A", "Story C"]
    assert [s.place for s in ranking.stories] == [1, 2, 3]
    # sigmoid(ln 3) = 3/4, sigmoid(ln 4) = 4/5
    assert ranking.stories[0].beats_next == pytest.approx(0.75)
    assert ranking.stories[1].beats_next == pytest.approx(0.8)
    assert ranking.stories[2].beats_next is None


def test_equal_rewards_share_a_place_and_keep_their_order():
    ranking = ranked(["a", "b", "c", "d"], [1.0, 2.0, 1.0, 0.0])
    assert [(s.name, s.place) for s in ranking.stories] == [
        ("Story B", 1), ("Story A", 2), ("Story C", 2), ("Story D", 4),
    ]  # fmt: skip
    assert ranking.stories[1].beats_next == 0.5


def test_stories_without_a_reward_come_last_without_a_place():
    ranking = ranked(["a", "b", "c"], [float("nan"), 1.0, None])
    assert [(s.name, s.place) for s in ranking.stories] == [("Story B", 1), ("Story A", None), ("Story C", None)]
    assert ranking.stories[0].beats_next is None
    assert ranking.stories[1].scored.detail == "the model gave no finite number"
    assert "Only <bdi>Story B</bdi> got a reward" in ranking_html(ranking)


def test_nothing_scored_is_an_error_not_a_ranking():
    html = ranking_html(ranked(["a", "b"], [None, None]))
    assert "No story got a reward" in html and 'role="alert"' in html


@pytest.mark.parametrize(("difference", "probability"), [(800.0, 1.0), (-800.0, 0.0), (0.0, 0.5)])
def test_large_differences_do_not_overflow(difference, probability):
    assert win_probability(difference, 0.0) == probability


def test_warns_where_length_alone_gives_the_order():
    longest_first = ranked([words(5), words(9), words(7)], [1.0, 3.0, 2.0])
    assert any("longest first" in w and "1 in 6" in w for w in longest_first.warnings)
    shortest_first = ranked([words(5), words(9), words(7)], [3.0, 1.0, 2.0])
    assert any("shortest first" in w for w in shortest_first.warnings)
    mixed = ranked([words(5), words(9), words(7)], [1.0, 2.0, 3.0])
    assert not any("length alone" in w for w in mixed.warnings)


def test_of_two_stories_only_the_longer_first_is_worth_a_warning():
    assert any("longest first" in w for w in ranked([words(5), words(9)], [1.0, 2.0]).warnings)
    assert ranked([words(5), words(9)], [2.0, 1.0]).warnings == ()


def test_equal_lengths_explain_nothing():
    assert ranked([words(5) + " a", words(5) + " b", words(5) + " c"], [3.0, 2.0, 1.0]).warnings == ()


def test_names_stories_that_were_cut_and_ties_made_by_cutting():
    cut = Scored(1.0, n_tokens=9000, truncated=True)
    ranking = ranked(["one end", "another end", "short"], [cut, cut, 0.5])
    assert any("Story A and Story B were too long" in w for w in ranking.warnings)
    assert any("their tie means nothing" in w for w in ranking.warnings)


def test_names_equal_texts_and_invisible_characters():
    ranking = ranked(["same", "same ", "hid\u200bden\u202e"], [1.0, 1.0, 0.5])
    assert "Story A and Story B are the same text." in ranking.warnings
    assert "Story C holds 2 invisible characters." in ranking.warnings


def test_reads_numbers_and_reward_rows():
    assert as_scored(2).reward == 2.0
    row = Reward("x", 0, None, 9000, False, "too_long", "sig")
    assert as_scored(row) == Scored(None, 9000, False, "longer than the model can read")
    assert as_scored(Reward("x", 0, 1.5, 9000, True, "scored", "sig")) == Scored(1.5, 9000, True, None)


def test_a_scorer_that_loses_a_story_is_an_error():
    with pytest.raises(ModelError, match="1 rewards for 2 stories"):
        OneAtATime(lambda premise, stories: [1.0])("p", ["a", "b"])
