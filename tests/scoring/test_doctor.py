"""Each fault is planted in a sound model; the sound one passes."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from storyalign.records import Instance
from storyalign.scoring.doctor import examine_reward_model
from storyalign.scoring.findings import Finding, exit_code
from tests.support.rows import storyrmb_row
from tests.support.tiny_models import CHATML, tiny_model_folder, trl_template, words


def examine(folder, **options) -> dict[str, Finding]:
    return {f.subject: f for f in examine_reward_model(str(folder), **options)}


def instances(count=2, length=40):
    texts = [words(length + i, seed=i) for i in range(4)]
    return [
        replace(Instance.from_row(storyrmb_row(i)), chosen=texts[0], rejected=tuple(texts[1:])) for i in range(count)
    ]


def edit_weights(folder, change):
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, metadata={"format": "pt"})


def edit_json(path, **changes):
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, **changes}))


LLAMA3 = ("<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<pad>")

SOUND = {
    "chatml": {},
    "a begin token that opens each turn, as SmolLM2's": {"bos": "<|im_start|>"},
    "qwen3": {"kind": "qwen3"},
    "llama 3": {
        "template": trl_template("llama3"), "special": LLAMA3, "bos": "<|begin_of_text|>", "eos": "<|eot_id|>",
    },
}  # fmt: skip


@pytest.mark.parametrize("options", SOUND.values(), ids=SOUND)
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_sound_models_pass(tmp_path, options, dtype):
    findings = list(
        examine_reward_model(str(tiny_model_folder(tmp_path / "m", **options)), dtype=dtype, instances=instances())
    )
    assert {f.level for f in findings} == {"ok"}, findings
    assert exit_code(findings) == 0


def test_a_model_that_cannot_be_packed_passes_with_a_note(tmp_path):
    found = examine(tiny_model_folder(tmp_path / "m", "sliding"), instances=instances())
    assert exit_code(found.values()) == 0
    assert found["batches"].level in ("ok", "note")


def test_padding_token_is_end_token(tmp_path):
    found = examine(tiny_model_folder(tmp_path / "m", pad="<|im_end|>"))
    assert found["padding"].level == "caution"
    assert "is the end token ('<|im_end|>')" in found["padding"].text
    assert exit_code(found.values()) == 1


def test_no_padding_token(tmp_path):
    found = examine(tiny_model_folder(tmp_path / "m", pad=None))
    assert (found["padding"].level, "the tokenizer has no padding token" in found["padding"].text) == ("caution", True)


def test_no_padding_token_in_the_configuration(tmp_path):
    folder = tiny_model_folder(tmp_path / "m")
    edit_json(folder / "config.json", pad_token_id=None)
    assert "the configuration has no padding token" in examine(folder)["padding"].text


def test_two_padding_tokens(tmp_path):
    folder = tiny_model_folder(tmp_path / "m")
    edit_json(folder / "config.json", pad_token_id=7)
    assert "two padding tokens" in examine(folder)["padding"].text


def test_one_of_several_end_tokens_is_the_padding_token(tmp_path):
    folder = tiny_model_folder(tmp_path / "m")
    pad = json.loads((folder / "config.json").read_text())["pad_token_id"]
    edit_json(folder / "config.json", eos_token_id=[1, pad])
    assert "is the end token" in examine(folder)["padding"].text


@pytest.mark.parametrize(
    ("kind", "config", "text"),
    [("llama-lm", {}, "has no reward head"), ("llama", {"num_labels": 3}, "gives 3 labels")],
)
def test_no_head_or_too_many_labels(tmp_path, kind, config, text):
    found = examine(tiny_model_folder(tmp_path / "m", kind, config=config))
    assert found["loading"].level == "fault"
    assert text in found["loading"].text
    assert exit_code(found.values()) == 2


def test_missing_head_weights(tmp_path):
    folder = tiny_model_folder(tmp_path / "m")
    edit_weights(folder, lambda weights: weights.pop("score.weight"))
    assert "lacks its reward head" in examine(folder)["loading"].text


def test_missing_body_weights(tmp_path):
    folder = tiny_model_folder(tmp_path / "m")
    edit_weights(folder, lambda weights: weights.pop("model.layers.1.mlp.up_proj.weight"))
    assert "lacks weights" in examine(folder)["loading"].text


def test_pickled_weights(tmp_path):
    folder = tiny_model_folder(tmp_path / "m")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert "no pickled weights" in examine(folder)["loading"].text


def test_a_head_of_zeros(tmp_path):
    folder = tiny_model_folder(tmp_path / "m")
    edit_weights(folder, lambda weights: weights["score.weight"].zero_())
    found = examine(folder)
    assert "never trained" in found["reward head"].text
    assert "different stories get 0" in found["trial"].text


def test_weights_that_are_no_numbers(tmp_path):
    folder = tiny_model_folder(tmp_path / "m")
    edit_weights(folder, lambda weights: weights["score.weight"][0, 3].fill_(float("nan")))
    assert "no finite numbers" in examine(folder)["reward head"].text
    edit_weights(folder, lambda weights: weights["score.weight"].fill_(0.1))
    edit_weights(folder, lambda weights: weights["model.layers.0.mlp.up_proj.weight"].fill_(float("inf")))
    assert "no reward for 4 of 4 stories: the model returned nan" in examine(folder)["trial"].text


TEMPLATES = {
    "fails": ("{{ raise_exception('only system') }}", "fault", "fails on a user and an assistant turn"),
    "drops the premise": ("{{ messages[-1]['content'] }}<|im_end|>", "fault", "once each"),
    "story twice": ("{% for m in messages %}{{ m['content'] }}{{ m['content'] }}{% endfor %}", "fault", "once each"),
    "none": (None, "caution", "premise, blank line, story"),
    "system prompt": (
        "<|im_start|>system\nYou are a helpful assistant of ours<|im_end|>\n" + CHATML,
        "note",
        "You are a helpful assistant of ours",
    ),
}


@pytest.mark.parametrize(("template", "level", "text"), TEMPLATES.values(), ids=TEMPLATES)
def test_templates(tmp_path, template, level, text):
    found = examine(tiny_model_folder(tmp_path / "m", template=template))
    assert found["chat template"].level == level
    assert text in found["chat template"].text


def test_a_conversation_without_an_end_token(tmp_path):
    template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    found = examine(tiny_model_folder(tmp_path / "m", template=template))
    assert (found["end token"].level, "no end token" in found["end token"].text) == ("caution", True)


def test_a_template_with_two_begin_tokens(tmp_path):
    template = "{{ bos_token }}{{ bos_token }}" + CHATML
    options = {"template": template, "special": (*LLAMA3, "<|im_start|>", "<|im_end|>"), "bos": "<|begin_of_text|>"}
    folder = tiny_model_folder(tmp_path / "m", **options)
    found = examine(folder)
    assert found["begin token"].level == "fault"
    assert "stands 2 times" in found["begin token"].text


def test_a_tokenizer_of_another_model(tmp_path):
    folder = tiny_model_folder(tmp_path / "m")
    tiny_model_folder(tmp_path / "other", added=tuple(f"<extra_{i}>" for i in range(20)))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_text((tmp_path / "other" / name).read_text())
    found = examine(folder)
    assert (found["vocabulary"].level, "do not belong together" in found["vocabulary"].text) == ("fault", True)


def test_stories_longer_than_the_context(tmp_path):
    folder = tiny_model_folder(tmp_path / "m", config={"max_position_embeddings": 100})
    found = examine(folder, instances=instances(2, length=98))
    assert found["context"].level == "fault"
    assert "without --truncate" in found["context"].text
    long = sum(int(n) for n in found["context"].text.split()[:1])
    assert 0 < long <= 8
    assert examine(folder, instances=instances(2, length=20))["context"].level == "ok"
    assert examine(folder, instances=instances(2, length=20), max_length=30)["context"].level == "fault"


def test_rewards_that_depend_on_the_batch(tmp_path, monkeypatch):
    from storyalign.scoring import reward_models

    honest = reward_models.packed_rewards

    def leaking(model, segments):
        rewards = honest(model, segments)
        return rewards + 0.01 * rewards.sum() if len(segments) > 1 else rewards

    monkeypatch.setattr(reward_models, "packed_rewards", leaking)
    found = examine(tiny_model_folder(tmp_path / "m"))
    assert found["batches"].level == "fault"
    assert "with the stories beside it" in found["batches"].text
