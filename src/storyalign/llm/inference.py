"""A step as a pipeline of datatrove: rows in, ``InferenceRunner`` over our own HTTP session, outcomes out.

datatrove brings the pipeline, the executors (Slurm, Ray) and the vLLM server. What it can't do for paid
endpoints is done by three small subclasses: its endpoint server knows neither Retry-After nor a time limit nor a cost
limit, aborts on a status 500 and writes the key into ``executor.json``; its writer starts files anew and its runner
only logs a failed write.
"""

# mypy: disable-error-code="misc"
# (datatrove has no type hints, so its classes are Any to the checker.)

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import orjson
from datatrove.data import Document
from datatrove.pipeline.inference.run_inference import InferenceConfig, InferenceRunner
from datatrove.pipeline.inference.servers import InferenceServer, VLLMServer
from datatrove.pipeline.inference.types import InferenceError, InferenceResult, ServerError
from datatrove.pipeline.writers import JsonlWriter

from storyalign.errors import EndpointError, RecipeError
from storyalign.files import read_jsonl
from storyalign.llm.budget import Budget
from storyalign.llm.clusters import Cluster
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.replies import UnparsedReply
from storyalign.llm.reply_log import Outcome, ReplyLog, cut_half_line
from storyalign.llm.session import Answer, Session, open_session
from storyalign.llm.steps import Row, Step
from storyalign.llm.wire import body_digest, body_of

_QUIET = 10**6
"""Seconds between datatrove's own reports: never."""


class NoReply(Exception):
    """A call without a reply of use."""

    def __init__(self, answer: Answer):
        super().__init__(answer.failure)
        self.answer = answer


class NoRoom(Exception):
    """The cost limit leaves no room for a call."""


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


class _SessionRequests:
    """How both servers send: through our own session, opened with the server and closed with it."""

    _session: Session | None = None

    async def _open_session(self, endpoint: Endpoint, budget: Budget) -> None:
        self._open = AsyncExitStack()
        self._session = await self._open.enter_async_context(open_session(endpoint, budget, endpoint.key()))

    async def _make_request(self, payload: dict[str, Any]) -> dict[str, Any]:
        assert self._session is not None
        try:
            answer = await self._session.answer(payload)
            if answer is None:
                raise InferenceError(None, NoRoom("no room under the cost limit"))
            self._session.count(answer)
        except EndpointError as error:
            raise ServerError(error) from error
        if answer.reply is None:
            raise InferenceError(None, NoReply(answer))
        usage = {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.reply_tokens}
        return {
            "choices": [{"message": {"content": answer.reply.text}, "finish_reason": "stop"}],
            "usage": {**usage, "counted": answer.reply.prompt_tokens},
        }


class EndpointSession(_SessionRequests, InferenceServer):
    """An endpoint that runs somewhere else."""

    def __init__(self, config: InferenceConfig, rank: int, endpoint: Endpoint, budget: Budget):
        super().__init__(config, rank)
        self._endpoint, self._budget = endpoint, budget

    async def __aenter__(self) -> Any:
        await self._open_session(self._endpoint, self._budget)
        return await super().__aenter__()

    async def __aexit__(self, *exception: Any) -> None:
        await super().__aexit__(*exception)
        await self._open.aclose()

    async def start_server(self) -> None:
        """There is nothing to start."""

    async def monitor_health(self) -> None:
        """Watch nothing, for ever: a call that fails says so itself, and an end would mean that the server has died."""
        await asyncio.Future()

    async def is_ready(self) -> bool:
        """Let the calls find out; many endpoints have no address that answers without a key."""
        return True


class VllmSession(_SessionRequests, VLLMServer):
    """A vLLM server that datatrove starts beside this process, on a cluster's node."""

    def __init__(self, config: InferenceConfig, rank: int, endpoint: Endpoint, budget: Budget):
        super().__init__(config, rank)
        self._endpoint, self._budget = endpoint, budget

    async def _make_request(self, payload: dict[str, Any]) -> dict[str, Any]:
        if self._session is None:
            here = replace(self._endpoint, url=f"{self.get_base_url()}/v1", key_variable=None)
            await self._open_session(here, self._budget)
        return await super()._make_request(payload)

    async def __aexit__(self, *exception: Any) -> None:
        if self._session is not None:
            await self._open.aclose()
        await super().__aexit__(*exception)


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


Pipeline = list[Any]
"""datatrove's: a list of links."""


def pipeline_of(
    step: Step,
    source: Path,
    endpoint: Endpoint,
    folder: Path,
    limit: int | None = None,
    *,
    budget: Budget | None = None,
    kept: Callable[[Outcome], None] | None = None,
    cluster: Cluster | None = None,
) -> Pipeline:
    """Put both links together; with a cluster the server is the one that it asks for, and there is no cost limit."""
    money = budget or Budget(None, endpoint.known_price)
    config: dict[str, Any] = {}
    server: type[EndpointSession] | type[VllmSession] = EndpointSession
    if cluster is not None and cluster.server == "vllm":
        server = VllmSession
        config = {"server_type": "vllm", "model_max_context": cluster.max_context, "tp": cluster.tensor_parallel}

    def open_server(settings: InferenceConfig, rank: int) -> InferenceServer:
        return server(settings, rank, endpoint, money)

    runner = StepRunner(step, endpoint, folder.resolve(), open_server=open_server, kept=kept, **config)
    return [PendingRows(step, source.resolve(), endpoint, folder.resolve(), limit), runner]


def run_here(pipeline: Pipeline) -> None:
    """Run to the end in this process, link after link as datatrove's executors do.

    Its ``LocalPipelineExecutor`` does the same for one task, but starts a manager process first that lives on when the
    run is killed (seen with 0.10.1), and copies the pipeline, and with it the budget.

    Raises:
        EndpointError: no call can succeed, or too many failed in a row.
    """
    from loguru import logger

    logger.disable("datatrove")  # it would tell the whole prompt of a failed call
    rows, runner = pipeline
    try:
        runner.run(rows(None, 0, 1), 0, 1)
    except ServerError as error:
        if isinstance(error.error, EndpointError):
            raise error.error from None
        raise


def submit(pipeline: Pipeline, cluster: Cluster, logs: Path) -> None:
    """Hand the pipeline to a cluster; returns once the jobs are submitted (Slurm) or have ended (Ray).

    Raises:
        RecipeError: the cluster's commands, or ray, are not on this machine.
    """
    if cluster.kind == "ray":
        if find_spec("ray") is None:
            raise RecipeError("--executor ray: ray is not installed; run: pip install 'datatrove[ray]'")
        from datatrove.executor.ray import RayPipelineExecutor

        RayPipelineExecutor(
            pipeline,
            tasks=cluster.tasks,
            workers=cluster.workers,
            cpus_per_task=cluster.cpus_per_task,
            gpus_per_task=cluster.gpus_per_task,
            mem_per_cpu_gb=cluster.mem_per_cpu_gb,
            logging_dir=str(logs),
            skip_completed=False,
        ).run()
        return
    from datatrove.executor import SlurmPipelineExecutor

    executor = SlurmPipelineExecutor(
        pipeline,
        tasks=cluster.tasks,
        workers=cluster.workers,
        time=cluster.time,
        partition=cluster.partition,
        qos=cluster.qos,
        cpus_per_task=cluster.cpus_per_task,
        mem_per_cpu_gb=cluster.mem_per_cpu_gb,
        gpus_per_task=cluster.gpus_per_task,
        env_command=cluster.env_command or None,
        job_name="storyalign",
        logging_dir=str(logs.resolve()),
        skip_completed=False,
    )
    try:
        executor.run()
    except FileNotFoundError as error:
        raise RecipeError(
            f"{error.filename}: not found on this machine; run on a login node of the cluster"
            f" (the job's script is {logs / 'launch_script.slurm'})"
        ) from error
