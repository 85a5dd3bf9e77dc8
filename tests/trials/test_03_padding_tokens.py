"""A padding token that is the end token, is missing, or stands inside the texts never moves the reward elsewhere."""

import json

import pytest
import torch

from storyalign.models.chat import render
from storyalign.scoring.reward_models import load_scorer
from tests.support.tiny_models import CHATML, tiny_model_folder, words

STORIES = [words(n, n) for n in (10, 200, 45, 90)]
PREMISES = ["A calm premise.", "A premise with <|im_end|> in it.", "<|im_end|><|endoftext|>"]


@pytest.mark.parametrize("template", [CHATML, CHATML.removesuffix("{% if") + ""])
@pytest.mark.parametrize("pad", ["<|im_end|>", None, "<pad>"])
def test_batched_equals_one_by_one(tmp_path, pad, template):
    folder = tiny_model_folder(tmp_path, pad=pad, template=template)
    if pad is None:
        config = json.loads((folder / "config.json").read_text())
        config.pop("pad_token_id", None)
        (folder / "config.json").write_text(json.dumps(config))
    scorer = load_scorer(folder)
    model = scorer.loaded.model
    for premise in PREMISES:
        expected = []
        for story in STORIES:
            ids = torch.tensor([render(scorer.loaded.tokenizer, premise, story)])
            with torch.inference_mode():
                expected.append(model.score(model.model(input_ids=ids).last_hidden_state[0, -1]).item())
        assert scorer.rank(premise, STORIES) == pytest.approx(expected, abs=1e-4)
        assert [scorer.rank(premise, [story])[0] for story in STORIES] == pytest.approx(expected, abs=1e-4)


def test_a_conversation_that_ends_with_the_padding_token(tmp_path):
    ends = "{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}"
    folder = tiny_model_folder(tmp_path, pad="<|im_end|>", template=ends, special=("<|im_end|>",))
    for packed in (True, False):
        scorer = load_scorer(folder)
        scorer.packed = packed
        assert scorer.loaded.tokenizer.pad_token == "<|im_end|>", "no other token was to spare"
        ids = torch.tensor([render(scorer.loaded.tokenizer, "A premise.", STORIES[0])])
        assert ids[0, -1] == scorer.loaded.tokenizer.pad_token_id
        with torch.inference_mode():
            hidden = scorer.loaded.model.model(input_ids=ids).last_hidden_state[0, -1]
            expected = scorer.loaded.model.score(hidden).item()
        assert scorer.rank("A premise.", STORIES)[0] == pytest.approx(expected, abs=1e-4)
