"""MODEL as a scorer: a reward model that is loaded, or a judge that is asked, both behind the same few methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from storyalign.errors import RecipeError
from storyalign.scoring.systems import JudgeSystem, RewardSystem, pinned, resolve
from storyalign.scoring.voting import MODES, Mode

if TYPE_CHECKING:
    from storyalign.models.chat import Keep
    from storyalign.models.loading import DType
    from storyalign.scoring.judges import JudgeScorer
    from storyalign.scoring.reward_models import RewardModelScorer
    from storyalign.scoring.served_models import ServedModelScorer
    from storyalign.scoring.writing_quality import WritingQualityScorer


def open_scorer(
    model: str,
    rewards_file: Path,
    *,
    revision: str | None = None,
    dtype: DType = "fp32",
    trust_remote_code: bool = False,
    device: str | None = None,
    max_length: int | None = None,
    truncate: Keep | None = None,
    batch_tokens: int | None = None,
    mode: str | None = None,
    max_cost: float | None = None,
    fresh: bool = False,
) -> RewardModelScorer | ServedModelScorer | WritingQualityScorer | JudgeScorer:
    """Make a scorer of whatever MODEL names.

    Args:
        model: a local folder, a Hub id, a name from ``recipes/scorers.yaml``, or ``judge:NAME``.
        rewards_file: where the rewards go; a judge's calls are kept beside it.
        revision: reward models only, as all down to ``batch_tokens``; see ``load_reward_model``.
        dtype: likewise.
        trust_remote_code: likewise.
        device: likewise.
        max_length: likewise.
        truncate: likewise.
        batch_tokens: likewise.
        mode: judges only: how it is asked, see ``voting``; the entry's own mode by default.
        max_cost: judges only: US dollars that may be spent.
        fresh: forget the calls of earlier runs.

    Raises:
        RecipeError: no such name, or an option that does not fit.
        ModelError: the reward model cannot be loaded.
        EndpointError: the judge's key is not set, or the model's server does not answer.
    """
    system = resolve(model)
    if isinstance(system, JudgeSystem):
        _refuse(model, "a judge reads whole stories", max_length=max_length, truncate=truncate)
        _refuse(model, "a judge is no local model", revision=revision, batch_tokens=batch_tokens)
        return _open_judge(system, rewards_file, chosen_mode(system, mode), max_cost, fresh)
    _refuse(model, "only judges have it, and this is a reward model", mode=mode, max_cost=max_cost)
    if reads_paragraphs(system):
        _refuse(model, "it reads whole paragraphs", truncate=truncate, max_length=max_length, batch_tokens=batch_tokens)
        from storyalign.scoring.writing_quality import load_writing_quality

        return load_writing_quality(system.model, revision=revision or system.revision, dtype=dtype, device=device)
    if system.url is not None:
        _refuse(model, "the server decides it", batch_tokens=batch_tokens, dtype=None if dtype == "fp32" else dtype)
        from storyalign.scoring.served_models import open_served_model

        return open_served_model(system, revision=revision or system.revision, max_length=max_length, truncate=truncate)
    from storyalign.scoring.reward_models import load_scorer

    return load_scorer(
        system.model,
        revision=pinned(system, revision, trust_remote_code),
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        device=device,
        max_length=max_length,
        truncate=truncate,
        batch_tokens=batch_tokens,
    )


def reads_paragraphs(system: RewardSystem) -> bool:
    """Tell a model of WQRM's make, by its entry or by its files."""
    return system.head == "writing_quality" or (Path(system.model).expanduser() / "heads.pth").is_file()


def chosen_mode(system: JudgeSystem, mode: str | None) -> Mode:
    """Give the mode that the user chose, or the entry's own.

    Raises:
        RecipeError: no such mode.
    """
    if mode is None:
        return system.mode
    found = next((known for known in MODES if known == mode), None)
    if found is None:
        raise RecipeError(f"--mode {mode}: unknown; choose one of {', '.join(MODES)}")
    return found


def _open_judge(system: JudgeSystem, out: Path, mode: Mode, max_cost: float | None, fresh: bool) -> JudgeScorer:
    from storyalign.scoring.call_log import CallLog
    from storyalign.scoring.judges import JudgeScorer

    log = CallLog(out)
    if fresh:
        log.clear()
    log.load()
    return JudgeScorer(system.name, system.endpoint, mode, log, max_cost=max_cost)


def _refuse(model: str, why: str, **options: object) -> None:
    given = ["--" + name.replace("_", "-") for name, value in options.items() if value is not None]
    if given:
        raise RecipeError(f"{model}: {', '.join(given)} cannot be used: {why}")
