import copy

import pytest
import torch
from transformers import LlamaForSequenceClassification
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaMLP

from storyalign.models.packed import ATTENTION, can_pack, enable, one_by_one, packed_rewards
from tests.support.tiny_models import tiny_model

VOCABULARY = 400
LENGTHS = [20, 300, 1, 2, 77, 1500]


def segments(seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(VOCABULARY, (n,), generator=generator) for n in LENGTHS]


def padded_rewards(model, conversations, side):
    """Transformers' own padded batch, the last token taken by length: independent of the packed path."""
    longest = max(map(len, conversations))
    ids, mask = torch.zeros(len(conversations), longest, dtype=torch.long), torch.zeros(len(conversations), longest)
    positions = torch.zeros_like(ids)
    for row, segment in enumerate(conversations):
        place = slice(longest - len(segment), None) if side == "left" else slice(len(segment))
        ids[row, place], mask[row, place], positions[row, place] = segment, 1, torch.arange(len(segment))
    hidden = model.model(input_ids=ids, attention_mask=mask, position_ids=positions).last_hidden_state
    last = [-1 if side == "left" else len(s) - 1 for s in conversations]
    return torch.stack([model.score(hidden[row, i]) for row, i in enumerate(last)]).squeeze(-1)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", ["llama", "qwen3"])
@torch.inference_mode()
def test_packed_equals_padded_and_single(kind, side):
    plain = padded_rewards(tiny_model(kind, VOCABULARY), segments(), side)
    model = tiny_model(kind, VOCABULARY)
    assert enable(model)
    packed = packed_rewards(model, segments())
    single = torch.stack([o.logits.reshape(()) for o in one_by_one(model, segments())])
    torch.testing.assert_close(packed, plain, rtol=0, atol=1e-4)
    torch.testing.assert_close(packed, single, rtol=0, atol=1e-4)
    assert plain.std() > 0.1, "rewards that hardly differ would prove nothing"


@torch.inference_mode()
def test_an_enabled_model_still_runs_padded_batches():
    plain = tiny_model("llama", VOCABULARY, pad_token_id=0)
    ids = torch.tensor([[5, 6, 7, 0, 0], [9, 8, 7, 6, 5]])
    mask = (ids != 0).long()
    expected = plain(input_ids=ids, attention_mask=mask).logits
    assert enable(plain)
    torch.testing.assert_close(plain(input_ids=ids, attention_mask=mask).logits, expected)


def test_gradients_equal_those_of_single_forwards():
    packed, single = tiny_model("llama", VOCABULARY), tiny_model("llama", VOCABULARY)
    enable(packed)
    packed_rewards(packed, segments()).square().sum().backward()
    for output in one_by_one(single, segments()):
        output.logits.square().sum().backward()
    for (name, a), b in zip(packed.named_parameters(), single.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-3, atol=1e-4, msg=name)


def test_gradients_under_checkpointing():
    plain, saving = tiny_model("llama", VOCABULARY), tiny_model("llama", VOCABULARY)
    for model in (plain, saving):
        enable(model)
    saving.train()
    saving.gradient_checkpointing_enable()
    for model in (plain, saving):
        # Two forward passes before the backward pass: each must repeat its own layers.
        (packed_rewards(model, segments()).sum() + packed_rewards(model, segments(1)[:3]).sum()).backward()
    for (name, a), b in zip(saving.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, msg=name)


def tokens_of_the_feed_forward_parts(model: torch.nn.Module) -> list[int]:
    seen: list[int] = []
    for layer in model.model.layers:
        layer.mlp.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape[1]))
        layer.mlp.down_proj.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape[1]))
    packed_rewards(model, segments())
    return seen


def test_the_last_feed_forward_part_runs_at_the_tokens_that_are_read():
    whole, cut = sum(LENGTHS), len(LENGTHS)
    model = tiny_model("llama", VOCABULARY)
    assert enable(model)
    seen = tokens_of_the_feed_forward_parts(model)
    assert seen == [whole] * (len(seen) - 1) + [cut]
    again = copy.deepcopy(model)
    again.model.layers[-1].mlp.down_proj.weight.data.zero_()
    assert not torch.equal(packed_rewards(again, segments()), packed_rewards(model, segments()))


class _Routed(LlamaMLP):
    def forward(self, x):
        return super().forward(x), "router"


class _RoutedLayer(LlamaDecoderLayer):
    def forward(self, hidden_states, **kwargs):
        hidden_states = hidden_states + self.self_attn(self.input_layernorm(hidden_states), **kwargs)[0]
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))[0]


def test_a_feed_forward_part_that_gives_more_than_a_tensor_runs_on_all_tokens():
    model, plain = tiny_model("llama", VOCABULARY), tiny_model("llama", VOCABULARY)
    model.model.layers[-1].__class__, model.model.layers[-1].mlp.__class__ = _RoutedLayer, _Routed
    assert enable(model)
    enable(plain)
    assert set(tokens_of_the_feed_forward_parts(model)) == {sum(LENGTHS)}
    torch.testing.assert_close(packed_rewards(model, segments()), packed_rewards(plain, segments()))


@torch.inference_mode()
def test_windows_and_unknown_heads_take_the_exact_path():
    sliding = tiny_model("sliding", VOCABULARY)
    before = sliding.config._attn_implementation
    assert not enable(sliding)
    assert not can_pack(sliding)
    assert sliding.config._attn_implementation == before != ATTENTION
    expected = tiny_model("sliding", VOCABULARY)
    for segment, output in zip(segments(), one_by_one(sliding, segments()), strict=True):
        hidden = expected.model(input_ids=segment[None]).last_hidden_state[0, -1]
        torch.testing.assert_close(output.logits.reshape(1), expected.score(hidden))


class Shifted(LlamaForSequenceClassification):
    def forward(self, *args, **kwargs):
        output = super().forward(*args, **kwargs)
        output.logits = output.logits + 1
        return output


@torch.inference_mode()
def test_a_head_that_does_more_than_its_linear_layer_is_not_shortened():
    model = tiny_model("llama", VOCABULARY)
    model.__class__ = Shifted
    assert not enable(model)


@torch.inference_mode()
def test_the_last_token_may_be_the_padding_token():
    model = tiny_model("llama", VOCABULARY, pad_token_id=3)
    segment = torch.tensor([5, 6, 3, 7, 3, 3])
    expected = model.score(model.model(input_ids=segment[None]).last_hidden_state[0, -1])
    torch.testing.assert_close(one_by_one(model, [segment])[0].logits[0], expected)
    assert model.config.pad_token_id == 3
    enable(model)
    torch.testing.assert_close(packed_rewards(model, [segment, segments()[0]])[:1], expected)


@torch.inference_mode()
def test_enabling_twice_and_many_models_of_one_class():
    first, second = tiny_model("llama", VOCABULARY), tiny_model("llama", VOCABULARY)
    assert enable(first)
    assert enable(first)
    assert can_pack(first)
    assert not can_pack(second), "the class must stay as it was"
