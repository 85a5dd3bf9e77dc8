"""A stand-in for ``vllm serve MODEL --runner pooling`` over real HTTP: plain transformers, one input after another.

It knows what the kit relies on: ``/v1/models`` with the limit, ``/pooling`` with token ids, a sigmoid unless the
request switches it off, and a refusal of inputs beyond the limit.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification


@dataclass
class Pooling:
    """A running server and what it was asked."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    """Statuses of the next answers, in turn, before it works again."""
    reply: Any = None
    """An answer to give in place of the right one."""


@contextlib.contextmanager
def pooling_server(folder: Path, name: str, limit: int = 16384) -> Iterator[Pooling]:
    """Serve a model folder under a name."""
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()

    def rewards(body: dict[str, Any]) -> tuple[int, Any]:
        if any(len(ids) > limit for ids in body["input"]):
            return 400, {"error": {"message": f"This model's maximum context length is {limit} tokens."}}
        with torch.inference_mode():
            logits = [model(input_ids=torch.tensor([ids])).logits[0] for ids in body["input"]]
        if body.get("use_activation", True):
            logits = [torch.sigmoid(one) for one in logits]
        data = [{"index": i, "object": "pooling", "data": one.tolist()} for i, one in enumerate(logits)]
        return 200, {"object": "list", "model": name, "data": data[::-1]}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, {"data": [{"id": name, "max_model_len": limit}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            running.requests.append(body)
            if running.faults:
                self._send(running.faults.pop(0), {"error": {"message": "not now"}})
            elif running.reply is not None:
                self._send(200, running.reply)
            else:
                self._send(*rewards(body))

        def _send(self, status: int, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = Pooling(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
