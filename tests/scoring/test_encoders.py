"""Encoders read premise and story as the pair of texts that their own tokenizer builds."""

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from storyalign.errors import ModelError
from storyalign.models.chat import TooLongError, render, render_many
from storyalign.models.loading import load_reward_model
from storyalign.models.packed import one_by_one
from storyalign.scoring.doctor import examine_reward_model
from storyalign.scoring.reward_models import load_scorer
from tests.support.tiny_models import ENCODERS, tiny_encoder_folder, tiny_model, tiny_model_folder, words
from tests.support.training_runs import build, write_pairs

PREMISE = "the old keeper, and a letter"
STORIES = [words(30, 1), words(4, 2), words(60, 3)]


@pytest.fixture(params=ENCODERS)
def folder(request, tmp_path):
    return tiny_encoder_folder(tmp_path / request.param, request.param)


def test_rewards_are_those_of_plain_transformers(folder):
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        expected = [model(**tokenizer(PREMISE, s, return_tensors="pt")).logits.item() for s in STORIES]
    assert max(expected) - min(expected) > 0.05
    assert load_scorer(folder).rank(PREMISE, STORIES) == pytest.approx(expected, abs=1e-5)
    # Neither the order nor the batch changes a reward.
    assert load_scorer(folder, batch_tokens=100_000).rank(PREMISE, STORIES[::-1]) == pytest.approx(
        expected[::-1], abs=1e-5
    )


def test_the_pair_is_the_tokenizers_and_markers_in_texts_are_text(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for story in STORIES:
        assert render(tokenizer, PREMISE, story) == tokenizer(PREMISE, story)["input_ids"]
    hostile = render_many(tokenizer, [(PREMISE, f"the sea {tokenizer.sep_token} again {tokenizer.cls_token}")])[0]
    special = {tokenizer.sep_token_id, tokenizer.cls_token_id}
    assert not special & {*hostile.story}


def test_doctor_says_where_the_reward_is_read(folder):
    found = {f.subject: f for f in examine_reward_model(str(folder))}
    first = AutoTokenizer.from_pretrained(folder).cls_token
    assert found["reward token"].text == f"the reward is read at the first token, {first!r}"
    assert "the tokenizer's own pair of texts is used" in found["chat template"].text
    assert not [f for f in found.values() if f.level == "fault"]


def test_doctor_finds_the_last_token_of_a_decoder(tmp_path):
    found = {f.subject: f for f in examine_reward_model(str(tiny_model_folder(tmp_path)))}
    assert found["reward token"].text == "the reward is read at the last token, 'Ċ'"  # the template's line break


def test_token_types_that_a_model_is_not_known_to_read_are_refused(tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(tiny_encoder_folder(tmp_path / "bert", "bert"))
    tiny_model("llama", len(tokenizer)).save_pretrained(tmp_path / "decoder")
    tokenizer.save_pretrained(tmp_path / "decoder")
    with pytest.raises(ModelError, match="token types that LlamaForSequenceClassification is not known to read"):
        load_reward_model(tmp_path / "decoder")


def test_roberta_takes_as_many_tokens_as_it_has_positions_for(tmp_path):
    folder = tiny_encoder_folder(tmp_path, "roberta")  # 514 in its configuration; ids below padding + 1 are never used
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert load_reward_model(folder).max_length == 512
    frame = len(render(tokenizer, PREMISE, ""))
    fits, too_long = "a" * (512 - frame), "a" * (513 - frame)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.inference_mode():
        expected = model(**tokenizer(PREMISE, fits, return_tensors="pt")).logits.item()
        with pytest.raises((IndexError, RuntimeError)):  # what plain transformers does with one token more
            model(**tokenizer(PREMISE, too_long, return_tensors="pt"))
    scorer = load_scorer(folder)
    assert scorer.rank(PREMISE, [fits]) == pytest.approx([expected], abs=1e-5)
    with pytest.raises(TooLongError, match="513 tokens are more than 512"):
        scorer.rank(PREMISE, [too_long])


def test_an_adapter_on_an_encoder_keeps_its_whole_head(folder, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.jsonl", 4)
    trainer, _ = build(
        "--model_name_or_path", str(folder), "--dataset_name", str(pairs), "--output_dir", str(tmp_path / "out"),
        "--learning_rate", "1e-2", "--max_steps", "2", "--save_strategy", "no", "--disable_tqdm", "true",
        "--use_peft", "true",
    )  # fmt: skip
    trainer.train()
    trainer.save_model(str(tmp_path / "adapter"))
    ids = torch.tensor(trainer.train_pairs.rows[0]["chosen_ids"])
    trainer.model.eval()
    with torch.no_grad():
        expected = trainer.rewards(trainer.model, [ids]).item()
        merged = load_reward_model(tmp_path / "adapter").model
        assert one_by_one(merged, [ids])[0].logits.item() == pytest.approx(expected, abs=1e-4)
