from __future__ import annotations

import threading
import time

import pytest

from storyalign.hub.work_thread import WorkThread


def test_work_is_done_in_order_and_its_owner_waits_while_two_pieces_are_open() -> None:
    thread, go, done = WorkThread("test"), threading.Event(), []
    for number in range(2):
        thread.submit(lambda number=number: (go.wait(20), done.append(number)))  # type: ignore[misc]
    threading.Timer(0.2, go.set).start()
    begun = time.monotonic()
    thread.submit(lambda: done.append(2))
    assert time.monotonic() - begun >= 0.1, "the third piece was taken while two were open"
    thread.finish()
    assert done == [0, 1, 2]
    thread.stop()


def test_an_error_is_raised_where_the_owner_comes_by_next() -> None:
    thread = WorkThread("test")
    thread.submit(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError):
        thread.finish()
    thread.finish()
    thread.stop()


def test_what_waits_is_not_done_after_a_stop() -> None:
    thread, go, done = WorkThread("test"), threading.Event(), []
    thread.submit(lambda: go.wait(20))  # type: ignore[arg-type, return-value]
    thread.submit(lambda: done.append(1))
    threading.Timer(0.1, go.set).start()
    thread.stop()
    assert done == []
