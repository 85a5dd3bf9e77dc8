"""The verb ``rank``: order stories for one premise by their rewards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from storyalign.cli.model_options import model_or_demo, with_scoring_options
from storyalign.cli.terminal import open_console
from storyalign.errors import DataError, RecipeError
from storyalign.records import Reward
from storyalign.scoring.options import DEFAULTS, FOR_MODELS, ScoringOptions
from storyalign.scoring.ranking import length_warning, win_probability
from storyalign.text import count_words, same_text

MOST_STORIES = 1000

_HELP = """
Rank stories written for one premise, best first.

Each FILE is one story in plain text (.txt, .md, ...). "Beats the next" is the Bradley-Terry probability that a story is
preferred over the one below it, as this reward model sees it: the sigmoid of the difference of their rewards.

Example:

  storyalign rank --model runs/demo/model --premise "A keeper finds a letter." one.txt two.txt
"""


class RankedStory(NamedTuple):
    """One line of the ranking."""

    rank: int
    file: str
    reward: float | None
    beats_next: float | None
    """Probability between 0 and 1; None for the last one and beside stories without a reward."""
    words: int
    n_tokens: int
    truncated: bool
    why_unscored: str | None


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("rank", help=_HELP, no_args_is_help=True)(with_scoring_options(rank, *sorted(FOR_MODELS)))


def rank(
    files: Annotated[list[Path], typer.Argument(help="Two or more stories, one a file.")],
    premise: Annotated[str, typer.Option(help="The premise that the stories were written for.")],
    model: Annotated[
        str | None,
        typer.Option(help="A reward model: a local folder, an adapter folder, or a Hub id. [default: the demo's]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    options: ScoringOptions = DEFAULTS,
) -> None:
    """Rank stories; the help text stands in ``register``."""
    if not 2 <= len(files) <= MOST_STORIES:
        raise RecipeError(f"rank takes 2 to {MOST_STORIES} stories, got {len(files)}")
    if not same_text(premise):
        raise RecipeError("--premise is empty; give the text that the stories were written for")
    stories = [_read_story(path) for path in files]

    model = model_or_demo(model)

    from storyalign.scoring.systems import JudgeSystem, pinned, resolve

    system = resolve(model)
    if isinstance(system, JudgeSystem):
        raise RecipeError(f"{model}: rank takes a reward model; for a judge, use storyalign best-of-n")
    options = replace(options, revision=pinned(system, options.revision, options.trust_remote_code))
    typer.echo(f"loading {model}", err=True)

    from storyalign.scoring.reward_models import load_scorer

    scorer = load_scorer(system.model, options)
    ranking = order(files, stories, scorer(premise, stories))
    if as_json:
        import orjson

        typer.echo(orjson.dumps([row._asdict() for row in ranking], option=orjson.OPT_INDENT_2).decode())
    else:
        _print(ranking)
    placed = [(row.reward, row.words) for row in ranking if row.reward is not None]
    if warning := length_warning([reward for reward, _ in placed], [words for _, words in placed]):
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(f"{model}: {scorer.learned_from}", err=True)


def order(files: list[Path], stories: list[str], rewards: list[Reward]) -> list[RankedStory]:
    """Order stories by reward, best first; equal rewards share a rank; stories without a reward come last.

    Args:
        files: where the stories are from.
        stories: their texts.
        rewards: one row a story, in the same order.
    """
    rows = sorted(
        zip(files, stories, rewards, strict=True),
        key=lambda row: (row[2].reward is None, -(row[2].reward or 0.0)),
    )
    ranking: list[RankedStory] = []
    for place, (file, story, row) in enumerate(rows, start=1):
        below = rows[place][2].reward if place < len(rows) else None
        beats = None if row.reward is None or below is None else win_probability(row.reward, below)
        tied = bool(ranking) and row.reward is not None and ranking[-1].reward == row.reward
        ranking.append(
            RankedStory(
                rank=ranking[-1].rank if tied else place,
                file=str(file),
                reward=row.reward,
                beats_next=beats,
                words=count_words(story),
                n_tokens=row.n_tokens,
                truncated=row.truncated,
                why_unscored=row.detail if row.reward is None else None,
            )
        )
    return ranking


def _read_story(path: Path) -> str:
    try:
        text = same_text(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    if not text:
        raise DataError(f"{path}: the file is empty; leave it out")
    return text


def _print(ranking: list[RankedStory]) -> None:
    table = Table(box=box.SIMPLE)
    for name in ("rank", "story", "reward", "beats the next", "words", "tokens", ""):
        table.add_column(name, justify="left" if name in ("story", "") else "right")
    for row in ranking:
        table.add_row(
            "-" if row.reward is None else str(row.rank),
            Text(row.file),
            "none" if row.reward is None else f"{row.reward:.4f}",
            "" if row.beats_next is None else f"{row.beats_next:.1%}",
            str(row.words),
            str(row.n_tokens),
            Text(row.why_unscored or ("cut" if row.truncated else "")),
        )
    open_console().print(table)
