"""A judge that looks at the place alone earns exactly chance, is seen to flip every time, and loses no row."""

import pytest

from storyalign.accuracy import top1_report
from tests.support.judging import instances, judge


@pytest.mark.parametrize(
    ("reply", "mode", "count"),
    [
        ("The first one.", "choose", 100),
        pytest.param("The first one.", "choose", 1133, marks=pytest.mark.full),
        ("A", "choose", 25),
        ("first", "pairwise", 25),
        ("A", "pairwise", 25),
        ("The last is nice, but: 4", "choose", 5),
    ],
)
def test_always_the_same_place(tmp_path, reply, mode, count):
    run = judge(lambda *_: reply, instances(count), tmp_path / "rewards.jsonl", mode, max_concurrency=8)
    rewards = run.by_instance()
    assert len(rewards) == count
    assert {len(group) for group in rewards.values()} == {4}
    report = top1_report(list(rewards.values()), [0] * count)
    if reply.endswith("4"):  # no clear answer: nothing is scored, nothing is guessed
        assert report["n_unscored"] == count
        return
    assert (report["accuracy"], report["n_ties"], report["n_unscored"]) == (0.25, count, 0)
    assert run.report["flip_rate"] == 1.0


@pytest.mark.parametrize("reply", ["5", "10", '{"score": 7}'])
def test_always_the_same_score(tmp_path, reply):
    run = judge(lambda *_: reply, instances(10), tmp_path / "rewards.jsonl", "rate")
    report = top1_report(list(run.by_instance().values()), [0] * 10)
    assert (report["accuracy"], report["n_ties"]) == (0.25, 10)
