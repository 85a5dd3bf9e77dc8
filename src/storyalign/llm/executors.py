"""Where a step's pipeline runs: in this process, or on a cluster through datatrove's executors."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from datatrove.pipeline.inference.run_inference import InferenceConfig
from datatrove.pipeline.inference.servers import InferenceServer
from datatrove.pipeline.inference.types import ServerError

from storyalign.errors import EndpointError, RecipeError
from storyalign.llm.budget import Budget
from storyalign.llm.clusters import Cluster
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.reply_log import Outcome
from storyalign.llm.step_pipeline import PendingRows, StepRunner
from storyalign.llm.step_servers import EndpointSession, VllmSession
from storyalign.llm.steps import Step

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
