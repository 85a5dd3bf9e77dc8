"""Make a trained reward model ready for release: weights without pickles, and its results where the Hub shows them."""

from __future__ import annotations

from pathlib import Path

from storyalign.errors import DataError, RecipeError
from storyalign.hub.cards.card_figures import missing_figures
from storyalign.hub.cards.model_card import PLACE, RECORD_FILE, render_model_card, with_results_table
from storyalign.hub.cards.posted_results import with_results
from storyalign.hub.payload import Payload, collect
from storyalign.hub.release.release_options import ReleaseOptions


def prepare_model(folder: Path, repo: str, options: ReleaseOptions) -> Payload:
    """Collect a model's folder, and post its results to the benchmark they belong to.

    Raises:
        DataError: there are no safetensors weights or no configuration, figures of the card were changed, or the
            results are not the model's.
    """
    payload = collect(folder, "model")
    if not any(path.endswith(".safetensors") for path in payload.files):
        raise DataError(f"{folder}: no .safetensors weights; save the model with save_pretrained")
    if not {"config.json", "adapter_config.json"} & set(payload.files):
        raise DataError(f"{folder}: no config.json; save the model with save_pretrained")
    if RECORD_FILE in payload.files and (
        missing := missing_figures(payload.text("README.md"), render_model_card(folder))
    ):
        raise DataError(
            f"{folder / 'README.md'}: figures differ from {RECORD_FILE}, which says {missing[0]!r}; put that line back"
        )
    payload = payload.with_files({"README.md": payload.text("README.md").replace(PLACE, repo).encode()})
    if options.results is None:
        return payload
    if options.benchmark is None:
        raise RecipeError("--results needs --benchmark ORG/NAME@COMMIT: the dataset that they were measured on")
    return post_results(payload, options.results, options.benchmark)


def post_results(payload: Payload, results: Path, benchmark: tuple[str, str], rows: Payload | None = None) -> Payload:
    """Post a model's results, and show them in its card; see ``with_results`` for arguments and errors."""
    posted = with_results(payload, results, benchmark, rows)
    card = with_results_table(posted.text("README.md"), payload.folder, results)
    return posted.with_files({"README.md": card.encode()})
