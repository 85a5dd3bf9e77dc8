"""MODEL as a scorer: a reward model that is loaded, or a judge that is asked, both behind the same few methods."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from storyalign.errors import RecipeError
from storyalign.llm.budget import Budget
from storyalign.scoring.options import DEFAULTS, FOR_JUDGES, FOR_MODELS, ScoringOptions, Terms, refuse_untaken
from storyalign.scoring.systems import JudgeSystem, RewardSystem, pinned, resolve

if TYPE_CHECKING:
    from storyalign.scoring.judges import JudgeScorer
    from storyalign.scoring.run import Scorer


def open_scorer(
    model: str,
    rewards_file: Path,
    options: ScoringOptions = DEFAULTS,
    *,
    device: str | None = None,
    fresh: bool = False,
) -> Scorer:
    """Make a scorer of whatever MODEL names.

    Args:
        model: a local folder, a Hub id, a name from ``recipes/scorers.yaml``, or ``judge:NAME``.
        rewards_file: where the rewards go; a judge's calls are kept beside it.
        options: how to score.
        device: where a reward model is loaded; a GPU by default where there is one.
        fresh: forget a judge's calls of earlier runs.

    Raises:
        RecipeError: no such name, or an option that does not fit.
        ModelError: the reward model cannot be loaded.
        EndpointError: the judge's key is not set, or the model's server does not answer.
    """
    system = resolve(model)
    refuse_untaken(options, [terms_of(model, system)])
    if isinstance(system, JudgeSystem):
        return _open_judge(system, rewards_file, options, fresh)
    if reads_paragraphs(system):
        from storyalign.scoring.writing_quality import load_writing_quality

        revision = options.revision or system.revision
        return load_writing_quality(system.model, revision=revision, dtype=options.dtype, device=device)
    if system.url is not None:
        from storyalign.scoring.served_models import open_served_model

        return open_served_model(system, options)
    from storyalign.scoring.reward_models import load_scorer

    options = replace(options, revision=pinned(system, options.revision, options.trust_remote_code))
    return load_scorer(system.model, options, device=device)


def terms_of(model: str, system: RewardSystem | JudgeSystem) -> Terms:
    """Return the options that a scorer takes."""
    if isinstance(system, JudgeSystem):
        return Terms(model, FOR_JUDGES, "a judge reads whole stories, and no weights are loaded for it")
    if reads_paragraphs(system):
        return Terms(model, frozenset({"dtype", "revision"}), "it reads whole paragraphs, and is no judge")
    if system.url is not None:
        lengths = frozenset({"revision", "max_length", "truncate"})
        return Terms(model, lengths, "the server decides it, or only judges have it")
    return Terms(model, FOR_MODELS, "only judges have it, and this is a reward model")


def check_ready(model: str, options: ScoringOptions) -> Terms:
    """Refuse an unknown name and a judge that cannot be paid or reached with its key; nothing is loaded or asked.

    Returns:
        The options that the scorer takes.

    Raises:
        RecipeError: no such name, or a cost limit without a known price.
        EndpointError: the judge's key is not set.
    """
    system = resolve(model)
    if isinstance(system, JudgeSystem):
        system.endpoint.key()
        try:
            Budget(options.max_cost, system.endpoint.known_price)
        except RecipeError as error:
            raise RecipeError(f"{model}: {error}") from error
    else:
        pinned(system, options.revision, options.trust_remote_code)
    return terms_of(model, system)


def reads_paragraphs(system: RewardSystem) -> bool:
    """Return whether a model is a WQRM, by its entry or by its files."""
    return system.head == "writing_quality" or (Path(system.model).expanduser() / "heads.pth").is_file()


def _open_judge(system: JudgeSystem, out: Path, options: ScoringOptions, fresh: bool) -> JudgeScorer:
    from storyalign.scoring.call_log import CallLog
    from storyalign.scoring.judges import JudgeScorer

    log = CallLog(out)
    if fresh:
        log.clear()
    log.load()
    mode = options.mode or system.mode
    return JudgeScorer(system.name, system.endpoint, mode, log, max_cost=options.max_cost)
