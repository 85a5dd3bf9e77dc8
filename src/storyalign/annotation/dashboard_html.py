"""How far the work is, as HTML. People stand there by their keys; names stay in the store."""

from __future__ import annotations

from storyalign.annotation.annotator_agreement import Figure
from storyalign.annotation.progress import Progress, Share
from storyalign.web.story_html import message, text

STATES = {"settled": "settled", "disputed": "disputed, for a senior", "open": "waiting for verdicts"}


def dashboard_html(progress: Progress, you: str | None = None) -> str:
    """Draw the progress.

    Args:
        progress: the figures.
        you: key of the person who looks.
    """
    if not progress.groups:
        return message("empty", "No groups yet", "Figures appear with the first groups.")
    return "".join((_states(progress), _annotators(progress, you), _agreement(progress)))


def seconds_text(seconds: float | None) -> str:
    """Return a time as people write it.

    >>> seconds_text(42.4), seconds_text(605), seconds_text(None)
    ('42 s', '10 min 5 s', '–')
    """
    if seconds is None:
        return "–"
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def figure_text(figure: Figure) -> tuple[str, str]:
    """Return value and 95% interval as text."""
    if figure.value is None:
        return "not defined", "all values are equal"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.2f}", "one group"
    return f"{figure.value:.2f}", f"{figure.low:.2f} to {figure.high:.2f}"


def _states(progress: Progress) -> str:
    shares = "".join(
        f'<i class="an-{name}" style="width:{100 * n / progress.groups:.2f}%"></i>'
        for name, n in progress.states.items()
    )
    words = "".join(
        f'<li><i class="an-dot an-{name}"></i><strong>{n:,}</strong> {STATES[name]}</li>'
        for name, n in progress.states.items()
    )
    results = ", ".join(f"{n:,} {text(word)}" for word, n in progress.results.items())
    said = f"{results}; {progress.by_senior:,} by a senior" if results else "nothing is settled yet"
    done = progress.states["settled"]
    return (
        f'<section class="an-panel"><h3>{done:,} of {progress.groups:,} groups are settled</h3>'
        f'<div class="an-bar" role="img" aria-label="{done} of {progress.groups} settled">{shares}</div>'
        f'<ul class="an-legend">{words}</ul><p class="sa-facts">Settled: {said}.</p></section>'
    )


def _annotators(progress: Progress, you: str | None) -> str:
    if not progress.shares:
        return ""
    heads = ("annotator", "groups", "median time", "undecided", "contradictory", "checks")
    rows = "".join(_row(share, you) for share in progress.shares)
    return (
        f'<section class="an-panel"><h3>Annotators</h3>{_table(heads, rows)}<p class="sa-facts">Time counts while '
        "a group is in view and somebody is there. Contradictory: order against scores, kept after a warning. Checks: "
        "groups that came back.</p></section>"
    )


def _row(share: Share, you: str | None) -> str:
    marks = [word for word, on in (("you", share.key == you), ("senior", share.role == "senior")) if on]
    badges = "".join(f' <span class="sa-badge">{mark}</span>' for mark in marks)
    cells = (f"{share.judged:,}", seconds_text(share.median_seconds), share.unsure, share.contradictory, share.checks)
    return f'<tr><th scope="row">{text(share.key)}{badges}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _agreement(progress: Progress) -> str:
    figures = [*progress.agreement, *progress.consistency]
    if not figures:
        return '<section class="an-panel"><h3>Agreement</h3><p class="sa-facts">Figures appear when two people have judged the same group.</p></section>'  # noqa: E501
    rows = ""
    for figure in figures:
        value, interval = figure_text(figure)
        rows += f'<tr><th scope="row">{figure.name}</th><td>{value}</td><td>{interval}</td><td>{figure.n:,}</td></tr>'
    heads = ("agreement", "value", "95% interval", "groups")
    return (
        f'<section class="an-panel"><h3>Agreement</h3>{_table(heads, rows)}<p class="sa-facts">Krippendorff\'s alpha '
        "and Kendall's tau: 1 is full agreement, 0 is chance. “With oneself” and “same best story” compare a group "
        "that came back with the first verdict of the same person.</p></section>"
    )


def _table(heads: tuple[str, ...], rows: str) -> str:
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    return (
        f'<div class="an-wide" tabindex="0" role="region" aria-label="{heads[0]} table"><table class="an-table">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
