"""A step as links of a datatrove pipeline: the rows that need a call, the runner that asks, the writer that keeps.

datatrove's writer starts its files anew and its runner only logs a failed write; here both are what a paid reply needs.
"""

# mypy: disable-error-code="misc"
# (datatrove has no type hints, so its classes are Any to the checker.)

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson
from datatrove.data import Document
from datatrove.pipeline.inference.run_inference import InferenceConfig, InferenceRunner
from datatrove.pipeline.inference.servers import InferenceServer
from datatrove.pipeline.inference.types import InferenceError, InferenceResult
from datatrove.pipeline.writers import JsonlWriter

from storyalign.files import read_jsonl
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.replies import UnparsedReply
from storyalign.llm.reply_log import Outcome, ReplyLog, cut_half_line
from storyalign.llm.step_servers import NoReply, NoRoom
from storyalign.llm.steps import Row, Step
from storyalign.llm.wire import body_digest, body_of

_QUIET = 10**6
"""Seconds between datatrove's own reports: never."""


@dataclass(frozen=True, slots=True)
class PendingRows:
    """The first link of the pipeline: the rows that still need a call, this process's share of them."""

    step: Step
    source: Path
    endpoint: Endpoint
    folder: Path
    limit: int | None = None

    def __call__(self, data: object, rank: int, world_size: int) -> Iterator[Document]:
        """Give one document a row; datatrove calls this with the process's number and how many there are."""
        log = ReplyLog(self.folder)
        for index, row in enumerate(source_rows(self.source, self.limit)):
            if index % world_size == rank:
                request = body_digest(body_of(self.step, row, self.endpoint))
                if not log.finished(row["id"], request):
                    yield Document(text="", id=row["id"], metadata={"row": row, "request": request})


def source_rows(source: Path, limit: int | None) -> Iterator[Row]:
    """Read the rows of a step, at most ``limit``."""
    for number, line in enumerate(read_jsonl(source)):
        if limit is not None and number >= limit:
            return
        yield line.row


class OutcomeWriter(JsonlWriter):
    """Appends outcomes to ``<rank>.jsonl``; each line is on its way to the disk before the next call ends."""

    def __init__(self, folder: Path, kept: Callable[[Outcome], None] | None):
        super().__init__(str(folder), output_filename="${rank}.jsonl", compression=None, adapter=_outcome_row)
        self.output_mg = self.output_folder.get_output_file_manager(mode="ab", compression=None)
        self._kept = kept

    def _write(self, document: dict[str, Any], file_handler: IO[bytes], _filename: str) -> None:
        file_handler.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
        file_handler.flush()
        if self._kept is not None:
            self._kept(Outcome(**document))


def _outcome_row(_writer: object, document: Document) -> dict[str, Any]:
    row: dict[str, Any] = document.metadata["rollout_results"][0]
    return row


class StepRunner(InferenceRunner):
    """``InferenceRunner`` for one step."""

    def __init__(
        self,
        step: Step,
        endpoint: Endpoint,
        folder: Path,
        *,
        open_server: Callable[[InferenceConfig, int], InferenceServer],
        kept: Callable[[Outcome], None] | None = None,
        **config: Any,
    ):
        """Set the pipeline step up.

        Args:
            step: what to ask and how to read it.
            endpoint: whom to ask.
            folder: where the outcomes go.
            open_server: makes the server in the process that runs.
            kept: called with each outcome once it is written.
            config: further fields of datatrove's ``InferenceConfig``.
        """
        settings = InferenceConfig(
            **{"server_type": "endpoint", "endpoint_url": endpoint.url, **config},
            model_name_or_path=endpoint.model,
            max_concurrent_generations=endpoint.max_concurrency,
            max_concurrent_documents=endpoint.max_concurrency,
            metric_interval=_QUIET,
        )
        super().__init__(self._ask_row, settings, OutcomeWriter(folder, kept))
        self._step, self._endpoint, self._folder, self._open_server = step, endpoint, folder, open_server

    def run(self, data: Iterable[Document], rank: int = 0, world_size: int = 1) -> None:
        """Ask for all rows of this process."""
        cut_half_line(self._folder / f"{rank:05d}.jsonl")
        super().run(data, rank, world_size)

    def _init_server(self, rank: int) -> InferenceServer:
        return self._open_server(self.config, rank)

    async def _save_document(
        self, document: Document, writer: OutcomeWriter, rank: int, chunk_index: int, **_: Any
    ) -> None:
        """Write, and stop where that fails: a reply that can't be kept must not be paid for."""
        await self.checkpoint_manager.write_document(document, rank, chunk_index, writer)

    async def _ask_row(
        self, document: Document, generate: Callable[[dict[str, Any]], Any], **_: Any
    ) -> dict[str, Any] | None:
        row, request = document.metadata["row"], document.metadata["request"]
        prompt_tokens = reply_tokens = replies = 0
        counted = text = failure = seed = None
        again = False
        for attempt in range(self._step.tries):
            body = body_of(self._step, row, self._endpoint, attempt)
            text = None
            try:
                result: InferenceResult = await generate(dict(body))
            except InferenceError as error:
                if isinstance(error.error, NoRoom):
                    if attempt == 0:
                        return None  # never asked
                    failure, again = f"{failure}; {error.error}", True
                    break
                if not isinstance(error.error, NoReply):
                    raise
                answer = error.error.answer
                charged = {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.reply_tokens}
                failure, again = answer.failure, not answer.unusable
            else:
                text, charged, counted, failure = result.text, result.usage, result.usage["counted"], None
                try:
                    self._step.read(row, text)
                except UnparsedReply as useless:
                    failure = str(useless)
            replies, seed = attempt + 1, body.get("seed")
            prompt_tokens += charged["prompt_tokens"]
            reply_tokens += charged["completion_tokens"]
            if failure is None or again:
                break
        return Outcome(
            row["id"], request, text, failure, again, seed, replies, prompt_tokens, reply_tokens, counted
        )._asdict()
