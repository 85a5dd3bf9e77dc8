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
    parsed.data.configs = [*parsed.data.configs, {"config_name": new.name, "data_files": files}]
    splits = SplitDict()
    for split, (_, rows) in new.splits.items():
        splits.add(SplitInfo(split, num_bytes=0, num_examples=rows))
    DatasetInfosDict({new.name: DatasetInfo(features=new.features, splits=splits)}).to_dataset_card_data(parsed.data)
    text, mark, end = str(parsed).partition("\n## Citation\n")
    return f"{text.rstrip()}\n\n{new.section.strip()}\n{mark}{end}"
