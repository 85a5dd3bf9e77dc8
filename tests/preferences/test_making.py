"""Which rows of several writers become pairs when there are more than the target asks for."""

from collections import Counter
from itertools import islice
from pathlib import Path

from storyalign.files import write_jsonl
from storyalign.preferences.making import _drawn


def test_the_surplus_is_cut_from_all_writers_alike(tmp_path: Path) -> None:
    files = [tmp_path / f"{writer}.jsonl" for writer in "abcd"]
    for path in files:
        write_jsonl(path, ({"id": f"{path.stem}{n}", "writer": path.stem} for n in range(500)))
    taken = [row["id"] for row in islice(_drawn(files, seed=3), 1_000)]
    counts = Counter(row_id[0] for row_id in taken)
    # 1,000 of 2,000 rows: 250 of each writer are expected, the standard deviation of a hypergeometric draw is 9.7.
    assert all(abs(counts[writer] - 250) <= 4 * 9.7 for writer in "abcd")
    assert len(set(taken)) == 1_000
    assert [row["id"] for row in islice(_drawn(files[::-1], seed=3), 1_000)] == taken
    assert [row["id"] for row in islice(_drawn(files, seed=4), 1_000)] != taken
