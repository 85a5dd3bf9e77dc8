"""Add a configuration to the card of a dataset folder: its files, columns and row counts, in the front matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Features


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
    """Give the card with the configuration in ``configs`` and ``dataset_info``, and the section before the citation."""
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
