"""Make a trained reward model ready for release: weights without pickles, and its results where the Hub shows them."""

from __future__ import annotations

from pathlib import Path

from storyalign.errors import DataError, RecipeError
from storyalign.hub.payload import Payload, collect
from storyalign.hub.posted_results import with_results
from storyalign.hub.release_options import ReleaseOptions


def prepare_model(folder: Path, options: ReleaseOptions) -> Payload:
    """Collect a model's folder, and post its results to the benchmark they belong to.

    Raises:
        DataError: there are no safetensors weights or no configuration, or the results are not the model's.
    """
    payload = collect(folder, "model")
    if not any(path.endswith(".safetensors") for path in payload.files):
        raise DataError(f"{folder}: no .safetensors weights; save the model with save_pretrained")
    if not {"config.json", "adapter_config.json"} & set(payload.files):
        raise DataError(f"{folder}: no config.json; save the model with save_pretrained")
    if options.results is None:
        return payload
    if options.benchmark is None:
        raise RecipeError("--results needs --benchmark ORG/NAME@COMMIT: the dataset that they were measured on")
    return with_results(payload, options.results, options.benchmark)
