from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from trl import RewardConfig, RewardTrainer

from storyalign.training.sampler import PairBatchSampler
from storyalign.training.trainer import DivergedError, StoryRewardTrainer
from tests.support.tiny_models import tiny_model_folder
from tests.support.training_runs import build, write_pairs

STEPS = 20


def options(tmp_path: Path, *more: str, kind: str = "llama", count: int = 80, **config: Any) -> list[str]:
    base = tmp_path / "base"
    if not base.is_dir():
        tiny_model_folder(base, kind, config=config)
    pairs = write_pairs(tmp_path / "pairs.jsonl", count)
    return [
        "--model_name_or_path", str(base), "--dataset_name", str(pairs), "--output_dir", str(tmp_path / "model"),
        "--learning_rate", "1e-3", "--logging_steps", "1", "--save_strategy", "no", "--disable_tqdm", "true", *more,
    ]  # fmt: skip


def curve(trainer: Any) -> list[float]:
    return [row["loss"] for row in trainer.state.log_history if "loss" in row]


def trl_curve(trainer: StoryRewardTrainer, tmp_path: Path, model: Any, batch_size: int, **more: Any) -> list[float]:
    """TRL's own trainer, padded, on the same pairs in the same order."""
    sampler = PairBatchSampler(trainer.train_pairs.lengths, batch_size=batch_size, seed=trainer.args.seed)
    order = [i for batch in sampler for i in batch]
    args = RewardConfig(
        output_dir=str(tmp_path / "trl"), max_steps=STEPS, per_device_train_batch_size=batch_size, learning_rate=1e-3,
        logging_steps=1, save_strategy="no", use_cpu=True, bf16=False, disable_tqdm=True, gradient_checkpointing=False,
        train_sampling_strategy="sequential", report_to="none", max_length=None, **more,
    )  # fmt: skip
    reference = RewardTrainer(
        model, args, train_dataset=trainer.train_pairs.rows.select(order), processing_class=trainer.processing_class
    )
    reference.train()
    return curve(reference)


@pytest.mark.parametrize("kind", ["llama", "qwen3", "sliding"])
def test_loss_curve_is_that_of_trl_with_padding(tmp_path: Path, kind: str) -> None:
    trainer, _ = build(*options(tmp_path, "--per_device_train_batch_size", "4", "--max_steps", str(STEPS), kind=kind))
    assert trainer.packed == (kind != "sliding")  # the exact path is tried too
    model = copy.deepcopy(trainer.model)
    vars(model).pop("forward", None)
    if trainer.packed:
        model.set_attn_implementation("eager")  # and a different attention, so that no code is shared
    trainer.train()
    ours = curve(trainer)
    assert len(ours) == STEPS and max(ours) - min(ours) > 0.1  # the weights do move
    assert ours == pytest.approx(trl_curve(trainer, tmp_path, model, 4), abs=1e-3)


def test_accumulation_and_centering_are_those_of_trl(tmp_path: Path) -> None:
    more = ["--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "2"]
    trainer, _ = build(*options(tmp_path, *more, "--max_steps", str(STEPS), "--center_rewards_coefficient", "0.01"))
    model = copy.deepcopy(trainer.model)
    vars(model).pop("forward", None)
    model.set_attn_implementation("sdpa")
    trainer.train()
    assert curve(trainer) == pytest.approx(
        trl_curve(trainer, tmp_path, model, 4, center_rewards_coefficient=0.01), abs=1e-3
    )


def test_last_step_of_an_epoch_weighs_its_pairs_alike(tmp_path: Path) -> None:
    # 5 pairs, steps of 2 passes of 2: the last step has one pass with one pair. Its loss is that pair's, not half.
    trainer, _ = build(
        *options(tmp_path, "--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "2",
                 "--learning_rate", "0", count=5)
    )  # fmt: skip
    trainer.train()
    with torch.no_grad():
        rows = [trainer.train_pairs.collate([trainer.train_pairs[i]]) for i in range(5)]
        losses = [trainer.compute_loss(trainer.model, row).item() for row in rows]
    _, (last,) = list(PairBatchSampler([1] * 5, batch_size=4, seed=42))
    logged = curve(trainer)
    assert logged[1] == pytest.approx(losses[last], abs=1e-5)
    history = [row for row in trainer.state.log_history if "n" in row]
    assert [row["n"] for row in history] == [4, 1]


def test_a_story_in_several_pairs_runs_once_and_counts_in_each(tmp_path: Path) -> None:
    trainer, _ = build(*options(tmp_path))
    stories = ((0, "chosen_ids"), (0, "rejected_ids"), (1, "rejected_ids"))
    ids = [torch.tensor(trainer.train_pairs[i][key]) for i, key in stories]
    lengths: list[int] = []
    hook = trainer.model.model.embed_tokens.register_forward_hook(lambda m, i, o: lengths.append(i[0].numel()))
    segments = [ids[0], ids[0], ids[1], ids[2]]
    shared = trainer.rewards(trainer.model, segments)
    hook.remove()
    assert lengths == [sum(len(i) for i in ids)]
    apart = torch.cat([trainer.rewards(trainer.model, [s]) for s in segments])
    assert torch.allclose(shared, apart, atol=1e-5)
    shared.chunk(2)[0].sum().backward()
    once = trainer.model.score.weight.grad.clone()
    trainer.model.zero_grad()
    (2 * trainer.rewards(trainer.model, [ids[0]])).sum().backward()
    assert torch.allclose(once, trainer.model.score.weight.grad, atol=1e-5)


def test_validation_counts_each_pair_once_and_by_construction(tmp_path: Path) -> None:
    validation = write_pairs(tmp_path / "v.jsonl", 7, seed=900)
    text = validation.read_text().replace('"construction":"rewriting"', '"construction":"llm_pairs"', 2)
    validation.write_text(text)
    recipe = tmp_path / "r.yaml"
    recipe.write_text(f"validation_datasets: [{{path: {validation}}}]\n")
    trainer, _ = build("--config", str(recipe), *options(tmp_path, "--per_device_eval_batch_size", "3"))
    figures = trainer.evaluate()
    assert (figures["eval_n"], figures["eval_rewriting_n"], figures["eval_llm_pairs_n"]) == (7, 5, 2)
    pairs = trainer.validation_pairs
    with torch.no_grad():
        rewards = [trainer.rewards(trainer.model, [torch.tensor(pairs[i][k]) for k in ("chosen_ids", "rejected_ids")])
                   for i in range(7)]  # fmt: skip
    right = [float(c > r) for c, r in rewards]
    assert figures["eval_accuracy"] == pytest.approx(sum(right) / 7)
    assert figures["eval_llm_pairs_accuracy"] == pytest.approx(
        sum(x for x, c in zip(right, pairs.constructions, strict=True) if c == "llm_pairs") / 2
    )
    assert figures["eval_margin"] == pytest.approx(sum(float(c - r) for c, r in rewards) / 7, abs=1e-5)


def test_divergence_stops_before_the_weights_are_touched(tmp_path: Path) -> None:
    trainer, _ = build(*options(tmp_path, count=8))
    with torch.no_grad():
        trainer.model.score.weight[0, 0] = float("nan")
    before = {k: v.clone() for k, v in trainer.model.state_dict().items()}
    with pytest.raises(DivergedError, match=r"step 1: .* not a finite number \(last pairs: pair-\d+\).*learning_rate"):
        trainer.train()
    assert all(torch.equal(v, before[k]) or v.isnan().any() for k, v in trainer.model.state_dict().items())


@pytest.mark.parametrize("lora", [False, True])
def test_frozen_layers_stay_as_they_are(tmp_path: Path, lora: bool) -> None:
    more = ["--use_peft", "true", "--lora_target_modules", "q_proj"] if lora else []
    trainer, _ = build(*options(tmp_path, "--freeze_layers", "1", "--max_steps", "2", *more, count=8))
    before = {k: v.clone() for k, v in trainer.model.state_dict().items()}
    trainer.train()
    changed = {k for k, v in trainer.model.state_dict().items() if not torch.equal(v, before[k])}
    assert changed and not [k for k in changed if "layers.0." in k or "embed_tokens" in k]
    assert any("layers.1." in k for k in changed) and any("score" in k for k in changed)


def test_mixed_precision_keeps_the_head_in_fp32(tmp_path: Path) -> None:
    trainer, _ = build(*options(tmp_path, "--bf16", "true", "--max_steps", "1", count=4))
    seen: list[torch.dtype] = []
    trainer.model.score.register_forward_hook(lambda m, i, o: seen.extend((i[0].dtype, o.dtype)))
    trainer.train()
    assert set(seen) == {torch.float32}
    assert {p.dtype for p in trainer.model.parameters()} == {torch.float32}


def test_the_row_of_the_end_token_is_trained_though_the_base_pads_with_it(tmp_path: Path) -> None:
    base = tiny_model_folder(tmp_path / "base", "llama-lm", pad="<|im_end|>", eos="<|im_end|>")
    assert json.loads((base / "config.json").read_text())["pad_token_id"] == 2  # <|im_end|>
    trainer, _ = build(*options(tmp_path, "--max_steps", "2", "--weight_decay", "0", count=8))
    before = trainer.model.model.embed_tokens.weight.detach().clone()
    trainer.train()
    moved = (trainer.model.model.embed_tokens.weight != before).any(-1)
    seen = {i for row in trainer.train_pairs.rows for key in ("chosen_ids", "rejected_ids") for i in row[key]}
    assert 2 in seen and moved[2]
    assert set(moved.nonzero().flatten().tolist()) <= seen
