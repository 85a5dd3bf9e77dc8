"""All tables and figures of the paper that a folder of runs can fill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from storyalign.audit.linguistics import describe, gold_selection, scorer_selections
from storyalign.audit.story_lengths import DatasetLengths
from storyalign.corpus.evaluation_sets import EvaluationSet, load_evaluation_set
from storyalign.corpus.human_rankings import stored_order
from storyalign.errors import DataError
from storyalign.evaluation.charts import duel_figure, save_figure, source_figure
from storyalign.evaluation.head_to_head import BY_JUDGES, HeadToHead, head_to_head
from storyalign.evaluation.paper_document import Figure, Parts
from storyalign.evaluation.paper_runs import FoundRuns
from storyalign.evaluation.paper_tables import table_1, table_2, table_8, table_9, table_10
from storyalign.evaluation.reference_orders import agreement_line, orders_of, rater_agreement, reference_of
from storyalign.evaluation.results import Results, evaluate_scorers, is_sample, signatures_of
from storyalign.evaluation.scored_sets import ScoredSet, null_scored_sets
from storyalign.evaluation.signatures import data_signature, scorer_signature
from storyalign.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_FOCUS = ("StoryReward-Qwen", "StoryReward-Llama")
_OTHER_STORIES = ("figure_3", "table_10")
"""Parts whose stories are not those of the benchmark."""


def name_of(data: EvaluationSet) -> str:
    """Return what to call the benchmark; the sample is called so."""
    return f"{data.name} (the kit's sample)" if is_sample(data.instances) else data.name


def candidates_of(run_dir: Path) -> EvaluationSet | None:
    """Load the stories of the folder's best-of-N run, if there is one."""
    path = run_dir / "best_of_n" / "candidates.jsonl"
    return load_evaluation_set(path, needs_gold=False) if path.is_file() else None


def paper_parts(
    run_dir: Path,
    data: EvaluationSet,
    runs: FoundRuns,
    rankings: Sequence[str],
    lengths: tuple[DatasetLengths | None, DatasetLengths | None],
    folder: Path,
) -> Parts:
    """Make every table and draw every figure.

    Args:
        run_dir: the folder of runs.
        data: the benchmark.
        runs: the scorers found in the folder; at least one of the benchmark.
        rankings: files of human rankings of the best-of-N stories, relative to the folder.
        lengths: of the training data and of the benchmark.
        folder: where the figures go.

    Raises:
        DataError: ``creative_writing.json`` is broken.
    """
    results = evaluate_scorers(data, [*runs.benchmark, *null_scored_sets(data.instances)])
    selections = [gold_selection(data.instances)]
    for one in runs.benchmark:
        selections += scorer_selections(one.name, data.instances, one.rewards)
    signatures, name = [data_signature(data), *map(scorer_signature, runs.benchmark)], name_of(data)
    parts: dict[str, Table | Figure] = {
        "table_1": table_1(results),
        "table_2": table_2(results),
        "figure_2": _figure_2(results, folder),
        "figure_3": _figure_3(run_dir, runs.best_of_n, rankings, folder),
        "figure_4": _figure_4(data, name, runs.benchmark, signatures, folder),
        "table_8": table_8(describe(selections), name, signatures),
        "table_9": table_9({"Training data": lengths[0], name: lengths[1]}),
        "table_10": table_10(_creative_writing(run_dir)),
    }
    notes = results.data["notes"]
    return {
        key: part if key in _OTHER_STORIES else replace(part, notes=[*part.notes, *notes])
        for key, part in parts.items()
    }


def _figure_2(results: Results, folder: Path) -> Figure:
    title = "Figure 2: accuracy by source"
    note = (
        "Accuracy in percent where all stories are by LLMs and where the chosen one is by a person. Whiskers are 95% "
        "intervals, the dashed line is chance. Scorers that read nothing stand last."
    )
    if not results.data["n_by_source"]:
        return Figure(title, [note], missing="the benchmark's instances have no source")
    return Figure(title, [note], signatures_of(results), _save(source_figure(results), "figure_2", folder))


def _figure_3(run_dir: Path, scored: list[ScoredSet], rankings: Sequence[str], folder: Path) -> Figure:
    candidates, missing = candidates_of(run_dir), ""
    if candidates is None:
        missing = "there is no best_of_n/candidates.jsonl"
    elif len(scored) < 2:
        missing = "fewer than two scorers have scored best_of_n/candidates.jsonl"
    elif not rankings:
        missing = "paper.yaml names no human_rankings"
    what = "people's ranks of best-of-N stories"
    if missing or candidates is None:
        return _duels("figure_3", what, folder, missing=missing)
    path = run_dir / "best_of_n" / "candidates.jsonl"
    human = reference_of(path, candidates, [run_dir / name for name in rankings])
    assert human is not None
    signatures = [data_signature(candidates, reference=human.source), *map(scorer_signature, scored)]
    signatures.append(agreement_line(rater_agreement(human), human))
    result = head_to_head(candidates.instances, scored, orders_of(candidates, human))
    return _duels("figure_3", what, folder, result, signatures=signatures)


def _figure_4(
    data: EvaluationSet, name: str, scored: list[ScoredSet], signatures: Sequence[str], folder: Path
) -> Figure:
    what = f"the order stored in {name}"
    if len(scored) < 2:
        return _duels("figure_4", what, folder, missing="it takes two scorers")
    result = head_to_head(data.instances, scored, orders_of(data, stored_order(data.instances)))
    return _duels("figure_4", what, folder, result, [BY_JUDGES], signatures)


def _duels(
    key: str,
    what: str,
    folder: Path,
    result: HeadToHead | None = None,
    notes: Sequence[str] = (),
    signatures: Sequence[str] = (),
    missing: str | None = None,
) -> Figure:
    title = f"Figure {key[-1]}: head-to-head by {what}"
    note = (
        f"Which scorer's chosen story stands higher in {what}. Light grey: both choose the same story. The whisker is "
        "the 95% interval of the wins; a star marks p < 0.05 (sign test over premises, Holm)."
    )
    if result is None:
        return Figure(title, [note], missing=missing)
    focus = [name for name in _FOCUS if name in result.names] or result.names[:1]
    return Figure(title, [note, *notes], signatures, _save(duel_figure(result, focus), key, folder))


def _save(drawing: Drawing, key: str, folder: Path) -> list[str]:
    return [save_figure(drawing, folder / f"{key}{suffix}").name for suffix in (".png", ".svg")]


def _creative_writing(run_dir: Path) -> dict[str, Any] | None:
    path = run_dir / "creative_writing" / "creative_writing.json"
    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: not valid JSON ({error}); run storyalign creative-writing again") from error
    return found
