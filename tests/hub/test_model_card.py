from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard

from storyalign.corpus.evaluation_sets import load_evaluation_set
from storyalign.errors import DataError
from storyalign.evaluation.results import evaluate_scorers
from storyalign.evaluation.scored_sets import ScoredSet, null_scored_sets
from storyalign.files import read_jsonl, write_json, write_jsonl
from storyalign.hub.cards.model_card import write_model_card
from storyalign.hub.release.model_release import prepare_model
from storyalign.hub.release.release_options import ReleaseOptions
from storyalign.models.chat import render
from storyalign.models.fingerprint import folder_digest
from storyalign.models.loading import load_reward_model
from storyalign.models.packed import one_by_one
from storyalign.scoring.reward_models import load_scorer
from tests.support.command import environment
from tests.support.tiny_models import tiny_encoder_folder, tiny_model_folder, trl_template
from tests.support.training_runs import run_here, write_pairs


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("card")
    tiny_model_folder(
        folder / "base", "llama-lm", template=trl_template("llama3_1"), bos="<|endoftext|>",
    )  # fmt: skip
    pairs = write_pairs(folder / "pairs.jsonl", 8)
    rows = [{**line.row, "chosen_writer": "kit-author"} for line in read_jsonl(pairs)]
    write_jsonl(pairs, rows)
    write_pairs(folder / "held.jsonl", 4, seed=99)
    (folder / "r.yaml").write_text(f"validation_datasets: [{{path: {folder / 'held.jsonl'}}}]\n")
    run_here(
        "--config", str(folder / "r.yaml"), "--model_name_or_path", str(folder / "base"), "--dataset_name", str(pairs),
        "--output_dir", str(folder / "run" / "model"), "--max_steps", "2", "--eval_strategy", "epoch",
        "--save_strategy", "no", "--disable_tqdm", "true",
    )  # fmt: skip
    return folder / "run" / "model"


def card_of(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def test_card_says_what_the_model_is(trained: Path) -> None:
    card = ModelCard.load(trained / "README.md")
    text = card_of(trained)
    assert card.data.library_name == "transformers" and card.data.pipeline_tag == "text-classification"
    assert "storyalign" in card.data.tags and "synthetic" in card.data.tags
    assert "More Information Needed" not in text and "undefined" not in text.lower()
    assert "**Trained on the kit's synthetic sample.**" in text and "kit-author (8)" in text
    digest = json.loads((trained / "training.json").read_text())["data"]["train"][0]["digest"]
    assert digest[:23] in text and "| rewriting | 8 | 0 | 0 |" in text
    assert "On the validation pairs (n = 4)" in text
    assert "learning_rate: " not in text  # the default; only what differs is listed
    assert "max_steps: 2" in text
    assert "Not measured yet." in text
    assert not re.search(r"/(tmp|home|root|work)/", text)  # no folder of anybody's machine


def test_the_cards_commands_run_in_an_empty_folder(trained: Path, tmp_path: Path) -> None:
    shell = "".join(re.findall(r"```bash\n(.*?)```", card_of(trained), re.S))
    shutil.copytree(trained, tmp_path / "path" / "to" / "model")
    script = f'storyalign() {{ {sys.executable} -m storyalign.cli.main "$@"; }}\n{shell}'
    done = subprocess.run(["bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    assert "one.txt" in done.stdout and "two.txt" in done.stdout


def test_the_cards_code_gives_the_kits_reward(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = next(b for b in re.findall(r"```python\n(.*?)```", card_of(trained), re.S) if "def reward" in b)
    shutil.copytree(trained, tmp_path / "path" / "to" / "model")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    exec(code, scope)
    ours = load_reward_model(trained)
    ids = torch.tensor(render(ours.tokenizer, "the sea", "the keeper climbed"))
    expected = one_by_one(ours.model, [ids])[0].logits.item()
    assert scope["reward"]("the sea", "the keeper climbed") == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", ["bert", "deberta", "no template"])
def test_the_cards_code_fits_a_model_without_a_chat_template(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "base"
    if kind == "no template":
        tiny_model_folder(base, template=None)
    else:
        tiny_encoder_folder(base, kind)
    run_here(
        "--model_name_or_path", str(base), "--dataset_name", str(write_pairs(tmp_path / "pairs.jsonl", 2)),
        "--output_dir", str(tmp_path / "path/to/model"), "--max_steps", "1", "--save_strategy", "no",
        "--disable_tqdm", "true",
    )  # fmt: skip
    folder = tmp_path / "path/to/model"
    code = next(b for b in re.findall(r"```python\n(.*?)```", card_of(folder), re.S) if "def reward" in b)
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    exec(code, scope)
    expected = load_scorer(folder).rank("the sea", ["the keeper climbed"])
    assert [scope["reward"]("the sea", "the keeper climbed")] == pytest.approx(expected, abs=1e-5)


def results_file(trained: Path, tmp_path: Path, weights: str) -> Path:
    rows = [
        {"prompt": f"p{i}", "chosen": "a good story", "rejected": ["bad", "worse", "worst"], "dimension": "fluency",
         "source": "llm_llm", "chosen_writer": "w", "rejected_writers": ["x", "y", "z"]}
        for i in range(8)
    ]  # fmt: skip
    write_jsonl(tmp_path / "bench.jsonl", rows)
    data = load_evaluation_set(tmp_path / "bench.jsonl")
    rewards = {item.id: [1.0 if n < 6 else 0.0, 0.5, 0.2, 0.1] for n, item in enumerate(data.instances)}
    own = ScoredSet("mine", "model", rewards, settings={"weights": weights}, digest="d")
    path = tmp_path / "results.json"
    write_json(path, evaluate_scorers(data, [own, *null_scored_sets(data.instances)]).to_json())
    return path


def test_results_come_with_intervals_and_null_scorers(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "m")
    write_model_card(folder, results_file(trained, tmp_path, folder_digest(folder)))
    row = next(line for line in card_of(folder).splitlines() if line.startswith("| mine"))
    assert "75.0" in row and re.search(r"75\.0 \[\d+\.\d–\d+\.\d\]", row)  # 6 of 8, with its interval
    assert "| longest" in card_of(folder) and "Not measured yet" not in card_of(folder)


def test_results_come_into_the_card_at_a_release(trained: Path, tmp_path: Path) -> None:
    """The card that training wrote says that nothing was measured; what is released says what was, and its own name."""
    folder = shutil.copytree(trained, tmp_path / "model")
    results = results_file(trained, tmp_path, folder_digest(folder))
    options = ReleaseOptions(results=results, benchmark=("org/storyrmb", "a" * 40))
    text = prepare_model(folder, "org/storyreward", options).text("README.md")
    assert "Not measured yet" not in text and re.search(r"75\.0 \[\d+\.\d–\d+\.\d\]", text)
    assert re.search(r"\n\n## Training data", text)
    assert "path/to/model" not in text and 'from_pretrained("org/storyreward"' in text
    wrong = ReleaseOptions(results=results_file(trained, tmp_path, "0" * 64), benchmark=("org/storyrmb", "a" * 40))
    with pytest.raises(DataError, match="none of its scorers is the model"):
        prepare_model(folder, "org/storyreward", wrong)


def test_a_figure_of_the_card_changed_by_hand(trained: Path, tmp_path: Path) -> None:
    """2 steps stand in the record as well, so the number alone is no sign."""
    folder = shutil.copytree(trained, tmp_path / "model")
    text = card_of(folder)
    (folder / "README.md").write_text(text.replace("| rewriting | 8 | 0 | 0 |", "| rewriting | 2 | 0 | 0 |"))
    with pytest.raises(DataError, match=r"from training\.json, which says '\| rewriting \| 8 \| 0 \| 0 \|'"):
        prepare_model(folder, "org/storyreward", ReleaseOptions())


def test_results_of_another_model_are_refused(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none of its scorers is the model"):
        write_model_card(trained, results_file(trained, tmp_path, "0" * 64))
    with pytest.raises(DataError, match=r"training\.json: is missing; train it with train\.py"):
        write_model_card(tmp_path)
    (tmp_path / "other.json").write_text('{"scorers": [{"name": "x"}]}')
    with pytest.raises(DataError, match="no results file"):
        write_model_card(trained, tmp_path / "other.json")
