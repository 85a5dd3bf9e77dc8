"""The card of a dataset folder: front matter that ``datasets`` and the Hub read, and text for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storyalign._version import __version__
from storyalign.hub.build.dataset_configs import ConfigFacts
from storyalign.hub.build.dataset_statistics import PEOPLE_FILE, DatasetStatistics, PeopleFigure
from storyalign.records import DIMENSIONS, PAIR_LABELS, SOURCES
from storyalign.text import UNKNOWN_LANGUAGE

if TYPE_CHECKING:
    from datasets import Features
    from huggingface_hub import DatasetCardData


HUB_LICENSES = frozenset(
    {
        "apache-2.0",
        "bsd-2-clause",
        "bsd-3-clause",
        "cc-by-2.0",
        "cc-by-2.5",
        "cc-by-3.0",
        "cc-by-4.0",
        "cc-by-nc-2.0",
        "cc-by-nc-3.0",
        "cc-by-nc-4.0",
        "cc-by-nc-nd-3.0",
        "cc-by-nc-nd-4.0",
        "cc-by-nc-sa-2.0",
        "cc-by-nc-sa-3.0",
        "cc-by-nc-sa-4.0",
        "cc-by-nd-4.0",
        "cc-by-sa-3.0",
        "cc-by-sa-4.0",
        "cc0-1.0",
        "mit",
        "odbl",
        "odc-by",
        "pddl",
        "unlicense",
    }
)
"""Identifiers that the Hub knows; a licence by another name is ``other`` in the front matter, and named in the text."""

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

TAG = "storyalign"
"""Marks a folder as written by a build, and the repository on the Hub."""


_SHARD = re.compile(r"data/\w+/\w+-\d{5}-of-\d{5}\.parquet")


@dataclass(frozen=True, slots=True)
class CardFacts:
    """All that a card says."""

    dataset: str
    """``storyrmb`` or ``story_preferences``; also the name of the template."""
    sample: bool
    official: bool
    configs: list[ConfigFacts]
    features: Features
    statistics: DatasetStatistics
    people: tuple[PeopleFigure, ...] = ()
    """How often people agreed, where they were asked."""


def render_card(facts: CardFacts) -> str:
    """Write the whole README.md."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("storyalign.hub", "cards"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["cell"] = _cell
    body = environment.get_template(f"{facts.dataset}.md.jinja").render(
        facts=facts, statistics=facts.statistics, version=__version__, dimensions=DIMENSIONS, sources=SOURCES,
        constructions=PAIR_LABELS,
    )  # fmt: skip
    return f"---\n{_front_matter(facts).to_yaml()}\n---\n\n{body}"


def is_built_folder(folder: Path) -> bool:
    """Return whether a folder holds only what a build writes: a card with our tag, Parquet, people's word."""
    from huggingface_hub import DatasetCard
    from yaml import YAMLError

    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if "README.md" not in files or not all(_SHARD.fullmatch(file) for file in files - {"README.md", PEOPLE_FILE}):
        return False
    try:
        return TAG in (DatasetCard.load(folder / "README.md").data.get("tags") or [])
    except (YAMLError, ValueError, OSError):
        return False


def _front_matter(facts: CardFacts) -> DatasetCardData:
    from datasets import DatasetInfo, SplitDict, SplitInfo
    from datasets.info import DatasetInfosDict
    from huggingface_hub import DatasetCardData

    statistics = facts.statistics
    ids = {name.lower() if name.lower() in HUB_LICENSES else "other" for name, _ in statistics.licenses}
    card = DatasetCardData(
        pretty_name=_pretty_name(facts),
        license=sorted(ids) if len(ids) > 1 else next(iter(ids)),
        language=sorted(set(statistics.languages) - {UNKNOWN_LANGUAGE}),
        task_categories=["text-ranking", "text-generation"],
        tags=[TAG, "reward-model", "preference", "story-generation", *(["synthetic"] if facts.sample else [])],
        size_categories=[next((name for limit, name in SIZES if statistics.n_rows < limit), "n>1M")],
        configs=[_config(config) for config in facts.configs],
    )
    infos = DatasetInfosDict()
    for config in facts.configs:
        splits = SplitDict()
        for split in config.splits:
            splits.add(SplitInfo(split.name, num_bytes=split.n_bytes, num_examples=split.n_rows))
        infos[config.name] = DatasetInfo(
            features=facts.features,
            splits=splits,
            download_size=sum(split.download_bytes for split in config.splits),
            dataset_size=sum(split.n_bytes for split in config.splits),
        )
    infos.to_dataset_card_data(card)
    return card


def _config(config: ConfigFacts) -> dict[str, Any]:
    """Name a configuration and its files, in a way that no cache takes it for an older one.

    Caches go by what stands here, not by the files: newer versions of datasets by the description, 2.14 by the version,
    which must be three numbers.
    """
    return {
        "config_name": config.name,
        "version": f"1.0.{int(config.digest.removeprefix('sha256:')[:8], 16)}",
        "description": config.digest,
        "data_files": [{"split": split.name, "path": split.patterns} for split in config.splits],
    }


def _pretty_name(facts: CardFacts) -> str:
    name = {"storyrmb": "StoryRMB", "story_preferences": "Story preferences"}[facts.dataset]
    return f"{name} (synthetic sample)" if facts.sample else name


def _cell(value: object) -> str:
    """Keep a value from a row inside its table cell."""
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")


@dataclass(frozen=True, slots=True)
class NewConfig:
    """One configuration to add.

    Args:
        name: what ``load_dataset(folder, name)`` takes.
        features: its columns.
        splits: split -> (pattern of files relative to the folder, number of rows).
        section: Markdown for the end of the card.
    """

    name: str
    features: Features
    splits: Mapping[str, tuple[str, int]]
    section: str


def add_config(card: str, new: NewConfig) -> str:
    """Return the card with the configuration in its front matter, and the section before the citation."""
    from datasets import DatasetInfo, SplitDict, SplitInfo
    from datasets.info import DatasetInfosDict
    from huggingface_hub import DatasetCard

    parsed: Any = DatasetCard(card)
    files = [{"split": split, "path": pattern} for split, (pattern, _) in new.splits.items()]
    others = [config for config in parsed.data.configs if config["config_name"] != new.name]
    parsed.data.configs = [*others, {"config_name": new.name, "data_files": files}]
    splits = SplitDict()
    for split, (_, rows) in new.splits.items():
        splits.add(SplitInfo(split, num_bytes=0, num_examples=rows))
    DatasetInfosDict({new.name: DatasetInfo(features=new.features, splits=splits)}).to_dataset_card_data(parsed.data)
    return add_section(str(parsed), new.section)


def add_section(card: str, section: str) -> str:
    """Put a section before the citation, in the place of an older one with the same heading."""
    heading = section.strip().partition("\n")[0]
    text, mark, end = card.partition("\n## Citation\n")
    before, found, after = text.partition(f"\n{heading}\n")
    if found:
        _, next_heading, rest = after.partition("\n## ")
        text = before + next_heading + rest
    return f"{text.rstrip()}\n\n{section.strip()}\n{mark}{end}"
