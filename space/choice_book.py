"""Choices that visitors agreed to share: kept in a file, and committed to a dataset of the Hub every few minutes."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

import huggingface_hub

from storyalign.errors import HubError

EVERY_MINUTES = 10
MOST_ROWS = 100_000
"""Rows that one run of the Space keeps; a flood stops here."""

CONSENT = (
    "Share my choices. Each choice goes into the dataset {dataset}: the group, the story you picked, and the day. "
    "No name, no address, nothing that you typed. Without the tick nothing is kept."
)


class ChoiceBook:
    """Rows of choices in a file of this run.

    Args:
        dataset: the dataset's id on the Hub, for the consent text.
        folder: where the file lies.
        lock: held while writing, so that no half row is committed.
    """

    def __init__(self, dataset: str, folder: Path, lock: AbstractContextManager[bool]):
        self.dataset, self._lock, self._rows = dataset, lock, 0
        self._path = folder / f"choices-{uuid.uuid4().hex}.jsonl"

    @property
    def consent(self) -> str:
        """What a visitor agrees to."""
        return CONSENT.format(dataset=self.dataset)

    def note(self, data: str, instance_id: str, candidate: int) -> None:
        """Write one choice down.

        Args:
            data: name of the set.
            instance_id: the group.
            candidate: the picked story; 0 is the preferred one of the set.
        """
        row = {"data": data, "id": instance_id, "candidate": candidate, "day": datetime.now(UTC).date().isoformat()}
        with self._lock:
            if self._rows < MOST_ROWS:
                self._rows += 1
                with self._path.open("a", encoding="utf-8") as handle:
                    handle.write(json.dumps(row, ensure_ascii=False) + "\n")


def choice_book_of(settings: Mapping[str, str], every: float = EVERY_MINUTES) -> ChoiceBook | None:
    """Open the book that the operator asked for in ``STORYALIGN_FEEDBACK`` (a dataset's id); None where it is unset.

    Raises:
        HubError: the dataset cannot be made or written to.
    """
    dataset = settings.get("STORYALIGN_FEEDBACK", "").strip()
    if not dataset:
        return None
    folder = Path(tempfile.mkdtemp(prefix="choices-"))
    try:
        scheduler = huggingface_hub.CommitScheduler(
            repo_id=dataset, repo_type="dataset", folder_path=folder, path_in_repo="choices", every=every
        )
    except (OSError, ValueError, huggingface_hub.errors.HfHubHTTPError) as error:
        reason = " ".join(str(error).split())[:300]
        raise HubError(
            f"STORYALIGN_FEEDBACK={dataset}: cannot be written to ({reason}); set a token that may"
        ) from error
    return ChoiceBook(dataset, folder, scheduler.lock)
