"""What scorers reach on a set: every accuracy with its n, interval, ties, cuts, unscored groups and signature."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from storyalign.accuracy import DIMENSIONS, SOURCES, chance, chosen_places, credit, macro_average
from storyalign.bootstrap import Floats, bootstrap_interval, summarize_over_premises
from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.errors import DataError
from storyalign.evaluation.scored_sets import Kind, ScoredSet
from storyalign.evaluation.signatures import data_signature, scorer_signature
from storyalign.records import Instance
from storyalign.tables import Table, estimate, interval, label, percent

NAMED = 5
"""Unscored groups that a note names before the rest is only counted."""


@dataclass(frozen=True, slots=True)
class ScorerResult:
    """One row of a table of results. Accuracies are fractions; None where no group is scored."""

    name: str
    kind: Kind
    accuracy: float | None
    """Mean credit over the scored groups, each group with the same weight."""
    ci: list[float] | None
    """95% interval of ``accuracy``."""
    ci_method: str | None
    """How the intervals were made; see ``bootstrap.summarize_over_premises``."""
    macro_accuracy: float | None
    """Mean over the dimensions that have a scored group."""
    macro_ci: list[float] | None
    n: int
    """All groups."""
    n_ties: int
    """Groups whose chosen story shares the top."""
    n_ties_cut: int
    """Those among them in which a story was cut: the cut may have made the tie."""
    n_truncated: int
    """Groups with a story that was cut to the scorer's limit."""
    n_unscored: int
    """Groups with a missing reward; they are left out of ``accuracy``."""
    accuracy_unscored_wrong: float | None
    """The same with unscored groups counted as wrong, over all ``n``."""
    ci_unscored_wrong: list[float] | None
    by_dimension: dict[str, dict[str, Any]]
    by_source: dict[str, dict[str, Any]]
    """Name -> accuracy, ci, ci_method, n, n_ties, n_unscored."""
    unscored: list[dict[str, str]]
    """``id`` and ``reason`` of each unscored group."""
    signature: str
    """What the scorer was, in one line."""
    settings: dict[str, Any]
    report: dict[str, Any]
    """What the scorer's own run says: a judge's flip rate and unread replies; empty for models."""


@dataclass(frozen=True, slots=True)
class Results:
    """A table of results: the shape of every results file."""

    scorers: list[ScorerResult]
    chance: float
    """Mean of 1 / candidates."""
    signature: str
    """Data, rules and kit in one line; the scorers carry their own."""
    tie_policy: str
    dropped: dict[str, int]
    """Groups and candidates that the data lost on its way here, by reason."""
    data: dict[str, Any]
    """``name``, ``digest``, ``n`` and ``n_premises`` of the set, ``n_by_dimension``, ``n_by_source`` and ``notes``."""

    @property
    def facts(self) -> str:
        """Groups, premises and chance."""
        return f"{self.data['n']} groups over {self.data['n_premises']} premises, chance {percent(self.chance)}%"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: fractions, no NaN."""
        return asdict(self)


def evaluate_scorers(
    evaluation_set: EvaluationSet, scored_sets: Sequence[ScoredSet], tie_policy: str = "split"
) -> Results:
    """Compute the table.

    Args:
        evaluation_set: instances with a gold order.
        scored_sets: rewards of each scorer, for every instance.
        tie_policy: ``split`` (1/k for a tie of k at the top) or ``strict`` (a tie is wrong).

    Raises:
        DataError: the set has no gold order.
    """
    if not evaluation_set.has_gold:
        raise DataError(f"{evaluation_set.name}: has no gold order; rewards can be had, accuracy cannot")
    instances = evaluation_set.instances
    return Results(
        scorers=[_result(scored, instances, tie_policy) for scored in scored_sets],
        chance=chance([len(i.stories) for i in instances]) or 0.0,
        signature=data_signature(evaluation_set, ties=tie_policy, intervals="95%"),
        tie_policy=tie_policy,
        dropped=dict(evaluation_set.dropped),
        data={
            "name": evaluation_set.name,
            "digest": evaluation_set.digest,
            "n": len(instances),
            "n_premises": len({i.prompt for i in instances}),
            "n_by_dimension": _counts(DIMENSIONS, [i.dimension for i in instances]),
            "n_by_source": _counts(SOURCES, [i.source for i in instances]),
            "notes": data_notes(instances),
        },
    )


def _result(scored: ScoredSet, instances: Sequence[Instance], tie_policy: str) -> ScorerResult:
    rows = [(i, chosen_places(scored.rewards[i.id], 0)) for i in instances]
    cut = {i.id for i in instances if any(scored.truncated.get(i.id, ()))}
    wrong = _summary([(i, place or 0) for i, place in rows], tie_policy)
    dimensions = {name: [row for row in rows if row[0].dimension == name] for name in DIMENSIONS}
    sources = {name: [row for row in rows if row[0].source == name] for name in SOURCES}
    by_dimension = {name: _summary(own, tie_policy) for name, own in dimensions.items() if own}
    macro, macro_ci = _macro(rows, by_dimension, tie_policy)
    return ScorerResult(
        name=scored.name,
        kind=scored.kind,
        **_summary(rows, tie_policy),
        macro_accuracy=macro,
        macro_ci=macro_ci,
        n_ties_cut=sum(i.id in cut and place is not None and place > 1 for i, place in rows),
        n_truncated=len(cut),
        accuracy_unscored_wrong=wrong["accuracy"],
        ci_unscored_wrong=wrong["ci"],
        by_dimension=by_dimension,
        by_source={name: _summary(own, tie_policy) for name, own in sources.items() if own},
        unscored=[
            {"id": i.id, "reason": scored.reasons.get(i.id, "a reward is missing")}
            for i, place in rows
            if place is None
        ],
        signature=scorer_signature(scored),
        settings=dict(scored.settings),
        report=dict(scored.report),
    )


Placed = tuple[Instance, int | None]
"""A group and its ``accuracy.chosen_places``."""


def _summary(rows: Sequence[Placed], tie_policy: str) -> dict[str, Any]:
    return summarize_over_premises([place for _, place in rows], [i.prompt for i, _ in rows], tie_policy)


def _macro(
    rows: Sequence[Placed], by_dimension: Mapping[str, Mapping[str, Any]], tie_policy: str
) -> tuple[float | None, list[float] | None]:
    present = {name: dict(part) for name, part in by_dimension.items() if part["accuracy"] is not None}
    macro, macro_ci = macro_average(list(present.values()))
    scored = [(i, place) for i, place in rows if place is not None and i.dimension in present]
    if len({i.prompt for i, _ in scored}) in (len(scored), 1):
        return macro, macro_ci  # no premise stands behind two groups, or one stands behind all
    columns = np.zeros((len(scored), 2 * len(present)))
    for row, (instance, place) in enumerate(scored):
        column = 2 * list(present).index(str(instance.dimension))
        columns[row, column : column + 2] = float(credit(place, tie_policy)), 1.0
    drawn = bootstrap_interval(columns, [i.prompt for i, _ in scored], _mean_of_shares)
    return macro, macro_ci if drawn is None or drawn[1] - drawn[0] < 1e-9 else list(drawn)


def _mean_of_shares(totals: Floats) -> Floats:
    """Average the drawn dimensions; one that a draw lacks leaves the average of the others."""
    return np.asarray(np.nanmean(totals[:, 0::2] / totals[:, 1::2], axis=1), dtype=float)


def is_sample(instances: Sequence[Instance]) -> bool:
    """Return whether every chosen story was written for the kit."""
    return all(map(_written_for_the_kit, instances))


def data_notes(instances: Sequence[Instance]) -> list[str]:
    """Return what a reader has to know of the data before quoting a figure."""
    n = sum(map(_written_for_the_kit, instances))
    which = "The stories" if n == len(instances) else f"{n} of the chosen stories"
    return [f"{which} were written for the kit: a synthetic sample to try it on, not StoryRMB."] if n else []


def _written_for_the_kit(instance: Instance) -> bool:
    return (instance.chosen_writer or "").startswith("kit-")


def _counts(order: Sequence[str], names: Sequence[str | None]) -> dict[str, int]:
    return {name: names.count(name) for name in order if name in names}


def tables_of(results: Results) -> list[Table]:
    """Return the results for the terminal: all groups, then the parts by dimension and by source."""
    faint = [place for place, r in enumerate(results.scorers) if r.kind == "null"]
    rows = [
        [
            shown_name(r),
            estimate(r.accuracy, r.ci),
            estimate(r.macro_accuracy, r.macro_ci),
            str(r.n),
            f"{r.n_ties} ({r.n_ties_cut} cut)" if r.n_ties_cut else str(r.n_ties),
            str(r.n_truncated),
            str(r.n_unscored),
        ]
        for r in results.scorers
    ]
    title = "\n".join([f"{results.data['name']}: {results.facts}", *results.data["notes"]])
    heads = ["Scorer", "Accuracy (95%)", "Macro (95%)", "n", "Ties", "Cut", "Unscored"]
    tables = [Table(heads, rows, title, faint=faint)]
    for head, part_of in (("By dimension", "by_dimension"), ("By source", "by_source")):
        n_of = results.data[f"n_{part_of}"]
        rows = [
            [shown_name(r), *(f"{percent(part['accuracy'])}\n{interval(part['ci'])}" for part in parts.values())]
            for r in results.scorers
            if (parts := {name: getattr(r, part_of)[name] for name in n_of})
        ]
        tables.append(Table([head, *(f"{label(name)}\nn={n}" for name, n in n_of.items())], rows, faint=faint))
    return [*tables, Table([], [], notes=_notes(results, NAMED), signatures=signatures_of(results))]


def overview(results: Results) -> Table:
    """Return the results in one table for a paper or a card, in the column order of the paper's Table 1."""
    dimensions, sources = results.data["n_by_dimension"], results.data["n_by_source"]
    heads = [f"{label(name).capitalize()} (n={n})" for name, n in dimensions.items()]
    heads += [f"{label(name)} (n={n})" for name, n in sources.items()] + ["Macro [95%]"] * bool(dimensions)
    rows = [
        [
            shown_name(r),
            *(percent(r.by_dimension[name]["accuracy"]) for name in dimensions),
            *(percent(r.by_source[name]["accuracy"]) for name in sources),
            *[estimate(r.macro_accuracy, r.macro_ci, "[]")] * bool(dimensions),
            estimate(r.accuracy, r.ci, "[]"),
            *map(str, (r.n_ties, r.n_truncated, r.n_unscored)),
        ]
        for r in results.scorers
    ]
    notes = [f"{results.facts}.", *results.data["notes"], *_notes(results)]
    heads = ["Scorer", *heads, "Accuracy [95%]", "Ties", "Cut", "Unscored"]
    return Table(heads, rows, notes=notes, signatures=signatures_of(results))


def signatures_of(results: Results, names: Collection[str] | None = None) -> list[str]:
    """Return the signature of the data, then one per scorer (of these names) that reads stories."""
    read = [r for r in results.scorers if r.kind != "null" and (names is None or r.name in names)]
    return [results.signature, *(r.signature for r in read)]


def interval_methods(results: Results) -> str:
    """Name how the intervals were made."""
    return ", ".join(dict.fromkeys(r.ci_method for r in results.scorers if r.ci_method)) or "none"


def shown_name(result: ScorerResult) -> str:
    """Return a scorer's name; that of a null scorer in words."""
    return label(result.name) if result.kind == "null" else result.name


def _notes(results: Results, named: int = 0) -> list[str]:
    ties = "a tie of k at the top earns 1/k" if results.tie_policy == "split" else "a tie at the top is wrong"
    lines = [
        f"Percent. Accuracy weighs every group the same, macro every dimension; {ties}. "
        f"Intervals: {interval_methods(results)}.",
        *(f"left out: {reason} ({n})" for reason, n in results.dropped.items()),
        *(f"{r.name}: {r.settings['learned_from']}." for r in results.scorers if r.settings.get("learned_from")),
    ]
    for r in results.scorers:
        if r.n_unscored:
            wrong = estimate(r.accuracy_unscored_wrong, r.ci_unscored_wrong)
            lines.append(f"{r.name}: {r.n_unscored} unscored groups; counted as wrong, accuracy is {wrong}")
            lines += [f"  {group['id']}: {group['reason']}" for group in r.unscored[:named]]
            lines += [f"  ... and {r.n_unscored - named} more"] if 0 < named < r.n_unscored else []
        if r.report.get("flip_rate") is not None:
            lines.append(f"{r.name}: flip rate {percent(r.report['flip_rate'])}% (n={r.report.get('flips_of')})")
    return lines
