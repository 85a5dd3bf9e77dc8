"""The verb ``paper``: the tables and figures of the paper, filled from one's own runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from storyalign.cli.data_options import Config, Split
from storyalign.errors import DataError

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

    from storyalign.audit.story_lengths import lengths_of
    from storyalign.cli.terminal import open_console, say
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.evaluation.paper import candidates_of, name_of, paper_parts
    from storyalign.evaluation.paper_document import latex, markdown, state
    from storyalign.evaluation.paper_runs import find_runs, read_paper_settings
    from storyalign.evaluation.results import data_notes
    from storyalign.files import write_text

    folder = out or run_dir / "paper"
    settings = read_paper_settings(run_dir)
    data = load_evaluation_set(benchmark, config=config, split=split)
    runs = find_runs(run_dir, data, candidates_of(run_dir), settings.names or {})
    console = open_console()
    for place, reason in runs.passed_over.items():
        say(console, f"{place}: {reason}")
    if not runs.benchmark:
        raise DataError(
            f"{run_dir}: no rewards of {data.name}; make some: storyalign score MODEL {benchmark} --out ..."
        )
    lengths = (lengths_of(training) if training else None, lengths_of(benchmark, config, split))
    parts = paper_parts(run_dir, data, runs, settings.human_rankings or (), lengths, folder)
    write_text(folder / "paper.md", markdown(parts, f"The paper's tables and figures on {name_of(data)}"))
    write_text(folder / "paper.tex", latex(parts))
    for note in data_notes(data.instances):
        say(console, note, "bold")
    for part in parts.values():
        say(console, f"{part.title}: {state(part)}", "")
    say(console, f"wrote {folder / 'paper.md'}, {folder / 'paper.tex'} and the figures beside them", "bold")
