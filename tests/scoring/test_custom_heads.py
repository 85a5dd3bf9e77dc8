"""The heads that are no plain ``...ForSequenceClassification``, on tiny random models with the same interface."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from storyalign.errors import ModelError
from storyalign.models.chat import render
from storyalign.models.loading import load_reward_model
from storyalign.scoring.doctor import examine_reward_model
from storyalign.scoring.findings import exit_code
from storyalign.scoring.options import ScoringOptions
from storyalign.scoring.reward_models import RewardModelScorer
from storyalign.scoring.reward_store import Request
from tests.scoring.heads import internlm2_by_hand
from tests.support.tiny_models import tiny_model_folder, tiny_tokenizer, trl_template, words

HEADS = Path(__file__).parent / "heads"
LLAMA3 = ("<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<pad>")
OPTIONS = {"template": trl_template("llama3"), "special": LLAMA3, "bos": "<|begin_of_text|>", "eos": "<|eot_id|>"}
PREMISE, STORIES = words(12, 1), [words(n, n) for n in (3, 40, 90, 17)]


def rewards(folder, trust=True, dtype="fp32", **options):
    loaded = load_reward_model(folder, trust_remote_code=trust, dtype=dtype)
    scorer = RewardModelScorer(loaded, ScoringOptions(**options))
    rows = [r for batch in scorer.score(Request("g", i, PREMISE, s) for i, s in enumerate(STORIES)) for r in batch]
    return [r.reward for r in sorted(rows, key=lambda r: r.candidate)]


def gated_folder(folder, quantiles):
    tokenizer = tiny_tokenizer(**OPTIONS)
    marks = tokenizer.encode("<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n", add_special_tokens=False)
    extra = {"num_objectives": 5, "num_quantiles": quantiles, "gating_temperature": 3.0, "assistant_marks": marks}
    tiny_model_folder(folder, config=extra, **OPTIONS)
    shutil.copy(HEADS / "modeling_gated.py", folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"architectures": ["GatedReward"], "id2label": {str(i): f"LABEL_{i}" for i in range(5)}}
    config |= {"auto_map": {"AutoModelForSequenceClassification": "modeling_gated.GatedReward"}}
    (folder / "config.json").write_text(json.dumps(config))
    weights = load_file(folder / "model.safetensors")
    weights.pop("score.weight")
    generator = torch.Generator().manual_seed(3)
    shapes = {
        "regression_layer.weight": (5 * quantiles, 48), "reward_transform_matrix": (5, 5), "gating.logit_scale": (1,),
        "gating.layers.0.weight": (16, 48), "gating.layers.0.bias": (16,),
    }  # fmt: skip
    last = 3 if quantiles > 1 else 2
    shapes |= {f"gating.layers.{last}.weight": (5, 16), f"gating.layers.{last}.bias": (5,)}
    if quantiles > 1:
        shapes |= {f"gating.layers.2.{part}": (16,) for part in ("weight", "bias", "running_mean", "running_var")}
    for name, shape in shapes.items():
        weights[name] = torch.randn(*shape, generator=generator)
    if quantiles > 1:
        weights["gating.layers.2.running_var"] = weights["gating.layers.2.running_var"].abs() + 0.5
        weights["gating.layers.2.num_batches_tracked"] = torch.tensor(7)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder, weights, marks


def gated_by_hand(folder, weights, marks, quantiles, ids):
    """Gate and heads in plain operations over the hidden states of transformers' own LlamaModel."""
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(
        **{k: v for k, v in json.loads((folder / "config.json").read_text()).items() if k != "auto_map"}
    )
    body = LlamaModel(config).eval()
    body.load_state_dict({k.removeprefix("model."): v for k, v in weights.items() if k.startswith("model.")})
    with torch.no_grad():
        states = body(torch.tensor([ids]), use_cache=False).last_hidden_state[0].double()
    w = {k: v.double() for k, v in weights.items()}
    start = max(i for i in range(len(ids)) if ids[i : i + len(marks)] == marks)
    inner = torch.relu(w["gating.layers.0.weight"] @ states[start] + w["gating.layers.0.bias"])
    last = 2
    if quantiles > 1:
        last, bn = 3, "gating.layers.2."
        inner = (inner - w[bn + "running_mean"]) / torch.sqrt(w[bn + "running_var"] + 1e-5) * w[bn + "weight"] + w[
            bn + "bias"
        ]
    gate = torch.softmax((w[f"gating.layers.{last}.weight"] @ inner + w[f"gating.layers.{last}.bias"]) / 3.0, 0)
    values = (w["regression_layer.weight"] @ states[-1]).reshape(5, quantiles).mean(1) @ w["reward_transform_matrix"]
    return float((gate * w["gating.logit_scale"] * values).sum())


@pytest.mark.parametrize("quantiles", [1, 19], ids=["ArmoRM", "QRM"])
def test_gated_heads(tmp_path, quantiles):
    folder, weights, marks = gated_folder(tmp_path / "gated", quantiles)
    with pytest.raises(ModelError, match="--trust-remote-code"):
        rewards(folder, trust=False)
    found = rewards(folder)
    tokenizer = load_reward_model(folder, trust_remote_code=True).tokenizer
    by_hand = [gated_by_hand(folder, weights, marks, quantiles, render(tokenizer, PREMISE, s)) for s in STORIES]
    assert found == pytest.approx(by_hand, abs=1e-4)
    assert len({round(r, 3) for r in found}) == 4
    assert rewards(folder, batch_tokens=100_000) == pytest.approx(found, abs=1e-5)
    findings = list(examine_reward_model(str(folder), trust_remote_code=True))
    assert exit_code(findings) == 0, findings
    assert any("one story at a time" in f.text for f in findings)


def test_a_gated_checkpoint_that_lacks_its_gate_is_refused(tmp_path):
    folder, weights, _ = gated_folder(tmp_path / "gated", 1)
    weights.pop("gating.layers.0.weight")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"the checkpoint lacks its reward head \(gating.layers.0.weight\)"):
        rewards(folder)


def internlm2_folder(folder):
    tokenizer = tiny_tokenizer(added=("<|reward|>",))
    config = {
        "architectures": ["InternLM2ForRewardModel"], "model_type": "internlm2",
        "auto_map": {"AutoConfig": "configuration_internlm2.InternLM2Config",
                     "AutoModel": "modeling_internlm2.InternLM2ForRewardModel"},
        "vocab_size": len(tokenizer), "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 3,
        "num_attention_heads": 6, "num_key_value_heads": 2, "hidden_act": "silu", "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5, "rope_theta": 1000000, "rope_scaling": None, "bias": False,
        "bos_token_id": 0, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id,
        "reward_token_id": tokenizer.convert_tokens_to_ids("<|reward|>"), "torch_dtype": "float16",
    }  # fmt: skip
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    weights = internlm2_by_hand.random_weights(config)
    names = sorted(weights)
    for number, part in enumerate((names[::2], names[1::2]), start=1):  # shards, as the real ones have
        save_file({n: weights[n].contiguous() for n in part}, folder / f"model-0000{number}-of-00002.safetensors")
    tokenizer.save_pretrained(folder)
    return folder, config, weights


def test_internlm2_is_read_as_llama_with_its_reward_token_at_the_end(tmp_path):
    folder, config, weights = internlm2_folder(tmp_path / "internlm2")
    found = rewards(folder, trust=False)
    loaded = load_reward_model(folder)
    ids = [[*render(loaded.tokenizer, PREMISE, s), config["reward_token_id"]] for s in STORIES]
    assert found == pytest.approx([internlm2_by_hand.reward(i, weights, config) for i in ids], abs=1e-4)
    assert len({round(r, 3) for r in found}) == 4
    scorer = RewardModelScorer(loaded)
    assert scorer.packed  # the fast path, not one by one
    findings = list(examine_reward_model(str(folder)))
    assert exit_code(findings) == 0, findings


def test_internlm2_in_bf16(tmp_path):
    folder, _, _ = internlm2_folder(tmp_path / "internlm2")
    assert rewards(folder, trust=False, dtype="bf16") == pytest.approx(rewards(folder, trust=False), abs=0.3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward_token_id": None}, None),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "rope_scaling"),
        ({"intermediate_size": 64}, "do not fit the configuration"),
        ({"num_hidden_layers": 2}, "are not those of InternLM2ForRewardModel"),
    ],
)
def test_internlm2_checkpoints_that_do_not_fit_are_refused(tmp_path, change, message):
    folder, config, _ = internlm2_folder(tmp_path / "internlm2")
    config |= change
    if message is None:
        config.pop("reward_token_id")
        message = "reward_token_id missing"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=message):
        load_reward_model(folder)
