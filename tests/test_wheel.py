"""The wheel works on its own: in an empty folder, away from the checkout, every verb answers and the demo runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(command: list[str | Path], cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, text=True, capture_output=True, timeout=280, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Install the wheel into an environment of its own; third-party packages come from the running one."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, text=True, capture_output=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder / "dist", source], folder)
    (wheel,) = (folder / "dist").glob("storyalign-*.whl")

    run([sys.executable, "-m", "venv", folder / "env"], folder)
    own_python = folder / "env/bin/python"
    purelib = run([own_python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).strip()
    # A plain path line: packages of the running environment are found, its editable installs are not.
    Path(purelib, "third_party.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    run([own_python, "-m", "pip", "install", "--quiet", "--no-deps", "--ignore-installed", wheel], folder)
    empty = folder / "empty"
    empty.mkdir()
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env |= {
        "PATH": f"{folder / 'env/bin'}{os.pathsep}{os.environ['PATH']}",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_CACHE": str(folder / "hf/datasets"),
        "HF_MODULES_CACHE": str(folder / "hf/modules"),
    }
    where = run([own_python, "-c", "import storyalign; print(storyalign.__file__)"], empty, env)
    assert str(folder) in where, "the environment sees the checkout instead of the wheel"
    return empty, env


def python(env: dict[str, str]) -> str:
    return str(shutil.which("python", path=env["PATH"]))


def verbs(env: dict[str, str], cwd: Path) -> list[list[str]]:
    script = (
        "import typer; from storyalign.cli.main import app\n"
        "def walk(command, path):\n"
        "    print(' '.join(path))\n"
        "    for name, sub in getattr(command, 'commands', {}).items(): walk(sub, [*path, name])\n"
        "walk(typer.main.get_command(app), [])\n"
    )
    return [line.split() for line in run([python(env), "-c", script], cwd, env).splitlines()]


def test_every_verb_has_help(installed: tuple[Path, dict[str, str]]) -> None:
    cwd, env = installed
    found = verbs(env, cwd)
    assert ["demo"] in found and ["build", "storyrmb"] in found
    script = (
        "import contextlib, io, json, sys\n"
        "from storyalign.cli.main import app\n"
        "for path in json.load(sys.stdin):\n"
        "    text = io.StringIO()\n"
        "    with contextlib.redirect_stdout(text):\n"
        "        code = app([*path, '--help'], standalone_mode=False)\n"
        "    assert 'Usage' in text.getvalue() and not code, path\n"
    )
    subprocess.run(
        [python(env), "-c", script],
        input=json.dumps(found), cwd=cwd, env=env, text=True, check=True, timeout=120,
    )  # fmt: skip


@pytest.mark.timeout(600)
def test_quick_demo_in_an_empty_folder(installed: tuple[Path, dict[str, str]]) -> None:
    cwd, env = installed
    output = run(["storyalign", "demo", "--quick", "--out", "runs/demo"], cwd, env)
    assert "quick" in output
    assert (cwd / "runs/demo/results.json").is_file()
    assert (cwd / "storyrmb/README.md").is_file()
    assert not list(cwd.glob(".storyrmb*")), "a half-written folder was left"

    rewards = (cwd / "runs/demo/rewards.jsonl").read_bytes()
    again = run(["storyalign", "demo", "--quick", "--out", "runs/demo"], cwd, env)
    assert "kept" in again and "48 stories (0 new" in again, "the second run did its work again"
    assert (cwd / "runs/demo/rewards.jsonl").read_bytes() == rewards
