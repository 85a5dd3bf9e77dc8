"""The paper's Tables 1, 2, 8, 9 and 10 from one's own runs: its rows and columns, our captions, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storyalign.accuracy import DIMENSIONS
from storyalign.audit.linguistics import Described, Kind
from storyalign.audit.story_lengths import DatasetLengths
from storyalign.evaluation.paper_document import NOT_RUN, PaperTable
from storyalign.evaluation.paper_runs import ABLATIONS, SYSTEMS
from storyalign.evaluation.results import Results, ScorerResult
from storyalign.tables import NO_FIGURE, interval, label, percent, story_count

OWN = "StoryReward-Qwen"
"""The scorer whose choices Table 8 splits into right and wrong ones, and whose ablations Table 2 shows."""

TABLE_8 = [
    OWN,
    "GRM-Llama3.1-8B-rewardmodel-ft",
    "Skywork-Reward-Llama-3.1-8B-v0.2",
    "QRM-Llama3.1-8B-v2",
    "Skywork-Reward-Gemma-2-27B-v0.2",
    "ArmoRM-Llama3-8B-v0.1",
]

TABLE_10 = [
    OWN,
    "StoryReward-Llama",
    "GRM-Llama3.1-8B-rewardmodel-ft",
    "Skywork-Reward-Llama-3.1-8B-v0.2",
    "QRM-Llama3.1-8B-v2",
    "Skywork-Reward-Gemma-2-27B-v0.2",
    "ArmoRM-Llama3-8B-v0.1",
]


def table_1(results: Results) -> PaperTable:
    """Accuracy by dimension for every system of the paper, then one's own, then the null scorers."""
    by_name = {r.name: r for r in results.scorers}
    own = [r.name for r in results.scorers if r.kind != "null" and r.name not in (*SYSTEMS, *ABLATIONS)]
    nulls = [r.name for r in results.scorers if r.kind == "null"]
    names = [*SYSTEMS, *own, *nulls]
    rows = [_accuracies(name, by_name.get(name), results) for name in names]
    return PaperTable(
        "table_1",
        "Table 1: accuracy by dimension",
        "How often each scorer gives the chosen story the highest reward, in percent. Accuracy weighs every instance "
        f"the same, macro every dimension; chance is {percent(results.chance)}. The last rows are scorers that read "
        "nothing. " + _dropped(results),
        _accuracy_head(results),
        rows,
        _signatures(results, names),
        (len(SYSTEMS), len(SYSTEMS) + len(own)),
    )


def table_2(results: Results) -> PaperTable:
    """The ablations of the training data."""
    by_name = {r.name: r for r in results.scorers}
    names = [OWN, *ABLATIONS]
    return PaperTable(
        "table_2",
        "Table 2: training data left out",
        "Accuracy in percent when the pairs of one construction are replaced by as many pairs of a larger against a "
        "smaller writer. Accuracy weighs every instance the same, macro every dimension.",
        _accuracy_head(results),
        [_accuracies(name, by_name.get(name), results) for name in names],
        _signatures(results, names),
        (1,),
    )


def _accuracy_head(results: Results) -> list[str]:
    n_of = results.data["n_by_dimension"]
    dimensions = [f"{label(d).capitalize()} (n={n_of.get(d, 0)})" for d in DIMENSIONS]
    return ["Model", *dimensions, f"Accuracy (n={results.data['n']})", "Macro", "Ties", "Unscored"]


def _accuracies(name: str, result: ScorerResult | None, results: Results) -> list[str]:
    if result is None:
        return [name, *[NOT_RUN] * (len(DIMENSIONS) + 4)]
    cells = [
        _estimate(part["accuracy"], part["ci"]) if (part := result.by_dimension.get(d)) else NO_FIGURE
        for d in DIMENSIONS
    ]
    means = [_estimate(result.accuracy, result.ci), _estimate(result.macro_accuracy, result.macro_ci)]
    return [label(name) if result.kind == "null" else name, *cells, *means, str(result.n_ties), str(result.n_unscored)]


def table_8(rows: Sequence[Described], benchmark: str, signatures: Sequence[str]) -> PaperTable:
    """Kurtosis of the stories that scorers choose, beside the gold ones of the benchmark, which has this name."""
    of = {(row.name, row.kind): row for row in rows}
    gold = rows[0]
    own = list(dict.fromkeys(row.name for row in rows if row.kind == "all" and row.name not in TABLE_8))
    table: list[list[str]] = []
    for name in [*TABLE_8, *own]:
        kinds: tuple[Kind, ...] = ("wrong", "all", "right") if name not in TABLE_8[1:] else ("all",)
        for kind in kinds:
            what = {"wrong": " (on wrong predictions)", "right": " (on correct predictions)"}.get(
                kind, " (all)" if len(kinds) > 1 else ""
            )
            row = of.get((name, kind))
            table.append([label(name) + what, *([NOT_RUN] * 5 if row is None else _kurtosis(row))])
    gold_row = [f"{benchmark} (chosen stories)", *_kurtosis(gold)]
    return PaperTable(
        "table_8",
        "Table 8: kurtosis of the chosen stories",
        "Excess kurtosis of sentence lengths in words, one value a story, averaged over the stories that a scorer "
        "chooses. Difference and gap are to the stories chosen in the benchmark; undefined are stories of fewer than "
        "4 sentences or of equal ones. A difference in percent says little where the kurtosis is near zero.",
        ["Model", "Kurtosis", "Difference (%)", "Gap", "Stories", "Undefined"],
        [gold_row, *table],
        list(signatures),
        (1,),
    )


def _kurtosis(row: Described) -> list[str]:
    k = row.measures["kurtosis"]
    if k.value is None:
        return [NO_FIGURE, NO_FIGURE, NO_FIGURE, story_count(row.n), story_count(k.n_undefined)]
    is_gold = row.kind == "gold"
    ci = "" if k.ci is None else f" [{k.ci[0]:.3f} to {k.ci[1]:.3f}]"
    gap_ci = "" if k.gap_ci is None else f" [{k.gap_ci[0]:+.3f} to {k.gap_ci[1]:+.3f}]"
    difference = "0.0" if is_gold else NO_FIGURE if k.difference is None else f"{100 * k.difference:+.1f}"
    gap = "0" if is_gold else f"{k.gap:+.3f}{gap_ci}"
    return [f"{k.value:.4f}{ci}", difference, gap, story_count(row.n), story_count(k.n_undefined)]


def table_9(training: DatasetLengths | None, benchmark: DatasetLengths | None, name_of_benchmark: str) -> PaperTable:
    """Sizes and lengths of the two datasets."""
    rows = []
    for name, one in (("Training data", training), (name_of_benchmark, benchmark)):
        if one is None:
            rows.append([name, *[NOT_RUN] * 5])
            continue
        figures = [f"{one.words.mean:,.0f}", f"{one.words.median:,.0f}"]
        rows.append([name, f"{one.n_groups:,}", f"{one.n_stories:,}", one.sources, *figures])
    return PaperTable(
        "table_9",
        "Table 9: datasets",
        "Lengths are those of single stories: all four of an instance, both of a pair; a Chinese or Japanese character "
        "counts as one word. The figures describe the whole datasets, so they have no interval.",
        ["Dataset", "Instances", "Stories", "Source", "Mean length (words)", "Median length (words)"],
        rows,
    )


def table_10(found: Mapping[str, Any] | None) -> PaperTable:
    """Mean scores of the stories chosen for Creative Writing v3, from ``creative_writing.json``."""
    scorers = {row["name"]: row for row in (found or {}).get("scorers", [])}
    own = [name for name in scorers if name not in TABLE_10]
    rows = []
    for name in [*TABLE_10, *own]:
        row = scorers.get(name)
        if row is None:
            rows.append([name, *[NOT_RUN] * 3])
            continue
        ci = row["ci"]
        score = NO_FIGURE if row["score"] is None else f"{row['score']:.2f}"
        rows.append(
            [label(name), score + (f" [{ci[0]:.2f}–{ci[1]:.2f}]" if ci else ""), str(row["n"]), str(row["unscored"])]
        )
    how = (
        f"Judge: {found['judge']}; {found['n_prompts']} prompts of {found['prompts']}, best of {found['n']} stories "
        f"each. {found['caveat']}"
        if found
        else "No run of storyalign creative-writing was found."
    )
    return PaperTable(
        "table_10",
        "Table 10: EQ-Bench Creative Writing v3",
        "Mean score from 1 to 5 over relevance, coherence, empathy, surprise, engagement and complexity of the stories "
        f"that each scorer chooses. {how}",
        ["Model", "Mean score", "Prompts", "Unscored"],
        rows,
        list((found or {}).get("signatures", [])),
    )


def _estimate(value: float | None, ci: Sequence[float] | None) -> str:
    return NO_FIGURE if value is None else f"{percent(value)} [{interval(ci)}]"


def _signatures(results: Results, names: Sequence[str]) -> list[str]:
    shown = [r.signature for r in results.scorers if r.name in names and r.kind != "null"]
    return [results.signature, *shown]


def _dropped(results: Results) -> str:
    return " ".join(f"Left out: {reason} ({n})." for reason, n in results.dropped.items())
