"""The card of a trained reward model, made of what its folder remembers and, once it was measured, of its results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from storyalign.accuracy import wilson_interval
from storyalign.errors import DataError, RecipeError
from storyalign.evaluation.results import Results, ScorerResult, overview
from storyalign.files import write_text
from storyalign.hub.build.row_checks import KIT_AUTHOR
from storyalign.models.chat import FIXED_DATE
from storyalign.models.fingerprint import folder_digest
from storyalign.tables import interval, markdown, percent

if TYPE_CHECKING:
    from huggingface_hub import ModelCardData

RECORD_FILE = "training.json"
RECIPE_FILE = "recipe.yaml"

PLACE = "path/to/model"
"""Stands in the card's code until the model has a name."""

_NOT_MEASURED = re.compile(r"(?<=\n## Results\n\n)Not measured yet\..*\n")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_LICENSES = {
    "HuggingFaceTB/SmolLM2-135M-Instruct": "apache-2.0",
    "Qwen/Qwen3-8B": "apache-2.0",
    "meta-llama/Llama-3.1-8B-Instruct": "llama3.1",
}
"""Of the base models that the recipes name: the trained model is a derivative."""


def write_model_card(folder: str | Path, results: str | Path | None = None) -> Path:
    """Write ``README.md`` into a trained model's folder.

    Args:
        folder: a folder that ``train.py`` has finished.
        results: a results file of ``storyalign evaluate --json`` in which this very model is a scorer.

    Returns:
        The card's path.

    Raises:
        DataError: the folder holds no finished training, or the results are not this model's.
    """
    folder = Path(folder)
    path = folder / "README.md"
    write_text(path, render_model_card(folder, None if results is None else Path(results)))
    return path


def render_model_card(folder: Path, results: Path | None = None) -> str:
    """Return the text of a card; see ``write_model_card``."""
    from jinja2 import Environment, StrictUndefined

    record = _read(folder / RECORD_FILE, "train it with train.py")
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    environment.filters["cell"] = lambda text: str(text).replace("|", "\\|").replace("\n", " ")
    environment.filters["place"] = _place
    template = resources.files("storyalign").joinpath("model_card", "storyreward.md.jinja").read_text(encoding="utf-8")
    base, data, run = record["base"], record["data"], record["run"]
    sample = all(set(train["chosen_writers"]) == {KIT_AUTHOR} for train in data["train"])
    body = environment.from_string(template).render(
        **record,
        title=_title(folder, sample),
        input=base.get("input", "chat"),
        name=folder.name if folder.name != "model" else PLACE,
        sample=sample,
        date=f', date_string="{FIXED_DATE}"' if _asks_for_date(folder) else "",
        adapter=(folder / "adapter_config.json").is_file(),
        base_link=_link(base["name"]),
        results=None if results is None else _results(folder, results),
        writers=_writers(data["train"]),
        percent=percent,
        interval=interval,
        validation_interval=_validation_interval(record["validation"]),
        recipe=_portable((folder / RECIPE_FILE).read_text(encoding="utf-8")),
        weights_note=None
        if run["packed"]
        else "Trained one conversation at a time: this architecture cannot be packed.",
    )
    return f"---\n{_front_matter(record, sample).to_yaml()}\n---\n\n{body}"


def with_results_table(card: str, folder: Path, results: Path) -> str:
    """Put a model's results into a card that says that it was not measured; any other card stays as it is.

    Raises:
        DataError: the results are not this model's.
    """
    table = _results(folder, results)
    return _NOT_MEASURED.sub(lambda _: f"{table.strip()}\n", card)


def _front_matter(record: Mapping[str, Any], sample: bool) -> ModelCardData:
    from huggingface_hub import ModelCardData

    base, license_ = base_and_license(record["base"])
    pooled = record["run"].get("method") == "pooled"
    places = [_place(train["path"]) for train in record["data"]["train"]]
    tags = ["storyalign", "reward-model", "story-generation", *([] if pooled else ["trl"])]
    return ModelCardData(
        base_model=base,
        datasets=[place for place in places if _HUB_ID.fullmatch(place)] or None,
        license=license_,
        library_name="sentence-transformers" if pooled else "transformers",
        pipeline_tag="text-ranking" if pooled else "text-classification",
        tags=[*tags, *(["synthetic"] if sample else [])],
    )


def base_and_license(base: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the Hub id of the model that a record names as its base, and its licence; None where unknown."""
    made_from = base.get("made_from", base["name"])
    known = made_from if made_from and _HUB_ID.fullmatch(made_from) else None
    return known, base.get("license") or _LICENSES.get(made_from)


def require_origin(base: Mapping[str, Any]) -> None:
    """Check that a card can name what a model was made from and under which licence, as a release wants.

    Raises:
        RecipeError: one of the two is not known.
    """
    if None in base_and_license(base):
        raise RecipeError(
            f"push: the card has to name the base model and its licence, which are not known of {base['name']}; write "
            f"base_model and license into the front matter of its README.md, or train without --push"
        )


def _results(folder: Path, path: Path) -> str:
    value = _read(path, "measure the model with storyalign evaluate --json")
    try:
        scorers = [ScorerResult(**row) for row in value.pop("scorers")]
        results = Results(scorers=scorers, **value)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: no results file of this version of the kit ({error}); measure again") from error
    weights = folder_digest(folder)
    if weights not in {scorer.settings.get("weights") for scorer in scorers}:
        raise DataError(f"{path}: none of its scorers is the model in {folder} as it is now; measure it again")
    return markdown(overview(results))


def _validation_interval(figures: Mapping[str, Any]) -> str | None:
    if not figures.get("n"):
        return None
    return interval(wilson_interval(figures["accuracy"], figures["n"]))


def _writers(sets: list[dict[str, Any]]) -> list[str]:
    counts: dict[str, int] = {}
    for train in sets:
        for writer, count in train["chosen_writers"].items():
            counts[writer] = counts.get(writer, 0) + count
    return [f"{writer} ({count:,})" for writer, count in sorted(counts.items(), key=lambda item: -item[1])]


def _title(folder: Path, sample: bool) -> str:
    name = folder.name if folder.name != "model" else folder.resolve().parent.name
    return f"{name}: a reward model for stories" + (" (trained on a synthetic sample)" if sample else "")


def _asks_for_date(folder: Path) -> bool:
    template = folder / "chat_template.jinja"
    return template.is_file() and "date_string" in template.read_text(encoding="utf-8")


def _link(name: str) -> str:
    return f"[{name}](https://huggingface.co/{name})" if _HUB_ID.fullmatch(name) else f"`{_place(name)}`"


def _place(path: str) -> str:
    """Name a set or model without telling where it lay on somebody's disk."""
    return path if _HUB_ID.fullmatch(path) else Path(path).name


def _portable(recipe: str) -> str:
    """Take folders of the machine out of a recipe."""
    return re.sub(r"(?<![\w./-])(?:~|\.{0,2})/[^\s,}\]'\"]+", lambda match: Path(match[0]).name, recipe)


def _read(path: Path, next_step: str) -> dict[str, Any]:
    try:
        value = orjson.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise DataError(f"{path}: is missing; {next_step}") from error
    except (OSError, orjson.JSONDecodeError) as error:
        raise DataError(f"{path}: cannot be read as JSON; {next_step}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected an object; {next_step}")
    return value
