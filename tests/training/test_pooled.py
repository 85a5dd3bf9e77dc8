"""Pooled reward models: a frozen base, mean token states and a convex head; saved as sentence-transformers modules."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from storyalign.errors import DataError
from storyalign.files import read_jsonl, write_jsonl
from storyalign.models.chat import render_many
from storyalign.models.loading import load_reward_model
from storyalign.models.mean_pooling import story_means
from storyalign.models.packed import enable
from storyalign.scoring.reward_models import load_scorer
from storyalign.training.pooled import Pairs, fit_head
from tests.support.tiny_models import tiny_model_folder, words
from tests.support.training_runs import launch, write_pairs

ALONE = """
import json, sys
assert not any("storyalign" in path for path in sys.path)
from sentence_transformers import SentenceTransformer
folder, premise, stories = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
model = SentenceTransformer(folder, device="cpu")
turn = [{"role": "user", "content": premise}]
prefix = model.tokenizer.apply_chat_template(turn, add_generation_prompt=True, tokenize=False)
print(json.dumps(model.encode(stories, prompt=prefix)[:, 0].tolist()))
"""


def train(tmp_path: Path, pairs: Path, *options: str) -> subprocess.CompletedProcess[str]:
    if not (tmp_path / "base").is_dir():
        tiny_model_folder(tmp_path / "base")
    return launch(
        *("--method", "pooled", "--model_name_or_path", str(tmp_path / "base"), "--dataset_name", str(pairs)),
        *("--output_dir", str(tmp_path / "model"), "--max_length", "256", *options),
    )


def test_trained_saved_loaded_without_the_kit_and_the_same_again(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.jsonl", 40)
    done = train(tmp_path, pairs, "--pooled_layers", "1", "2")
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "model" / "training.json").read_bytes())
    run = record["run"]
    assert (run["method"], run["held_out"]["n"], len(run["grid"])) == ("pooled", 40, 14)
    assert run["held_out"]["loss"] == pytest.approx(min(row["loss"] for row in run["grid"]), abs=1e-6)
    # every rejected story ends in the same words, and the held-out premises were not trained on
    assert run["held_out"]["accuracy"] > 0.9

    scorer = load_scorer(tmp_path / "model")
    rows = [line.row for line in read_jsonl(pairs)]
    stories = [rows[0]["chosen"], rows[0]["rejected"], words(40, 7)]
    ours = scorer.rank(rows[0]["prompt"], stories)
    assert ours[0] > ours[1]
    command = [sys.executable, "-I", "-c", ALONE, str(tmp_path / "model"), rows[0]["prompt"], json.dumps(stories)]
    alone = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert alone.returncode == 0, alone.stderr
    assert json.loads(alone.stdout) == pytest.approx(ours, abs=1e-4)

    half = load_scorer(tmp_path / "model", dtype="bf16").rank(rows[0]["prompt"], stories)
    spread = max(ours) - min(ours)
    assert half == pytest.approx(ours, abs=0.2 * spread) and half != ours

    first = {path.name: path.read_bytes() for path in (tmp_path / "model").rglob("*.safetensors")}
    again = train(tmp_path, pairs, "--pooled_layers", "1", "2", "--overwrite", "true")
    assert again.returncode == 0, again.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").rglob("*.safetensors")} == first
    third = train(tmp_path, pairs, "--pooled_layers", "1", "2")
    assert "nothing to do" in third.stdout


def test_means_are_those_of_transformers_alone(tmp_path: Path) -> None:
    loaded = load_reward_model(tiny_model_folder(tmp_path / "base"))
    conversations = render_many(loaded.tokenizer, [(words(6, n), words(20 + 9 * n, 50 + n)) for n in range(4)])
    ids = [torch.tensor(c.ids) for c in conversations]
    spans = [(len(c.before), len(c.before) + len(c.story)) for c in conversations]
    with torch.no_grad():
        states = [loaded.model.model(input_ids=row[None], output_hidden_states=True) for row in ids]
        expected = torch.stack(
            [
                torch.stack([loaded.model.model.norm(s.hidden_states[1])[0, a:b].mean(0), s[0][0, a:b].mean(0)])
                for s, (a, b) in zip(states, spans, strict=True)
            ]
        )
        plain = story_means(loaded.model, ids, spans, [1, 2])
        assert enable(loaded.model, all_states=True)
        packed = story_means(loaded.model, ids, spans, [1, 2])
    torch.testing.assert_close(plain, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(packed, expected, atol=1e-5, rtol=1e-5)


def test_the_head_is_logistic_regression_on_standardised_differences() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, 5)).astype(np.float32) * [1, 2, 3, 4, 5] + 7
    chosen, rejected = np.arange(0, 60, 2), np.arange(1, 60, 2)
    weight, bias = fit_head(rows, Pairs(chosen, rejected, np.zeros(30), []), l2=0.5)
    standard = (rows - rows.mean(0)) / rows.std(0)
    difference = standard[chosen] - standard[rejected]
    # the penalty of scikit-learn is 1 / (2 C) on the sum, ours l2 / 2 on the mean; each pair shown both ways round
    peer = LogisticRegression(C=1 / (0.5 * 30 * 2), fit_intercept=False, tol=1e-10, max_iter=10_000)
    peer.fit(np.concatenate([difference, -difference]), np.repeat([1, 0], 30))
    np.testing.assert_allclose(weight * rows.std(0), peer.coef_[0], atol=2e-5)
    assert float((rows @ weight + bias).mean()) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    ("count", "same_premise", "said"),
    [(9, False, "found 9 of 9"), (12, True, "found 12 of 1"), (9, True, "found 9 of 1")],
)
def test_too_few_pairs_or_premises(tmp_path: Path, count: int, same_premise: bool, said: str) -> None:
    pairs = write_pairs(tmp_path / "pairs.jsonl", count)
    if same_premise:
        write_jsonl(pairs, [{**line.row, "prompt": "One premise."} for line in list(read_jsonl(pairs))])
    done = train(tmp_path, pairs)
    assert done.returncode != 0
    assert f"error: method pooled needs at least 10 pairs of 2 premises, {said}" in done.stderr
    assert not (tmp_path / "model").exists()


def test_features_that_never_differ_are_refused() -> None:
    rows = np.ones((20, 4), np.float32)
    with pytest.raises(DataError, match="gives all stories the same states"):
        fit_head(rows, Pairs(np.arange(0, 20, 2), np.arange(1, 20, 2), np.zeros(10), []), l2=1.0)


def test_longer_than_the_limit_is_named(tmp_path: Path) -> None:
    done = train(tmp_path, write_pairs(tmp_path / "pairs.jsonl", 12, length=400))
    assert done.returncode != 0
    assert "pairs are longer than 256 tokens" in done.stderr
    assert not (tmp_path / "model").exists()
