"""Story preference pairs as a dataset builder: the source of truth for their features, configs and splits.

The file stands alone: it needs ``datasets`` and the standard library, so that versions of datasets that still run
scripts can run it, and newer ones can use the class::

    # datasets 2.14 to 3.6 (from 2.16: trust_remote_code=True); a relative path would start at the script's folder
    load_dataset("dataset_scripts/story_preferences.py", "rewriting", data_files="/data/pairs.jsonl")

    # any version; the digest keeps the cache from answering with the rows of an older file
    builder = StoryPreferences(config_name="rewriting", data_files="pairs.jsonl", hash="<digest of the file>")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="train")

A row belongs to the split that its field ``split`` names, and without one to the split that its file was given for:
``data_files={"train": "a.jsonl", "validation": "b.jsonl"}``. Only whole rows are read. ``storyalign build
story_preferences`` checks much more, fills in ids, and writes a folder that every version loads as it is.
"""

import json

import datasets

CONSTRUCTIONS = ["back_generation", "rewriting", "guided_continuation", "llm_pairs", "imported"]
SPLITS = ["train", "validation"]

FEATURES = datasets.Features(
    {
        "id": datasets.Value("string"),
        "prompt": datasets.Value("string"),
        "chosen": datasets.Value("string"),
        "rejected": datasets.Value("string"),
        "construction": datasets.ClassLabel(names=CONSTRUCTIONS),
        "chosen_writer": datasets.Value("string"),
        "rejected_writer": datasets.Value("string"),
        "corpus": datasets.Value("string"),
        "language": datasets.Value("string"),
        "license": datasets.Value("string"),
        "edit": datasets.Value("string"),
        "chosen_engagement": datasets.Value("float64"),
        "rejected_engagement": datasets.Value("float64"),
    }
)
NULLABLE = ("chosen_writer", "rejected_writer", "edit", "chosen_engagement", "rejected_engagement")


def read(file):
    """Yield each JSON object of a file with its place, ``file:line``.

    Raises:
        ValueError: a line holds no JSON object.
    """
    with open(file, encoding="utf-8-sig") as lines:  # noqa: PTH123  datasets replaces open() when it streams
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{file}:{number}: not valid JSON ({error})") from error
            if not isinstance(row, dict):
                raise ValueError(f"{file}:{number}: expected a JSON object, found {type(row).__name__}")
            yield f"{file}:{number}", row


def example(row, where="row"):
    """Take the columns of the dataset out of one JSON row.

    Raises:
        ValueError: a column that may not be null is missing.
    """
    missing = [column for column in FEATURES if row.get(column) is None and column not in NULLABLE]
    if missing:
        raise ValueError(
            f"{where}: no {', '.join(missing)}; `storyalign build story_preferences` checks and completes rows"
        )
    return {column: row.get(column) for column in FEATURES}


class StoryPreferences(datasets.GeneratorBasedBuilder):
    """Pairs of stories for one premise, the first one preferred."""

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS = [  # noqa: RUF012  as datasets documents it
        datasets.BuilderConfig(name="default", version=VERSION, description="All pairs."),
        datasets.BuilderConfig(
            name="back_generation",
            version=VERSION,
            description="Two stories by people, the premise made afterwards; readers preferred the chosen one.",
        ),
        datasets.BuilderConfig(
            name="rewriting", version=VERSION, description="A story, and the same story made worse by an edit."
        ),
        datasets.BuilderConfig(
            name="guided_continuation",
            version=VERSION,
            description="Two continuations by one LLM; a person's continuation guided the chosen one.",
        ),
        datasets.BuilderConfig(
            name="llm_pairs", version=VERSION, description="Two stories by LLMs; an LLM judged which is better."
        ),
        datasets.BuilderConfig(
            name="imported", version=VERSION, description="Pairs of an existing preference set, judged by its readers."
        ),
    ]
    DEFAULT_CONFIG_NAME = "default"

    def _info(self):
        return datasets.DatasetInfo(description=self.__doc__, features=FEATURES)

    def _split_generators(self, dl_manager):
        if not self.config.data_files:
            raise ValueError("name the JSONL file: data_files='pairs.jsonl'")
        files, given_for = [], []
        for split, named in self.config.data_files.items():
            paths = dl_manager.download(list(named))
            files += paths
            given_for += [str(split)] * len(paths)
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"files": files, "given_for": given_for, "split": split})
            for split in SPLITS
        ]

    def _generate_examples(self, files, given_for, split):
        for file, its_split in zip(files, given_for):  # noqa: B905  old versions of Python run this file too
            for where, raw in read(file):
                named = raw.get("split") or its_split
                if named not in SPLITS:
                    raise ValueError(f"{where}: unknown split {named!r}; expected train or validation")
                row = example(raw, where)
                if named == split and self.config.name in ("default", row["construction"]):
                    yield row["id"], row
