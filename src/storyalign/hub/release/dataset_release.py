"""Make a dataset folder ready for release: its name, its licences, its people, and what is added for other tools."""

from __future__ import annotations

import re
from pathlib import Path

from storyalign.errors import DataError, RecipeError
from storyalign.hub.build.row_checks import KIT_AUTHOR
from storyalign.hub.cards.card_figures import require_own_figures
from storyalign.hub.cards.card_lint import require_front_matter
from storyalign.hub.cards.card_sections import with_leakage, with_take_down, with_tokens
from storyalign.hub.parquet_texts import search_texts
from storyalign.hub.payload import Payload, collect, front_matter
from storyalign.hub.release.licences import NO_DERIVATIVES, count_licences
from storyalign.hub.release.multiple_choice import add_benchmark_task
from storyalign.hub.release.people import without_names
from storyalign.hub.release.release_options import ReleaseOptions
from storyalign.hub.release.withholding import withhold
from storyalign.hub.released_rows import SAMPLE_NAMES, Dataset, dataset_of, is_sample

_OWN_CALL = re.compile(r'^rows = load_dataset\("([^"]+)"\)  # the folder of that name', re.MULTILINE)
"""The line of a card that a build wrote, with the name the dataset has there."""

_BELONGS = re.compile(
    r".*\.(?:parquet|md|png|jpe?g|gif|webp|svg)|(?:.*/)?(?:LICEN[CS]E|NOTICE|CITATION)[^/]*|eval\.yaml"
    r"|withheld/original\.json|(?:dataset_infos|leakage|tokens|people_agreement)\.json"
)
"""Files that a dataset may hold beside its rows."""


def prepare_dataset(folder: Path, repo: str, work: Path, options: ReleaseOptions) -> Payload:
    """Collect a dataset folder and bring it into the form that leaves the machine.

    Args:
        folder: a built dataset, or any folder of Parquet files with a card and a ``license`` column.
        repo: ``ORG/NAME``.
        work: an empty folder for what is written on the way.
        options: the releaser's decisions.

    Raises:
        DataError: gaps in the card's front matter, the sample under another name, rows without a licence, closed
            licences without ``withhold``, a card whose figures are not those of the rows, files that are neither rows
            nor card.
    """
    payload = collect(folder, "dataset")
    _refuse_other_files(payload)
    require_front_matter(payload)
    dataset = dataset_of(payload)
    sample = dataset is not None and is_sample(payload)
    _require_name(payload, repo, dataset, sample)
    if dataset is not None:
        require_own_figures(payload, dataset, sample, work)
        payload = without_names(payload, dataset, work, sample, options)
    payload = _licensed(payload, dataset, work, sample, options)
    if dataset == "storyrmb":
        payload = add_benchmark_task(payload, work, sample)
    if dataset is not None:
        payload = _named(_with_sections(payload, dataset, options), repo)
    return payload


def _named(payload: Payload, repo: str) -> Payload:
    """Write the repository's id into the card's code, in the place of this dataset's name and of no other's."""
    card = payload.text("README.md")
    for own in {*SAMPLE_NAMES, *_OWN_CALL.findall(card)}:
        card = card.replace(f'load_dataset("{own}"', f'load_dataset("{repo}"')
    return payload.with_files({"README.md": card.replace("ORG/NAME", repo).encode()})


def _require_name(payload: Payload, repo: str, dataset: Dataset | None, sample: bool) -> None:
    """Keep the sample to its own names, and the kit's names to what they stand for."""
    folder = payload.folder
    name = repo.rpartition("/")[2].lower()
    if dataset is not None and sample and name != SAMPLE_NAMES[dataset]:
        raise DataError(
            f"{folder}: this is the synthetic sample; it is released as {SAMPLE_NAMES[dataset]} and under no other name"
        )
    owner = next((known for known, of_sample in SAMPLE_NAMES.items() if name in (known, of_sample)), None)
    if owner is not None and (owner != dataset or sample != (name == SAMPLE_NAMES[owner])):
        what = f"the synthetic sample of {owner}" if name == SAMPLE_NAMES[owner] else owner
        raise DataError(f"{folder}: {name} is a name for {what}, and this is something else; choose another --repo")
    if dataset is None and "sample" not in name and _holds_sample(payload):
        raise DataError(
            f"{folder}: stories of the kit's synthetic sample; put `sample` into the repository's name, so that nobody "
            "takes them for the benchmark"
        )


def _holds_sample(payload: Payload) -> bool:
    parquet = [s for path, s in payload.files.items() if path.endswith(".parquet") and isinstance(s, Path)]
    return any(found for source in parquet for found in search_texts(source, f"^{KIT_AUTHOR}$"))


def _refuse_other_files(payload: Payload) -> None:
    """Rows are checked for licences, people and keys in Parquet alone, so there may be no rows in other files."""
    if other := [path for path in payload.files if not _BELONGS.fullmatch(path)]:
        raise DataError(
            f"{payload.folder}: {', '.join(other[:5])}: no Parquet, card, licence or picture, so nobody can check its "
            "texts; take it out of the folder"
        )


def _with_sections(payload: Payload, dataset: Dataset, options: ReleaseOptions) -> Payload:
    if options.tokenizer is not None:
        payload = with_tokens(payload, options.tokenizer)
    if options.against:
        if dataset != "story_preferences":
            raise RecipeError("--against compares pairs with evaluation sets, and this is none of pairs; leave it out")
        payload, leaking = with_leakage(payload, options.against)
        if leaking:
            names = ", ".join(one.name for one in options.against)
            options.say(f"{payload.folder}: {leaking:,} pairs have texts in common with {names}; the card says so")
    return with_take_down(payload, options.contact)


def _licensed(payload: Payload, dataset: Dataset | None, work: Path, sample: bool, options: ReleaseOptions) -> Payload:
    licences = count_licences(payload)
    if unknown := licences.unknown():
        raise DataError(
            f"{payload.folder}: {unknown} rows name no licence; every row needs one in `license` before it is passed on"
        )
    closed = licences.closed(options.may_pass_on)
    if not closed:
        return payload
    listed = ", ".join(f"{name} ({rows} rows)" for name, rows in closed.items())
    if dataset is None or not options.withhold:
        if derived := [name for name in closed if name in NO_DERIVATIVES]:
            raise DataError(
                f"{payload.folder}: {derived[0]} ({closed[derived[0]]} rows) allows no derivatives, such as texts that "
                "were cut, edited or rewritten; run again with --withhold to publish ids and digests instead, or with "
                f"--may-pass-on {derived[0]} if the texts are whole and unchanged"
            )
        raise DataError(
            f"{payload.folder}: not known to allow passing texts on: {listed}; run again with --withhold to publish "
            "ids and digests instead, or with --may-pass-on LICENCE if you know that it does"
        )
    options.say(f"{payload.folder}: texts withheld, ids and digests published: {listed}")
    digest = str(next(c["description"] for c in front_matter(payload)["configs"] if c["config_name"] == "default"))
    return withhold(payload, dataset, closed, digest, work, sample)
