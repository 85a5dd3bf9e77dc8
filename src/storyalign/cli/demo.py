"""The verb ``demo``: the main job from end to end, on the embedded sample. Every step is a verb of its own too."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from storyalign.errors import DataError, ModelError
from storyalign.files import write_json, write_jsonl
from storyalign.text import digest

QUICK_INSTANCES = 12
# Two layers of the base model and few pairs: every step is taken, in a fraction of the time.
QUICK_OPTIONS = ("--pooled_layers", "2", "--max_pairs", "20")

_HELP = """
Build the sample datasets, train a small reward model on them, and score it beside scorers that cannot read.

Writes ./storyrmb and ./story_preferences, and into --out: model/, rewards.jsonl, results.json, report.html.

Takes minutes on two CPU cores. A second run goes on where the first one stopped.

Example:

  storyalign demo --out runs/demo
"""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("demo", help=_HELP)(demo)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for model, rewards, results and report.")] = Path("runs/demo"),
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Twenty pairs on two layers, twelve instances: shows the way, not a result."),
    ] = False,
) -> None:
    """Run the five steps; the help text stands in ``register``."""
    started = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    if quick:
        typer.echo("A quick run: the model learns next to nothing, and its figures mean nothing.")

    _say(1, "build ./storyrmb and ./story_preferences from the embedded sample")
    build_key = _build_sample(out / "raw", quick)
    _say(2, 'load them back: load_dataset("storyrmb"), load_dataset("story_preferences")')
    _load_back()
    _say(3, f"train: accelerate launch train.py --config recipes/demo.yaml --output_dir {out / 'model'}")
    _train(out, quick, build_key)
    _say(4, "score every story")
    _score(out)
    _say(5, "measure: the metric through evaluate.load, beside scorers that cannot read")
    _measure(out)

    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    typer.echo(f"\nDone in {minutes} min {seconds} s. What to try next:")
    typer.echo(f"  {out / 'report.html'}   charts, and the instances that were hardest")
    typer.echo("  make app   rank stories of your own in the browser")
    typer.echo(f'  storyalign rank --model {out / "model"} --premise "..." one.txt two.txt')
    typer.echo(f"  storyalign evaluate {out / 'model'} DATA   any other benchmark or judged set of stories")


def _say(step: int, text: str) -> None:
    typer.secho(f"\n[{step}/5] {text}", bold=True)


def _build_sample(raw: Path, quick: bool) -> str:
    from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
    from storyalign.preferences.coarse_edits import coarse_pairs
    from storyalign.preferences.sample import sample_instances, sample_pairs

    instances = sample_instances()[: QUICK_INSTANCES if quick else None]
    write_jsonl(raw / "storyrmb.jsonl", (item.to_row() for item in instances))
    write_jsonl(raw / "story_preferences.jsonl", (pair.to_row() for pair in (*sample_pairs(), *coarse_pairs())))
    built = []
    for name, build in (("storyrmb", build_storyrmb), ("story_preferences", build_story_preferences)):
        _require_sample(Path(name))
        folder = build([raw / f"{name}.jsonl"], name, sample=True)
        typer.echo(f"./{name}: {folder.statistics.n_rows} rows, {folder.digest[:19]}")
        built.append(folder.digest)
    return digest(*built)


def _require_sample(folder: Path) -> None:
    """Keep a real dataset that already has the name of a sample."""
    card = folder / "README.md"
    if card.is_file() and "(synthetic sample)" not in card.read_text(encoding="utf-8"):
        raise DataError(
            f"./{folder} holds a dataset that is not the sample; the demo would replace it: run it in another folder"
        )


def _load_back() -> None:
    from datasets import load_dataset

    for name in ("storyrmb", "story_preferences"):
        splits = load_dataset(name)
        typer.echo(f"{name}: " + ", ".join(f"{split} {rows.num_rows}" for split, rows in splits.items()))


def _train(out: Path, quick: bool, build_key: str) -> None:
    """Run train.py as a user would; a finished model of the same sample and recipe is kept."""
    import storyalign

    package = Path(storyalign.__file__).parent
    recipe = package / "recipes" / "demo.yaml"
    key = digest(build_key, recipe.read_text(encoding="utf-8"), str(quick), storyalign.__version__)
    state = out / "demo.json"
    trained = json.loads(state.read_bytes()).get("key") if state.is_file() else None
    if trained == key and (out / "model" / "config.json").is_file():
        typer.echo(f"{out / 'model'}: trained by an earlier run with the same sample and recipe; kept")
        return
    command = [
        *(sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch"),
        *(
            "--num_processes",
            "1",
            "--num_machines",
            "1",
            "--mixed_precision",
            "no",
            "--dynamo_backend",
            "no",
            "--quiet",
        ),
        str(package / "train.py"),
        *("--config", str(recipe), "--output_dir", str(out / "model")),
        *(QUICK_OPTIONS if quick else ()),
        *(("--overwrite",) if trained is not None else ()),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(os.cpu_count() or 1))}
    # The launcher would die of Ctrl-C with a traceback; train.py sets a handler of its own and saves a checkpoint.
    process = subprocess.Popen(command, env=environment, preexec_fn=_ignore_ctrl_c)
    try:
        code = process.wait()
    except KeyboardInterrupt:
        typer.echo("\nstopping at the end of this step; Ctrl-C again stops at once", err=True)
        try:
            process.wait()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
        raise
    if code:
        raise ModelError(f"training ended with exit code {code}; what it says above tells why, then run the demo again")
    write_json(state, {"key": key})


def _ignore_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _score(out: Path) -> None:
    from storyalign.cli.score import score
    from storyalign.scoring.options import ScoringOptions

    used = yaml.safe_load((out / "model" / "recipe.yaml").read_text(encoding="utf-8"))
    # Where the processor multiplies in bf16, scoring is about twice as fast.
    options = ScoringOptions(dtype="bf16" if used.get("bf16") else "fp32")
    score(str(out / "model"), "storyrmb", out / "rewards.jsonl", options=options)


def _measure(out: Path) -> None:
    from storyalign.cli.evaluate import evaluate

    evaluate(
        [str(out / "rewards.jsonl"), "storyrmb"],
        json_file=out / "results.json",
        html=out / "report.html",
        charts=out / "charts",
    )
    own = next(row for row in json.loads((out / "results.json").read_bytes())["scorers"] if row["kind"] == "model")
    metric = _metric(out)
    typer.echo(
        f'evaluate.load("evaluate_metric/storyrmb_accuracy"): accuracy {metric["accuracy"]:.4f}, '
        f"macro {metric['macro_accuracy']:.4f}, n {metric['n']}"
    )
    for key in ("accuracy", "macro_accuracy", "n", "n_ties", "n_unscored"):
        if metric[key] != own[key]:
            raise DataError(f"the metric says {key} {metric[key]}, the report {own[key]}; please report this as a bug")


def _metric(out: Path) -> dict[str, Any]:
    """Compute the metric as a user does, from plain lists."""
    import evaluate as evaluate_library

    import storyalign
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.evaluation.scored_sets import read_scored_set

    instances = load_evaluation_set("storyrmb")
    rewards = read_scored_set(out / "rewards.jsonl", instances).rewards
    folder = Path(storyalign.__file__).parent / "evaluate_metric" / "storyrmb_accuracy"
    metric = evaluate_library.load(str(folder), "grouped")
    result: dict[str, Any] = metric.compute(
        predictions=[[math.nan if r is None else r for r in rewards[item.id]] for item in instances.instances],
        references=[0] * len(instances.instances),
        dimensions=[item.dimension for item in instances.instances],
        sources=[item.source for item in instances.instances],
    )
    return result
