"""The Space as a process of its own, with warnings as errors."""

import contextlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

SERVE = Path(__file__).with_name("space_server.py")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(server, address, log, seconds=200):
    """Wait until the server answers; a busy machine may take its time."""
    for _ in range(seconds * 5):
        assert server.poll() is None, log.read_text()
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=30):
            return
        time.sleep(0.2)
    raise AssertionError(f"no answer within {seconds} s")


@contextlib.contextmanager
def serving(log, *flags):
    """Run ``space_server.py``; give its address, and check on leaving that it printed no warning and no traceback."""
    port = free_port()
    command = [sys.executable, "-W", "error", str(SERVE), str(port), str(log.parent), *flags]
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(server, address, log)
        yield address
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    printed = log.read_text()
    assert "Warning" not in printed and "Traceback" not in printed, printed
