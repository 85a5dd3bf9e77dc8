"""Every file of the package reaches the wheel, also those behind links."""

from __future__ import annotations

import configparser
import fnmatch
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"


def package_files() -> Iterator[Path]:
    for folder, _, names in os.walk(SOURCE / "storyalign", followlinks=True):
        for name in names:
            if "__pycache__" not in folder and not name.startswith(".") and not name.endswith(".pyc"):
                yield (Path(folder) / name).relative_to(SOURCE)


def test_package_data_names_every_kind_of_file() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    patterns = ["*.py", *(p.strip() for p in config["options.package_data"]["*"].split(","))]
    files = list(package_files())
    assert Path("storyalign/dataset_scripts/storyrmb.py") in files, "links are followed"
    assert [f for f in files if not any(fnmatch.fnmatch(f.name, p) for p in patterns)] == []
