"""The ``storyalign`` command as users run it: a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def environment(**variables: str) -> dict[str, str]:
    """The test's environment, with the package to test and nothing of a surrounding launcher."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ACCELERATE_", "STORYALIGN_"))}
    return {**inherited, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **variables}


def storyalign(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    command = [sys.executable, "-m", "storyalign", *map(str, arguments)]
    return subprocess.run(command, env=environment(**variables), capture_output=True, text=True, timeout=280)
