from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml

from storyalign.errors import RecipeError
from storyalign.training.arguments import cpu_has_bf16, parse_recipe
from tests.support.training_runs import RECIPES, ROOT

MINIMAL = ["--model_name_or_path", "m", "--dataset_name", "pairs.jsonl", "--output_dir", "out"]


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_every_recipe_parses(path: Path) -> None:
    recipe = parse_recipe(["--config", str(path)])
    assert recipe.data.train_sources and recipe.training.output_dir.startswith("runs/")


@pytest.mark.parametrize(
    ("name", "model", "rate"),
    [
        ("storyreward_llama", "meta-llama/Llama-3.1-8B-Instruct", 9e-6),
        ("storyreward_qwen", "Qwen/Qwen3-8B", 2e-5),
        ("ablation_no_rewriting", "Qwen/Qwen3-8B", 2e-5),
    ],
)
def test_recipes_hold_the_settings_of_the_paper(name: str, model: str, rate: float) -> None:
    path = ROOT / "recipes" / f"{name}.yaml"
    recipe = parse_recipe(["--config", str(path)])
    training = recipe.training
    assert recipe.model.model_name_or_path == model
    assert training.learning_rate == pytest.approx(rate, rel=1e-12)
    assert training.num_train_epochs == 1
    assert (training.per_device_train_batch_size, training.gradient_accumulation_steps) == (1, 1)
    assert training.max_length == 16384
    assert yaml.safe_load(path.read_text())["bf16"] is True
    assert training.bf16 == (torch.accelerator.is_available() or cpu_has_bf16())


def test_ablations_leave_one_construction_out_and_fill_up() -> None:
    removed = {"back_generation": 6000, "rewriting": 30000, "guided_continuation": 10000}  # counts of section 3.1
    for name, count in removed.items():
        recipe = parse_recipe(["--config", str(ROOT / "recipes" / f"ablation_no_{name}.yaml")])
        sources = recipe.data.train_sources
        assert {s.name for s in sources if s.path == "story_preferences"} == {*removed, "llm_pairs"} - {name}
        assert [s.pairs for s in sources if s.path != "story_preferences"] == [count]


def test_command_line_overrides_the_recipe(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("learning_rate: 1e-3\nmodel_name_or_path: m\ndataset_name: d\noutput_dir: o\n")
    recipe = parse_recipe(["--config", str(path), "--learning_rate", "3e-4", "--max_length", "64"])
    assert (recipe.training.learning_rate, recipe.training.max_length) == (3e-4, 64)
    assert recipe.model.model_name_or_path == "m"


def test_unknown_key_in_the_file_comes_before_every_other_fault(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("learning_rat: 1e-3\n")  # output_dir is missing too
    with pytest.raises(RecipeError, match=r"r\.yaml: unknown option: learning_rat \(did you mean learning_rate\?\)"):
        parse_recipe(["--config", str(path)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max_lenght", "5"], r"max_lenght \(did you mean max_length\?\)"),
        (["--max_len", "5"], "max_len"),  # no abbreviations: a new option must not change an old command
        (["--max_length", "abc"], "invalid int value: 'abc'"),
        (["--over_length", "cut"], "over_length"),
        (["--max_lost_share", "5"], "max_lost_share is 5.0; expected 0.0 to 1.0"),
        (["--label_smoothing_factor", "0.7"], "label_smoothing_factor is 0.7"),
        (["--freeze_layers", "-1"], "freeze_layers may not be negative"),
        (["--keep_layers", "2", "--use_peft", "true", "--merge_adapter", "false"], "adapter that is not merged"),
        (["--push_to_hub", "true"], "release"),
        (["--load_in_4bit", "true"], "LoRA"),
        (["--validation_share", "0.2", "--dataset_validation_split", "v"], "leave one of the two out"),
        (["--config", "nowhere.yaml"], r"nowhere\.yaml: cannot be read"),
    ],
)
def test_faults_are_named(options: list[str], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse_recipe([*MINIMAL, *options])


@pytest.mark.parametrize("missing", ["--model_name_or_path", "--dataset_name", "--output_dir"])
def test_what_must_be_named_is_asked_for(missing: str) -> None:
    place = MINIMAL.index(missing)
    with pytest.raises(RecipeError, match=missing.strip("-")):
        parse_recipe(MINIMAL[:place] + MINIMAL[place + 2 :])


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{path: a, splits: train}", "splits"),
        ("a", "no mapping"),
        ("{path: a, weight: 0}", "weight of a is 0"),
        ("{path: a, pairs: 0}", "pairs of a is 0"),
    ],
)
def test_broken_dataset_entries_are_refused(tmp_path: Path, entry: str, message: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(f"datasets: [{entry}]\nmodel_name_or_path: m\noutput_dir: o\n")
    with pytest.raises(RecipeError, match=message):
        parse_recipe(["--config", str(path)])


@pytest.mark.skipif(torch.accelerator.is_available(), reason="this machine has an accelerator")
def test_without_an_accelerator_training_runs_on_the_cpu_in_full_precision() -> None:
    training = parse_recipe(MINIMAL).training
    assert training.use_cpu and not training.bf16  # TRL's own defaults fail here
    assert parse_recipe([*MINIMAL, "--bf16", "true"]).training.bf16 == cpu_has_bf16()


def test_checkpointing_is_off_unless_asked_for(recwarn: pytest.WarningsRecorder) -> None:
    assert not parse_recipe(MINIMAL).training.activation_checkpointing
    assert parse_recipe([*MINIMAL, "--gradient_checkpointing", "true"]).training.activation_checkpointing
    assert not [w for w in recwarn if "checkpointing" in str(w.message)]
