import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from storyalign.errors import DataError, RecipeError
from storyalign.scoring.systems import Head, JudgeSystem, RewardSystem, load_scorers, pinned, resolve
from storyalign.scoring.voting import MODES

RECIPES = Path(__file__).resolve().parents[2] / "recipes"

TABLE_1 = [
    "InternLM2-20B-Reward", "InternLM2-7B-Reward", "Skywork-Reward-Gemma-2-27B-v0.2",
    "Skywork-Reward-Llama-3.1-8B-v0.2", "QRM-Llama3.1-8B-v2", "ArmoRM-Llama3-8B-v0.1",
    "GRM-Llama3.1-8B-rewardmodel-ft", "WQRM", "StoryReward-Llama", "StoryReward-Qwen",
]  # fmt: skip
JUDGES = [
    "Llama3.1-8B-Instruct", "Qwen3-8B", "GPT-4o", "Gemini-2.5-Pro", "Grok-3",
    "GLM-4.5", "Qwen2.5-Max", "Claude-3.5", "DeepSeek-R1",
]  # fmt: skip


@pytest.mark.parametrize("name", TABLE_1)
def test_every_reward_model_of_table_1_has_an_entry(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name.startswith("StoryReward"):
        with pytest.raises(
            RecipeError, match=r"no weights were published; train it first: .*recipes/storyreward_\w+.yaml"
        ):
            resolve(name)
        (tmp_path / load_scorers()["reward_models"][name]["model"]).mkdir(parents=True)
    system = resolve(name)
    assert isinstance(system, RewardSystem)
    assert (system.name, system.head in get_args(Head), system.context >= 8192, system.memory > 0) == (
        name,
        True,
        True,
        True,
    )


@pytest.mark.parametrize("name", JUDGES)
def test_every_judge_has_an_entry(name):
    system = resolve(f"judge:{name}")
    assert isinstance(system, JudgeSystem)
    assert system.mode in MODES
    assert system.endpoint.is_local == (system.endpoint.key_variable is None)


def test_nothing_that_ships_holds_a_key():
    for entry in load_scorers()["judges"].values():
        assert re.fullmatch(r"[A-Z][A-Z_]+_API_KEY", entry.get("key_variable", "XX_API_KEY"))


def test_recipes_agree_on_the_key_of_a_provider_and_the_price_of_a_model():
    content = [
        yaml.safe_load((RECIPES / f"{name}.yaml").read_text()) for name in ("scorers", "storyrmb", "preferences")
    ]
    entries = [entry for one in content for entry in (one.get("judges") or one["endpoints"]).values()]
    keys = {(entry["url"], entry.get("key_variable")) for entry in entries}
    prices = {(entry["model"], str(entry.get("price"))) for entry in entries}
    assert len(keys) == len({url for url, _ in keys}), sorted(keys, key=str)
    assert len(prices) == len({model for model, _ in prices}), sorted(prices)


def test_names_are_found_whatever_their_case():
    assert resolve("wqrm").name == "WQRM"
    assert resolve("judge:gpt-4O").name == "GPT-4o"


def test_folders_come_first_and_hub_ids_last(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "WQRM").mkdir()
    assert resolve("WQRM") == RewardSystem("WQRM", "WQRM")
    assert resolve("someone/some-model") == RewardSystem("someone/some-model", "someone/some-model")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("GPT-4o", "is a judge; write judge:GPT-4o"),
        ("Skywork-Reward-Llama", "did you mean .*Skywork-Reward-Llama-3.1-8B-v0.2"),
        ("gpt4o", "did you mean judge:GPT-4o"),
        ("judge:GPT4", "judge:GPT4: no such judge.*did you mean GPT-4o"),
        ("./no/folder", "no such folder"),
        ("zzzz", "it has InternLM2-20B-Reward"),
    ],
)
def test_unknown_names_are_refused_with_a_hint(name, message):
    with pytest.raises(RecipeError, match=message):
        resolve(name)


def test_own_entries_lie_over_the_shipped_ones(tmp_path, monkeypatch):
    own = tmp_path / "mine.yaml"
    own.write_text(
        "judges:\n  mine: {url: 'http://localhost:1/v1', model: m}\n"
        "  GPT-4o: {url: 'https://proxy.example/v1', model: gpt-4o, key_variable: PROXY_KEY, mode: rate}\n"
    )
    monkeypatch.setenv("STORYALIGN_SCORERS", str(own))
    assert resolve("judge:mine").mode == "choose"
    assert resolve("judge:GPT-4o").endpoint.url == "https://proxy.example/v1"
    assert resolve("judge:Grok-3").name == "Grok-3"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (None, DataError, "cannot be read.*STORYALIGN_SCORERS"),
        ("judges: [", RecipeError, "not valid YAML"),
        ("models: {}", RecipeError, "expected the sections"),
        ("judges: {x: 3}", RecipeError, "one entry with fields"),
        ("judges: {x: {url: 'http://h/v1', model: m, mode: vote}}", RecipeError, "mode 'vote'"),
        ("judges: {x: {url: 'http://h/v1', model: m, key: sk-1}}", RecipeError, r"judges\.x\.key is unknown"),
        ("reward_models: {x: {head: gated}}", RecipeError, r"reward_models\.x\.model is missing"),
        (
            "reward_models: {x: {model: m, head: magic}}",
            RecipeError,
            "x.head must be one of classification, .*, got 'magic'",
        ),
        ("reward_models: {x: {model: m, dtype: bf16}}", RecipeError, r"reward_models\.x\.dtype is unknown"),
        ("reward_models: {x: {model: m, name: y}}", RecipeError, r"x\.name is unknown"),
        (
            "reward_models: {x: {model: m, revision: 1234567}}",
            RecipeError,
            "x.revision must be a string or null, got int",
        ),
    ],
)
def test_broken_files_are_refused(tmp_path, text, error, message):
    own = tmp_path / "mine.yaml"
    if text is not None:
        own.write_text(text)
    with pytest.raises(error, match=message):
        resolve("judge:x" if text is None or "judges" in text or text == "models: {}" else "x", own_file=own)


def test_code_of_a_models_own_needs_consent_and_a_full_commit():
    armo, commit = resolve("ArmoRM-Llama3-8B-v0.1"), "0123456789abcdef" * 2 + "01234567"
    for revision, trust in ((None, False), (commit, False), (None, True), ("main", True), (commit[:12], True)):
        with pytest.raises(RecipeError, match="--trust-remote-code --revision COMMIT"):
            pinned(armo, revision, trust)
    assert pinned(armo, commit, True) == commit
    assert pinned(resolve("Skywork-Reward-Llama-3.1-8B-v0.2"), "v1", False) == "v1"
