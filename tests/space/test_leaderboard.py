import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from board_html import board_html, charts_html
from board_view import View, interval, shown_rows
from leaderboard_tab import NOTHING, LeaderboardTab
from results_shelf import Row, published, read_results, result_places

from storyalign.corpus.evaluation_sets import EvaluationSet
from tests.support.space_groups import instance, small_set, write_rewards


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = set()

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)


def many(n=60):
    dimensions = ("coherence", "fluency")
    groups = [instance(i, dimension=dimensions[i % 2], source=("human_llm", "llm_llm")[i % 2]) for i in range(n)]
    return EvaluationSet(groups, digest="e" * 64, name="many")


def right_for(wanted):
    """Reward the chosen story in these groups, another one elsewhere."""
    return lambda i, c: float((c == 0) == (int(i.id[1:]) in wanted))


@pytest.fixture
def boards(tmp_path):
    sets = [many()]
    write_rewards(tmp_path / "a", sets[0], "strong/model", right_for(set(range(45))))
    write_rewards(tmp_path / "b", sets[0], "weak/model", right_for(set(range(20, 35))))
    report = {
        "scorers": [
            {"name": "told/model", "kind": "judge", "accuracy": 0.5, "n": 60, "by_dimension": {"fluency": 0.25}},
            {"name": "strong/model", "kind": "model", "accuracy": 1.0, "n": 60},
        ],
        "data": {"digest": "e" * 64},
    }
    (tmp_path / "results.json").write_text(json.dumps(report), encoding="utf-8")
    found, problems = read_results([tmp_path], sets)
    assert problems == []
    return found


def row(boards, name):
    return next(r for r in boards[0].rows if r.name == name)


def test_rewards_are_computed_anew_and_beat_what_is_reported(boards):
    strong = row(boards, "strong/model")
    assert strong.verified and strong.values["accuracy"] == 0.75  # 45 of 60, whatever results.json says
    # groups 0 to 44: 23 of the 30 even ones are coherence, 22 of the 30 odd ones fluency
    assert strong.values["by_dimension"]["coherence"]["accuracy"] == pytest.approx(23 / 30)
    assert strong.values["by_source"]["llm_llm"]["accuracy"] == pytest.approx(22 / 30)
    told = row(boards, "told/model")
    assert not told.verified and told.values["accuracy"] == 0.5
    assert {"random", "first", "longest", "shortest"} <= {r.name for r in boards[0].rows}
    assert boards[0].chance == 0.25
    assert published(boards)["e" * 64]["weak/model"]["g20"] == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("results.json", "{", "cannot be read as results"),
        ("results.json", '{"rows": []}', "holds no results"),
        ("results.json", '{"scorers": [{"name": "x", "accuracy": 75.0}]}', "expected a fraction"),
        ("rewards.jsonl.scorer.json", '{"digest": "x"}', "no such file"),
    ],
)
def test_files_that_cannot_be_used_are_named(tmp_path, name, content, reason):
    (tmp_path / name).write_text(content, encoding="utf-8")
    boards, problems = read_results([tmp_path], [many()])
    assert boards == [] and len(problems) == 1 and reason in problems[0]


def test_rewards_of_other_stories_are_refused(tmp_path):
    write_rewards(tmp_path, small_set(), "some/model", lambda i, c: 1.0)
    changed = small_set()
    changed.instances[0] = instance(0, k=2)
    boards, problems = read_results([tmp_path, tmp_path / "absent"], [changed])
    assert boards == []
    assert problems[0].startswith("rewards.jsonl:4 (id g0): candidate 3") and "no such folder" in problems[1]


def test_sorting_filtering_and_missing_figures(boards):
    def names(**wish):
        return [r.name for r in shown_rows(boards[0].rows, View(kinds=("model", "judge"), **wish))]

    assert names() == ["strong/model", "told/model", "weak/model"]
    assert names(falling=False) == ["weak/model", "told/model", "strong/model"]
    assert names(sort="fluency") == ["strong/model", "told/model", "weak/model"]  # 22/30, 0.25, 7/30
    assert names(sort="coherence")[-1] == names(sort="coherence", falling=False)[-1] == "told/model"  # has none
    assert names(sort="name", falling=False) == ["strong/model", "told/model", "weak/model"]
    assert names(words="WEAK") == ["weak/model"]


def test_is_the_difference_real(boards):
    tab = LeaderboardTab(boards)
    said = tab.compare(View(), "strong/model", "weak/model")
    # both right on 15, only strong on 30, only weak on none, both wrong on 15
    for count, label in ((15, "both right"), (30, "only <bdi>strong/model</bdi>"), (15, "both wrong")):
        assert f"<strong>{count}</strong> {label}" in said
    assert "strong/model is better than weak/model by 50.0 points" in said
    assert f"p = {2 * 0.5**30:.3g}" in said  # the exact binomial test by hand
    assert "Choose two different" in tab.compare(View(), "weak/model", "weak/model")
    assert "only a reported figure" in tab.compare(View(), "weak/model", "told/model")


def test_scorers_that_cannot_be_told_apart_are_said_to_be_so(tmp_path):
    sets = [many()]
    write_rewards(tmp_path / "a", sets[0], "one", right_for(set(range(30))))
    write_rewards(tmp_path / "b", sets[0], "two", right_for(set(range(1, 32))))
    boards, _ = read_results([tmp_path], sets)
    assert "one and two cannot be told apart" in LeaderboardTab(boards).compare(View(), "one", "two")


def test_a_click_on_a_header_sorts_and_turns_around(boards):
    tab = LeaderboardTab(boards)
    view = tab.sort(View(), SimpleNamespace(key="macro_accuracy"))[0]
    assert (view.sort, view.falling) == ("macro_accuracy", True)
    view, table, _ = tab.sort(view, SimpleNamespace(key="macro_accuracy"))
    assert not view.falling and 'aria-sort="ascending"' in table
    assert tab.sort(view, SimpleNamespace(key="__class__"))[0] == view


def test_two_scorers_of_one_name_stay_apart(tmp_path):
    sets = [many()]
    for folder, wanted in (("a", {1}), ("b", {1, 2, 3})):
        write_rewards(tmp_path / folder, sets[0], "same", right_for(wanted))
    boards, _ = read_results([tmp_path], sets)
    assert {r.name for r in boards[0].rows} >= {"same", "same (2)"}


def test_a_broken_row_is_drawn_and_nothing_of_it_becomes_markup():
    values = {
        "kind": "<b>", "accuracy": True, "ci": ["x", None], "n": "many", "by_dimension": 3,
        "by_source": {"llm_llm": {"accuracy": 0.5, "ci": [0.4]}}, "signature": '"><script>x</script>',
    }  # fmt: skip
    rows = [Row("<img src=x onerror=alert(1)>", values, False)]
    board = SimpleNamespace(chance=None, signature="<i>", name="n")
    page = board_html(board, rows, View()) + charts_html(board, rows)
    tags = Tags()
    tags.feed(page)
    assert not {"img", "script", "b"} & tags.found
    assert interval(rows[0]) is None


def test_every_figure_has_its_interval():
    part = {"accuracy": 0.5, "ci": [0.31, 0.69]}
    values = {
        "accuracy": 0.6, "ci": [0.51, 0.72], "macro_accuracy": 0.4, "macro_ci": [0.22, 0.58],
        "by_dimension": {"fluency": part}, "by_source": {"llm_llm": {"accuracy": 0.7, "ci": [0.44, 0.93]}},
    }  # fmt: skip
    page = board_html(SimpleNamespace(chance=0.25, signature="", name="n"), [Row("a", values, True)], View())
    cells = dict(re.findall(r'<td>([\d.]+)<span class="sa-ci">(\d+–\d+)</span></td>', page))
    assert cells == {"60.0": "51–72", "40.0": "22–58", "50.0": "31–69", "70.0": "44–93"}


def test_charts_say_which_scorers_they_leave_out():
    values = {"accuracy": 0.5, "by_source": {"llm_llm": {"accuracy": 0.5}}}
    board = SimpleNamespace(chance=0.25)
    rows = [Row(f"model {n}", values, True) for n in range(7)]
    page = charts_html(board, rows)
    assert "The charts show 6 of 7 scorers of the table" in page and "model 6" not in page
    assert "The charts show" not in charts_html(board, rows[:6])


def test_without_results_the_tab_says_what_to_do(tmp_path):
    assert read_results([], [many()]) == ([], [])
    assert "make demo" in NOTHING


def test_results_stand_around_the_model_just_trained(tmp_path):
    (tmp_path / "model").mkdir()
    settings = {"STORYALIGN_MODEL": str(tmp_path / "model")}
    assert result_places(settings) == []
    (tmp_path / "results.json").write_text("{}", encoding="utf-8")
    assert result_places(settings) == [str(tmp_path)]
    assert result_places({**settings, "STORYALIGN_RESULTS": "a, owner/b"}) == ["a", "owner/b"]
    assert result_places({}) == []
