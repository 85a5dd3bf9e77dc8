"""The Space takes the package along, pinned and reproducible; the metric has to have its own name."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from importlib.metadata import PackageNotFoundError, distribution, version
from io import BytesIO
from pathlib import Path

import pytest

from storyalign._version import __version__
from storyalign.errors import DataError
from storyalign.hub.release import package_wheel as package_wheel_module
from storyalign.hub.release.package_wheel import package_wheel, wheel_name
from storyalign.hub.release.release_one import check
from storyalign.hub.release.space_release import pin, prepare_metric, prepare_space
from tests.support.hub_runs import REPOSITORY

METRIC = REPOSITORY / "evaluate_metric/storyrmb_accuracy"

try:
    distribution("storyalign")
    installed = True
except PackageNotFoundError:
    installed = False
needs_install = pytest.mark.skipif(not installed, reason="storyalign is on the path, but not installed")


@needs_install
def test_the_space_is_whole_and_the_same_each_time() -> None:
    payload = prepare_space(REPOSITORY / "space", "demo/storyalign")
    check(payload)
    assert wheel_name() in payload.files
    assert prepare_space(REPOSITORY / "space", "demo/storyalign").digest == payload.digest
    pinned = payload.text("requirements.txt").splitlines()
    assert f"torch=={version('torch').partition('+')[0]}" in pinned
    assert f"datasets=={version('datasets')}" in pinned
    assert all("==" in line for line in pinned)
    assert not [line for line in pinned if line.startswith(("storyalign", "gradio"))]


@needs_install
def test_the_wheel_is_a_package(tmp_path: Path) -> None:
    """pip installs it, the command line runs from it, and data files of all kinds are in it."""
    wheel = tmp_path / wheel_name()
    wheel.write_bytes(package_wheel())
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(tmp_path / "site")]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import storyalign, importlib.metadata as m; from storyalign.cli import main\n"
        "assert storyalign.__file__.startswith(sys.argv[1]), storyalign.__file__\n"
        "print(m.version('storyalign'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "site")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == __version__, done.stderr
    names = zipfile.ZipFile(BytesIO(wheel.read_bytes())).namelist()
    for path in REPOSITORY.glob("src/storyalign/**/*"):
        if path.is_file() and path.suffix in (".py", ".jinja", ".txt", ".jsonl", ".yaml", ".css"):
            assert f"storyalign/{path.relative_to(REPOSITORY / 'src/storyalign').as_posix()}" in names


@needs_install
def test_a_space_uses_the_wheel_beside_it(tmp_path: Path) -> None:
    """An interpreter without the package imports it from the wheel, with the file that a Space's app imports first."""
    (tmp_path / wheel_name()).write_bytes(package_wheel())
    shutil.copy(REPOSITORY / "space/bundled_package.py", tmp_path)
    libraries = Path(pytest.__file__).parents[1]
    script = (
        "import sys; sys.path[:0] = [sys.argv[1]]; import bundled_package; sys.path.append(sys.argv[2])\n"
        "import storyalign.corpus; print(storyalign.__file__)"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(tmp_path), str(libraries)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "storyalign-" in done.stdout


def test_what_lies_about_in_a_checkout_is_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the endings that ``setup.cfg`` names are of the package."""
    configuration = ConfigParser()
    configuration.read(REPOSITORY / "setup.cfg")
    named = configuration["options.package_data"]["*"].replace(" ", "").split(",")
    assert {Path(name.replace("*", "x")).suffix for name in named} | {".py"} == package_wheel_module.PACKED
    package = tmp_path / "storyalign"
    (package / "sub").mkdir(parents=True)
    for name in ("__init__.py", "py.typed", "sub/page.html", ".env", "sub/.hidden.py", "sub/a.pyc", "key.pem", "x.tmp"):
        (package / name).write_text("")
    monkeypatch.setattr(package_wheel_module.storyalign, "__file__", str(package / "__init__.py"))
    packed = [name for name, _ in package_wheel_module._package_files()]
    assert packed == ["__init__.py", "py.typed", "sub/page.html"]


def test_pins() -> None:
    installed = version("numpy")
    assert pin("# a comment\nnumpy>=1\ngradio[mcp]\n") == f"# a comment\nnumpy=={installed}\ngradio[mcp]\n"
    assert pin("--extra-index-url https://example.org/simple") == "--extra-index-url https://example.org/simple\n"
    with pytest.raises(DataError, match="no-such-thing is not installed here"):
        pin("no-such-thing>=2")
    with pytest.raises(DataError, match="is no requirement"):
        pin("numpy >> 3")


def test_a_metric_by_another_name() -> None:
    assert "storyrmb_accuracy.py" in prepare_metric(METRIC, "demo/storyrmb_accuracy").files
    with pytest.raises(DataError, match=r"looks for story_accuracy\.py.*release it as ORG/storyrmb_accuracy"):
        prepare_metric(METRIC, "demo/story_accuracy")


def test_the_metric_folder_holds_the_logic_itself() -> None:
    """What the link in the checkout stands for goes up as a file."""
    payload = prepare_metric(METRIC, "demo/storyrmb_accuracy")
    assert payload.read("accuracy.py") == (REPOSITORY / "src/storyalign/accuracy.py").read_bytes()
    check(payload)
