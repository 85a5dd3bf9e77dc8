"""The scorers that a user names, as rewards: rewards files, null scorers, and models that are scored first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from storyalign.cli.scoring_runs import FOLDER, ScoringOptions, rewards_of
from storyalign.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from storyalign.cli.data_options import DataChoice
    from storyalign.corpus.evaluation_sets import EvaluationSet
    from storyalign.evaluation.scored_sets import ScoredSet

NULL_PREFIX = "null:"

SCORERS_HELP = "Rewards files, models, judges (judge:NAME) or null scorers (null:longest), then the data."


def scored_sets_of(
    scorers: Sequence[str],
    choice: DataChoice,
    data: EvaluationSet,
    options: ScoringOptions | None = None,
    folder: Path = FOLDER,
) -> list[ScoredSet]:
    """Return the rewards of every scorer for the data, in the order of the names, each scorer once.

    Args:
        scorers: as the user named them.
        choice: where the data is.
        data: the same, loaded.
        options: how models score.
        folder: where the rewards of models go.

    Raises:
        RecipeError: no such null scorer.
        StoryAlignError: a rewards file does not fit, or a model cannot score.
    """
    from storyalign.evaluation.scored_sets import null_scored_sets, read_scored_sets

    nulls = {NULL_PREFIX + one.name: one for one in null_scored_sets(data.instances)} if _any_null(scorers) else {}
    if unknown := [name for name in scorers if name.startswith(NULL_PREFIX) and name not in nulls]:
        raise RecipeError(f"{unknown[0]}: no such null scorer; there are {', '.join(nulls)}")
    asked = options or ScoringOptions()
    files = {name: rewards_of(name, choice, _fitting(name, asked), folder) for name in scorers if name not in nulls}
    distinct = list(dict.fromkeys(files.values()))  # two ways to write one model are one scorer
    read = dict(zip(distinct, read_scored_sets(distinct, data, choice.load_as_scored()), strict=True)) if files else {}
    found = {files.get(name, name): nulls.get(name) or read[files[name]] for name in scorers}
    return list(found.values())


def check_scorers(scorers: Sequence[str]) -> None:
    """Refuse unknown names and judges without their key, before anything is paid for.

    Raises:
        StoryAlignError: no such model or judge, or the variable of a judge's key is not set.
    """
    from storyalign.scoring.systems import JudgeSystem, resolve

    for name in scorers:
        if not name.startswith(NULL_PREFIX) and not name.endswith(".jsonl"):
            system = resolve(name)
            if isinstance(system, JudgeSystem):
                system.endpoint.key()


def _fitting(scorer: str, options: ScoringOptions) -> ScoringOptions:
    """Return the options that hold for a scorer: money is for judges, lengths are for models."""
    if scorer.startswith("judge:"):
        return options._replace(max_length=None, truncate=None)
    return options._replace(max_cost=None, yes=False)


def _any_null(scorers: Sequence[str]) -> bool:
    return any(name.startswith(NULL_PREFIX) for name in scorers)
