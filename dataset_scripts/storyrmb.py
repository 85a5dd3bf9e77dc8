"""StoryRMB as a dataset builder: the source of truth for its features, configs and splits.

The file stands alone: it needs ``datasets`` and the standard library, so that versions of datasets that still run
scripts can run it, and newer ones can use the class::

    # datasets 2.14 to 3.6 (from 2.16: trust_remote_code=True); a relative path would start at the script's folder
    load_dataset("dataset_scripts/storyrmb.py", "human_llm", data_files="/data/storyrmb.jsonl")

    # any version; the digest keeps the cache from answering with the rows of an older file
    builder = StoryRMB(config_name="human_llm", data_files="storyrmb.jsonl", hash="<digest of the file>")
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test")

It reads whole rows only and says what is missing. ``storyalign build storyrmb`` checks much more, fills in ids, and
writes a folder that every version loads as it is.
"""

import json

import datasets

DIMENSIONS = ["coherence", "creativity", "characterization", "fluency", "relevance"]
SOURCES = ["human_llm", "llm_llm"]
N_REJECTED = 3

FEATURES = datasets.Features(
    {
        "id": datasets.Value("string"),
        "prompt": datasets.Value("string"),
        "chosen": datasets.Value("string"),
        "rejected": datasets.Sequence(datasets.Value("string")),
        "dimension": datasets.ClassLabel(names=DIMENSIONS),
        "dimension_stage": datasets.Value("int8"),
        "source": datasets.ClassLabel(names=SOURCES),
        "chosen_writer": datasets.Value("string"),
        "rejected_writers": datasets.Sequence(datasets.Value("string")),
        "language": datasets.Value("string"),
        "corpus": datasets.Value("string"),
        "license": datasets.Value("string"),
        "tau_avg": datasets.Value("float64"),
        "route": datasets.Value("string"),
    }
)
NULLABLE = ("dimension", "dimension_stage", "tau_avg", "route")


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
        ValueError: a column that may not be null is missing, or the number of rejected stories or writers is wrong.
    """
    missing = [column for column in FEATURES if row.get(column) is None and column not in NULLABLE]
    if missing:
        raise ValueError(f"{where}: no {', '.join(missing)}; `storyalign build storyrmb` checks and completes rows")
    for column in ("rejected", "rejected_writers"):
        if not isinstance(row[column], (list, tuple)) or len(row[column]) != N_REJECTED:
            raise ValueError(f"{where}: {column} must be a list of {N_REJECTED}")
    return {column: row.get(column) for column in FEATURES}


class StoryRMB(datasets.GeneratorBasedBuilder):
    """Groups of four stories for one premise: the chosen one, and three rejected ones from best to worst."""

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS = [  # noqa: RUF012  as datasets documents it
        datasets.BuilderConfig(name="default", version=VERSION, description="All instances."),
        datasets.BuilderConfig(name="human_llm", version=VERSION, description="The chosen story is a person's."),
        datasets.BuilderConfig(name="llm_llm", version=VERSION, description="All four stories are by LLMs."),
    ]
    DEFAULT_CONFIG_NAME = "default"

    def _info(self):
        return datasets.DatasetInfo(description=self.__doc__, features=FEATURES)

    def _split_generators(self, dl_manager):
        if not self.config.data_files:
            raise ValueError("name the JSONL file: data_files='storyrmb.jsonl'")
        files = [file for named in self.config.data_files.values() for file in dl_manager.download(list(named))]
        return [datasets.SplitGenerator(name=datasets.Split.TEST, gen_kwargs={"files": files})]

    def _generate_examples(self, files):
        for file in files:
            for where, raw in read(file):
                row = example(raw, where)
                if self.config.name in ("default", row["source"]):
                    yield row["id"], row
