"""The paper's Figures 2, 3 and 4 from one's own runs, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from storyalign.evaluation.chart_style import CHANCE, INK, WHISKER, new_axes, save_figure
from storyalign.evaluation.duel_charts import duel_figure
from storyalign.evaluation.head_to_head import HeadToHead
from storyalign.evaluation.paper_document import PaperFigure
from storyalign.evaluation.results import Results, ScorerResult
from storyalign.tables import label, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SOURCES = (("llm_llm", "#2f6f9f"), ("human_llm", "#d9985f"))
_FOCUS = ("StoryReward-Qwen", "StoryReward-Llama")
_SUFFIXES = (".png", ".svg")


def figure_2(results: Results, folder: Path) -> PaperFigure:
    """Accuracy by source, one pair of bars a scorer."""
    title = "Figure 2: accuracy by source"
    caption = (
        "Accuracy in percent where all stories are by LLMs and where the chosen one is by a person. Whiskers are 95% "
        "intervals, the dashed line is chance. Scorers that read nothing stand last."
    )
    sources = [(name, colour) for name, colour in _SOURCES if name in results.data["n_by_source"]]
    if not sources:
        return PaperFigure("figure_2", title, caption, [], "the benchmark's instances have no source")
    shown = [r for r in results.scorers if r.kind != "null"] + [r for r in results.scorers if r.kind == "null"]
    files = _save(_by_source(results, shown, sources), "figure_2", folder)
    signatures = [results.signature, *(r.signature for r in shown if r.kind != "null")]
    return PaperFigure("figure_2", title, caption, files, None, signatures)


def _by_source(results: Results, shown: Sequence[ScorerResult], sources: Sequence[tuple[str, str]]) -> Figure:
    from matplotlib.patches import Patch

    figure, axes = new_axes(6.4, 0.9 + 0.42 * len(shown))
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    height = 0.8 / len(sources)
    for y, result in enumerate(shown):
        for place, (source, colour) in enumerate(sources):
            part = result.by_source[source]
            at = y - 0.4 + height * (place + 0.5)
            if part["accuracy"] is None:
                axes.annotate("none scored", (0, at), (3, 0), textcoords="offset points", va="center", fontsize=7)
                continue
            value, (low, high) = 100 * part["accuracy"], (100 * bound for bound in part["ci"])
            axes.barh(at, value, height * 0.86, color=colour, alpha=0.55 if result.kind == "null" else 1.0)
            reach = [[max(0.0, value - low)], [max(0.0, high - value)]]
            axes.errorbar(value, at, xerr=reach, **WHISKER)
            clear = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            axes.annotate(
                f"{value:.0f}", (high, at), (5, 0), textcoords="offset points", va="center", fontsize=7, bbox=clear
            )
    axes.axvline(100 * results.chance, **CHANCE)
    axes.set_yticks(range(len(shown)), [shortened(label(r.name) if r.kind == "null" else r.name) for r in shown])
    axes.tick_params(axis="y", labelcolor=INK)
    axes.invert_yaxis()
    axes.set_xlim(0, 108)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("accuracy (%), 95% interval; dashed: chance")
    n_of = results.data["n_by_source"]
    handles = [Patch(color=colour, label=f"{label(source)} (n={n_of[source]})") for source, colour in sources]
    figure.legend(handles=handles, loc="outside upper left", ncols=2, frameon=False, fontsize=8, handlelength=1.2)
    return figure


def duel_paper_figure(
    number: int, what: str, result: HeadToHead | None, note: str, signatures: Sequence[str], folder: Path
) -> PaperFigure:
    """Figure 3 (best-of-N by human ranks) or 4 (the benchmark's own order).

    Args:
        number: 3 or 4.
        what: the order that decides, in words.
        result: the duels; None where there are none.
        note: a sentence for the caption; without duels, why there are none.
        signatures: of data and scorers.
        folder: where the files go.
    """
    key, title = f"figure_{number}", f"Figure {number}: head-to-head by {what}"
    caption = (
        f"Which scorer's chosen story stands higher in {what}. Light grey: both choose the same story. The whisker is "
        "the 95% interval of the wins; a star marks p < 0.05 (sign test over premises, Holm)."
    )
    if result is None:
        return PaperFigure(key, title, caption, [], note)
    focus = [name for name in _FOCUS if name in result.names] or result.names[:1]
    caption = f"{caption} {note}".strip()
    return PaperFigure(key, title, caption, _save(duel_figure(result, focus), key, folder), None, list(signatures))


def _save(figure: Figure, key: str, folder: Path) -> list[str]:
    return [save_figure(figure, folder / f"{key}{suffix}").name for suffix in _SUFFIXES]
