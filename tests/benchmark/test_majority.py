from __future__ import annotations

import numpy as np
import pytest

from storyalign.benchmark.majority import choose_route, majority_scores, ranking_of

NAN = float("nan")


def test_mean_over_judges_with_a_valid_score() -> None:
    overall = [[8, 6, 4], [6, 6, NAN], [7, 9, NAN], [NAN, 5, 2]]
    # Story 0: (8+6+7)/3, story 1: 26/4; story 2 has two judges and three are asked for.
    assert majority_scores(overall).tolist()[:2] == [7.0, 6.5]
    assert np.isnan(majority_scores(overall)[2])
    assert majority_scores(overall, min_judges=2)[2] == 3.0


def test_mean_of_many_groups_at_once() -> None:
    overall = np.arange(24.0).reshape(2, 4, 3)
    assert majority_scores(overall).tolist() == [[4.5, 5.5, 6.5], [16.5, 17.5, 18.5]]


def test_votes_over_pairs_of_stories() -> None:
    # A beats B by 3 judges to 1, A beats C 3 to 1, B against C is 2 to 2.
    overall = [[9, 8, 7], [9, 7, 8], [9, 8, 7], [1, 2, 3]]
    assert majority_scores(overall, "vote").tolist() == [2.0, 0.5, 0.5]
    # The mean sees the same order, but by distances: 7, 6.25, 6.25.
    assert majority_scores(overall).tolist() == [7.0, 6.25, 6.25]


def test_only_complete_rankings_vote() -> None:
    overall = [[9, 8], [9, 8], [NAN, 8], [1, 8]]
    assert majority_scores(overall, "vote").tolist() == [1.0, 0.0]  # 2 to 1
    assert np.isnan(majority_scores(overall, "vote", min_judges=4)).all()


def test_a_ranking_is_best_first() -> None:
    assert ranking_of([5.0, 9.0, 5.0, 7.0]) == (1, 3, 0, 2)
    with pytest.raises(ValueError, match="without a score"):
        ranking_of([5.0, NAN])


@pytest.mark.parametrize(
    ("tau", "scores", "route", "reason"),
    [
        (0.6, [9, 8, 7, 6], "majority", "agreement"),  # strictly below the threshold, and not at it
        (0.5999, [9, 8, 7, 6], "annotators", "weak_agreement"),
        (NAN, [9, 8, 7, 6], "annotators", "no_agreement"),
        (1.0, [9, 9, 7, 6], "annotators", "first_place_tied"),
        (1.0, [9, 9 + 1e-12, 7, 6], "annotators", "first_place_tied"),  # a rounding error is no lead
        (1.0, [9, 7, 7, 7], "majority", "agreement"),  # ties below the first place may stand
        (1.0, [9, 7, NAN, 6], "annotators", "unrated_story"),
    ],
)
def test_routes(tau: float, scores: list[float], route: str, reason: str) -> None:
    assert choose_route(tau, scores) == (route, reason)


def test_the_threshold_is_a_parameter() -> None:
    assert choose_route(0.3, [2, 1], threshold=0.2).route == "majority"
