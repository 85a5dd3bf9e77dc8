"""A cluster as a recipe describes it: how many tasks, what each of them gets, and which server runs beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge

from storyalign.errors import RecipeError
from storyalign.llm.endpoint import Endpoint
from storyalign.settings import Count, checked, from_entry


@checked
@dataclass(frozen=True, slots=True)
class Cluster:
    """Settings of datatrove's Slurm or Ray executor."""

    kind: Literal["slurm", "ray"]
    tasks: Count = 1
    """The rows are dealt out to so many tasks; each starts a server of its own where ``server`` is vllm."""
    workers: int = -1
    """Tasks at once; -1 for all."""
    server: Literal["vllm", "endpoint"] = "vllm"
    time: str = "24:00:00"
    """Slurm: limit for a task."""
    partition: str = "gpu"
    qos: str = ""
    cpus_per_task: Count = 8
    mem_per_cpu_gb: Count = 8
    gpus_per_task: Annotated[int, Ge(0)] = 1
    env_command: str = ""
    """Shell line that makes ``storyalign`` and ``datatrove`` available in a job."""
    max_context: Count = 16384
    """vLLM: longest conversation in tokens."""
    tensor_parallel: Count = 1

    def takes(self, endpoint: Endpoint) -> bool:
        """Whether calls of this endpoint go to the cluster: it can start vLLM for a local server's model, no other."""
        return self.server == "endpoint" or endpoint.is_local

    @classmethod
    def from_recipe(cls, kind: str, entry: Mapping[str, Any]) -> Cluster:
        """Make it of a recipe's ``cluster`` entry.

        Raises:
            RecipeError: a field or the kind is unknown.
        """
        if kind not in ("slurm", "ray"):
            raise RecipeError(f"--executor {kind}: unknown; choose local, slurm or ray")
        if "kind" in entry:
            raise RecipeError("cluster.kind is unknown; --executor chooses between slurm and ray")
        return from_entry(cls, {**entry, "kind": kind}, "cluster")
