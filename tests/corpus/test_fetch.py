from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from storyalign.corpus.fetch import fetch
from storyalign.errors import DataError
from tests.file_server import FileServer, serving

CONTENT = b"0123456789" * 50_000
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as running:
        yield running


def test_a_whole_file_and_not_again(server: FileServer, tmp_path: Path) -> None:
    url, blocks = server.add("a/b.csv", CONTENT), list[int]()
    assert fetch(url, tmp_path / "x" / "b.csv", SHA, advance=blocks.append) == SHA
    assert (tmp_path / "x" / "b.csv").read_bytes() == CONTENT
    assert sum(blocks) == len(CONTENT)
    assert fetch(url, tmp_path / "x" / "b.csv", SHA) == SHA
    assert server.requests["a/b.csv"] == 1
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["b.csv"]


def test_a_half_download_goes_on_where_it_broke(server: FileServer, tmp_path: Path) -> None:
    url, waited = server.add("b", CONTENT), list[float]()
    server.cut["b"] = 123_456
    assert fetch(url, tmp_path / "b", SHA, pause=waited.append) == SHA
    assert server.ranges == ["bytes=123456-"]
    assert waited == [1.0]


def test_a_download_that_breaks_each_time_is_kept_for_the_next_run(server: FileServer, tmp_path: Path) -> None:
    url = server.add("b", CONTENT)
    server.cut["b"] = 100_000
    server.answers["b"] = []
    with pytest.raises(DataError, match=r"could not be fetched in 3 tries.*run again to go on from there"):

        def cut_again(_: float) -> None:
            server.cut["b"] = 100_000

        fetch(url, tmp_path / "b", SHA, pause=cut_again)
    assert not (tmp_path / "b").exists()
    assert fetch(url, tmp_path / "b", SHA) == SHA
    assert server.ranges == ["bytes=100000-", "bytes=200000-", "bytes=300000-"]


def test_a_file_that_changed_while_half_of_it_was_here_starts_anew(server: FileServer, tmp_path: Path) -> None:
    url, newer = server.add("b", CONTENT), CONTENT[::-1]
    server.cut["b"] = 100_000
    assert fetch(url, tmp_path / "b", pause=lambda _: server.files.update(b=newer)) == hashlib.sha256(newer).hexdigest()
    assert (tmp_path / "b").read_bytes() == newer


def test_a_changed_digest_leaves_nothing(server: FileServer, tmp_path: Path) -> None:
    url = server.add("b", CONTENT)
    with pytest.raises(DataError, match=rf"the file has changed: its sha256 is {SHA}, the recipe expects 0000"):
        fetch(url, tmp_path / "b", "0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_a_file_changed_on_disk_is_not_used(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"tampered")
    with pytest.raises(DataError, match="remove the file to fetch it again"):
        fetch(server.add("b", CONTENT), tmp_path / "b", SHA)


def test_a_404_says_so_at_once(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/gone: answers 404 Not Found; the file may have moved"):
        fetch(f"{server.url}/gone", tmp_path / "b")
    assert server.requests["gone"] == 1


def test_a_busy_server_is_asked_again_a_bounded_number_of_times(server: FileServer, tmp_path: Path) -> None:
    url = server.add("b", CONTENT)
    server.answers["b"] = [503, 429]
    assert fetch(url, tmp_path / "b", SHA, pause=lambda _: None) == SHA
    server.answers["b"] = [500] * 9
    with pytest.raises(DataError, match="answers 500"):
        fetch(url, tmp_path / "c", SHA, pause=lambda _: None)
    assert server.requests["b"] == 3 + 3


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://example.org/a"])
def test_only_web_addresses(tmp_path: Path, url: str) -> None:
    with pytest.raises(DataError, match="expected an address that begins with https"):
        fetch(url, tmp_path / "b")
