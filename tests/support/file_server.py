"""A web server of files for tests, and the accidents that happen to downloads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


class FileServer:
    """Serves ``files`` by their path; what is in ``cut`` breaks off once after so many bytes."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut: dict[str, int] = {}
        self.answers: dict[str, list[int]] = {}
        """Status codes to give before the file, in turn."""
        self.requests: Counter[str] = Counter()
        self.url = ""

    def add(self, path: str, content: bytes) -> str:
        """Serve a file and give its address."""
        self.files[path] = content
        return f"{self.url}/{path}"


@contextmanager
def serving() -> Iterator[FileServer]:
    """Run a server until the block ends."""
    server = FileServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path).lstrip("/")
            server.requests[path] += 1
            waiting = server.answers.get(path)
            if waiting:
                self.send_error(waiting.pop(0))
                return
            if path not in server.files:
                self.send_error(404)
                return
            content = server.files[path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: server.cut.pop(path, None)])

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
