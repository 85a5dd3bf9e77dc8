"""The store under several hands: threads, processes, and a real SIGKILL."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from storyalign.annotation.progress import progress_of
from storyalign.annotation.store import Annotator, Store
from storyalign.errors import DataError
from tests.support.annotated_groups import ranked, task, unsure
from tests.support.command import environment

WORKER = Path(__file__).parents[1] / "support" / "work_through.py"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return filled(tmp_path, 6)


def filled(folder: Path, count: int, **fields) -> Store:
    store = Store(folder / "annotations.sqlite", create=True)
    store.add_tasks(task(number, **fields) for number in range(count))
    return store


def judge_next(store: Store, who: Annotator) -> str | None:
    claim = store.claim_next(who)
    if claim is None:
        return None
    store.give(ranked(claim.task, who.key, *range(len(claim.task.stories)), kind=claim.kind))
    return f"{claim.kind}/{claim.task.id}"


def test_it_is_in_wal_mode_and_full_sync(store: Store) -> None:
    with sqlite3.connect(store.path) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_same_groups_twice_are_there_once(store: Store) -> None:
    assert store.add_tasks([task(0), task(7)]) == (1, 1)
    assert [one.id for one in store.tasks()] == ["g0", "g1", "g2", "g3", "g4", "g5", "g7"]
    with pytest.raises(DataError, match="g0 is there with another text"):
        store.add_tasks([task(8), task(0, ranking=[0, 1, 2, 3])])
    assert store.task("g8") is None  # nothing of the refused file was added


def test_a_name_has_one_key_and_its_key_says_nothing(store: Store, tmp_path: Path) -> None:
    key = store.sign_in(" Ann  Lee").key
    assert store.sign_in("ann lee").key == key
    assert "ann" not in key.removeprefix("annotator-")
    other = filled(tmp_path / "other", 1)
    assert other.sign_in("Ann Lee").key != key  # salts differ between stores
    assert store.names() == {key: "Ann Lee"}


def test_two_independent_verdicts_then_the_senior(store: Store) -> None:
    ann, ben, cleo = store.sign_in("Ann"), store.sign_in("Ben"), store.sign_in("Cleo", "senior")
    first, second = store.claim_next(ann), store.claim_next(ben)
    assert first.task.id == second.task.id == "g0"
    assert store.claim_next(store.sign_in("Dan")).task.id == "g1"  # both places of g0 are taken
    assert store.claim_next(cleo) is None
    store.give(ranked(first.task, ann.key, 0, 1, 2, 3))
    store.give(ranked(second.task, ben.key, 1, 0, 2, 3))
    dispute = store.claim_next(cleo)
    assert (dispute.task.id, dispute.kind) == ("g0", "senior")
    store.give(ranked(dispute.task, cleo.key, 1, 0, 2, 3, kind="senior"))
    assert store.claim_next(cleo) is None
    assert progress_of(store).states == {"settled": 1, "disputed": 0, "open": 5}
    assert progress_of(store).by_senior == 1


def test_an_open_group_and_its_draft_are_given_back(store: Store) -> None:
    ann = store.sign_in("Ann")
    claim = store.claim_next(ann)
    store.note_draft(claim, {"opened": [0, 2], "scores": {"2": 7}})
    again = Store(store.path).claim_next(ann)
    assert (again.task, again.since, again.draft) == (claim.task, claim.since, {"opened": [0, 2], "scores": {"2": 7}})
    store.give(ranked(claim.task, ann.key, 0, 1, 2, 3))
    store.note_draft(claim, {"opened": [1]})  # a late note of a closed page changes nothing
    assert store.claim_next(ann).draft == {}


def test_the_first_verdict_stands(store: Store) -> None:
    ann = store.sign_in("Ann")
    assert store.give(ranked(task(0), ann.key, 0, 1, 2, 3)) is True
    assert store.give(unsure(task(0), ann.key)) is False
    assert store.give(ranked(task(0), "one", 0, 1, 2, 3, kind="senior")) is True
    assert store.roles()["one"] == "annotator"  # a verdict makes nobody a senior
    assert store.give(ranked(task(0), "two", 3, 1, 2, 0, kind="senior")) is False
    assert [(v.annotator, v.ranking) for v in store.verdicts()] == [(ann.key, (0, 1, 2, 3)), ("one", (0, 1, 2, 3))]


def test_a_forgotten_group_goes_to_others_after_an_hour(tmp_path: Path) -> None:
    now = [0.0]
    store = Store(tmp_path / "s.sqlite", create=True, clock=lambda: now[0])
    store.add_tasks([task(0)])
    store.change_settings(needed=1)
    ann, ben = store.sign_in("Ann"), store.sign_in("Ben")
    assert store.claim_next(ann) is not None
    assert store.claim_next(ben) is None
    now[0] = 3601.0
    assert store.claim_next(ben) is not None


def test_after_every_so_many_groups_a_sample_comes_back(tmp_path: Path) -> None:
    store = filled(tmp_path, 12)
    store.change_settings(check_every=5, check_sample=2)
    ann = store.sign_in("Ann")
    seen = [judge_next(store, ann) for _ in range(16)]
    kinds = [one.split("/")[0] for one in seen]
    assert kinds == ["independent"] * 5 + ["check"] * 2 + ["independent"] * 5 + ["check"] * 2 + ["independent"] * 2
    assert judge_next(store, ann) is None
    checked = [one.split("/")[1] for one in seen if one.startswith("check")]
    assert set(checked[:2]) <= {f"g{i}" for i in range(5)} and set(checked[2:]) <= {f"g{i}" for i in range(5, 10)}
    assert progress_of(store).states["open"] == 12  # checks settle nothing
    (share,) = progress_of(store).shares
    assert (share.judged, share.checks, share.median_seconds) == (12, 4, 10.0)


def test_many_threads_never_share_the_last_place(tmp_path: Path) -> None:
    store = filled(tmp_path, 10)
    people = [store.sign_in(f"Person {i}") for i in range(4)]

    def work(who: Annotator) -> int:
        return sum(1 for _ in iter(lambda: judge_next(store, who), None))

    with ThreadPoolExecutor(4) as pool:
        done = sum(pool.map(work, people))
    assert done == 20
    assert set(Counter(v.id for v in store.verdicts()).values()) == {2}


def start(store: Store, name: str, pause: float = 0.0) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(WORKER), str(store.path), name, str(pause)]
    return subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_two_processes_at_once_and_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    store = filled(tmp_path, 60)
    dice, told, killed = random.Random(7), [], 0
    for _ in range(3):
        pair = [start(store, "Ann", 0.05), start(store, "Ben", 0.05)]
        for worker in pair:
            told.append(worker.stdout.readline().decode().strip())  # it is at work
        time.sleep(dice.uniform(0.0, 0.1))
        for worker in pair:
            os.kill(worker.pid, signal.SIGKILL)
            out, _ = worker.communicate()
            killed += worker.returncode == -signal.SIGKILL
            told += [line for line in out.decode().splitlines(keepends=True) if line.endswith("\n")]
    saved = {f"{v.id} {v.annotator}" for v in store.verdicts()}
    assert {line.strip() for line in told} - {""} <= saved  # what was confirmed is there
    assert killed and len(saved) >= 6
    for worker in [start(store, "Ann"), start(store, "Ben")]:
        _, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0, errors.decode()
    given = Counter((v.id, v.annotator, v.kind) for v in store.verdicts())
    assert len(given) == 120 and set(given.values()) == {1}
    with sqlite3.connect(store.path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM claims").fetchone() == (0,)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such store"):
        Store(tmp_path / "none.sqlite")
    (tmp_path / "text.sqlite").write_text("no database at all, but long enough to be read as one " * 20)
    with pytest.raises(DataError, match="no usable annotation store"):
        Store(tmp_path / "text.sqlite")
    with sqlite3.connect(tmp_path / "other.sqlite") as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(DataError, match="no annotation store"):
        Store(tmp_path / "other.sqlite")
    newer = filled(tmp_path, 1).path
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version = 9")
    with pytest.raises(DataError, match="version 9"):
        Store(newer)


def test_a_store_of_the_first_version_gets_the_digests_of_what_was_judged(tmp_path: Path) -> None:
    store = filled(tmp_path, 2)
    given = [ranked(task(0), "a", 0, 1, 2, 3), ranked(task(1), "b", 3, 1, 2, 0)]
    for verdict in given:
        store.give(verdict)
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE verdicts SET row = json_remove(row, '$.texts')")
        db.execute("PRAGMA user_version = 1")
    assert Store(store.path).verdicts() == given
    assert Store(store.path).verdicts() == given


def test_a_named_senior_gets_the_disputed_groups_on_her_sheet(store: Store) -> None:
    store.give(ranked(task(3), "a", 0, 1, 2, 3))
    store.give(ranked(task(3), "b", 1, 0, 2, 3))
    assert [claim.task.id for claim in store.claim_all(store.sign_in("Cleo", "senior"), 50)] == ["g3"]
    assert [claim.kind for claim in store.claim_all(store.sign_in("cleo"), 50)] == ["senior"]
