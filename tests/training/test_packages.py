"""A package that a recipe needs and the machine lacks: one line, exit code 2, before anything is loaded."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from storyalign.errors import RecipeError
from storyalign.training.arguments import parse_recipe
from tests.support.training_runs import ROOT, environment

NOWHERE = ["--model_name_or_path", "/nowhere/at-all", "--output_dir", "/nowhere/out", "--dataset_name", "x.jsonl"]


def absent(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(package) is not None, reason=f"{package} is installed")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(("--deepspeed", "ds.json"), "deepspeed is not installed", marks=absent("deepspeed")),
        pytest.param(
            ("--use_liger_kernel", "true"), "use_liger_kernel: liger-kernel is not installed",
            marks=absent("liger_kernel"),
        ),
        pytest.param(("--report_to", "trackio"), "report_to trackio: trackio is not", marks=absent("trackio")),
        pytest.param(("--report_to", "wandb"), "report_to wandb: wandb is not installed", marks=absent("wandb")),
        pytest.param(("--optim", "adamw_bnb_8bit"), "adamw_bnb_8bit: .*bitsandbytes", marks=absent("bitsandbytes")),
        pytest.param(("--optim", "grokadamw"), "optim grokadamw: .*grokadamw", marks=absent("grokadamw")),
        pytest.param(
            ("--attn_implementation", "flash_attention_2"), "flash_attention_2: flash-attn is not installed",
            marks=[absent("flash_attn"), absent("kernels")],
        ),
    ],
)  # fmt: skip
def test_each_is_named_with_its_option(options: tuple[str, ...], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse_recipe([*NOWHERE, *options])


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *NOWHERE]
    return subprocess.run(command, env=environment(**variables), capture_output=True, text=True, check=False)


@absent("deepspeed")
def test_a_launcher_that_asks_for_deepspeed() -> None:
    script = f"import runpy; runpy.run_path({str(ROOT / 'train.py')!r}, run_name='__main__')"
    done = run(script, ACCELERATE_USE_DEEPSPEED="true")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: deepspeed is not installed; run: pip install deepspeed, or shard with fsdp2.yaml\n"


@pytest.mark.parametrize("package", ["torch", "trl", "peft"])
def test_a_package_of_the_extra(package: str) -> None:
    script = (
        f"import runpy, sys; sys.modules[{package!r}] = None; sys.argv[1:] += ['--use_peft', 'true']; "
        f"runpy.run_path({str(ROOT / 'train.py')!r}, run_name='__main__')"
    )
    done = run(script)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1] == f"error: {package} is not installed; run: pip install 'storyalign[train]'"
