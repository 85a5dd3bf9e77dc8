"""The table of results in Markdown, in the column order of the paper's Table 1."""

from __future__ import annotations

from storyalign.accuracy import DIMENSIONS
from storyalign.evaluation.results import Results, ScorerResult
from storyalign.evaluation.wording import interval, label, markdown_row, percent


def markdown_table(results: Results) -> str:
    """Write one row a scorer: accuracy by dimension, macro and micro with intervals, and what was not plain sailing.

    Returns:
        A Markdown table with a note that holds n, chance and the signatures; ends with a newline.
    """
    n_of = results.data["n_by_dimension"]
    dimensions = [name for name in DIMENSIONS if name in n_of]
    sources = list(results.data["n_by_source"])
    head = ["Scorer"]
    head += [f"{label(name).capitalize()} (n={n_of[name]})" for name in dimensions]
    head += [f"{label(name)} (n={results.data['n_by_source'][name]})" for name in sources]
    head += ["Macro [95%]"] if dimensions else []
    head += ["Accuracy [95%]", "Ties", "Cut", "Unscored"]
    rows = [_row(result, dimensions, sources) for result in results.scorers]
    lines = [markdown_row(head), markdown_row(["---", *["---:"] * (len(head) - 1)]), *map(markdown_row, rows)]
    return "\n".join(lines) + "\n\n" + _note(results)


def _row(result: ScorerResult, dimensions: list[str], sources: list[str]) -> list[str]:
    cells = [label(result.name) if result.kind == "null" else result.name]
    cells += [percent(result.by_dimension[name]["accuracy"]) for name in dimensions]
    cells += [percent(result.by_source[name]["accuracy"]) for name in sources]
    cells += [f"{percent(result.macro_accuracy)} [{interval(result.macro_ci)}]"] if dimensions else []
    cells += [f"{percent(result.accuracy)} [{interval(result.ci)}]"]
    return cells + [str(n) for n in (result.n_ties, result.n_truncated, result.n_unscored)]


def _note(results: Results) -> str:
    data = results.data
    notes = [
        f"Percent of {data['n']} groups over {data['n_premises']} premises; chance {percent(results.chance)}. "
        "Accuracy weighs every group the same, macro every dimension. Intervals: "
        + ", ".join(dict.fromkeys(r.ci_method for r in results.scorers if r.ci_method))
        + ".",
        *data["notes"],
        *(f"Left out: {reason} ({n})." for reason, n in results.dropped.items()),
        f"`{results.signature}`",
        *(f"`{result.signature}`" for result in results.scorers if result.kind != "null"),
    ]
    return "\n\n".join(notes) + "\n"
