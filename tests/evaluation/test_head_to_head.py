"""Duels by hand: outcomes, the sign test, strengths with a closed form, agreement against a published example."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from storyalign.corpus.human_rankings import HumanRankings
from storyalign.errors import DataError, RecipeError
from storyalign.evaluation.charts import write_duel_chart
from storyalign.evaluation.head_to_head import choice_shares, head_to_head, outcome, share_of
from storyalign.evaluation.reference_orders import rater_agreement
from tests.support.scored import instance, scored_set

ITEMS = [instance(n, size=3) for n in range(10)]
ORDERS = {item.id: [1.0, 2.0, 2.0] for item in ITEMS}


def choosing(*choices):
    """A scorer that chooses these candidates, group by group."""
    return lambda item, candidate: float(candidate == choices[ITEMS.index(item)])


#                  win  win  win  tie  tie  even lose tie  win  tie
A = scored_set("a", ITEMS, choosing(0, 0, 0, 0, 1, 1, 2, 2, 0, 0))
B = scored_set("b", ITEMS, choosing(1, 2, 1, 0, 1, 2, 0, 2, 1, 0))


def test_outcomes_and_the_sign_test():
    result = head_to_head(ITEMS, [A, B], ORDERS)
    (duel,) = result.duels
    assert [round(10 * s.value) for s in (duel.win, duel.tie, duel.even, duel.lose)] == [4, 4, 1, 1]
    assert (duel.n, duel.n_win, duel.n_lose) == (10, 4, 1)
    assert duel.p_value == pytest.approx(2 * (1 + 5) / 2**5)  # 1 or fewer of 5, both tails
    assert duel.p_holm == duel.p_value
    turned = result.duel("b", "a")
    assert (turned.win, turned.lose, turned.n_win) == (duel.lose, duel.win, 1)
    # With two scorers the fit has a closed form: the odds of a are its wins and half the draws over those of b.
    strengths = {s.name: s.strength for s in result.strengths}
    assert strengths["a"] - strengths["b"] == pytest.approx(math.log((4 + 2.5) / (1 + 2.5)), abs=1e-3)
    assert sum(strengths.values()) == pytest.approx(0, abs=1e-9)
    assert all(s.ci[0] < s.strength < s.ci[1] for s in result.strengths)


def test_groups_of_one_premise_are_one_trial_of_the_sign_test():
    # a wins groups 0, 1, 2, 8 and, once b is changed there, 9; it loses group 6. So p is won by 2 to 1, q, r and s by 1
    # to 0, and t is undecided.
    premises = ["p", "p", "q", "t", "t", "t", "p", "t", "s", "r"]
    items = [replace(item, prompt=premise) for item, premise in zip(ITEMS, premises, strict=True)]
    one = scored_set("a", items, lambda item, c: A.rewards[item.id][c])
    two = scored_set("b", items, lambda item, c: B.rewards[item.id][c])
    two.rewards[items[9].id][:] = [0.0, 1.0, 0.0]
    (duel,) = head_to_head(items, [one, two], ORDERS).duels
    assert (duel.n, duel.n_premises, duel.n_win, duel.n_lose) == (10, 5, 4, 0)
    assert duel.p_value == pytest.approx(2 / 2**4)  # the groups by themselves would say 2 * (1 + 6) / 2**6


def test_a_premise_with_as_many_wins_as_losses_is_left_out_of_the_sign_test():
    items = [replace(item, prompt="p" if n in (0, 6) else item.prompt) for n, item in enumerate(ITEMS)]
    one = scored_set("a", items, lambda item, c: A.rewards[item.id][c])
    two = scored_set("b", items, lambda item, c: B.rewards[item.id][c])
    (duel,) = head_to_head(items, [one, two], ORDERS).duels
    assert (duel.n_premises, duel.n_win, duel.n_lose) == (9, 3, 0)
    assert duel.p_value == pytest.approx(2 / 2**3)


def test_a_scorer_that_never_loses_has_no_strength():
    always = scored_set("always", ITEMS, choosing(*[0] * 10))
    never = scored_set("never", ITEMS, choosing(*[1] * 10))
    result = head_to_head(ITEMS, [always, never], ORDERS)
    assert result.strengths == [] and "no bound" in result.no_strengths
    duel = result.duels[0]
    assert duel.win.value == 1.0 and duel.win.ci[0] < 0.8
    assert duel.p_value == pytest.approx(2 / 2**10)


def test_tied_rewards_share_the_choice():
    assert choice_shares([1.0, 1.0, 0.0]) == [0.5, 0.5, 0.0]
    assert choice_shares([1.0, None, 0.0]) is None
    # Half of the draws are the same story, a quarter wins, a quarter loses.
    assert outcome([0.5, 0.5], [0.5, 0.5], [1.0, 2.0]) == (0.25, 0.5, 0.0, 0.25)
    result = head_to_head(ITEMS, [scored_set("flat", ITEMS, lambda i, c: 0.0), A], ORDERS)
    assert result.duels[0].n == 10


def test_groups_without_a_choice_or_an_order_are_counted():
    missing = scored_set("m", ITEMS, lambda item, c: None if item is ITEMS[0] else float(c == 0))
    result = head_to_head(ITEMS, [missing, B], {k: v for k, v in ORDERS.items() if k != ITEMS[1].id})
    assert (result.n, result.n_unordered) == (9, 1)
    assert (result.duels[0].n, result.duels[0].n_left_out) == (8, 1)
    with pytest.raises(DataError, match="no group has a reference order"):
        head_to_head(ITEMS, [A, B], {})
    with pytest.raises(RecipeError, match="different names"):
        head_to_head(ITEMS, [A, A], ORDERS)


def test_shares_of_groups_that_share_premises_know_it():
    values = np.array([1.0, 1.0, 0.0, 0.0])
    assert share_of(values, ["p", "q", "r", "s"]).ci == pytest.approx((0.1500, 0.8500), abs=1e-4)  # Wilson, 2 of 4
    low, high = share_of(values, ["p", "p", "q", "q"]).ci  # worth one group: 0.5 +- t / 2 / sqrt(1 + t * t), t = 12.7
    assert (low, high) == pytest.approx((0.5 - 0.498457, 0.5 + 0.498457), abs=1e-5)
    low, high = share_of(np.ones(4), ["p", "p", "q", "q"]).ci  # no premise differs: Wilson over 2 premises
    assert high == 1.0 and low == pytest.approx(1 / (1 + stats.t.ppf(0.975, 1) ** 2 / 2))


def test_three_scorers_are_corrected_for_three_pairs():
    c = scored_set("c", ITEMS, choosing(*[0] * 9, 1))
    result = head_to_head(ITEMS, [A, B, c], ORDERS)
    assert len(result.duels) == 3
    assert all(duel.p_holm >= duel.p_value for duel in result.duels)
    assert result.strengths[0].name == "c"


def test_agreement_of_a_published_example():
    # Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", example C: 4 observers, 12 units,
    # ordinal alpha 0.815, interval alpha 0.849.
    ratings = {
        "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    }
    values = {name: {str(u): float(v) for u, v in enumerate(r) if v is not None} for name, r in ratings.items()}
    for scale, alpha in (("ordinal", 0.815), ("interval", 0.849)):
        found = rater_agreement(HumanRankings("example", scale, {"g": values}))
        assert found.alpha == pytest.approx(alpha, abs=5e-4)
        assert found.ci is None and found.n_groups == 1


def test_one_annotator_cannot_agree():
    assert rater_agreement(HumanRankings("one", "ordinal", {"g": {"a": {"x": 1.0, "y": 2.0}}})).alpha is None


def test_bars_name_their_groups_where_duels_rest_on_fewer(tmp_path):
    missing = scored_set("m", ITEMS, lambda item, c: None if item in ITEMS[:4] else float(c == 0))
    write_duel_chart(head_to_head(ITEMS, [A, B, missing], ORDERS), ["a"], tmp_path / "d.svg")
    words = " ".join(re.findall(r">([^<>]+)</text>", (tmp_path / "d.svg").read_text()))
    assert "b (n=10)" in words and "m (n=6)" in words and "percent of 10 groups" not in words


def test_a_long_name_leaves_room_for_the_bars(tmp_path):
    name = "model-" + "n" * 200 + " [b.jsonl]"
    write_duel_chart(
        head_to_head(ITEMS, [A, scored_set(name, ITEMS, choosing(*[0] * 10))], ORDERS), ["a"], tmp_path / "d.svg"
    )
    words = re.findall(r">([^<>]+)</text>", (tmp_path / "d.svg").read_text())
    (shown,) = [word for word in words if word.startswith("model-")]
    assert len(shown) <= 40 and "…" in shown and "[b.jsonl]" in shown  # the file that tells two of one name apart


def test_stacked_bars(tmp_path):
    result = head_to_head(ITEMS, [A, B, scored_set("c", ITEMS, choosing(*[0] * 9, 1))], ORDERS)
    write_duel_chart(result, ["a", "c"], tmp_path / "d.png")
    image = np.asarray(Image.open(tmp_path / "d.png").convert("RGB"))
    colours = {tuple(c) for c in image.reshape(-1, 3)[::7]}
    assert (0x2F, 0x6F, 0x9F) in colours and (0xD9, 0x98, 0x5F) in colours
    write_duel_chart(result, ["a"], tmp_path / "d.svg")
    words = re.findall(r">([^<>]+)</text>", (tmp_path / "d.svg").read_text())
    assert "a against" in words and "40" in words
    before = (tmp_path / "d.svg").read_bytes()
    write_duel_chart(result, ["a"], tmp_path / "d.svg")
    assert (tmp_path / "d.svg").read_bytes() == before
    with pytest.raises(RecipeError, match="no such scorer"):
        write_duel_chart(result, ["z"], tmp_path / "z.png")
    with pytest.raises(RecipeError, match=r"\.png or \.svg"):
        write_duel_chart(result, ["a"], tmp_path / "z.pdf")
