"""README and guides of scoring: every code block runs, in order, where ``storyalign demo --quick`` has run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"(?:<!-- not run by the tests: (?P<why>[^>]+?) -->\n+)?^```(?P<lang>\w+)\n(?P<code>.*?)^```", re.M | re.S
)


GUIDES = ("docs/scorers.md", "docs/rewards.md", "docs/training.md")


def blocks(page: str) -> list[tuple[int, str, str, str | None]]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [(text.count("\n", 0, m.start("code")) + 1, m["lang"], m["code"], m["why"]) for m in BLOCK.finditer(text)]


def run(command: list[str], cwd: Path, env: dict[str, str], timeout: int = 280) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, text=True, capture_output=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("readme")
    for name in ("recipes", "space", "evaluate_metric", "dataset_scripts", "model_card", "train.py"):
        (folder / name).symlink_to(ROOT / name)
    env = {
        **os.environ,
        "HF_DATASETS_CACHE": str(folder / "hf/datasets"),
        "HF_MODULES_CACHE": str(folder / "hf/modules"),
        "HF_HUB_OFFLINE": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    run(["storyalign", "demo", "--quick", "--out", "runs/demo"], folder, env)
    return folder, env


@pytest.mark.parametrize("page", ["README.md", *GUIDES])
def test_each_block_names_its_language_and_each_exception_its_reason(page: str) -> None:
    found = blocks(page)
    assert len(found) >= 6
    assert {lang for _, lang, _, _ in found} <= {"python", "bash", "text", "bibtex", "json"}
    assert [code for _, _, code, why in found if why == ""] == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", ["README.md", *(pytest.param(page, marks=pytest.mark.full) for page in GUIDES)])
def test_code_blocks_run(page: str, demo_folder: tuple[Path, dict[str, str]]) -> None:
    folder, env = demo_folder
    ran = 0
    for line, lang, code, why in blocks(page):
        if why or lang not in ("python", "bash"):
            continue
        command = [sys.executable, "-c", code] if lang == "python" else ["bash", "-euo", "pipefail", "-c", code]
        try:
            output = run(command, folder, env)
        except AssertionError as error:
            raise AssertionError(f"{page}:{line}: {error}") from None
        ran += 1
        for expected in re.findall(r"print\(.*\)  # (.+)$", code, re.M):
            assert expected in output, f"{page}:{line}: expected {expected!r} in {output!r}"
    assert ran >= 4
