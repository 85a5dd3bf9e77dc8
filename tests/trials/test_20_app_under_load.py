"""Trial 20: many visitors at once, on a server where every warning is an error."""

from pathlib import Path

import psutil

from benchmarks.space_load import at_once
from tests.support.space_serving import serving


def visitors(count: int) -> list[tuple[str, list[str]]]:
    return [(f"premise {n}", [f"one reward={n}", f"two reward={n + 1000}", f"<script>{n}"]) for n in range(count)]


def server_memory(address: str) -> int:
    port = int(address.rsplit(":", 1)[1])
    [server] = [c.pid for c in psutil.net_connections("tcp") if c.laddr.port == port and c.status == "LISTEN"]
    return int(psutil.Process(server).memory_info().rss)


def test_fifty_at_once_each_get_their_own_answer_and_memory_stays(tmp_path: Path) -> None:
    after = []
    with serving(tmp_path / "log.txt", "--sessions", "50") as address:
        for _ in range(4):
            visits = at_once(address, visitors(50))
            rewards = [[story["reward"] for story in visit.answer["stories"] if story["index"] < 2] for visit in visits]
            assert [sorted(pair) for pair in rewards] == [[float(n), n + 1000.0] for n in range(50)]
            after.append(server_memory(address))
    # The first 50 sessions are remembered; from then on each visitor takes the place of another.
    assert after[3] < 1.02 * after[1]


def test_more_than_the_queue_holds_are_told_so(tmp_path: Path) -> None:
    with serving(tmp_path / "log.txt", "--queue", "5", "--seconds", "1") as address:
        visits = at_once(address, visitors(20))
        answered = [v for v in visits if v.answer is not None]
        assert 5 <= len(answered) < 20
        assert all("queue" in v.refusal.lower() for v in visits if v.answer is None)
        [again] = at_once(address, visitors(1))
        assert again.answer is not None
