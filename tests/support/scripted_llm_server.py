"""An OpenAI-compatible chat server over real HTTP whose answers a test scripts, faults included."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route


@dataclass(frozen=True)
class Fault:
    """Anything but a plain reply: a status, headers, a raw body, a broken connection, a delay."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    drop: bool = False
    """Break the connection in the middle of the body."""
    drip: bool = False
    """Send a byte now and then, for ever."""
    delay: float = 0.0


@dataclass(frozen=True)
class Said:
    """A reply whose message or choice differs from the plain form."""

    content: Any
    finish: str = "stop"
    usage: dict[str, int] | None = None
    message: dict[str, Any] = field(default_factory=dict)


Script = Callable[[dict[str, Any], int], "str | Said | Fault"]
"""(request body, number of the request counted from 0) -> what the server does."""


@dataclass
class Running:
    """A running server and what it has seen."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    count: int = 0
    """Requests so far, whether kept or not."""
    keep: bool = True
    """False for volume: requests are answered and forgotten."""
    most_at_once: int = 0
    at_once: int = 0


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def prompt_of(body: dict[str, Any]) -> str:
    """Give all that the request says, as one text."""
    return "\n".join(message["content"] for message in body["messages"])


def _reply(said: str | Said, body: dict[str, Any]) -> dict[str, Any]:
    said = said if isinstance(said, Said) else Said(said)
    usage = said.usage or {"prompt_tokens": len(prompt_of(body)) // 4, "completion_tokens": 5}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": said.content, **said.message},
                "finish_reason": said.finish,
            }
        ],
        "usage": {**usage, "total_tokens": sum(usage.values())},
    }


async def _endless_body() -> Any:
    while True:
        yield b" "
        await asyncio.sleep(0.05)


async def _broken_body() -> Any:
    yield b'{"choices": [{"mess'
    raise ConnectionAbortedError("scripted")


def _application(script: Script, running: Running) -> Starlette:
    async def answer(request: Request) -> Response:
        body = json.loads(await request.body())
        number = len(running.requests) if running.keep else running.count
        running.count += 1
        if running.keep:
            running.requests.append(body)
            running.headers.append({k.lower(): v for k, v in request.headers.items()})
            running.times.append(time.monotonic())
        running.at_once += 1
        running.most_at_once = max(running.most_at_once, running.at_once)
        try:
            action = script(body, number)
            await asyncio.sleep(action.delay if isinstance(action, Fault) else 0.001)
        finally:
            running.at_once -= 1
        if not isinstance(action, Fault):
            return Response(json.dumps(_reply(action, body)), media_type="application/json")  # lone surrogates pass
        if action.drop:
            return StreamingResponse(_broken_body(), headers={"content-length": "5000"})
        if action.drip:
            return StreamingResponse(_endless_body())
        content = action.body if action.body is not None else b'{"error": {"message": "scripted fault"}}'
        return Response(content, action.status, action.headers, media_type="application/json")

    return Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])


@contextmanager
def scripted_server(script: Script, port: int = 0, *, keep: bool = True) -> Iterator[Running]:
    """Serve the script on this machine, on a free port or the given one, until the block ends."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    running = Running(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", keep=keep)
    # Without a logging configuration of its own: setting one closes other libraries' handlers, and absl's closes the
    # captured stream of the test run with it.
    settings = uvicorn.Config(
        _application(script, running), log_level="critical", log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield running
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listener.close()
