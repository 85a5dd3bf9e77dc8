"""The house rules of CONTRIBUTING.md that a parser can check: which floor may import which."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import storyalign

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "storyalign"

GROUND = (
    *(
        "__init__",
        "_version",
        "accuracy",
        "bootstrap",
        "choices",
        "errors",
        "files",
        "krippendorff_alpha",
        "not_stories",
    ),
    *("records", "settings", "tables", "text"),
)
FLOORS = (
    ("__main__",),
    ("cli",),
    ("hub",),
    ("evaluation",),
    ("scoring", "training"),
    ("models",),
    ("benchmark", "preferences", "annotation"),
    ("audit",),
    ("corpus",),
    ("llm", "web"),
    GROUND,
)
"""From the roof down. A unit imports itself and lower floors; units of one floor never import each other."""

HEIGHT = {unit: -depth for depth, floor in enumerate(FLOORS) for unit in floor}


def imported(source: str, package: str) -> Iterator[str]:
    """Give the absolute names of all modules that a file imports, wherever in the file that stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            # "from storyalign import text" names a module only in its last part
            yield from (f"{module}.{alias.name}" for alias in node.names)


def unit(module: str) -> str:
    """Give the floor's unit that ``storyalign.x.y`` belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in HEIGHT else "__init__"


def files() -> list[Path]:
    """All modules of the package itself; what the links lead to stands outside the floors."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if not through_link(path)]


def through_link(path: Path) -> bool:
    return any(part.is_symlink() for part in (path, *path.parents) if part.is_relative_to(PACKAGE))


def wrong_imports(importer: str, source: str, package: str) -> list[str]:
    own = [name for name in imported(source, package) if name.split(".")[0] == "storyalign"]
    wrong = []
    for name in own:
        target = unit(name)
        same_ground = importer in GROUND and target in GROUND
        if target != importer and not same_ground and HEIGHT[target] >= HEIGHT[importer]:
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_point_down(path: Path) -> None:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    package = ".".join(("storyalign", *parts[:-1]))
    assert wrong_imports(parts[0], path.read_text(encoding="utf-8"), package) == []


@pytest.mark.parametrize(
    ("importer", "source", "wrong"),
    [
        ("corpus", "from storyalign.hub import dataset_card", ["storyalign.hub.dataset_card"]),
        ("corpus", "from ..hub import dataset_card", ["storyalign.hub.dataset_card"]),
        ("corpus", "from storyalign import hub", ["storyalign.hub"]),
        ("scoring", "def f():\n    import storyalign.training.prepare", ["storyalign.training.prepare"]),
        ("benchmark", "from storyalign.preferences.mix import mix", ["storyalign.preferences.mix.mix"]),
        ("records", "from storyalign.corpus import sample", ["storyalign.corpus.sample"]),
        ("corpus", "from storyalign.text import digest\nfrom .sample import stories\nimport torch", []),
        ("hub", "from storyalign import __version__\nfrom storyalign.records import Instance", []),
    ],
)
def test_the_check_itself(importer: str, source: str, wrong: list[str]) -> None:
    assert wrong_imports(importer, source, f"storyalign.{importer}") == wrong


def test_every_module_has_a_floor() -> None:
    ground = {path.stem for path in PACKAGE.glob("*.py") if path.name != "train.py"}
    assert ground == {*GROUND, "__main__"}
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and not path.is_symlink()} - {"__pycache__"}
    assert folders <= set(HEIGHT)


def outside(path: Path) -> set[str]:
    """Top-level modules that a file imports and that are not of the standard library."""
    return {name.split(".")[0] for name in imported(path.read_text(encoding="utf-8"), "")} - sys.stdlib_module_names


def test_accuracy_needs_the_standard_library_only() -> None:
    assert outside(PACKAGE / "accuracy.py") == set()


def test_dataset_scripts_need_datasets_only() -> None:
    scripts = sorted((ROOT / "dataset_scripts").glob("*.py"))
    assert [script.name for script in scripts] == ["story_preferences.py", "storyrmb.py"]
    for script in scripts:
        assert outside(script) == {"datasets"}


@pytest.mark.parametrize("module", ["storyalign", "storyalign.cli.main", "storyalign.records", "storyalign.files"])
def test_importing_is_cheap(module: str) -> None:
    code = (
        f"import sys, {module}\n"
        "heavy = {'torch', 'transformers', 'datasets', 'evaluate', 'gradio', 'trl', 'accelerate', 'pyarrow', 'scipy'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(storyalign.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_the_links_into_the_package_lead_to_the_root() -> None:
    links = {path.name: path for path in PACKAGE.iterdir() if path.is_symlink()}
    assert {"dataset_scripts", "evaluate_metric", "model_card", "recipes", "space"} <= set(links)
    for name, link in links.items():
        place = "evaluate_metric/storyrmb_accuracy" if name == "accuracy.py" else ""
        assert link.readlink() == Path("../..") / place / name
        assert link.exists()
