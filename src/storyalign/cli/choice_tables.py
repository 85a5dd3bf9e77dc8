"""What scorers chose, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from storyalign.cli.terminal import new_table, say
from storyalign.tables import NO_FIGURE, interval, label, percent

if TYPE_CHECKING:
    from rich.console import Console

    from storyalign.corpus.evaluation_sets import EvaluationSet
    from storyalign.evaluation.best_of_n import BestOfN
    from storyalign.evaluation.head_to_head import Share


def print_choices(out: Console, data: EvaluationSet, figures: Sequence[BestOfN], reference: str | None) -> None:
    """Print one row a scorer: what it chose, and how good that is where there is an order."""
    sizes = [len(i.stories) for i in data.instances]
    n_stories = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    say(out, f"{data.name}: best of {n_stories} stories for {len(data.instances)} premises", "bold")
    out.print()
    judged = any(one.n_ordered for one in figures)
    heads = ["Choices", "Ties", "Unscored", "Mean words"]
    heads += ["Best one chosen (95%)", "Beats another (95%)", "Mean place"] if judged else []
    table = new_table("Scorer", *heads)
    for one in figures:
        cells = [str(one.n), str(one.n_ties), str(one.n_unscored)]
        cells.append(NO_FIGURE if one.words is None else f"{one.words:,.0f}")
        if judged:
            place = NO_FIGURE if one.place is None else f"{one.place:.2f}"
            cells += [_share(one.best), _share(one.beats), place]
        table.add_row(Text(label(one.name)), *cells)
    out.print(table)
    out.print()
    say(out, f"Mean words of all stories: {figures[0].words_all:,.0f}.")
    if judged:
        ordered = next(one for one in figures if one.n_ordered)
        by_chance = sum(1 + len(i.stories) for i in data.instances) / 2 / len(data.instances)
        say(
            out,
            f"Percent of {ordered.n_ordered} premises; reference: {reference}. By chance: best one "
            f"{percent(ordered.best_by_chance)}, beats another 50.0, mean place {by_chance:.2f}. Beats another: the "
            "chance that the choice stands above another story of its group, equal rank by halves.",
        )
    for one in figures:
        if one.n_without:
            say(out, f"{label(one.name)}: {one.n_without} premises without any reward, so without a choice")
    for reason, n in data.dropped.items():
        say(out, f"left out: {reason} ({n})")


def _share(share: Share | None) -> str:
    return NO_FIGURE if share is None else f"{percent(share.value)} ({interval(share.ci)})"
