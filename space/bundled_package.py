"""Make the package importable where a release put it beside this file as a wheel, and none is installed.

A Space installs its requirements before its files are there, so the wheel cannot be one of them.
"""

import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path


def use_bundled_package(folder: Path) -> None:
    """Unpack the wheel of ``folder`` and put it on the path; an installed package comes first."""
    wheels = sorted(folder.glob("storyalign-*.whl"))
    if wheels and find_spec("storyalign") is None:
        target = tempfile.mkdtemp(prefix="storyalign-")
        with zipfile.ZipFile(wheels[-1]) as wheel:
            wheel.extractall(target)
        sys.path.append(target)


use_bundled_package(Path(__file__).resolve().parent)
