"""A step on a cluster: datatrove submits the jobs and starts vLLM beside each; the calls are made as everywhere."""

# mypy: disable-error-code="misc"
# (datatrove has no type hints, so its classes are Any to the checker.)

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from datatrove.pipeline.base import PipelineStep

from storyalign.errors import RecipeError
from storyalign.llm.budget import Budget
from storyalign.llm.clusters import Cluster
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.reply_log import ReplyLog
from storyalign.llm.step_calls import ask_rows
from storyalign.llm.step_runs import requests_of
from storyalign.llm.steps import Step


class StepShare(PipelineStep):
    """One task's share of the rows of a step; each task appends to a reply log of its own.

    Args:
        step: what to ask and how to read the reply.
        source: a JSONL file of rows.
        endpoint: whom to ask; with a cluster that starts vLLM, its model and sampling.
        folder: of the reply logs.
        limit: use only so many rows from the start of the source.
        cluster: how the jobs run.
    """

    name = "step"
    type = "storyalign"

    def __init__(self, step: Step, source: Path, endpoint: Endpoint, folder: Path, limit: int | None, cluster: Cluster):
        super().__init__()
        self.step, self.source, self.endpoint = step, source.resolve(), endpoint
        self.folder, self.limit, self.cluster = folder.resolve(), limit, cluster

    def run(self, data: object, rank: int = 0, world_size: int = 1) -> None:
        """Ask about every row whose number is this task's, as datatrove's executors call it."""
        asyncio.run(self._run(rank, world_size))

    async def _run(self, rank: int, world_size: int) -> None:
        log = ReplyLog(self.folder)
        rows = (
            (row, request)
            for number, (row, request) in enumerate(requests_of(self.step, self.source, self.endpoint, self.limit))
            if number % world_size == rank and not log.finished(row["id"], request)
        )
        async with AsyncExitStack() as open_servers:
            endpoint = self.endpoint
            if self.cluster.server == "vllm":
                url = await _start_vllm(endpoint.model, self.cluster, rank, open_servers)
                endpoint = replace(endpoint, url=url, key_variable=None)
            budget = Budget(None, endpoint.known_price)
            await ask_rows(self.step, rows, endpoint, self.folder / f"{rank:05d}.jsonl", budget)


async def _start_vllm(model: str, cluster: Cluster, rank: int, open_servers: AsyncExitStack) -> str:
    """Start datatrove's vLLM server and return its address once it answers.

    Raises:
        ServerError: it does not start.
    """
    from datatrove.pipeline.inference.run_inference import InferenceConfig
    from datatrove.pipeline.inference.servers import VLLMServer

    class Address(VLLMServer):
        """Answers a request with its address; datatrove holds requests back until the server is ready."""

        async def _make_request(self, payload: dict[str, Any]) -> dict[str, Any]:
            return {"url": f"{self.get_base_url()}/v1"}

    config = InferenceConfig(
        server_type="vllm",
        model_name_or_path=model,
        model_max_context=cluster.max_context,
        tp=cluster.tensor_parallel,
        model_kwargs={"trust-remote-code": False},  # datatrove asks for it; the last word on the command line counts
    )
    server = await open_servers.enter_async_context(Address(config, rank))
    answer: dict[str, str] = await server.make_request({})
    return answer["url"]


def submit(share: StepShare, logs: Path) -> None:
    """Hand the shares of a step to a cluster; return once the jobs are submitted (Slurm) or have ended (Ray).

    Raises:
        RecipeError: the cluster's commands, or ray, are not on this machine.
    """
    cluster = share.cluster
    settings = {
        "tasks": cluster.tasks,
        "workers": cluster.workers,
        "cpus_per_task": cluster.cpus_per_task,
        "gpus_per_task": cluster.gpus_per_task,
        "mem_per_cpu_gb": cluster.mem_per_cpu_gb,
        "logging_dir": str(logs.resolve()),
        "skip_completed": False,
    }
    if cluster.kind == "ray":
        if find_spec("ray") is None:
            raise RecipeError("--executor ray: ray is not installed; run: pip install 'datatrove[ray]'")
        from datatrove.executor.ray import RayPipelineExecutor

        RayPipelineExecutor([share], **settings).run()
        return
    from datatrove.executor import SlurmPipelineExecutor

    executor = SlurmPipelineExecutor(
        [share],
        **settings,
        time=cluster.time,
        partition=cluster.partition,
        qos=cluster.qos,
        env_command=cluster.env_command or None,
        job_name="storyalign",
    )
    try:
        executor.run()
    except FileNotFoundError as error:
        raise RecipeError(
            f"{error.filename}: not found on this machine; run on a login node of the cluster"
            f" (the job's script is {logs / 'launch_script.slurm'})"
        ) from error
