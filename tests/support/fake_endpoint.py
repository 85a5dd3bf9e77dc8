"""An OpenAI-compatible endpoint over real HTTP: it writes what its script says, slowly if told to."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeEndpoint:
    """``script`` holds one reply a request, in turn: a text, a function of the request, or an HTTP status."""

    def __init__(self, script, seconds=0.0):
        self.script, self.seconds = list(script), seconds
        self.requests = []
        self._lock = threading.Lock()

    def next(self, request):
        with self._lock:
            self.requests.append(request)
            reply = self.script[(len(self.requests) - 1) % len(self.script)]
        return reply(request) if callable(reply) else reply


@contextlib.contextmanager
def endpoint(script, seconds=0.0):
    """Serve the script; give the endpoint and its address."""
    fake = FakeEndpoint(script, seconds)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = fake.next(request)
            time.sleep(fake.seconds * len(fake.requests))
            status, body = (
                (reply, {"error": {"message": "refused"}}) if isinstance(reply, int) else (200, _reply(reply))
            )
            data = json.dumps(body).encode()
            with contextlib.suppress(OSError):  # the asker may be gone
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield fake, f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _reply(text):
    message = {"role": "assistant", "content": text}
    return {
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    }
