"""Fill withheld rows in again, for those who have the sources; texts are found by their digests, in any file."""

from __future__ import annotations

import itertools
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from storyalign.errors import DataError
from storyalign.files import read_jsonl
from storyalign.hub.build.dataset_configs import DIGEST_FORMAT
from storyalign.hub.parquet_texts import read_batches
from storyalign.hub.payload import Payload, collect
from storyalign.hub.release.withholding import ORIGINAL, TABLE, text_digest
from storyalign.hub.released_rows import is_sample, read_rows, rebuild

LINE_BREAKS = ("<newline>", "<br>", "<br/>", "<br />")
"""Marks that some corpora write for a line break."""


class Rehydrated(NamedTuple):
    """What a rehydration wrote."""

    path: Path
    rows: int
    filled: int


def rehydrate(folder: Path, sources: Sequence[Path], out: Path) -> Rehydrated:
    """Write the whole dataset, withheld rows filled in, as a folder that ``load_dataset`` loads.

    Args:
        folder: the released dataset, downloaded.
        sources: files or folders with the texts: every string of JSONL, JSON and Parquet files counts, and each text
            file as a whole.
        out: the folder to write.

    Raises:
        DataError: nothing is withheld there, a text was not found, or the result is not the dataset that was withheld
            from, or the original's digest has another format; nothing is written then.
    """
    payload = collect(folder, "dataset")
    if TABLE not in payload.files or ORIGINAL not in payload.files:
        raise DataError(f"{folder}: no row is withheld here; load it as it is")
    original = orjson.loads(payload.read(ORIGINAL))
    if (older := original.get("digest_format", 1)) != DIGEST_FORMAT:
        raise DataError(
            f"{folder / ORIGINAL}: the original's digest has format {older}, this version of the kit computes format "
            f"{DIGEST_FORMAT}, so the result could not be verified; rehydrate with the version of the kit that its "
            "card names"
        )
    hidden = pq.read_table(pa.BufferReader(payload.read(TABLE))).to_pylist()
    texts = _find(sources, {digest for row in hidden for digest in _wanted(row)})
    rows = [_fill(row, texts) for row in hidden]
    if missing := [str(row["id"]) for row, filled in zip(hidden, rows, strict=True) if filled is None]:
        raise DataError(
            f"{', '.join(map(str, sources))}: texts of {len(missing)} of {len(hidden)} withheld rows were not found "
            f"(first: {', '.join(missing[:3])}); add more --source, unchanged since the dataset was made"
        )
    whole = sorted(itertools.chain(_shown(payload), filter(None, rows)), key=lambda item: item[0])
    with tempfile.TemporaryDirectory(dir=_parent(out)) as work:
        rows_again = (row for _, row in whole)
        built, digest = rebuild(payload, original["dataset"], rows_again, Path(work) / out.name, is_sample(payload))
        if digest != original["digest"]:
            raise DataError(
                f"{folder}: filled in, the rows have digest {digest}, not {original['digest']}; not written"
            )
        built.folder.replace(out)
    return Rehydrated(out, len(whole), len(rows))


def _parent(out: Path) -> Path:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out}: exists already; name another --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    return out.parent


def _wanted(row: dict[str, Any]) -> tuple[str, ...]:
    return (row["prompt_sha256"], row["chosen_sha256"], *row["rejected_sha256"])


_Placed = tuple[tuple[str, str, int], dict[str, Any]]


def _fill(row: dict[str, Any], texts: dict[str, str]) -> _Placed | None:
    if not all(digest in texts for digest in _wanted(row)):
        return None
    filled = {name: value for name, value in row.items() if not name.endswith("_sha256") and name not in _PLACE}
    filled["prompt"], filled["chosen"] = texts[row["prompt_sha256"]], texts[row["chosen_sha256"]]
    rejected = [texts[digest] for digest in row["rejected_sha256"]]
    filled["rejected"] = rejected if "rejected_writers" in row else rejected[0]
    if "construction" in row:
        filled["split"] = row["split"]
    return (row["config"], row["split"], row["position"]), filled


_PLACE = ("config", "split", "position", "words")


def _shown(payload: Payload) -> Iterator[_Placed]:
    """Yield the published rows at the positions that the withheld ones leave free."""
    hidden = pq.read_table(pa.BufferReader(payload.read(TABLE)), columns=["config", "split", "position"]).to_pylist()
    taken = {(row["config"], row["split"], row["position"]) for row in hidden}
    free: dict[tuple[str, str], Iterator[int]] = {}
    for placed in read_rows(payload):
        key = (placed.config, placed.split)
        position = free.setdefault(key, _free_positions(key, taken))
        yield (*key, next(position)), placed.row.to_row()


def _free_positions(key: tuple[str, str], taken: set[tuple[str, str, int]]) -> Iterator[int]:
    return (n for n in itertools.count() if (*key, n) not in taken)


def _find(sources: Sequence[Path], wanted: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in (file for source in sources for file in _files(source)):
        for raw in _strings(path):
            for text in _forms(raw):
                if (digest := text_digest(text)) in wanted:
                    found[digest] = text
    return found


def _forms(text: str) -> Iterator[str]:
    """Yield a text as it stands, and in the forms that readers of corpora bring it into."""
    unix = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    broken = unix
    for mark in LINE_BREAKS:
        broken = broken.replace(mark, "\n")
    for form in dict.fromkeys((text, unix, broken)):
        for normal in dict.fromkeys((form, unicodedata.normalize("NFC", form))):
            yield from dict.fromkeys((normal, normal.strip()))


def _files(source: Path) -> list[Path]:
    if source.is_dir():
        return sorted(path for path in source.rglob("*") if path.is_file())
    if not source.is_file():
        raise DataError(f"{source}: no such file or folder; check --source")
    return [source]


def _strings(path: Path) -> Iterator[str]:
    if path.suffix == ".jsonl":
        for line in read_jsonl(path):
            yield from _nested(line.row)
    elif path.suffix == ".parquet":
        for batch in read_batches(path):
            yield from _nested(batch.to_pylist())
    else:
        text = path.read_text(encoding="utf-8", errors="replace")
        yield text
        if path.suffix == ".json":
            try:
                yield from _nested(orjson.loads(text))
            except orjson.JSONDecodeError as error:
                raise DataError(f"{path}: not valid JSON ({error}); mend it, or leave it out of --source") from error


def _nested(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _nested(item)
    elif isinstance(value, list):
        for item in value:
            yield from _nested(item)
