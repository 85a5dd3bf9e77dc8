import math

import pytest
import torch

from storyalign.errors import ModelError, RecipeError
from storyalign.models.chat import TooLongError, render
from storyalign.models.loading import load_reward_model
from storyalign.scoring.reward_models import RewardModelScorer, load_scorer
from storyalign.scoring.reward_store import Request
from tests.support.tiny_models import tiny_model_folder, words

PREMISE = "A keeper and the sea."
STORIES = [words(n, n) for n in (30, 400, 5, 120)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_model_folder(tmp_path_factory.mktemp("model"))


def requests(stories, premise=PREMISE):
    return [Request("i", n, premise, story) for n, story in enumerate(stories)]


def test_rewards_are_those_of_plain_transformers(folder):
    loaded = load_reward_model(folder)
    expected = []
    with torch.inference_mode():
        for story in STORIES:
            ids = torch.tensor([render(loaded.tokenizer, PREMISE, story)])
            hidden = loaded.model.model(input_ids=ids).last_hidden_state
            expected.append(loaded.model.score(hidden[0, -1]).item())
    scorer = load_scorer(folder)
    assert scorer.packed
    assert scorer.rank(PREMISE, STORIES) == pytest.approx(expected, abs=1e-4)
    assert [row.n_tokens for row in scorer(PREMISE, STORIES)] == [
        len(render(loaded.tokenizer, PREMISE, story)) for story in STORIES
    ]


def test_equal_conversations_tie_exactly_wherever_they_stand(folder):
    scorer = load_scorer(folder, batch_tokens=64)
    stories = [STORIES[0], *(words(40, 900 + n) for n in range(30)), STORIES[0]]
    first, *_, last = scorer.rank(PREMISE, stories)
    assert first == last


def test_too_long_is_refused_by_name_before_scoring(folder):
    scorer = load_scorer(folder, max_length=100)
    assert scorer.refuse_too_long(requests(STORIES[2:3])) is None
    with pytest.raises(TooLongError, match=r"3 of 4 stories are longer than 100 tokens: i\[0\] \(\d+\), i\[1\]"):
        scorer.refuse_too_long(requests([STORIES[1], STORIES[1], STORIES[2], STORIES[3]]))
    with pytest.raises(TooLongError, match="story 2"):
        scorer(PREMISE, STORIES)


@pytest.mark.parametrize("keep", ["head", "tail", "middle"])
def test_cutting_is_counted_and_equal_after_the_cut_is_a_tie(folder, keep):
    scorer = load_scorer(folder, max_length=120, truncate=keep)
    scorer.refuse_too_long(requests(STORIES))
    rows = scorer(PREMISE, STORIES)
    assert [row.truncated for row in rows] == [False, True, False, True]
    assert all(row.status == "scored" for row in rows)
    ends = {"head": "{}A", "tail": "A{}", "middle": "A{}A"}[keep]
    long = words(400, 3)
    one, two = scorer(PREMISE, [ends.format(long), ends.replace("A", "Z").format(long)])
    assert one.truncated
    assert two.truncated
    assert one.reward == two.reward
    assert one.signature != two.signature


def test_a_premise_without_room_is_unscored_by_name(folder):
    scorer = load_scorer(folder, max_length=60, truncate="head")
    long, short = scorer(words(200, 1), ["A story."])[0], scorer(PREMISE, ["A story."])[0]
    assert (long.status, long.reward, long.truncated) == ("too_long", None, False)
    assert "leaves no room for a story within 60" in long.detail
    assert short.status == "scored"
    with pytest.raises(ModelError, match="story 1 has no reward"):
        scorer.rank(words(200, 1), ["A story."])


def test_a_limit_beyond_the_model_is_refused(folder):
    with pytest.raises(RecipeError, match="beyond the model's 16384 tokens"):
        load_scorer(folder, max_length=20000)


def test_bf16_keeps_the_head_in_float32(folder):
    exact, coarse = load_scorer(folder), load_scorer(folder, dtype="bf16")
    assert coarse.packed
    assert coarse.loaded.model.score.weight.dtype == torch.float32
    assert coarse.loaded.model.model.norm.weight.dtype == torch.bfloat16
    rewards = coarse.rank(PREMISE, STORIES)
    assert rewards == pytest.approx(exact.rank(PREMISE, STORIES), abs=0.2)
    assert any(torch.tensor(r).bfloat16().item() != r for r in rewards), "rewards rounded to bf16 tie too easily"


def test_the_digest_follows_each_setting(folder, tmp_path):
    base = load_scorer(folder)
    moved = tiny_model_folder(tmp_path / "moved")
    assert load_scorer(moved).digest == base.digest, "the same files elsewhere are the same scorer"
    assert load_scorer(folder, max_length=16384).digest == base.digest
    assert load_scorer(folder, batch_tokens=7).digest == base.digest
    changed = [
        load_scorer(folder, dtype="bf16"),
        load_scorer(folder, max_length=500),
        load_scorer(folder, max_length=500, truncate="head"),
        load_scorer(folder, max_length=500, truncate="tail"),
        load_scorer(folder, revision="v2"),
        load_scorer(tiny_model_folder(tmp_path / "qwen", "qwen3")),
        load_scorer(
            tiny_model_folder(tmp_path / "template", template="{{ messages[0].content }}|{{ messages[1].content }}")
        ),
    ]
    assert len({base.digest, *(scorer.digest for scorer in changed)}) == len(changed) + 1


def broken(folder, output):
    """A scorer whose model returns ``output(rewards)`` in place of its rewards, on the exact path."""
    loaded = load_reward_model(folder)
    scorer = RewardModelScorer(loaded)
    scorer.packed = False
    original = type(loaded.model).forward

    def forward(*args, **kwargs):
        return output(original(loaded.model, *args, **kwargs))

    loaded.model.forward = forward
    return scorer


def test_nan_and_infinity_are_unscored_with_their_reason(folder):
    for value in (math.nan, math.inf, -math.inf):
        rows = broken(folder, lambda out, v=value: out.logits * v)(PREMISE, STORIES[:2])
        assert [(row.status, row.reward) for row in rows] == [("not_finite", None)] * 2
        assert rows[0].detail == f"the model returned {value if value == value else 'nan'}"


def test_one_nan_does_not_spread_to_its_batch(folder):
    scorer = load_scorer(folder)
    (expected,) = scorer.rank(PREMISE, ["Calm sea."])
    poison = scorer.loaded.tokenizer("Q", add_special_tokens=False)["input_ids"][0]
    with torch.no_grad():
        scorer.loaded.model.model.embed_tokens.weight[poison] = math.nan
    fine, bad = scorer(PREMISE, ["Calm sea.", "Q"])
    assert fine.reward == pytest.approx(expected, abs=1e-4)
    assert bad.status == "not_finite"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (lambda out: None, "returned NoneType where a reward"),
        (lambda out: out.logits.expand(1, 10), r"returned \[1, 10\] figures for one story"),
        (lambda out: "7", "returned str where a reward"),
    ],
)
def test_what_is_no_reward_is_an_error(folder, output, message):
    with pytest.raises(ModelError, match=message):
        broken(folder, output)(PREMISE, STORIES[:1])


def test_a_full_device_halves_the_batch_and_names_what_does_not_fit_alone(folder, monkeypatch):
    scorer = load_scorer(folder)
    expected = scorer.rank(PREMISE, STORIES)
    real = scorer._run

    def small_device(items):
        if sum(item.ids.numel() for item in items) > 300:
            raise torch.OutOfMemoryError("no more")
        return real(items)

    monkeypatch.setattr(scorer, "_run", small_device)
    rows = scorer(PREMISE, STORIES)
    assert [row.status for row in rows] == ["scored", "failed", "scored", "scored"]
    assert "tokens are more than the memory of cpu holds" in rows[1].detail
    assert [rows[i].reward for i in (0, 2, 3)] == pytest.approx([expected[i] for i in (0, 2, 3)], abs=1e-4)
