"""What a user may call MODEL: a local folder, a Hub id, a name from ``recipes/scorers.yaml``, or ``judge:NAME``."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import yaml

import storyalign
from storyalign.errors import DataError, RecipeError
from storyalign.llm.endpoint import Endpoint
from storyalign.scoring.options import NULL_PREFIX
from storyalign.scoring.voting import MODES, Mode
from storyalign.settings import checked, from_entry

Head = Literal["classification", "gated", "reward_token", "writing_quality"]

JUDGE_PREFIX = "judge:"
OWN_FILE_VARIABLE = "STORYALIGN_SCORERS"


@checked
@dataclass(frozen=True, slots=True)
class RewardSystem:
    """A reward model and what has to be known to run it."""

    name: str
    model: str
    """A local folder or a Hub id."""
    head: Head = "classification"
    remote_code: bool = False
    """The model brings code of its own; it needs consent and a pinned revision."""
    revision: str | None = None
    context: int | None = None
    """Tokens that the model was made for, as documented; the loaded configuration decides."""
    memory: int | None = None
    """GiB of weights in bf16."""
    recipe: str | None = None
    """The training recipe that makes the model, where no weights were published."""
    url: str | None = None
    """Root of a vLLM server that serves the model; None loads it here."""


@dataclass(frozen=True, slots=True)
class JudgeSystem:
    """An LLM judge: where it is asked, and how unless the user says otherwise."""

    name: str
    endpoint: Endpoint
    mode: Mode


def resolve(model: str, *, own_file: Path | None = None) -> RewardSystem | JudgeSystem:
    """Find out what a user means by MODEL.

    Args:
        model: what the user wrote.
        own_file: a file of further entries; that of ``STORYALIGN_SCORERS`` by default.

    Raises:
        RecipeError: no such entry, or a broken one; the message names entries like it.
        DataError: the user's own file cannot be read.
    """
    if model.startswith(NULL_PREFIX):
        raise RecipeError(
            f"{model}: a null scorer needs no scoring; name it in evaluate, compare, head-to-head, best-of-n,"
            " linguistics or audit shortcuts"
        )
    scorers = load_scorers(own_file)
    if model.startswith(JUDGE_PREFIX):
        return _judge(model.removeprefix(JUDGE_PREFIX), scorers["judges"])
    if Path(model).expanduser().is_dir():
        return RewardSystem(model, model)
    entries = scorers["reward_models"]
    if name := _find(model, entries):
        return _reward_model(name, entries[name])
    if judge := _find(model, scorers["judges"]):
        raise RecipeError(f"{model} is a judge; write {JUDGE_PREFIX}{judge}")
    if model.count("/") == 1 and not model.startswith((".", "/", "~")):
        return RewardSystem(model, model)
    names = [*entries, *(JUDGE_PREFIX + name for name in scorers["judges"])]
    raise RecipeError(f"{model}: no such folder, no Hub id, and no name of recipes/scorers.yaml{_near(model, names)}")


def pinned(system: RewardSystem, revision: str | None, trust_remote_code: bool) -> str | None:
    """Return the revision to load, before anything is fetched.

    Raises:
        RecipeError: the model brings code of its own, and consent or a full commit is missing.
    """
    revision = revision or system.revision
    if system.remote_code and not Path(system.model).expanduser().is_dir():
        commit = revision or ""
        if not trust_remote_code or len(commit) != 40 or set(commit) - set("0123456789abcdef"):
            raise RecipeError(
                f"{system.name}: brings code of its own; read it at https://huggingface.co/{system.model}/tree/main,"
                " then run again with --trust-remote-code --revision COMMIT, the 40 hexadecimal digits that the page"
                " 'History' of that repository shows"
            )
    return revision


def load_scorers(own_file: Path | None = None) -> dict[str, dict[str, Any]]:
    """Read the entries that come with the kit and, over them, those of the user's own file."""
    shipped = Path(storyalign.__file__).parent / "recipes" / "scorers.yaml"
    if own_file is None and os.environ.get(OWN_FILE_VARIABLE):
        own_file = Path(os.environ[OWN_FILE_VARIABLE]).expanduser()
    merged: dict[str, dict[str, Any]] = {"reward_models": {}, "judges": {}}
    for path in (shipped, own_file):
        for section, entries in (_read(path) if path else {}).items():
            merged[section].update(entries)
    return merged


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        content = yaml.safe_load(path.read_text("utf-8")) or {}
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check {OWN_FILE_VARIABLE}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from error
    if not isinstance(content, dict) or not set(content) <= {"reward_models", "judges"}:
        raise RecipeError(f"{path}: expected the sections reward_models and judges, and nothing else")
    for section, entries in content.items():
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            raise RecipeError(f"{path}: {section} must hold one entry with fields under each name")
    return content


def _judge(name: str, entries: Mapping[str, Any]) -> JudgeSystem:
    found = _find(name, entries)
    if found is None:
        raise RecipeError(f"{JUDGE_PREFIX}{name}: no such judge in recipes/scorers.yaml{_near(name, entries)}")
    entry = dict(entries[found])
    mode = entry.pop("mode", "choose")
    if mode not in MODES:
        raise RecipeError(f"judge {found}: mode {mode!r}; expected one of {', '.join(MODES)}")
    return JudgeSystem(found, Endpoint.from_recipe(f"judges.{found}", entry), cast("Mode", mode))


def _reward_model(name: str, entry: Mapping[str, Any]) -> RewardSystem:
    if "name" in entry:
        raise RecipeError(f"reward_models.{name}.name is unknown; the entry's key is its name")
    system = from_entry(RewardSystem, {**entry, "name": name}, f"reward_models.{name}")
    if system.url is not None and (system.head != "classification" or not str(system.url).startswith("http")):
        raise RecipeError(f"reward model {name}: url is for models with a classification head behind http(s)")
    if system.recipe and not Path(system.model).expanduser().is_dir():
        raise RecipeError(
            f"{name}: no weights were published; train it first: accelerate launch train.py --config"
            f" recipes/{system.recipe} (it writes {system.model}), or give the folder of your own model"
        )
    return system


def _find(name: str, entries: Mapping[str, Any]) -> str | None:
    """Find an entry by its name, whatever the case."""
    return name if name in entries else next((key for key in entries if key.lower() == name.lower()), None)


def _near(name: str, names: Iterable[str]) -> str:
    lowered = {key.lower(): key for key in names}
    near = [lowered[key] for key in difflib.get_close_matches(name.lower(), lowered, 3, 0.4)]
    return f"; did you mean {' or '.join(near)}?" if near else f"; it has {', '.join(lowered.values())}"
