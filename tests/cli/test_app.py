"""The verb ``app`` starts the Space with what it was told."""

import os
import subprocess
import sys
import time
import urllib.request

from tests.support.space_serving import free_port, wait_for


def test_app_serves_without_a_model(tmp_path):
    port = free_port()
    row = '{"id": "a", "prompt": "p", "chosen": "c", "rejected": ["r"]}\n'
    (tmp_path / "mine.jsonl").write_text(row, encoding="utf-8")
    command = [sys.executable, "-m", "storyalign.cli.main", "app", "--data", "mine.jsonl", "--port", str(port)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STORYALIGN_")}
    log = tmp_path / "log.txt"
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(server, address, log)
        with urllib.request.urlopen(address, timeout=60) as response:
            page = response.read().decode()
        assert "STORYALIGN_MODEL is not set" in page and "mine.jsonl" in page
        deadline = time.monotonic() + 60  # the page answers a moment before the app says that it is open
        while "Ctrl-C ends the app" not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        os.killpg(server.pid, 2)
        server.wait(60)
    printed = log.read_text()
    assert f"Open {address}/ in a browser." in printed and "no model: The variable STORYALIGN_MODEL" in printed
    assert server.returncode == 0 and "Traceback" not in printed, printed
