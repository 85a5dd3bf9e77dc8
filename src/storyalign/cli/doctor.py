"""The verb ``doctor``: look at a scorer before a long run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from storyalign.cli.model_options import with_scoring_options
from storyalign.cli.progress import ScoringProgress
from storyalign.errors import EndpointError, RecipeError
from storyalign.scoring.options import DEFAULTS, ScoringOptions, refuse_untaken

if TYPE_CHECKING:
    from storyalign.records import Instance
    from storyalign.scoring.findings import Finding
    from storyalign.scoring.systems import JudgeSystem
    from storyalign.scoring.voting import Mode

_OPTIONS = ("dtype", "max_length", "mode", "revision", "trust_remote_code")

_HELP = """
Look at MODEL before a long run.

A reward model: its files, head, padding, chat template, begin and end tokens, vocabulary, whether the stories of --data
fit, and whether rewards depend on batches. A judge: key, address, reply format, and whether the replies to two short
stories can be read (a paid endpoint charges for these few calls).

Exit code 0: sound. 1: cautions, the run works, but read them. 2: a fault, do not start; or MODEL cannot be had.

Examples:

  storyalign doctor runs/demo/model --data ./storyrmb

  storyalign doctor judge:GPT-4o --data ./storyrmb --mode pairwise

  storyalign doctor runs/demo/model --sense
"""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("doctor", help=_HELP, no_args_is_help=True)(with_scoring_options(doctor, *_OPTIONS))


def doctor(
    model: Annotated[
        str, typer.Argument(help="A local folder, a Hub id, a name from recipes/scorers.yaml, or judge:NAME.")
    ],
    data: Annotated[str | None, typer.Option(help="The data that will be scored: a folder, a file, a Hub id.")] = None,
    sense: Annotated[
        bool,
        typer.Option(
            "--sense",
            help="Ask instead whether MODEL (null:NAME too) prefers coherent drafts to shuffled words, halves, lists "
            "and the like: 480 checks.",
        ),
    ] = False,
    options: ScoringOptions = DEFAULTS,
) -> None:
    """Examine a scorer; the help text stands in ``register``."""
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.scoring.findings import exit_code
    from storyalign.scoring.scorers import reads_paragraphs, terms_of
    from storyalign.scoring.systems import JudgeSystem, pinned, resolve

    if sense:
        _sense(model, options)
        return
    system = resolve(model)
    refuse_untaken(options, [terms_of(model, system)])
    instances = load_evaluation_set(data, needs_gold=False).instances if data else []
    found: Iterator[Finding]
    if isinstance(system, JudgeSystem):
        found = _judge(system, options.mode or system.mode, instances)
    else:
        from storyalign.scoring.doctor import examine_reward_model, examine_writing_quality

        if system.url is not None:
            raise RecipeError(f"{model}: runs on the server {system.url}; examine the model itself: {system.model}")
        commit = pinned(system, options.revision, options.trust_remote_code)
        if reads_paragraphs(system):
            found = examine_writing_quality(system.model, revision=commit, dtype=options.dtype, instances=instances)
        else:
            found = examine_reward_model(
                system.model,
                revision=commit,
                trust_remote_code=options.trust_remote_code,
                dtype=options.dtype,
                max_length=options.max_length,
                instances=instances,
            )
    findings = []
    for finding in found:
        findings.append(finding)
        typer.echo(f"{finding.level:<8} {finding.subject}: {finding.text}")
    code = exit_code(findings)
    typer.echo(("sound", "works, with cautions", "has a fault; do not start the run")[code])
    raise typer.Exit(code)


def _sense(model: str, options: ScoringOptions) -> None:
    """Print the table of plain sense and what it warns of; never a failure."""
    from storyalign.audit.null_scorers import NULL_SCORERS
    from storyalign.cli.terminal import open_console, say, show
    from storyalign.scoring import sense
    from storyalign.scoring.options import NULL_PREFIX
    from storyalign.scoring.scorers import open_scorer

    console = open_console()
    if model.startswith(NULL_PREFIX):
        if (null := NULL_SCORERS.get(model.removeprefix(NULL_PREFIX))) is None:
            raise RecipeError(f"{model}: no such null scorer; there are {', '.join(NULL_SCORERS)}")
        outcomes = sense.ask_null(null)
    else:
        with tempfile.TemporaryDirectory() as folder:
            scorer = open_scorer(model, Path(folder) / "rewards.jsonl", options)
            with ScoringProgress() as progress:
                outcomes = sense.ask(scorer, progress)
    show(console, sense.table_of(model, outcomes))
    for line in sense.warnings(outcomes):
        say(console, f"warning: {line}", style="yellow")


def _judge(system: JudgeSystem, mode: Mode, instances: list[Instance]) -> Iterator[Finding]:
    from storyalign.scoring.call_log import CallLog
    from storyalign.scoring.judge_doctor import examine_judge
    from storyalign.scoring.judges import JudgeScorer

    try:
        scorer = JudgeScorer(system.name, system.endpoint, mode, CallLog(Path("rewards.jsonl")))
    except EndpointError:
        scorer = None  # the examination names what is missing
    return examine_judge(system, mode, scorer, instances)
