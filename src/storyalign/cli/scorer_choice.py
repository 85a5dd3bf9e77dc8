"""The scorers that a user names, as rewards: rewards files, null scorers, and models that are scored first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from storyalign.cli.scoring_runs import FOLDER, rewards_of
from storyalign.errors import RecipeError
from storyalign.scoring.options import NULL_PREFIX

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from storyalign.cli.data_options import DataChoice
    from storyalign.corpus.evaluation_sets import EvaluationSet
    from storyalign.evaluation.scored_sets import ScoredSet
    from storyalign.scoring.options import ScoringOptions, Terms

SCORERS_HELP = "Rewards files, models, judges (judge:NAME) or null scorers (null:longest), then the data."


def scored_sets_of(
    scorers: Sequence[str],
    choice: DataChoice,
    data: EvaluationSet,
    options: ScoringOptions,
    folder: Path = FOLDER,
    *,
    also_taken: Collection[str] = (),
) -> list[ScoredSet]:
    """Return the rewards of every scorer for the data, in the order of the names, each scorer once.

    All names, options and rewards files are checked before the first model is loaded or judge is asked.

    Args:
        scorers: as the user named them.
        choice: where the data is.
        data: the same, loaded.
        options: how models and judges score; each scorer gets those that it takes.
        folder: where the rewards of models go.
        also_taken: options that something else than the scorers takes.

    Raises:
        RecipeError: no such null scorer, or an option that no scorer takes.
        StoryAlignError: a rewards file does not fit, or a model cannot score.
    """
    from storyalign.evaluation.scored_sets import null_scored_sets, read_scored_set, with_distinct_names

    terms = check_scorers(scorers, options, also_taken=also_taken)
    any_null, any_file = any(map(_is_null, scorers)), not all(map(_is_null, scorers))
    nulls = {NULL_PREFIX + one.name: one for one in null_scored_sets(data.instances)} if any_null else {}
    as_scored = choice.load_as_scored() if any_file else None
    read = {name: read_scored_set(name, data, as_scored) for name in scorers if name.endswith(".jsonl")}
    files: dict[str, str] = {}
    for one in terms:
        if one.scorer not in nulls:
            files[one.scorer] = path = rewards_of(one.scorer, choice, options.only(one.taken), folder)
            read[path] = read.get(path) or read_scored_set(path, data, as_scored)
    distinct = list(dict.fromkeys(files.values()))  # two ways to write one model are one scorer
    named = dict(zip(distinct, with_distinct_names([read[path] for path in distinct], distinct), strict=True))
    found = {files.get(name, name): nulls.get(name) or named[files[name]] for name in scorers}
    return list(found.values())


def check_scorers(scorers: Sequence[str], options: ScoringOptions, *, also_taken: Collection[str] = ()) -> list[Terms]:
    """Refuse unknown names, judges without key or price, and options that nobody takes, before anything is paid for.

    Args:
        scorers: as the user named them.
        options: what the user asked for.
        also_taken: options that something else than the scorers takes.

    Returns:
        The options that each scorer takes.

    Raises:
        StoryAlignError: no such file, model, judge or null scorer, or an option does not fit.
    """
    from storyalign.scoring.options import refuse_untaken

    terms = [_terms_of(name, options) for name in scorers]
    refuse_untaken(options.only(set(options.given) - set(also_taken)), terms)
    return terms


def _terms_of(scorer: str, options: ScoringOptions) -> Terms:
    from storyalign.audit.null_scorers import NULL_SCORERS
    from storyalign.evaluation.scored_sets import read_settings
    from storyalign.scoring.options import Terms
    from storyalign.scoring.scorers import check_ready

    if _is_null(scorer):
        if scorer.removeprefix(NULL_PREFIX) not in NULL_SCORERS:
            known = ", ".join(NULL_PREFIX + name for name in NULL_SCORERS)
            raise RecipeError(f"{scorer}: no such null scorer; there are {known}")
        return Terms(scorer, frozenset(), "a null scorer reads nothing")
    if scorer.endswith(".jsonl"):
        read_settings(Path(scorer))
        return Terms(scorer, frozenset(), "a rewards file is scored already")
    if scorer.endswith((".csv", ".tsv", ".npy", ".json")):
        raise RecipeError(f"{scorer}: not a rewards file; `storyalign import rewards {scorer} DATA` makes one of it")
    return check_ready(scorer, options)


def _is_null(scorer: str) -> bool:
    return scorer.startswith(NULL_PREFIX)
