import json
import threading
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from blind_choice import Tally, count_answer, count_scorers, deal
from choice_book import ChoiceBook, choice_book_of
from explore_tab import BLIND, HARDEST, OPEN, STORED, ExploreTab, Walk
from group_html import blind_html, open_html, tally_html
from group_selection import Wish, select, writers_in
from group_sources import VisitorSets, menu, operator_sets
from story_scorer import OneAtATime
from visitor_limits import InputRefused

from storyalign.choices import margin
from storyalign.preferences.sample import sample_instances
from tests.support.fake_scorer import FakeScorer
from tests.support.space_groups import GROUPS, REWARDS, instance, small_set


@pytest.mark.parametrize(
    ("wish", "places"),
    [
        (Wish(), [0, 1, 2, 3]),
        (Wish(dimension="fluency"), [1, 3]),
        (Wish(dimension="fluency", source="human_llm"), [3]),
        (Wish(writer="model-9"), [1]),
        (Wish(writer="model-3"), [0, 1, 3]),
        (Wish(words=" whale "), [0, 1, 2, 3]),
        (Wish(words="WORSE 2 of 3"), [3]),
        (Wish(words="nothing like it"), []),
        # margins: g0 4-3 = 1, g1 1-9 = -8, g2 1-2 = -1, g3 unscored
        (Wish(hardest_for=REWARDS["steady/scorer"]), [1, 2, 0, 3]),
    ],
)
def test_selects_and_orders(wish, places):
    assert select(GROUPS, wish) == places


def test_a_missing_reward_gives_no_margin():
    assert margin([1.0, None]) is None and margin([1.0, 0.5, 2.0]) == -1.0


def test_writers_come_once_each():
    assert writers_in(GROUPS) == ["human", "model-1", "model-2", "model-3", "model-9"]


def test_the_deal_is_steady_for_one_visitor_and_spreads_over_visitors():
    assert deal(GROUPS[0], 7) == deal(GROUPS[0], 7)
    seats = [deal(GROUPS[0], seed).index(0) for seed in range(400)]
    assert all(70 < seats.count(seat) < 130 for seat in range(4))  # 100 each, standard deviation 8.7


def test_points():
    tally = count_answer(Tally(), GROUPS[0], 0, {"a": [1.0, 1.0, 0, 0], "b": [0, 1.0, 0, 0], "c": [None, 1, 2, 3]})
    assert (tally.you, tally.chance) == (1, Fraction(1, 4))
    assert tally.scorers == {"a": (Fraction(1, 2), 1), "b": (Fraction(0), 1)}  # a shares the top with one other
    again = count_answer(tally, GROUPS[0], 3, {"b": [9.0, 1.0, 0, 0]})
    assert again == tally  # a group counts once
    second = count_answer(tally, GROUPS[2], 1, {"b": [9.0, 1.0]})
    assert (second.you, second.chance, second.scorers["b"]) == (1, Fraction(3, 4), (Fraction(1), 2))
    assert "<strong>0.75</strong> of 2" in tally_html(second)
    assert count_scorers(tally, {}) == tally


def test_nothing_gives_the_answer_away_before_the_choice():
    group = instance(5)
    pages = {blind_html(group, deal(group, seed)) for seed in range(40)}
    for page in pages:
        assert "human" not in page.replace("one human, three models", "") and "model-" not in page
        assert "preferred" not in page and "sa-first" not in page
    # The page is the same but for the order of its stories: it knows nothing else of them.
    assert len({"".join(sorted(page)) for page in pages}) == 1


def test_the_sample_does_not_pass_for_human_stories():
    page = blind_html(sample_instances()[0], (0, 1, 2, 3))
    assert "synthetic sample" in page and "models" not in page.split("sa-verdict")[0]


def test_the_answer_names_writers_scorers_and_ties():
    rewards = {"x": [1.0, 1.0, 0.0, 0.0], "y": [0.0, 2.0, 1.0, 1.0], "z": [None, 1.0, 1.0, 1.0], "w": [3.0, 1, 1, 1]}
    page = open_html(GROUPS[0], (2, 0, 1, 3), rewards, picked=1)
    assert "You picked C. The preferred story is <strong>B</strong>." in page
    assert "<bdi>x</bdi> ranks B and C highest: a tie." in page
    assert "<bdi>y</bdi> ranks C highest: wrong." in page
    assert "<bdi>w</bdi> ranks B highest: right." in page
    assert "<bdi>z</bdi> has no reward for one of them." in page
    assert "by <bdi>human</bdi>" in page


@pytest.fixture
def tab():
    return ExploreTab([small_set()], published={"d" * 64: REWARDS})


def test_a_visit(tab):
    *_, walk, place, score, page = tab.open_set(Walk(seed=3), "small set")
    assert "1 of 4" in place and "Choose D" in page and "after your first choice" in score
    order = deal(GROUPS[0], 3)
    walk, _, score, page = tab.choose(walk, False, SimpleNamespace(seat=order.index(0)))
    assert "<strong>Yes.</strong>" in page and "<span><bdi>You</bdi></span> <strong>1</strong> of 1" in score
    assert "<bdi>steady/scorer</bdi></span> <strong>1</strong> of 1" in score
    assert tab.choose(walk, False, SimpleNamespace(seat=order.index(1)))[0] == walk  # no second try
    walk, place, _, page = tab.step(walk, -1)
    assert "4 of 4" in place and "Choose A" in page
    walk, place, *_ = tab.step(walk, 1)
    assert "1 of 4" in place
    walk, *_, page = tab.switch(walk, OPEN)
    assert "model-1" in page
    walk, *_, page = tab.switch(walk, BLIND)
    assert "model-1" not in page


@pytest.mark.parametrize("seat", [-1, 4, "0", None, 1.5])
def test_a_seat_that_is_none_changes_nothing(tab, seat):
    walk = tab.open_set(Walk(seed=3), "small set")[5]
    assert tab.choose(walk, False, SimpleNamespace(seat=seat))[0] == walk


def test_filters_and_the_hardest_groups_first(tab):
    walk = tab.open_set(Walk(seed=3), "small set")[5]
    hardest = tab.filter(walk, "any", "any", "any", HARDEST + "steady/scorer", "")
    assert hardest[0].found == (1, 2, 0, 3)
    none = tab.filter(walk, "fluency", "any", "any", STORED, "no such words")
    assert "No group fits" in none[3] and none[0].found == ()
    assert tab.step(none[0], 1)[0].found == ()


def test_the_own_model_answers_where_nobody_published_rewards():
    scorer = OneAtATime(FakeScorer())
    tab = ExploreTab([small_set()], scorer=scorer)
    walk = tab.open_set(Walk(seed=1), "small set")[5]
    walk = tab.choose(walk, False, SimpleNamespace(seat=0))[0]
    walk, _, score, page = tab.ask_model(walk)
    assert "fake/scorer" in page and "fake/scorer" in score
    assert ExploreTab([small_set()], published={"d" * 64: REWARDS}, scorer=scorer).ask_model(walk)[0] != walk


def test_sets_of_the_operator(tmp_path):
    row = '{"id": "a", "prompt": "p", "chosen": "c", "rejected": ["r"]}\n'
    (tmp_path / "mine.jsonl").write_text(row, encoding="utf-8")
    sets, problems = operator_sets({"STORYALIGN_DATASETS": f"{tmp_path / 'mine.jsonl'}, {tmp_path / 'absent.jsonl'}"})
    assert [s.name for s in sets] == ["mine.jsonl"] and len(problems) == 1 and "absent.jsonl" in problems[0]
    assert menu([*sets, *sets]) == ["mine.jsonl", "mine.jsonl (2)"]


def test_without_a_setting_it_is_the_sample(tmp_path):
    sets, problems = operator_sets({}, tmp_path)
    assert problems == [] and len(sets[0].instances) >= 100 and "synthetic" in sets[0].name


@pytest.mark.parametrize(
    "hub_id", ["", "storyrmb", "../secrets/x", "a/b/c", "/etc/passwd", "~/x", "a/..", "owner/na me"]
)
def test_only_ids_of_the_hub_are_asked_for(hub_id):
    with pytest.raises(InputRefused, match="no dataset id"):
        VisitorSets().load(hub_id)


def test_a_folder_of_the_server_is_no_dataset_of_a_visitor(tmp_path, monkeypatch):
    (tmp_path / "owner" / "name").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputRefused, match="no dataset id"):
        VisitorSets().load("owner/name")


def test_an_unreachable_hub_is_a_message():
    with pytest.raises(InputRefused, match="cannot be loaded from the Hub"):
        VisitorSets().load("nobody/nothing")


def test_choices_are_kept_only_with_consent(tmp_path):
    tab = ExploreTab([small_set()], book=ChoiceBook("owner/choices", tmp_path, threading.Lock()))
    walk = tab.open_set(Walk(seed=3), "small set")[5]
    seat = SimpleNamespace(seat=deal(GROUPS[0], 3).index(2))
    assert tab.choose(walk, False, seat)[0].picked == 2
    assert list(tmp_path.iterdir()) == []
    walk = tab.choose(walk, True, seat)[0]
    tab.choose(replace(walk, picked=None), True, seat)  # answered before: not a second time
    rows = [json.loads(line) for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert [{k: v for k, v in row.items() if k != "day"} for row in rows] == [
        {"data": "small set", "id": "g0", "candidate": 2}
    ]
    assert "owner/choices" in tab.book.consent and "nothing is kept" in tab.book.consent


def test_without_the_setting_there_is_no_book():
    assert choice_book_of({}) is None
