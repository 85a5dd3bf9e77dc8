"""Small StoryRMB-like files to score."""

from pathlib import Path

from storyalign.files import read_jsonl, write_jsonl
from storyalign.records import Instance
from tests.support.tiny_models import words


def write_instances(path: Path, count: int, *, words_each: int = 40) -> list[Instance]:
    """Write ``count`` instances of four stories of ``words_each`` words and more."""
    instances = [
        Instance(
            f"rmb-{n:03}",
            words(8, 1000 + n),
            words(words_each + n % 7, n),
            tuple(words(words_each + 5 * k, 10_000 + 10 * n + k) for k in range(3)),
            dimension="fluency",
            source="llm_llm",
            chosen_writer="a",
            rejected_writers=("b", "c", "d"),
        )
        for n in range(count)
    ]
    write_jsonl(path, (item.to_row() for item in instances))
    return instances


def read_rewards(path: Path) -> dict[tuple[str, int], dict]:
    """Read a rewards file and check that no candidate comes twice."""
    rows = [line.row for line in read_jsonl(path)]
    by_key = {(row["id"], row["candidate"]): row for row in rows}
    assert len(by_key) == len(rows), "a candidate stands twice"
    return by_key
