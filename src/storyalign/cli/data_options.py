"""The options that say which instances of DATA are meant, shared by the verbs that read an evaluation set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from storyalign.cli.scoring_runs import is_main_process

if TYPE_CHECKING:
    from storyalign.corpus.evaluation_sets import EvaluationSet
    from storyalign.corpus.story_groups import StoryGroup
    from storyalign.records import Instance

    Group = TypeVar("Group", Instance, StoryGroup)

_NAMED = 3
"""Candidates that a warning names."""

Config = Annotated[str | None, typer.Option(help="Configuration of a dataset folder or Hub dataset.")]
Split = Annotated[str | None, typer.Option(help="Split of a dataset folder or Hub dataset.")]
ScoreKey = Annotated[
    str | None, typer.Option(help="Judged groups: the story with the best mean of this score is chosen.")
]
LowerIsBetter = Annotated[bool, typer.Option("--lower-is-better", help="Judged groups: the lowest score is the best.")]
AssumeHumanBest = Annotated[
    bool,
    typer.Option("--assume-human-best", help="Judged groups: the human story is chosen, whatever the scores say."),
]


class DataChoice(NamedTuple):
    """DATA and its options."""

    data: str
    config: str | None = None
    split: str | None = None
    score_key: str | None = None
    lower_is_better: bool = False
    assume_human_best: bool = False

    @property
    def gold(self) -> dict[str, Any]:
        """Return the options that say which story of a judged group is the best."""
        names = ("score_key", "lower_is_better", "assume_human_best")
        return {name: getattr(self, name) for name in names}

    def load(self, *, needs_gold: bool = True) -> EvaluationSet:
        """Load the instances and warn of candidates that are no stories; see ``load_evaluation_set``."""
        from storyalign.corpus.evaluation_sets import load_evaluation_set

        found = load_evaluation_set(self.data, config=self.config, split=self.split, needs_gold=needs_gold, **self.gold)
        for _ in warning_of_notices(found.name, found.instances):
            pass
        return found

    def load_as_scored(self) -> EvaluationSet | None:
        """Load the same data as ``storyalign score`` takes it; None where that is the same set.

        Judged groups come from files alone, and only there can the two differ.
        """
        from storyalign.corpus.evaluation_sets import load_evaluation_set

        if not Path(self.data).is_file():
            return None
        return load_evaluation_set(self.data, needs_gold=False, every_story=True)


def warning_of_notices(data: str, groups: Iterable[Group]) -> Iterator[Group]:
    """Yield the groups unchanged; behind the last one, warn of candidates that are refusals, takedowns, API errors.

    Such a candidate is scored and counted like any other, so each figure that it is part of stands for less than it
    seems to. The warning is one line on stderr.
    """
    from storyalign.not_stories import not_a_story

    reasons, places, candidates = Counter[str](), list[str](), 0
    for group in groups:
        candidates += len(group.stories)
        for number, story in enumerate(group.stories, start=1):
            if reason := not_a_story(story):
                reasons[reason] += 1
                if len(places) < _NAMED:
                    places.append(f"{group.id} (story {number})")
        yield group
    if reasons and is_main_process():
        n = reasons.total()
        kinds = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common())
        named = ", ".join(places) + (", ..." if n > len(places) else "")
        typer.echo(
            f"warning: {data}: {n:,} of {candidates:,} candidates are no stories ({kinds}): {named};"
            " nothing is left out, storyalign import drops them",
            err=True,
        )
