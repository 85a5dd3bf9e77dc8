"""A real model behind a real OpenAI-compatible server: SmolLM2-135M with ``transformers serve``."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from storyalign.models.base_model import resolve_base
from tests.support.command import environment
from tests.support.scripted_llm_server import free_port


@contextmanager
def served_model(log: Path) -> Iterator[tuple[str, str]]:
    """Serve the model until the block ends; gives the API's address and the model's name."""
    model, port = resolve_base(), free_port()
    command = [str(Path(sys.executable).with_name("transformers")), "serve", "--host", "127.0.0.1", "--port", str(port)]
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment(), stdout=output, stderr=output)
    try:
        for _ in range(600):
            assert process.poll() is None, log.read_text()[-2000:]
            try:
                httpx.get(f"http://127.0.0.1:{port}/health", timeout=2)
                break
            except httpx.HTTPError:
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1", str(model)
    finally:
        process.kill()  # asked politely, it would end what it is writing first
        process.wait()
