"""One system in a process of its own, told over its input when to run: ``python -m benchmarks.worker NAME FOLDER``.

Each line of input is a JSON object ``{"stories": [...], "peak": "float32" | "bfloat16" | null}``; each line of output
is ``{"seconds", "rewards", "flops_per_second"}``. The matrix-product peak is measured before and after the stories,
in the same state of the machine.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def peak(dtype_name: str, size: int = 2048, tries: int = 4) -> float:
    """Multiply two square matrices and give the best floating-point operations a second."""
    import torch

    a = torch.randn(size, size).to(getattr(torch, dtype_name))
    b = torch.randn(size, size).to(getattr(torch, dtype_name))
    best = float("inf")
    for _ in range(tries):
        begun = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - begun)
    return 2 * size**3 / best


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not mix with the answers
    from benchmarks.systems import SYSTEMS

    score = SYSTEMS[sys.argv[1]](Path(sys.argv[2]))
    for line in sys.stdin:
        order = json.loads(line)
        peaks = [peak(order["peak"])] if order.get("peak") else []
        begun = time.perf_counter()
        rewards = score(order["stories"])
        seconds = time.perf_counter() - begun
        if peaks:
            peaks.append(peak(order["peak"]))
        answer = {"seconds": seconds, "rewards": rewards, "flops_per_second": max(peaks, default=None)}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
