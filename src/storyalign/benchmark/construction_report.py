"""The report of a construction: what was kept and dropped, how far judges agree, who wins, and what it cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from storyalign.accuracy import wilson_interval
from storyalign.files import read_jsonl
from storyalign.llm.budget import dollars
from storyalign.llm.spending import Spent, spent_in
from storyalign.records import DIMENSIONS, SOURCES

PARTS = ("premises/llm", "premises/human", "candidates", "ratings", "routes", "settled", "instances")
"""Files of rows, each with its ``_dropped`` file."""

_BINS = [round(-1 + 0.2 * n, 1) for n in range(11)]


def construction_report(folder: Path) -> dict[str, Any]:
    """Sum up a construction's folder."""
    instances = list(_rows(folder / "instances.jsonl"))
    return {
        "calls": {str(note.parent.relative_to(folder)): _calls(note.parent) for note in _asked(folder)},
        "parts": {part: _part(folder, part) for part in PARTS},
        "agreement": _agreement(list(_rows(folder / "routes.jsonl"))),
        "verdicts": dict(Counter(str(row.get("verdict")) for row in _rows(folder / "verdicts.jsonl"))),
        "dimensions": {
            dimension: {
                source: sum(row["dimension"] == dimension and row["source"] == source for row in instances)
                for source in SOURCES
            }
            for dimension in DIMENSIONS
        },
        "stages": {str(stage): sum(row["dimension_stage"] == stage for row in instances) for stage in (1, 2, 3, 4)},
        "writers": _writers(instances),
        "costs": [spent._asdict() for spent in spent_in(folder)],
        "n_instances": len(instances),
        "unverified": sum(row.get("verified") is False for row in _rows(folder / "settled.jsonl")),
    }


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read rows without their stories; nothing where the step has not run."""
    if not path.is_file():
        return
    for line in read_jsonl(path):
        yield {key: value for key, value in line.row.items() if key not in ("chosen", "rejected", "candidates")}


def _part(folder: Path, part: str) -> dict[str, Any]:
    dropped = list(_rows(folder / f"{part}_dropped.jsonl"))
    reasons = Counter(_general(row["reason"]) for row in dropped)
    return {
        "kept": sum(1 for _ in _rows(folder / f"{part}.jsonl")),
        "dropped": len(dropped),
        "reasons": dict(reasons.most_common()),
    }


def _asked(folder: Path) -> list[Path]:
    """Find the folders of steps that asked an endpoint."""
    return sorted(folder.rglob("asked.json"))


def _calls(folder: Path) -> dict[str, Any]:
    reasons = Counter(row["reason"] for row in _rows(folder / "dropped.jsonl"))
    kept = sum(1 for _ in _rows(folder / "rows.jsonl"))
    return {"kept": kept, "dropped": reasons.total(), "reasons": dict(reasons.most_common())}


def _general(reason: str) -> str:
    """Leave out which row a duplicate repeats."""
    return reason.split(" duplicate of ")[0] + " duplicate" if " duplicate of " in reason else reason


def _agreement(routes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for source in SOURCES:
        rows = [row for row in routes if row["source"] == source]
        taus = [row["tau_avg"] for row in rows if row["tau_avg"] is not None]
        bins = Counter(_BINS[max(0, min(9, math.floor((tau + 1) / 0.2 + 1e-9)))] for tau in taus)
        result[source] = {
            "groups": len(rows),
            "undefined": len(rows) - len(taus),
            "mean_tau": sum(taus) / len(taus) if taus else None,
            "histogram": {f"{low:+.1f}": bins[low] for low in _BINS[:-1]},
            "routes": dict(Counter(f"{row['route']}: {row['reason']}" for row in rows).most_common()),
            "tied_pairs": sum(sum(row["tied_pairs"].values()) for row in rows),
        }
    return result


def _writers(instances: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Count for each source and writer how often its story was chosen, of the groups it wrote for."""
    wins: Counter[tuple[str, str]] = Counter()
    groups: Counter[tuple[str, str]] = Counter()
    for row in instances:
        wins[row["source"], row["chosen_writer"]] += 1
        for writer in {row["chosen_writer"], *row["rejected_writers"]}:
            groups[row["source"], writer] += 1
    return {
        f"{source}/{writer}": {
            "wins": wins[source, writer],
            "groups": n,
            "rate": wins[source, writer] / n,
            "interval": list(wilson_interval(wins[source, writer] / n, n)),
        }
        for (source, writer), n in sorted(groups.items())
    }


def report_lines(report: dict[str, Any]) -> Iterator[str]:
    """Write the report as Markdown, line by line."""
    yield "# Construction report"
    yield ""
    yield f"{report['n_instances']:,} instances; {report['unverified']:,} rankings no person has seen."
    yield from _table("## Rows", ["file", "kept", "dropped", "reasons"], _part_rows(report["parts"]))
    yield from _table("## Calls", ["step", "of use", "dropped or failed", "reasons"], _part_rows(report["calls"]))
    agreement = report["agreement"]
    yield from _table(
        "## Agreement between judges (mean Kendall tau, Eq. 2)",
        ["tau from", *agreement],
        (
            [low, *(agreement[s]["histogram"][low] for s in agreement)]
            for low in next(iter(agreement.values()))["histogram"]
        ),
    )
    for source, figures in agreement.items():
        mean = "-" if figures["mean_tau"] is None else f"{figures['mean_tau']:.3f}"
        yield ""
        yield (
            f"{source}: {figures['groups']:,} groups, mean tau {mean}, undefined in {figures['undefined']:,},"
            f" {figures['tied_pairs']:,} tied pairs. Routes: {_listed(figures['routes'])}."
        )
    yield ""
    yield f"Verdicts: {_listed(report['verdicts'])}."
    dimensions = report["dimensions"]
    yield from _table(
        "## Dimensions",
        ["dimension", *SOURCES, "all"],
        ([name, *counts.values(), sum(counts.values())] for name, counts in dimensions.items()),
    )
    yield ""
    yield f"Decided in stage: {_listed(report['stages'])}."
    yield from _table(
        "## Writers",
        ["source/writer", "chosen", "of groups", "rate", "95%"],
        (
            [name, w["wins"], w["groups"], f"{w['rate']:.1%}", f"{w['interval'][0]:.1%} to {w['interval'][1]:.1%}"]
            for name, w in report["writers"].items()
        ),
    )
    yield ""
    yield "Four stories a group: chance is 25%."
    spent = [Spent(**cost) for cost in report["costs"]]
    yield from _table(
        "## Costs",
        ["step", "endpoint", "model", "rows", "prompt tokens", "reply tokens", "cost"],
        ([*s[:6], "price unknown" if s.cost is None else dollars(s.cost)] for s in spent),
    )


def _part_rows(parts: dict[str, Any]) -> Iterator[list[Any]]:
    for name, part in parts.items():
        yield [name, part["kept"], part["dropped"], _listed(part["reasons"])]


def _listed(counts: dict[Any, int]) -> str:
    return "; ".join(f"{name} {n:,}" for name, n in counts.items()) or "none"


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield ""
    yield title
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        cells = (f"{cell:,}" if isinstance(cell, int) else str(cell).replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"
