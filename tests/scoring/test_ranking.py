import pytest

from storyalign.scoring.ranking import length_order, length_warning


@pytest.mark.parametrize(
    ("rewards", "words", "direction"),
    [
        ([3, 2, 1], [9, 7, 5], "longest"),
        ([3, 2, 1], [5, 7, 9], "shortest"),
        ([3, 2, 1], [5, 9, 7], None),
        ([3, 2, 1], [9, 9, 5], None),
        ([3, 3, 1], [9, 7, 5], None),
        ([2, 1], [9, 5], "longest"),
        ([2, 1], [5, 9], None),
        ([1], [5], None),
    ],
)
def test_length_order(rewards, words, direction):
    assert length_order(rewards, words) == direction
    warning = length_warning(rewards, words)
    assert (warning is None) == (direction is None)
    if warning and len(words) == 3:
        assert f"{direction} first" in warning and "1 in 6" in warning
