"""Visitors of the Space at once: ``python -m benchmarks.space_load MODEL`` prints waiting times and memory.

Each visitor asks the API to rank four stories of the sample over plain HTTP, as a browser would.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

import httpx
import psutil

VISITORS = (1, 10, 50)


class Visit(NamedTuple):
    """What became of one visit."""

    seconds: float
    """From the request to the answer, waiting in the queue included."""
    answer: dict[str, Any] | None
    """What ``/rank`` returned; None where the Space said no."""
    refusal: str | None


def main(model: str) -> None:
    from storyalign.preferences.sample import sample_instances

    groups = [(i.prompt, list(i.stories)) for i in sample_instances()]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start; four stories a request")
    with space(model) as (address, server):
        at_once(address, groups[:2])
        print(f"memory after the first requests: {server.memory_info().rss / 2**20:.0f} MiB")
        for count in VISITORS:
            asked = max(3, 60 // count) if count < 50 else 2
            visits = [visit for k in range(asked) for visit in at_once(address, groups[k * count :][:count])]
            seconds = [visit.seconds for visit in visits if visit.answer is not None]
            p50, p95 = (quantiles(seconds, n=100, method="inclusive")[p - 1] for p in (50, 95))
            print(
                f"{count:3} visitors: p50 {p50:6.2f} s, p95 {p95:6.2f} s (n {len(seconds)} answers, "
                f"{len(visits) - len(seconds)} refused), memory {server.memory_info().rss / 2**20:.0f} MiB"
            )


@contextlib.contextmanager
def space(model: str) -> Iterator[tuple[str, psutil.Process]]:
    """Run ``space/app.py`` with a model; give its address and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    script = Path(__file__).resolve().parents[1] / "space" / "app.py"
    environment = {**os.environ, "STORYALIGN_MODEL": model, "GRADIO_SERVER_PORT": port}
    server = subprocess.Popen([sys.executable, str(script)], env=environment, stdout=subprocess.DEVNULL)
    try:
        while server.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                httpx.get(f"http://127.0.0.1:{port}", timeout=30)
                break
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}", psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


def rank(address: str, premise: str, stories: list[str]) -> Visit:
    """Ask once. The answer comes as the last of a stream of events."""
    begun = time.monotonic()
    with httpx.Client(timeout=600) as client:
        call = client.post(f"{address}/gradio_api/call/rank", json={"data": [premise, stories]})
        if call.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            return Visit(time.monotonic() - begun, None, call.text)
        call.raise_for_status()
        event = ""
        with client.stream("GET", f"{address}/gradio_api/call/rank/{call.json()['event_id']}") as lines:
            for line in lines.iter_lines():
                if line.startswith("event: "):
                    event = line.removeprefix("event: ")
                elif line.startswith("data: ") and event == "complete":
                    return Visit(time.monotonic() - begun, json.loads(line.removeprefix("data: "))[0], None)
                elif line.startswith("data: ") and event == "error":
                    return Visit(time.monotonic() - begun, None, line.removeprefix("data: "))
    raise AssertionError("the stream ended without an answer")


def at_once(address: str, requests: list[tuple[str, list[str]]]) -> list[Visit]:
    """Send all visitors' requests at once; return the visits in the order of the requests."""
    with ThreadPoolExecutor(len(requests)) as visitors:
        return list(visitors.map(lambda request: rank(address, *request), requests))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/demo/model")
