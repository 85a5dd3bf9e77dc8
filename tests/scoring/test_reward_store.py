import multiprocessing

import orjson
import pytest

from storyalign.errors import DataError, RowError
from storyalign.records import Instance, Reward
from storyalign.scoring.reward_store import open_store, requests_of, row_signature
from storyalign.text import digest

INSTANCES = [Instance(f"i{n}", f"premise {n}", f"best {n}", (f"other {n}", f"third {n}")) for n in range(3)]
REQUESTS = list(requests_of(INSTANCES))


def reward(request, scorer="s", value=0.5, status="scored"):
    signature = row_signature(scorer, request.prompt, request.story)
    return Reward(request.id, request.candidate, value, 3, False, status, signature)


def add(store, rows, rank=0):
    with store.appending(rank) as keep:
        keep(rows)


def lines(path):
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def test_rows_come_out_in_the_order_of_the_data_each_once(tmp_path):
    out = tmp_path / "deep" / "rewards.jsonl"
    with open_store(out) as store:
        add(store, [reward(r, value=0.1) for r in reversed(REQUESTS[:5])], rank=1)
        add(store, [reward(r, value=0.2) for r in REQUESTS[4:]], rank=0)
        assert not out.exists(), "nothing stands under the final name before the end"
        counts = store.finish("s", REQUESTS, {"scorer": {}}, reused=0)
    assert [(row["id"], row["candidate"]) for row in lines(out)] == [(r.id, r.candidate) for r in REQUESTS]
    assert counts == (9, 0, 0, 0)
    assert sorted(p.name for p in out.parent.iterdir() if p.suffix != ".lock") == [
        "rewards.jsonl",
        "rewards.jsonl.scorer.json",
    ]


def test_a_half_written_line_is_cut_off_and_scored_again(tmp_path):
    out = tmp_path / "rewards.jsonl"
    with open_store(out) as store:
        add(store, [reward(r) for r in REQUESTS[:3]])
    part = tmp_path / "rewards.jsonl.part-0"
    whole = part.read_bytes()
    for length in (len(whole) - 1, len(whole) - 40, whole.index(b"\n") + 2, 5):
        part.write_bytes(whole[:length])
        with open_store(out) as store:
            known = store.known("s", REQUESTS)
            add(store, [reward(r) for r in REQUESTS if (r.id, r.candidate) not in known])
            assert len(known) == whole[:length].count(b"\n")
            store.finish("s", REQUESTS, {}, len(known))
        assert len(lines(out)) == len(REQUESTS)
        out.unlink()


def test_a_changed_story_alone_is_asked_for_again(tmp_path):
    with open_store(tmp_path / "rewards.jsonl") as store:
        add(store, [reward(r) for r in REQUESTS])
        store.finish("s", REQUESTS, {}, 0)
        changed = [r._replace(story="a new third") if (r.id, r.candidate) == ("i1", 2) else r for r in REQUESTS]
        assert set(store.known("s", changed)) == {(r.id, r.candidate) for r in REQUESTS} - {("i1", 2)}
        new_premise = [r._replace(prompt="new") if r.id == "i1" else r for r in REQUESTS]
        assert {key[0] for key in store.known("s", new_premise)} == {"i0", "i2"}
        assert store.known("another scorer", REQUESTS) == {}


def test_failed_rows_are_tried_again_and_others_are_kept(tmp_path):
    with open_store(tmp_path / "rewards.jsonl") as store:
        rows = [reward(r) for r in REQUESTS[:7]]
        rows += [reward(REQUESTS[7], value=None, status="failed"), reward(REQUESTS[8], value=None, status="not_finite")]
        add(store, rows)
        assert store.finish("s", REQUESTS, {}, 0)[:2] == (7, 2)
        assert set(store.known("s", REQUESTS)) == {(r.id, r.candidate) for r in REQUESTS} - {("i2", 1)}
        add(store, [reward(REQUESTS[7])], rank=0)
        add(store, [reward(REQUESTS[7], value=None, status="failed")], rank=1)
        assert store.finish("s", REQUESTS, {}, 8)[:2] == (8, 1), "the new row must win over the failed one"


def test_an_unfinished_run_cannot_be_finished(tmp_path):
    with open_store(tmp_path / "rewards.jsonl") as store:
        add(store, [reward(r) for r in REQUESTS[:-1]])
        with pytest.raises(DataError, match="1 rows are missing"):
            store.finish("s", REQUESTS, {}, 0)
    assert not (tmp_path / "rewards.jsonl").exists()


def test_rows_of_another_scorer_are_replaced_only_at_the_end(tmp_path):
    out = tmp_path / "rewards.jsonl"
    with open_store(out) as store:
        add(store, [reward(r, "old") for r in REQUESTS])
        store.finish("old", REQUESTS, {}, 0)
    old = out.read_bytes()
    with open_store(out) as store:
        add(store, [reward(r, "new") for r in REQUESTS[:4]])
        assert out.read_bytes() == old
        assert store.settings()["digest"] == "old"
        add(store, [reward(r, "new") for r in REQUESTS[4:]])
        store.finish("new", REQUESTS, {}, 0)
    assert {row["signature"] for row in lines(out)} == {row_signature("new", r.prompt, r.story) for r in REQUESTS}


def test_fresh_forgets_everything(tmp_path):
    out = tmp_path / "rewards.jsonl"
    with open_store(out) as store:
        add(store, [reward(r) for r in REQUESTS])
        store.finish("s", REQUESTS, {}, 0)
        add(store, [reward(REQUESTS[0])], rank=3)
    with open_store(out, fresh=True) as store:
        assert store.known("s", REQUESTS) == {}
        assert store.settings() is None


def test_a_foreign_file_is_named_with_its_line(tmp_path):
    out = tmp_path / "rewards.jsonl"
    out.write_text('{"id": "i0", "text": "a story"}\n')
    with pytest.raises(RowError, match=r"rewards.jsonl:1: not a row of a rewards file"), open_store(out, fresh=True):
        pass
    assert out.exists()


def _try_to_open(path, answer):
    try:
        with open_store(path):
            answer.put("open")
    except DataError as error:
        answer.put(str(error))


def test_two_runs_do_not_share_a_file(tmp_path):
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()

    def second():
        process = context.Process(target=_try_to_open, args=(tmp_path / "rewards.jsonl", answer))
        process.start()
        process.join()
        return answer.get(timeout=30)

    with open_store(tmp_path / "rewards.jsonl"):
        assert "another process is writing here" in second()
    assert second() == "open"


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(DataError, match="is a folder"), open_store(tmp_path):
        pass


def test_a_file_name_is_no_pattern(tmp_path):
    with open_store(tmp_path / "[red]*?.jsonl") as store:
        add(store, [reward(r) for r in REQUESTS])
        assert store.finish("s", REQUESTS, {}, 0).scored == len(REQUESTS)
    assert store.parts == []


def test_an_edited_reward_is_scored_again(tmp_path):
    out = tmp_path / "rewards.jsonl"
    with open_store(out) as store:
        add(store, [reward(r) for r in REQUESTS])
        store.finish("s", REQUESTS, {}, 0)
    rows = lines(out)
    rows[4]["reward"] = 9.0
    del rows[5]["check"]
    out.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    with open_store(out) as store:
        assert store.changed_rows() == 2
        known = store.known("s", REQUESTS)
        assert [r for r in REQUESTS if (r.id, r.candidate) not in known] == REQUESTS[4:6]
        with pytest.raises(DataError, match="2 rows are missing"):
            store.finish("s", REQUESTS, {}, len(known))
        add(store, [reward(r) for r in REQUESTS[4:6]])
        store.finish("s", REQUESTS, {}, len(known))
        assert store.changed_rows() == 0
    assert {row["reward"] for row in lines(out)} == {0.5}


def test_rows_written_before_rows_had_a_check_are_trusted_by_the_digest_of_their_file(tmp_path):
    out = tmp_path / "rewards.jsonl"
    text = "".join(orjson.dumps(reward(r).to_row()).decode() + "\n" for r in REQUESTS)
    out.write_text(text)
    sidecar = out.with_name("rewards.jsonl.scorer.json")
    sidecar.write_bytes(orjson.dumps({"digest": "s", "rewards": digest(text)}))
    with open_store(out) as store:
        assert len(store.known("s", REQUESTS)) == len(REQUESTS)
        out.write_text(text.replace("0.5", "0.6", 1))
        assert store.known("s", REQUESTS) == {} and store.changed_rows() == len(REQUESTS)
