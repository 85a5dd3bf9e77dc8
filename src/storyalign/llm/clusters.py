"""A cluster as a recipe describes it: how many tasks, what each of them gets, and which server runs beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from storyalign.errors import RecipeError
from storyalign.llm.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Cluster:
    """Settings of datatrove's Slurm or Ray executor."""

    kind: Literal["slurm", "ray"]
    tasks: int = 1
    """The rows are dealt out to so many tasks; each starts a server of its own where ``server`` is vllm."""
    workers: int = -1
    """Tasks at once; -1 for all."""
    server: Literal["vllm", "endpoint"] = "vllm"
    time: str = "24:00:00"
    """Slurm: limit for a task."""
    partition: str = "gpu"
    qos: str = ""
    cpus_per_task: int = 8
    mem_per_cpu_gb: int = 8
    gpus_per_task: int = 1
    env_command: str = ""
    """Shell line that makes ``storyalign`` and ``datatrove`` available in a job."""
    max_context: int = 16384
    """vLLM: longest conversation in tokens."""
    tensor_parallel: int = 1

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
        known = {f.name for f in fields(cls)} - {"kind"}
        if unknown := sorted(set(entry) - known):
            raise RecipeError(f"cluster: unknown field {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        return cls(kind=kind, **entry)  # type: ignore[arg-type]
