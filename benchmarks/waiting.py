"""A process that is loaded once and then does its work whenever it is told to, for systems that take turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


class Waiting:
    """A module of the benchmarks in a process of its own: a line of JSON in, a line of JSON out."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._command = [sys.executable, "-m", module, *arguments]
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
            text=True,
        )

    def run(self, order: Any = None) -> Any:
        """Send an order and wait for the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"a process of the benchmark died; run: {' '.join(self._command)}")
        return json.loads(answer)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
