"""A board as HTML: the table, charts by dimension and by source, and the comparison of two rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from board_view import BY_KEY, COLUMNS, KIND_NAMES, SOURCE_TITLES, View, column_interval, count, interval
from results_shelf import Board, Row

from storyalign.accuracy import DIMENSIONS, SOURCES
from storyalign.evaluation.comparison import Comparison
from storyalign.web.story_html import message, name, text

CHARTED = 6


def board_html(board: Board, rows: Sequence[Row], view: View) -> str:
    """Draw the table with a button in each header that sorts by its column."""
    if not rows:
        return message("empty", "No scorer fits", "Show another kind of scorer, or search for less.")
    head = _header("name", "Scorer", view) + "".join(_header(c.key, c.title, view) for c in COLUMNS)
    body = "".join(_row(row) for row in rows)
    chance = "" if board.chance is None else f" · chance {percent(board.chance)}"
    return (
        f'<div class="sa-wide" tabindex="0" role="region" aria-label="Leaderboard"><table class="sa-board">'
        f"<thead><tr>{head}<th>n</th></tr></thead><tbody>{body}</tbody></table></div>"
        f'<p class="sa-footnote">Percent of groups in which the preferred story got the highest reward, with 95% '
        f"intervals; Accuracy weighs groups alike, Macro dimensions{chance}. "
        f"● computed here from every reward · ○ as reported."
        f'<br><span class="sa-signature">{text(board.signature)}</span></p>'
    )


def charts_html(board: Board, rows: Sequence[Row]) -> str:
    """Draw the first rows, and the best null scorer among the others, by dimension and by source."""
    first = list(rows[:CHARTED])
    null = [row for row in rows[CHARTED:] if row.kind == "null"]
    if null and not any(row.kind == "null" for row in first):
        first[-1] = max(null, key=lambda row: BY_KEY["accuracy"].value(row) or 0.0)
    by_dimension = [(n.capitalize(), "by_dimension", n) for n in DIMENSIONS]
    by_source = [(SOURCE_TITLES[n], "by_source", n) for n in SOURCES]
    charts = _chart("By dimension", by_dimension, first, board.chance)
    charts += _chart("By source", by_source, first, board.chance)
    if not charts or len(first) == len(rows):
        return charts
    return charts + f'<p class="sa-footnote">The charts show {len(first)} of {len(rows):,} scorers of the table.</p>'


def comparison_html(found: Comparison) -> str:
    """Draw a paired comparison: the finding first, then what it rests on."""
    if found.difference is None:
        return message("empty", "Nothing to compare", found.verdict)
    difference = f"{100 * found.difference:+.1f}".replace("-", "−")
    low_high = "" if found.ci is None else f" (95% interval {_points(found.ci[0])} to {_points(found.ci[1])})"
    cells = (
        ("both right", found.both_right),
        (f"only {name(found.a)}", found.only_a),
        (f"only {name(found.b)}", found.only_b),
        ("both wrong", found.both_wrong),
    )
    counts = "".join(f"<li><strong>{number:,}</strong> {label}</li>" for label, number in cells)
    parts = "".join(
        f"<tr><th scope='row'>{text(dimension.capitalize())}</th><td>{percent(part['accuracy_a'])}</td>"
        f"<td>{percent(part['accuracy_b'])}</td><td>{part['n']:,}</td></tr>"
        for dimension, part in found.by_dimension.items()
    )
    head = f"<th></th><th>{name(found.a)}</th><th>{name(found.b)}</th><th>n</th>"
    table = (
        '<div class="sa-wide" tabindex="0" role="region" aria-label="By dimension"><table class="sa-board">'
        f"<thead><tr>{head}</tr></thead><tbody>{parts}</tbody></table></div>"
    )
    left_out = f" {found.n_left_out:,} groups lack a reward and are left out." if found.n_left_out else ""
    return (
        f'<section class="sa-comparison"><p class="sa-verdict">{text(found.verdict)}.</p>'
        f'<p class="sa-facts">{percent(found.accuracy_a)} against {percent(found.accuracy_b)} on the same {found.n:,} '
        f"groups: {difference} points{low_high}; McNemar's test, {found.method}, p = {found.p_value:.3g}.{left_out} "
        f"Compare many pairs, and some will look different by chance.</p>"
        f'<ul class="sa-tally">{counts}</ul>{table}</section>'
    )


def percent(value: float | None) -> str:
    """Write a fraction as percent with one decimal.

    >>> percent(0.75049), percent(None)
    ('75.0', '–')
    """
    return "–" if value is None else f"{100 * value:.1f}"


def _header(key: str, title: str, view: View) -> str:
    state = ("descending" if view.falling else "ascending") if view.sort == key else "none"
    arrow = {"descending": " ↓", "ascending": " ↑", "none": ""}[state]
    return f'<th aria-sort="{state}"><button type="button" data-sort="{key}">{title}{arrow}</button></th>'


def _row(row: Row) -> str:
    mark, said = ("●", "computed here") if row.verified else ("○", "as reported")
    what = "" if row.kind == "model" else text(KIND_NAMES.get(row.kind, row.kind).rstrip("s"))
    kind = f'<span class="sa-kind">{what}</span>' if what else ""
    signature = row.values.get("signature")
    tip = f' title="{text(str(signature))}"' if signature else ""
    cells = "".join(_cell(row, column.key, column.value) for column in COLUMNS)
    return (
        f'<tr class="sa-kind-{"null" if row.kind == "null" else "scorer"}"><th scope="row"{tip}>'
        f'<span role="img" aria-label="{said}">{mark}</span> {name(row.name)}{kind}</th>{cells}<td>{_n(row)}</td></tr>'
    )


def _cell(row: Row, key: str, value: Callable[[Row], float | None]) -> str:
    number = percent(value(row))
    ci = column_interval(row, key)
    span = "" if ci is None else f'<span class="sa-ci">{100 * ci[0]:.0f}–{100 * ci[1]:.0f}</span>'
    return f"<td>{number}{span}</td>"


def _n(row: Row) -> str:
    n = count(row, "n")
    notes = [
        f"{number:,} {label}"
        for key, label in (("n_ties", "tied"), ("n_truncated", "cut"), ("n_unscored", "unscored"))
        if (number := count(row, key))
    ]
    extra = f'<span class="sa-ci">{", ".join(notes)}</span>' if notes else ""
    return ("–" if n is None else f"{n:,}") + extra


def _chart(title: str, parts: Sequence[tuple[str, str, str]], rows: Sequence[Row], chance: float | None) -> str:
    groups = "".join(
        f'<div class="sa-chart-group"><h5>{text(label)}</h5>{"".join(bars)}</div>'
        for label, group, part in parts
        if (bars := [_bar(row, group, part, chance) for row in rows if BY_KEY[part].value(row) is not None])
    )
    if not groups:
        return ""
    caption = f"<figcaption>{title}</figcaption>"
    return f'<figure class="sa-chart">{caption}<div class="sa-chart-groups">{groups}</div></figure>'


def _bar(row: Row, group: str, part: str, chance: float | None) -> str:
    value = BY_KEY[part].value(row)
    assert value is not None
    ci = interval(row, group, part)
    n = count(row, "n", group, part)
    spread = "" if ci is None else f", 95% interval {percent(ci[0])} to {percent(ci[1])}"
    label = f"{row.name}: {percent(value)} percent{spread}" + ("" if n is None else f", {n} groups")
    whisker = "" if ci is None else f'<i class="sa-whisker" style="left:{_at(ci[0])}%;width:{_at(ci[1] - ci[0])}%"></i>'
    tick = "" if chance is None else f'<i class="sa-chance" style="left:{_at(chance)}%"></i>'
    css = " sa-null" if row.kind == "null" else ""
    return (
        f'<div class="sa-bar-row{css}" role="img" aria-label="{text(label)}">'
        f'<span class="sa-bar-name">{name(row.name)}</span><span class="sa-track">'
        f'<i class="sa-fill" style="width:{_at(value)}%"></i>{whisker}{tick}</span>'
        f'<span class="sa-bar-value">{percent(value)}</span></div>'
    )


def _at(fraction: float) -> str:
    return f"{100 * min(1.0, max(0.0, fraction)):.1f}"


def _points(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "−")
