import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from storyalign.errors import ModelError
from storyalign.models.loading import load_reward_model
from tests.support.tiny_models import tiny_model, tiny_model_folder, tiny_tokenizer


def test_a_saved_model_comes_back_whole(tmp_path):
    folder = tiny_model_folder(tmp_path)
    loaded = load_reward_model(folder)
    weights = load_file(folder / "model.safetensors")
    for name, tensor in loaded.model.state_dict().items():
        torch.testing.assert_close(tensor, weights[name], rtol=0, atol=0)
    assert not loaded.model.training
    assert not loaded.new_head
    assert loaded.max_length == 16384


def test_a_checkpoint_without_its_head_is_refused_for_scoring(tmp_path):
    folder = tiny_model_folder(tmp_path, "llama-lm")
    with pytest.raises(ModelError, match="LlamaForCausalLM has no reward head"):
        load_reward_model(folder)
    loaded = load_reward_model(folder, allow_new_head=True)
    assert loaded.new_head
    assert loaded.model.score.out_features == 1


def test_a_head_lost_on_the_way_is_noticed_in_the_weights(tmp_path):
    folder = tiny_model_folder(tmp_path)
    weights = load_file(folder / "model.safetensors")
    del weights["score.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks its reward head \(score\.weight\)"):
        load_reward_model(folder)
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match="lacks weights"):
        load_reward_model(folder, allow_new_head=True)


def test_several_labels_are_refused(tmp_path):
    with pytest.raises(ModelError, match="its head gives 10 labels"):
        load_reward_model(tiny_model_folder(tmp_path, config={"num_labels": 10}))


def test_pickled_weights_are_refused(tmp_path):
    folder = tiny_model_folder(tmp_path)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="loads no pickled weights"):
        load_reward_model(folder)


def test_broken_files_are_an_error_in_one_line(tmp_path):
    folder = tiny_model_folder(tmp_path)
    (folder / "model.safetensors").write_bytes(b"not a model")
    with pytest.raises(ModelError, match="cannot be loaded") as error:
        load_reward_model(folder)
    assert "\n" not in str(error.value)
    (folder / "config.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be read as JSON"):
        load_reward_model(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ModelError, match=r"no config\.json"):
        load_reward_model(folder)


def test_names_that_lead_nowhere(tmp_path):
    with pytest.raises(ModelError, match="no such folder"):
        load_reward_model(tmp_path / "missing")
    with pytest.raises(ModelError, match="not in the Hub cache, and the Hub cannot be reached"):
        load_reward_model("someone/some-reward-model")


def test_an_unknown_precision(tmp_path):
    with pytest.raises(ModelError, match="choose fp32 or bf16"):
        load_reward_model(tmp_path, dtype="fp8")


@pytest.mark.parametrize(
    ("pad", "expected"), [("<|im_end|>", "<|endoftext|>"), (None, "<|endoftext|>"), ("<pad>", "<pad>")]
)
def test_padding_is_kept_apart_from_the_end_token(tmp_path, pad, expected):
    special = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *(["<pad>"] if pad == "<pad>" else []))
    loaded = load_reward_model(tiny_model_folder(tmp_path, pad=pad, special=special))
    assert loaded.tokenizer.pad_token == expected
    assert loaded.model.config.pad_token_id == loaded.tokenizer.pad_token_id


def test_where_no_token_is_to_spare_the_end_token_pads(tmp_path):
    folder = tiny_model_folder(tmp_path, pad=None, special=("<|im_start|>", "<|im_end|>"))
    assert load_reward_model(folder).tokenizer.pad_token == "<|im_end|>"


REMOTE = """
import torch
from transformers import LlamaModel, LlamaPreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutputWithPast

class RewardWithHeadOfItsOwn(LlamaPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.model = LlamaModel(config)
        self.v_head = torch.nn.Linear(config.hidden_size, 1, bias=False)
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        hidden = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        ends = attention_mask.cumsum(dim=1).argmax(dim=1).view(-1, 1)
        return SequenceClassifierOutputWithPast(logits=self.v_head(hidden).squeeze(-1).gather(1, ends))
"""


def remote_folder(folder, auto="AutoModel"):
    """A reward model whose head is code of its own, read at a token of its own, as InternLM2's is."""
    tiny_model_folder(folder)
    weights = load_file(folder / "model.safetensors")
    weights["v_head.weight"] = weights.pop("score.weight")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {auto: "modeling_reward.RewardWithHeadOfItsOwn"}
    config["architectures"] = ["RewardWithHeadOfItsOwn"]
    config["reward_token_id"] = tiny_tokenizer().convert_tokens_to_ids("<|endoftext|>")
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "modeling_reward.py").write_text(REMOTE)
    return folder


@pytest.mark.parametrize("auto", ["AutoModel", "AutoModelForSequenceClassification"])
def test_code_of_its_own_runs_only_with_consent(tmp_path, auto):
    folder = remote_folder(tmp_path / "remote", auto)
    with pytest.raises(ModelError, match="allow it with --trust-remote-code"):
        load_reward_model(folder)
    loaded = load_reward_model(folder, trust_remote_code=True)
    assert type(loaded.model).__name__ == "RewardWithHeadOfItsOwn"


def test_code_in_another_repository_is_refused(tmp_path):
    folder = remote_folder(tmp_path / "remote")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "someone/else--modeling_reward.RewardWithHeadOfItsOwn"}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="code stands in another repository"):
        load_reward_model(folder, trust_remote_code=True)


@pytest.mark.parametrize("revision", [None, "main", "v1.0", "abc123"])
def test_code_from_the_hub_needs_a_whole_commit(revision):
    with pytest.raises(ModelError, match="pinned commit"):
        load_reward_model("someone/some-reward-model", trust_remote_code=True, revision=revision)


def test_an_adapter_is_merged_with_its_saved_head(tmp_path):
    from peft import LoraConfig, PeftModel, get_peft_model

    base_folder = tiny_model_folder(tmp_path / "base", "llama-lm")
    torch.manual_seed(3)
    base = load_reward_model(base_folder, allow_new_head=True).model
    wrapped = get_peft_model(
        base, LoraConfig(task_type="SEQ_CLS", target_modules=["q_proj", "down_proj"], modules_to_save=["score"], r=4)
    )
    with torch.no_grad():
        for name, parameter in wrapped.named_parameters():
            if "lora_" in name or "modules_to_save" in name:
                parameter.normal_(std=0.1)
    wrapped.save_pretrained(tmp_path / "adapter")
    assert isinstance(wrapped, PeftModel)
    ids = torch.arange(5, 40).reshape(1, -1)
    with torch.inference_mode():
        expected = wrapped.eval()(input_ids=ids).logits
        loaded = load_reward_model(tmp_path / "adapter")
        torch.testing.assert_close(loaded.model(input_ids=ids).logits, expected, rtol=0, atol=1e-5)
    assert loaded.base_folder == base_folder

    weights = load_file(tmp_path / "adapter" / "adapter_model.safetensors")
    without = {key: value for key, value in weights.items() if "score" not in key}
    save_file(without, tmp_path / "adapter" / "adapter_model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match="the adapter holds no reward head"):
        load_reward_model(tmp_path / "adapter")


def test_a_model_without_a_reward_head_class(tmp_path):
    model = tiny_model("llama", 300)
    model.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="its tokenizer cannot be loaded"):
        load_reward_model(tmp_path)
