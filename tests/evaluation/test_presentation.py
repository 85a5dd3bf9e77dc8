"""Markdown, page and charts: every figure is there, every text is escaped, nothing outside is asked for."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from storyalign.evaluation.chart_data import dimension_bars, histogram, shown_scorers
from storyalign.evaluation.charts import write_charts
from storyalign.evaluation.comparison import compare_scorers
from storyalign.evaluation.html_report import html_report
from storyalign.evaluation.margins import margins
from storyalign.evaluation.results import evaluate_scorers, overview
from storyalign.evaluation.scored_sets import null_scored_sets
from storyalign.tables import markdown, percent
from tests.support.scored import evaluation_set, instance, right_in, scored_set

VOID = {"meta", "br"}


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that every tag is closed."""

    def __init__(self, markup):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(markup)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def build(items, shares=(0.7, 0.4), **changes):
    models = [scored_set(f"model-{n}", items, right_in(share, seed=n)) for n, share in enumerate(shares)]
    scored = [*models, *null_scored_sets(items)]
    data = evaluation_set(items)
    results = evaluate_scorers(data, scored)
    comparisons = compare_scorers(data, models) if len(models) > 1 else []
    return data, scored, results, comparisons


ITEMS = [instance(n) for n in range(60)]


def test_markdown_has_a_row_a_scorer_and_says_how_it_was_made():
    _, _, results, _ = build(ITEMS)
    lines = markdown(overview(results)).splitlines()
    assert lines[0].startswith("| Scorer | Coherence (n=12) | Creativity (n=12) |")
    assert len([line for line in lines if line.startswith("|")]) == 2 + 8
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    first = results.scorers[0]
    assert f"{percent(first.accuracy)} [{percent(first.ci[0])}–{percent(first.ci[1])}]" in lines[2]
    note = "\n".join(lines[10:])
    assert "chance 25.0" in note and "60 groups over 60 premises" in note and "tied for best (2)" in note
    assert results.signature in note and first.signature in note


def test_markdown_escapes_what_would_break_a_table():
    items = ITEMS[:5]
    results = evaluate_scorers(evaluation_set(items), [scored_set("a|b\nc", items, right_in(1.0))])
    row = markdown(overview(results)).splitlines()[2]
    assert row.startswith("| a\\|b c |")


def test_page_holds_every_figure_of_the_table():
    data, scored, results, comparisons = build(ITEMS)
    page = Page(html_report(results, data, scored, comparisons))
    for result in results.scorers:
        assert f"{percent(result.accuracy)} {percent(result.ci[0])}–{percent(result.ci[1])}" in page.text
    for group in dimension_bars(results):
        assert f"{group.name} n = {group.n}" in page.text
    for result in results.scorers:
        for part in [*result.by_dimension.values(), *result.by_source.values()]:
            assert f"{percent(part['accuracy'])} {percent(part['ci'][0])}–{percent(part['ci'][1])}" in page.text
    assert comparisons[0].verdict in page.text
    assert "tied for best (2)" in page.text
    assert results.signature in page.text and results.scorers[0].signature in page.text


def test_headline_says_whether_the_best_scorer_is_beyond_the_null_scorers():
    # the toy's chosen stories are the longest of their groups
    data, scored, results, _ = build(ITEMS, shares=(0.9, 0.4))
    text = Page(html_report(results, data, scored)).text
    assert f"model-0 finds the chosen story in {percent(results.scorers[0].accuracy)}% of groups" in text
    assert "The interval does not clear the best null scorer, longest, at 100.0%." in text
    fair = [instance(n, chosen=f"Story {n} went wrong in way 0.") for n in range(60)]
    data, scored, results, _ = build(fair, shares=(0.9,))
    assert "The interval lies above the best null scorer" in Page(html_report(results, data, scored)).text


def test_bars_and_whiskers_are_as_long_as_their_figures():
    data, scored, results, _ = build(ITEMS[:10], shares=(1.0,))
    markup = html_report(results, data, scored)
    assert results.scorers[0].accuracy == 1.0
    low = results.scorers[0].ci[0]
    first = re.search(r'<rect x="8" y="26" width="([\d.]+)"', markup)
    assert float(first.group(1)) == 630.0
    whisker = re.search(r'class="whisker" d="M([\d.]+) ', markup)
    assert float(whisker.group(1)) == pytest.approx(8 + 630 * low)


def test_page_asks_for_nothing_and_runs_nothing():
    data, scored, results, comparisons = build(ITEMS)
    page = Page(html_report(results, data, scored, comparisons))
    assert not {"script", "link", "img", "iframe", "object", "embed", "form"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not {"src", "href", "srcset", "action"} & names
    assert not any(name.startswith("on") for name in names)


def test_every_text_of_the_data_is_shown_as_text():
    attack = "<script>alert(1)</script><img src=x onerror=alert(1)> {{ 7 * 7 }} & \"quoted\" 'x' **bold**"
    items = [
        instance(
            n,
            id=f"{attack}-{n}",
            prompt=f"{attack} premise {n}",
            chosen=f"{attack} chosen {n}",
            rejected=(f"{attack} one {n}", f"{attack} two {n}"),
            chosen_writer=attack,
            rejected_writers=(attack, attack),
            language='en" onload="x',
        )
        for n in range(4)
    ]
    scored = [
        scored_set(f"{attack} model", items, right_in(0.0)),
        scored_set(f"{attack} other", items, lambda i, c: None if i.id.endswith("0") and c == 1 else 1.0),
    ]
    data = evaluation_set(items)
    results = evaluate_scorers(data, scored)
    page = Page(html_report(results, data, scored, compare_scorers(data, scored)))
    assert "script" not in page.tags and "img" not in page.tags
    assert not any(name.startswith("on") for name, _ in page.attributes)
    for part in ("premise 1", "chosen 1", "model", "other"):
        assert f"{attack} {part}" in page.text


def test_page_without_dimensions_sources_models_or_scored_groups():
    plain = [instance(n, size=2, dimension=None, source=None) for n in range(6)]
    data, scored, results, _ = build(plain, shares=())
    page = Page(html_report(results, data, scored))
    assert "By dimension" not in page.text and "Margins" not in page.text and "Hardest" not in page.text
    assert "null scorer: most prompt overlap" in page.text
    unscored = [scored_set("silent", ITEMS, lambda i, c: None)]
    results = evaluate_scorers(evaluation_set(ITEMS), unscored)
    page = Page(html_report(results, evaluation_set(ITEMS), unscored))
    assert "none scored" in page.text and "a reward is missing" in page.text
    assert "nan" not in page.text.lower().split()


def test_a_sample_says_that_it_is_one():
    items = [instance(n, chosen_writer="kit-author") for n in range(5)]
    data, scored, results, _ = build(items, shares=(0.5,))
    assert "a synthetic sample to try it on, not StoryRMB" in Page(html_report(results, data, scored)).text
    assert "a synthetic sample to try it on, not StoryRMB" in markdown(overview(results))
    assert build(ITEMS)[2].data["notes"] == []


def test_charts_are_drawn(tmp_path):
    _, scored, results, _ = build(ITEMS)
    models = [one for one in scored if one.kind == "model"]
    files = write_charts(results, {m.name: list(margins(m, ITEMS).values()) for m in models}, tmp_path / "charts")
    assert [file.name for file in files] == ["accuracy.png", "by_dimension.png", "by_source.png", "margins.png"]
    assert sorted((tmp_path / "charts").iterdir()) == sorted(files)
    colours = {int(colour[1:], 16) for result, colour in shown_scorers(results) if result.kind == "model"}
    for file in files:
        pixels = np.asarray(Image.open(file).convert("RGB"), dtype=np.int64) @ [1 << 16, 1 << 8, 1]
        assert colours <= set(np.unique(pixels)), file.name


def test_charts_of_little_data(tmp_path):
    plain = [instance(n, dimension=None, source=None) for n in range(4)]
    silent = evaluate_scorers(evaluation_set(plain), [scored_set("silent", plain, lambda i, c: None)])
    assert [file.name for file in write_charts(silent, {"silent": []}, tmp_path)] == ["accuracy.png"]


def test_best_null_scorer_stands_beside_the_models():
    _, _, results, _ = build(ITEMS)
    shown = [result.name for result, _ in shown_scorers(results)]
    nulls = [r for r in results.scorers if r.kind == "null"]
    assert shown[:2] == ["model-0", "model-1"]
    assert shown[2:] == [max(nulls, key=lambda r: r.accuracy).name]


def test_histogram_has_an_edge_at_zero_and_keeps_every_margin():
    edges, counts = histogram([-1.0, -0.2, 0.0, 0.3, 50.0])
    assert sum(counts) == 5
    assert any(abs(edge) < 1e-9 for edge in edges)
    right = sum(count for count, edge in zip(counts, edges, strict=False) if edge >= -1e-9)
    assert right == 3
    assert histogram([]) == ([], [])
    assert sum(histogram([0.0, 0.0])[1]) == 2
