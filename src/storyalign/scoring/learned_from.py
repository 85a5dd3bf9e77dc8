"""What a reward model learned from, in one sentence, read from the record that training leaves in its folder."""

from __future__ import annotations

from pathlib import Path

import orjson

RECORD_FILE = "training.json"

SYNTHETIC = "trained on the synthetic sample: not on readers' choices"
NOT_RECORDED = "what it was trained on is not recorded"


def learned_from(folder: str | Path) -> str:
    """Return what the model of a folder learned from, such as ``trained on the synthetic sample: ...``.

    Args:
        folder: the model's files; without a readable ``training.json`` the sentence says that nothing is recorded.
    """
    try:
        sets = orjson.loads((Path(folder) / RECORD_FILE).read_bytes())["data"]["train"]
        pairs = {_name(one): int(one["pairs"]) for one in sets}
        of_kit = [_is_synthetic(one) for one in sets]
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return NOT_RECORDED
    if not pairs:
        return NOT_RECORDED
    if all(of_kit):
        return SYNTHETIC
    named = ", ".join(f"{name} ({n:,})" for name, n in pairs.items())
    return f"trained on {sum(pairs.values()):,} pairs: {named}" + "; part of them synthetic" * any(of_kit)


def _name(source: dict[str, str]) -> str:
    return ":".join([Path(source["path"]).name, *([source["name"]] if source.get("name") else [])])


def _is_synthetic(source: dict[str, dict[str, int]]) -> bool:
    """Return whether every chosen story was written for the kit."""
    writers = source["chosen_writers"]
    return bool(writers) and all(writer.startswith("kit-") for writer in writers)
