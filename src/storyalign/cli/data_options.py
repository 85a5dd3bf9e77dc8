"""The options that say which instances of DATA are meant, shared by the verbs that read an evaluation set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from storyalign.corpus.evaluation_sets import EvaluationSet

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

    def load(self) -> EvaluationSet:
        """Load the instances, with a gold order."""
        from storyalign.corpus.evaluation_sets import load_evaluation_set

        return load_evaluation_set(
            self.data,
            config=self.config,
            split=self.split,
            score_key=self.score_key,
            lower_is_better=self.lower_is_better,
            assume_human_best=self.assume_human_best,
        )

    def load_as_scored(self) -> EvaluationSet | None:
        """Load the same data as ``storyalign score`` takes it; None where that is the same set.

        Judged groups come from files alone, and only there can the two differ.
        """
        from storyalign.corpus.evaluation_sets import load_evaluation_set

        if not Path(self.data).is_file():
            return None
        return load_evaluation_set(self.data, needs_gold=False, every_story=True)
