"""Liger's kernels in training, against a stand-in of its interface: the real ones need Triton and a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from storyalign.scoring.reward_models import load_scorer
from tests.support.tiny_models import tiny_model_folder
from tests.support.training_runs import ROOT, environment, write_pairs

STAND_IN = '''
from types import MethodType

def _apply_liger_kernel_to_instance(model, fused_linear_cross_entropy=True, cross_entropy=False, swiglu=True):
    """Patch a model the way Liger does: its fused loss replaces the forward pass by a language model's."""
    if fused_linear_cross_entropy:
        def lce_forward(self, *args, **kwargs):
            return self.lm_head(None)
        model.forward = MethodType(lce_forward, model)
    if swiglu:
        def kernel(self, x):
            return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
        for layer in model.model.layers:
            layer.mlp.forward = MethodType(kernel, layer.mlp)
    print("liger applied")
'''


@pytest.fixture
def liger(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "liger_kernel/transformers").mkdir(parents=True)
    (folder / "liger_kernel/__init__.py").write_text("")
    (folder / "liger_kernel/transformers/__init__.py").write_text(STAND_IN)
    (folder / "liger_kernel-0.8.0.dist-info").mkdir()
    (folder / "liger_kernel-0.8.0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: liger_kernel\nVersion: 0.8.0\n"
    )
    return folder


def train(out: Path, base: Path, pairs: Path, *more: str, path: str) -> subprocess.CompletedProcess[str]:
    options = ["--model_name_or_path", base, "--dataset_name", pairs, "--output_dir", out, "--max_steps", "3"]
    command = [sys.executable, ROOT / "train.py", *options, "--report_to", "none", *more]
    return subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env=environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_model_with_the_kernels_trains_packed_and_as_without(tmp_path: Path, liger: Path) -> None:
    base, pairs = tiny_model_folder(tmp_path / "base", "llama"), write_pairs(tmp_path / "pairs.jsonl", 8)
    path = f"{ROOT / 'src'}:{ROOT}"
    plain = train(tmp_path / "plain", base, pairs, path=path)
    fused = train(tmp_path / "fused", base, pairs, "--use_liger_kernel", "true", path=f"{liger}:{path}")
    assert plain.returncode == 0, plain.stderr
    assert fused.returncode == 0, fused.stderr
    assert "liger applied" in fused.stdout
    texts = [("A letter.", "He read it twice."), ("A letter.", "It was late, and the lamp was out.")]
    a, b = (
        [load_scorer(tmp_path / name).rank(premise, [story])[0] for premise, story in texts]
        for name in ("plain", "fused")
    )
    assert a == pytest.approx(b, abs=1e-5)
    assert a[0] != pytest.approx(a[1], abs=1e-3)
    assert json.loads((tmp_path / "fused/training.json").read_text())["run"]["packed"] is True
    assert yaml.safe_load((tmp_path / "fused/recipe.yaml").read_text())["use_liger_kernel"] is True
