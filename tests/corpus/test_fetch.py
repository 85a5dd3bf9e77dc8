from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from storyalign.corpus.fetch import fetch
from storyalign.errors import DataError
from tests.support.file_server import FileServer, serving

CONTENT = b"0123456789" * 50_000
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as running:
        yield running


def test_a_whole_file_and_not_again(server: FileServer, tmp_path: Path) -> None:
    url = server.add("a/b.csv", CONTENT)
    assert fetch(url, tmp_path / "x" / "b.csv", SHA) == SHA
    assert (tmp_path / "x" / "b.csv").read_bytes() == CONTENT
    assert fetch(url, tmp_path / "x" / "b.csv", SHA) == SHA
    assert server.requests["a/b.csv"] == 1
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["b.csv"]


def test_a_download_that_breaks_off_is_tried_again(server: FileServer, tmp_path: Path) -> None:
    url, waited = server.add("b", CONTENT), list[float]()
    server.cut["b"] = 123_456
    assert fetch(url, tmp_path / "b", SHA, pause=waited.append) == SHA
    assert (tmp_path / "b").read_bytes() == CONTENT
    assert waited == [1.0]


@pytest.mark.parametrize("sha256", [SHA, None])
def test_a_download_that_breaks_off_each_time_leaves_nothing(
    server: FileServer, tmp_path: Path, sha256: str | None
) -> None:
    url, waited = server.add("b", CONTENT), list[float]()

    def cut_again(seconds: float) -> None:
        waited.append(seconds)
        server.cut["b"] = 100_000

    server.cut["b"] = 100_000
    with pytest.raises(DataError, match=rf"^{url}: could not be fetched in 3 tries \([^\n]+\); run again later$"):
        fetch(url, tmp_path / "b", sha256, pause=cut_again)
    assert waited == [1.0, 2.0]
    assert list(tmp_path.iterdir()) == []


def test_the_bytes_are_those_of_the_server(server: FileServer, tmp_path: Path) -> None:
    packed = gzip.compress(CONTENT)
    assert fetch(server.add("b.gz", packed), tmp_path / "b.gz") == hashlib.sha256(packed).hexdigest()
    assert (tmp_path / "b.gz").read_bytes() == packed


def test_a_changed_digest_leaves_nothing(server: FileServer, tmp_path: Path) -> None:
    url = server.add("b", CONTENT)
    with pytest.raises(DataError, match=rf"the file has changed: .* expected 0+ but got {SHA}; nothing of it was"):
        fetch(url, tmp_path / "b", "0" * 64)
    assert server.requests["b"] == 1
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
    with pytest.raises(DataError, match=r"could not be fetched in 3 tries .*500 Server Error"):
        fetch(url, tmp_path / "c", SHA, pause=lambda _: None)
    assert server.requests["b"] == 3 + 3


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://example.org/a"])
def test_only_web_addresses(tmp_path: Path, url: str) -> None:
    with pytest.raises(DataError, match="expected an address that begins with https"):
        fetch(url, tmp_path / "b")
