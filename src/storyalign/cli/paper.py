"""The verb ``paper``: the tables and figures of the paper, filled from one's own runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from storyalign.cli.data_options import Config, Split
from storyalign.errors import DataError

if TYPE_CHECKING:
    from storyalign.corpus.evaluation_sets import EvaluationSet
    from storyalign.evaluation.paper_document import PaperFigure, PaperTable
    from storyalign.evaluation.scored_sets import ScoredSet

_HELP = """
Fill Tables 1, 2, 8, 9, 10 and Figures 2, 3, 4 of the paper from your own runs, as Markdown, LaTeX, PNG and SVG.

RUN_DIR holds rewards files (of storyalign score) for the benchmark, and where there are any: best_of_n/ (of storyalign
best-of-n) and creative_writing/ (of storyalign creative-writing). Cells without a run are marked. paper.yaml in RUN_DIR
may name rows and human rankings:

  names: {rewards/mine.jsonl: StoryReward-Qwen}

  human_rankings: [best_of_n/ann.jsonl, best_of_n/bob.jsonl]

Examples:

  storyalign paper runs --benchmark ./storyrmb

  storyalign paper runs --benchmark ./storyrmb --training ./story_preferences --out runs/paper
"""

_OTHER_STORIES = ("figure_3", "table_10")
"""Parts whose stories are not those of the benchmark."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("paper", help=_HELP, no_args_is_help=True)(paper)


def paper(
    run_dir: Annotated[Path, typer.Argument(help="Folder with rewards files and further runs.")],
    benchmark: Annotated[str, typer.Option(help="StoryRMB: a folder, JSONL file or Hub id.")] = "storyrmb",
    training: Annotated[str | None, typer.Option(help="The training pairs, for Table 9.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to write; RUN_DIR/paper by default.")] = None,
    config: Config = None,
    split: Split = None,
) -> None:
    """Fill tables and figures; the help text stands in ``register``."""
    if not run_dir.is_dir():
        raise DataError(f"{run_dir}: no such folder; it should hold rewards files of storyalign score")

    from storyalign.audit.linguistics import describe, gold_selection, scorer_selections
    from storyalign.cli.terminal import open_console, say
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.evaluation.paper_document import latex, markdown
    from storyalign.evaluation.paper_figures import figure_2
    from storyalign.evaluation.paper_runs import find_runs, read_paper_settings
    from storyalign.evaluation.paper_tables import table_1, table_2, table_8, table_9, table_10
    from storyalign.evaluation.results import evaluate_scorers, is_sample
    from storyalign.evaluation.scored_sets import null_scored_sets
    from storyalign.evaluation.signatures import data_signature, scorer_signature
    from storyalign.files import write_text

    folder = out or run_dir / "paper"
    settings = read_paper_settings(run_dir)
    data = load_evaluation_set(benchmark, config=config, split=split)
    candidates = _candidates(run_dir)
    runs = find_runs(run_dir, data, candidates, settings.names)
    console = open_console()
    for place, reason in runs.passed_over.items():
        say(console, f"{place}: {reason}")
    if not runs.benchmark:
        raise DataError(
            f"{run_dir}: no rewards of {data.name}; make some: storyalign score MODEL {benchmark} --out ..."
        )
    results = evaluate_scorers(data, [*runs.benchmark, *null_scored_sets(data.instances)])
    selections = [gold_selection(data.instances)]
    for one in runs.benchmark:
        selections += scorer_selections(one.name, data.instances, one.rewards)
    signatures = [data_signature(data), *map(scorer_signature, runs.benchmark)]
    name = f"{data.name} (the kit's sample)" if is_sample(data.instances) else data.name
    parts: list[PaperTable | PaperFigure] = [
        table_1(results),
        table_2(results),
        figure_2(results, folder),
        _figure_3(run_dir, candidates, runs.best_of_n, settings.human_rankings, folder),
        _figure_4(data, name, runs.benchmark, signatures, folder),
        table_8(describe(selections), name, signatures),
        table_9(_lengths(training) if training else None, _lengths(benchmark, config, split), name),
        table_10(_creative_writing(run_dir)),
    ]
    notes = results.data["notes"]
    parts = [
        part if part.key in _OTHER_STORIES else replace(part, caption=" ".join([part.caption, *notes]))
        for part in parts
    ]
    write_text(folder / "paper.md", markdown(parts, f"The paper's tables and figures on {name}"))
    write_text(folder / "paper.tex", latex(parts))
    for note in notes:
        say(console, note, "bold")
    for part in parts:
        say(console, f"{part.title}: {part.state}", "")
    say(console, f"wrote {folder / 'paper.md'}, {folder / 'paper.tex'} and the figures beside them", "bold")


def _candidates(run_dir: Path) -> EvaluationSet | None:
    from storyalign.corpus.evaluation_sets import load_evaluation_set

    path = run_dir / "best_of_n" / "candidates.jsonl"
    return load_evaluation_set(path, needs_gold=False) if path.is_file() else None


def _figure_3(
    run_dir: Path,
    candidates: EvaluationSet | None,
    scored: list[ScoredSet],
    rankings: tuple[str, ...],
    folder: Path,
) -> PaperFigure:
    from storyalign.cli.data_options import DataChoice
    from storyalign.cli.duel_tables import agreement_line
    from storyalign.cli.reference_orders import load_with_reference
    from storyalign.evaluation.head_to_head import head_to_head
    from storyalign.evaluation.paper_figures import duel_paper_figure
    from storyalign.evaluation.rater_agreement import rater_agreement
    from storyalign.evaluation.signatures import data_signature, scorer_signature

    what = "people's ranks of best-of-N stories"
    if candidates is None:
        missing = "there is no best_of_n/candidates.jsonl"
    elif len(scored) < 2:
        missing = "fewer than two scorers have scored best_of_n/candidates.jsonl"
    elif not rankings:
        missing = "paper.yaml names no human_rankings"
    else:
        choice = DataChoice(str(run_dir / "best_of_n" / "candidates.jsonl"))
        _, human = load_with_reference(choice, [run_dir / name for name in rankings])
        assert human is not None
        orders = {i.id: order for i in candidates.instances if (order := human.order(i)) is not None}
        result = head_to_head(candidates.instances, scored, orders)
        signatures = [data_signature(candidates, reference=human.source), *map(scorer_signature, scored)]
        signatures.append(agreement_line(rater_agreement(human), human))
        return duel_paper_figure(3, what, result, "", signatures, folder)
    return duel_paper_figure(3, what, None, missing, [], folder)


def _figure_4(
    data: EvaluationSet, name: str, scored: list[ScoredSet], signatures: list[str], folder: Path
) -> PaperFigure:
    from storyalign.cli.duel_tables import BY_JUDGES
    from storyalign.corpus.human_rankings import stored_order
    from storyalign.evaluation.head_to_head import head_to_head
    from storyalign.evaluation.paper_figures import duel_paper_figure

    what = f"the order stored in {name}"
    if len(scored) < 2:
        return duel_paper_figure(4, what, None, "it takes two scorers", [], folder)
    stored = stored_order(data.instances)
    orders = {i.id: order for i in data.instances if (order := stored.order(i)) is not None}
    return duel_paper_figure(4, what, head_to_head(data.instances, scored, orders), BY_JUDGES, signatures, folder)


def _lengths(data: str, config: str | None = None, split: str | None = None) -> Any:
    from storyalign.audit.story_lengths import LengthCounter
    from storyalign.corpus.story_groups import open_story_groups

    name, groups = open_story_groups(data, config, split)
    counter = LengthCounter()
    for group in groups:
        counter.add(group)
    return counter.result(name)


def _creative_writing(run_dir: Path) -> dict[str, Any] | None:
    import orjson

    path = run_dir / "creative_writing" / "creative_writing.json"
    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: not valid JSON ({error}); run storyalign creative-writing again") from error
    return found
