"""Features of a frozen model, computed once: the mean state of each story at some layers, kept on disk by content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np
import torch

from storyalign.files import writing
from storyalign.models.batches import plan_batches
from storyalign.models.loading import RewardModel
from storyalign.models.mean_pooling import Span, story_means
from storyalign.text import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORMAT = "1"
_KEY_BYTES = 16
_BATCH_TOKENS = {"cpu": 2048, "cuda": 32768}


class Segment(NamedTuple):
    """A conversation and where its story lies."""

    ids: tuple[int, ...]
    span: Span

    @property
    def key(self) -> bytes:
        """What tells segments apart."""
        return hashlib.blake2b(np.array((*self.span, *self.ids), np.int64).tobytes(), digest_size=_KEY_BYTES).digest()


class Features:
    """A cache of features: two files that only grow, one of keys and one of float32 rows.

    Args:
        folder: where it lies; one for each base, precision and choice of layers.
        shape: (layers, hidden size) of one row.
    """

    def __init__(self, folder: Path, shape: tuple[int, int]) -> None:
        self.folder, self.shape = folder, shape
        self._keys, self._rows = folder / "keys", folder / "rows"

    def compute(
        self, base: RewardModel, segments: Iterable[Segment], layers: Sequence[int], tell: Callable[[int, int], None]
    ) -> None:
        """Compute what is not there yet; each batch is on disk before the next one runs.

        Args:
            base: the frozen model, in evaluation mode.
            segments: the conversations.
            layers: the layers to read, counted from 1.
            tell: called with the segments done and all that were missing.

        Raises:
            DataError: the cache cannot be written.
        """
        device = next(base.model.parameters()).device
        with self._open() as (keys, rows):
            known = set(self._places())
            missing = {key: s for s in segments if (key := s.key) not in known}
            done = 0
            budget = _BATCH_TOKENS.get(device.type, _BATCH_TOKENS["cpu"])
            for batch in plan_batches(missing.items(), lambda item: len(item[1].ids), budget=budget):
                ids = [torch.tensor(segment.ids) for _, segment in batch]
                with torch.inference_mode():
                    means = story_means(base.model, ids, [segment.span for _, segment in batch], layers)
                rows.write(means.float().cpu().numpy().tobytes())
                rows.flush()  # first: a key without its row must not be
                keys.write(b"".join(key for key, _ in batch))
                keys.flush()
                done += len(batch)
                tell(done, len(missing))

    def read(self, segments: Sequence[Segment]) -> np.ndarray:
        """Return (segments, layers, hidden size) float32 features, which have all been computed."""
        places = self._places()
        found = [places[segment.key] for segment in segments]
        rows = np.memmap(self._rows, np.float32, "r", shape=(len(places), *self.shape))
        return np.asarray(rows[found])

    def _places(self) -> dict[bytes, int]:
        data = self._keys.read_bytes()
        return {data[i : i + _KEY_BYTES]: n for n, i in enumerate(range(0, len(data), _KEY_BYTES))}

    @contextmanager
    def _open(self) -> Iterator[tuple[BinaryIO, BinaryIO]]:
        """Open both files for appending, cut back to the rows that are whole in both."""
        from filelock import FileLock

        size = 4 * self.shape[0] * self.shape[1]
        with writing(self.folder):  # closing writes once more what a full disk refused
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder.with_name(f".{self.folder.name}.lock"))
            with lock, self._keys.open("ab") as keys, self._rows.open("ab") as rows:
                whole = min(keys.tell() // _KEY_BYTES, rows.tell() // size)
                keys.truncate(whole * _KEY_BYTES)
                rows.truncate(whole * size)
                yield keys, rows


def open_features(base: RewardModel, weights: str, layers: Sequence[int], cache: Path | None = None) -> Features:
    """Open the cache that belongs to a base model and some layers.

    Args:
        base: the frozen model.
        weights: digest of its folder.
        layers: the layers that a row holds.
        cache: a folder; ``HF_HOME/storyalign/features`` by default.
    """
    from huggingface_hub.constants import HF_HOME

    key = digest(_FORMAT, weights, base.dtype, *map(str, layers))[7:31]
    hidden = base.model.config.get_text_config().hidden_size
    return Features((cache or Path(HF_HOME) / "storyalign" / "features") / key, (len(layers), hidden))
