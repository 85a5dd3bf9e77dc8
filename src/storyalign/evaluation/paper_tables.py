"""The paper's Tables 1, 2, 8, 9 and 10 from one's own runs: its rows and columns, our captions, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storyalign.accuracy import DIMENSIONS
from storyalign.audit.linguistics import Described
from storyalign.audit.story_lengths import DatasetLengths
from storyalign.evaluation.paper_document import NOT_RUN
from storyalign.evaluation.paper_runs import ABLATIONS, SYSTEMS
from storyalign.evaluation.results import Results, shown_name, signatures_of
from storyalign.tables import NO_FIGURE, Table, bounds, estimate, figure, label, percent, points, story_count

OWN = "StoryReward-Qwen"
"""The scorer whose choices Table 8 splits into right and wrong ones, and whose ablations Table 2 shows."""

_OTHERS = [
    "GRM-Llama3.1-8B-rewardmodel-ft",
    "Skywork-Reward-Llama-3.1-8B-v0.2",
    "QRM-Llama3.1-8B-v2",
    "Skywork-Reward-Gemma-2-27B-v0.2",
    "ArmoRM-Llama3-8B-v0.1",
]
TABLE_8 = [OWN, *_OTHERS]
TABLE_10 = [OWN, "StoryReward-Llama", *_OTHERS]


def table_1(results: Results) -> Table:
    """Accuracy by dimension for every system of the paper, then one's own, then the null scorers."""
    own = [r.name for r in results.scorers if r.kind != "null" and r.name not in (*SYSTEMS, *ABLATIONS)]
    nulls = [r.name for r in results.scorers if r.kind == "null"]
    note = (
        "How often each scorer gives the chosen story the highest reward, in percent. Accuracy weighs every instance "
        f"the same, macro every dimension; chance is {percent(results.chance)}. The last rows are scorers that read "
        "nothing."
    )
    dropped = [f"Left out: {reason} ({n})." for reason, n in results.dropped.items()]
    rules = (len(SYSTEMS), len(SYSTEMS) + len(own))
    return _accuracies("Table 1: accuracy by dimension", [*SYSTEMS, *own, *nulls], results, [note, *dropped], rules)


def table_2(results: Results) -> Table:
    """The ablations of the training data."""
    note = (
        "Accuracy in percent when the pairs of one construction are replaced by as many pairs of a larger against a "
        "smaller writer. Accuracy weighs every instance the same, macro every dimension."
    )
    return _accuracies("Table 2: training data left out", [OWN, *ABLATIONS], results, [note], (1,))


def _accuracies(
    title: str, names: Sequence[str], results: Results, notes: Sequence[str], rules_after: Sequence[int]
) -> Table:
    by_name, n_of = {r.name: r for r in results.scorers}, results.data["n_by_dimension"]
    rows = []
    for name in names:
        if (r := by_name.get(name)) is None:
            rows.append([name, *[NOT_RUN] * (len(DIMENSIONS) + 4)])
            continue
        parts = [r.by_dimension.get(d, {"accuracy": None, "ci": None}) for d in DIMENSIONS]
        figures = [estimate(part["accuracy"], part["ci"], "[]") for part in parts]
        figures += [estimate(r.accuracy, r.ci, "[]"), estimate(r.macro_accuracy, r.macro_ci, "[]")]
        rows.append([shown_name(r), *figures, str(r.n_ties), str(r.n_unscored)])
    dimensions = [f"{label(d).capitalize()} (n={n_of.get(d, 0)})" for d in DIMENSIONS]
    heads = ["Model", *dimensions, f"Accuracy (n={results.data['n']})", "Macro", "Ties", "Unscored"]
    signatures = signatures_of(results, names)
    return Table(heads, rows, title, notes, signatures, rules_after=rules_after)


def table_8(rows: Sequence[Described], benchmark: str, signatures: Sequence[str]) -> Table:
    """Kurtosis of the stories that scorers choose, beside the gold ones of the benchmark, which has this name."""
    of: dict[tuple[str, str], Described] = {(row.name, row.kind): row for row in rows}
    own = dict.fromkeys(row.name for row in rows if row.kind == "all" and row.name not in TABLE_8)
    table = [[f"{benchmark} (chosen stories)", *_kurtosis(rows[0])]]
    split = (("wrong", " (on wrong predictions)"), ("all", " (all)"), ("right", " (on correct predictions)"))
    for name in [*TABLE_8, *own]:
        for kind, what in (("all", ""),) if name in _OTHERS else split:
            row = of.get((name, kind))
            table.append([label(name) + what, *([NOT_RUN] * 5 if row is None else _kurtosis(row))])
    note = (
        "Excess kurtosis of sentence lengths in words, one value a story, averaged over the stories that a scorer "
        "chooses. Difference and gap are to the stories chosen in the benchmark; undefined are stories of fewer than "
        "4 sentences or of equal ones. A difference in percent says little where the kurtosis is near zero."
    )
    heads = ["Model", "Kurtosis", "Difference (%)", "Gap", "Stories", "Undefined"]
    return Table(heads, table, "Table 8: kurtosis of the chosen stories", [note], signatures, rules_after=(1,))


def _kurtosis(row: Described) -> list[str]:
    k, is_gold = row.measures["kurtosis"], row.kind == "gold"
    counts = [story_count(row.n), story_count(k.n_undefined)]
    if k.value is None:
        return [*[NO_FIGURE] * 3, *counts]
    ci = f" [{bounds(k.ci, '.3f')}]" if k.ci else ""
    gap_ci = f" [{bounds(k.gap_ci, '+.3f')}]" if k.gap_ci else ""
    gap = ["0.0", "0"] if is_gold else [points(k.difference), f"{figure(k.gap, '+.3f')}{gap_ci}"]
    return [f"{k.value:.4f}{ci}", *gap, *counts]


def table_9(datasets: Mapping[str, DatasetLengths | None]) -> Table:
    """Sizes and lengths of datasets, by name."""
    rows = [
        [name, *[NOT_RUN] * 5]
        if one is None
        else [name, f"{one.n_groups:,}", f"{one.n_stories:,}", one.sources, *one.words.cells[:2]]
        for name, one in datasets.items()
    ]
    note = (
        "Lengths are those of single stories: all four of an instance, both of a pair; a Chinese or Japanese character "
        "counts as one word. The figures describe the whole datasets, so they have no interval."
    )
    heads = ["Dataset", "Instances", "Stories", "Source", "Mean length (words)", "Median length (words)"]
    return Table(heads, rows, "Table 9: datasets", [note])


def table_10(found: Mapping[str, Any] | None) -> Table:
    """Mean scores of the stories chosen for Creative Writing v3, from ``creative_writing.json``."""
    found = found or {}
    scorers = {row["name"]: row for row in found.get("scorers", [])}
    rows = []
    for name in dict.fromkeys([*TABLE_10, *scorers]):
        if (row := scorers.get(name)) is None:
            rows.append([name, *[NOT_RUN] * 3])
            continue
        ci = f" [{row['ci'][0]:.2f}–{row['ci'][1]:.2f}]" if row["ci"] else ""
        rows.append([label(name), figure(row["score"]) + ci, str(row["n"]), str(row["unscored"])])
    how = (
        f"Judge: {found['judge']}; {found['n_prompts']} prompts of {found['prompts']}, best of {found['n']} stories "
        f"each. {found['caveat']}"
        if found
        else "No run of storyalign creative-writing was found."
    )
    note = (
        "Mean score from 1 to 5 over relevance, coherence, empathy, surprise, engagement and complexity of the stories "
        f"that each scorer chooses. {how}"
    )
    heads = ["Model", "Mean score", "Prompts", "Unscored"]
    return Table(heads, rows, "Table 10: EQ-Bench Creative Writing v3", [note], found.get("signatures", []))
