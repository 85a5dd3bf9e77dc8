from pathlib import Path

import pytest

from storyalign.errors import RecipeError
from storyalign.llm.endpoint import Endpoint, Price
from storyalign.llm.estimate import Estimate, corrected_count, estimate, plain_count, tokenizer_count
from storyalign.llm.prompts import Prompt
from storyalign.llm.steps import Request, Row, Step, user_message

STEP = Step(
    "count",
    Prompt("count", "{text}"),
    lambda row: Request(user_message(row["text"]), max_tokens=200, temperature=1.0, seed=1),
    lambda row, reply: row,
)
ROWS: list[Row] = [{"id": "a", "text": "x" * 44}, {"id": "b", "text": "x" * 88}]


def test_a_step_is_estimated_by_hand():
    endpoint = Endpoint("https://example.org/v1", "m", price=Price(prompt=2.0, reply=10.0))
    # 4.4 characters a token and 4 tokens a message: 14 + 24; two replies of at most 200.
    expected = Estimate(2, 38, 400, (38 * 2.0 + 400 * 10.0) / 1e6)
    assert estimate(STEP, ROWS, endpoint, plain_count) == expected
    assert estimate(STEP, ROWS, Endpoint("https://example.org/v1", "m"), plain_count).cost_bound is None
    assert estimate(STEP, [], endpoint, plain_count) == Estimate(0, 0, 0, 0.0)


def test_chinese_takes_more_tokens_than_its_characters_suggest():
    assert plain_count(user_message("海" * 14)) == pytest.approx(14)  # 10 + 4


def test_an_endpoint_that_counts_half_as_much_again_corrects_the_estimate():
    counted = [(user_message("x" * 44), 21), (user_message("x" * 88), 36)]  # 57 against 38: 1.5 times
    assert corrected_count(counted)(user_message("y" * 44)) == pytest.approx(21)
    assert corrected_count([]) is plain_count


def test_a_tokenizer_counts_its_template_too(tmp_path: Path):
    from tests.support.tiny_models import CHATML, tiny_tokenizer

    tokenizer = tiny_tokenizer(template=CHATML)
    tokenizer.save_pretrained(tmp_path)
    text = "the sea was calm"
    # <|im_start|>, "user", "\n", the text, <|im_end|>, "\n", <|im_start|>, "assistant", "\n"
    parts = ["<|im_start|>user\n", text, "<|im_end|>\n", "<|im_start|>assistant\n"]
    expected = len(tokenizer("".join(parts), add_special_tokens=False)["input_ids"])
    assert tokenizer_count(str(tmp_path))(user_message(text)) == expected


def test_a_tokenizer_that_is_not_there():
    with pytest.raises(RecipeError, match=r"tokenizer \./nowhere: cannot be loaded"):
        tokenizer_count("./nowhere")
