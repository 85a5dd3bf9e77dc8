"""The wheel holds every file of the package, also those behind links, and its verbs find them."""

from __future__ import annotations

import configparser
import fnmatch
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.rows import storyrmb_row, write_rows

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"


def package_files() -> Iterator[str]:
    for folder, _, names in os.walk(SOURCE / "storyalign", followlinks=True):
        for name in names:
            if "__pycache__" not in folder and name != ".gitkeep" and not name.endswith(".pyc"):
                yield (Path(folder) / name).relative_to(SOURCE).as_posix()


def test_package_data_names_every_kind_of_file() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    patterns = ["*.py", *(p.strip() for p in config["options.package_data"]["*"].split(","))]
    left_out = [f for f in package_files() if not any(fnmatch.fnmatch(Path(f).name, p) for p in patterns)]
    assert left_out == []


@pytest.mark.full
def test_the_wheel_is_whole_and_builds_a_dataset_in_an_empty_folder(tmp_path: Path) -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    copy = tmp_path / "copy"
    for name in filter(None, tracked.split("\0")):
        source, target = ROOT / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.exists():
            target.write_bytes(source.read_bytes())
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(copy)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    [wheel] = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert set(package_files()) <= set(archive.namelist())
        archive.extractall(tmp_path / "site")
    empty = tmp_path / "empty"
    empty.mkdir()
    write_rows(empty / "raw.jsonl", [storyrmb_row(0)])
    done = subprocess.run(
        [sys.executable, "-m", "storyalign", "build", "storyrmb", "--raw", "raw.jsonl"],
        cwd=empty,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    assert (empty / "storyrmb/README.md").exists()
