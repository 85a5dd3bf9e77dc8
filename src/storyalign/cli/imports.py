"""``storyalign import``: stories, preference pairs and benchmarks of others as rows of the kit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from storyalign.cli.data_options import AssumeHumanBest, LowerIsBetter, ScoreKey
from storyalign.cli.import_steps import (
    Corpus,
    Files,
    KeepDuplicates,
    Language,
    License,
    MappingFile,
    MaxWords,
    MinWords,
    NearDuplicates,
    OnlyLanguage,
    OnlyLicense,
    Out,
    Whole,
    author_key,
    each_file,
    make_filters,
    mapping_of,
    with_bar,
    write_rows,
)
from storyalign.cli.open_import import import_open
from storyalign.cli.outputs import keep_inputs
from storyalign.cli.own_rewards import HELP as IMPORT_REWARDS
from storyalign.cli.own_rewards import import_rewards
from storyalign.corpus.tally import Tally
from storyalign.errors import DataError, RecipeError

if TYPE_CHECKING:
    from storyalign.files import Line
    from storyalign.records import Instance, PreferencePair

_GROUP = """
Bring stories, preference pairs and benchmarks of others in.

Examples:

  storyalign import stories writingprompts train.wp_source train.wp_target --out stories.jsonl

  storyalign import pairs litbench-train train-00000-of-00001.parquet --out pairs.jsonl

  storyalign import open --out open --skip litbench --trust-new-files
"""

imports = typer.Typer(no_args_is_help=True, help=_GROUP, rich_markup_mode=None)


class Stories(StrEnum):
    """Formats of files of stories."""

    writingprompts = "writingprompts"
    posts = "writingprompts-posts"
    columns = "columns"


class Pairs(StrEnum):
    """Formats of preference sets."""

    litbench_train = "litbench-train"
    litbench_test = "litbench-test"
    rewardbench2 = "rewardbench2"
    ultrafeedback = "ultrafeedback"
    writing_preference_bench = "writing-preference-bench"
    trl = "trl"
    judged_groups = "judged-groups"
    columns = "columns"


class Benchmarks(StrEnum):
    """Formats of benchmarks."""

    rewardbench2 = "rewardbench2"
    judged_groups = "judged-groups"
    columns = "columns"


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    imports.command("open")(import_open)
    imports.command("rewards", help=IMPORT_REWARDS, no_args_is_help=True)(import_rewards)
    app.add_typer(imports, name="import")


@imports.command("stories")
def stories(
    form: Annotated[Stories, typer.Argument(metavar="FORMAT", help="writingprompts, writingprompts-posts or columns.")],
    files: Files,
    out: Out,
    mapping: MappingFile = None,
    corpus: Corpus = None,
    license: License = "unknown",
    language: Language = None,
    engagement_kind: Annotated[str | None, typer.Option(help="What the engagement counts: reads, upvotes.")] = None,
    min_engagement: Annotated[float | None, typer.Option(help="Leave out stories with less, or unknown.")] = None,
    min_words: MinWords = 1,
    max_words: MaxWords = None,
    only_language: OnlyLanguage = None,
    only_license: OnlyLicense = None,
    whole: Whole = False,
    near_duplicates: NearDuplicates = 0.5,
    keep_duplicates: KeepDuplicates = False,
) -> None:
    """Read stories by people.

    Examples: storyalign import stories writingprompts train.wp_source train.wp_target --out stories.jsonl

    storyalign import stories columns export.csv --mapping export.yaml --out stories.jsonl

    Names of authors become keys that cannot be turned back (STORYALIGN_SALT_FILE holds the salt). A broken row stops
    the import, is named with file and line, and nothing is written.
    """
    from storyalign.corpus.column_mapping import read_mapped
    from storyalign.corpus.imported_rows import Origin, clean_stories
    from storyalign.corpus.writing_prompts import read_posts, read_source_target

    keep_inputs([*files, mapping], out)
    origin = Origin(corpus or files[0].stem, license, language, engagement_kind)
    filters = make_filters(
        min_words, max_words, only_language, only_license, whole, near_duplicates, keep_duplicates, min_engagement
    )
    tally = Tally()

    def lines() -> Iterator[Line]:
        if form is Stories.writingprompts:
            if len(files) != 2:
                raise RecipeError(f"writingprompts takes two files, the source and the target; {len(files)} were named")
            yield from read_source_target(files[0], files[1])
        elif form is Stories.posts:
            yield from each_file(files, read_posts)
        else:
            columns = mapping_of(mapping, "stories")
            yield from each_file(files, lambda path: read_mapped(path, columns))

    rows = clean_stories(with_bar(lines()), origin, tally, author_key)
    write_rows(rows, filters, tally, out, "stories", files)


@imports.command("pairs")
def pairs(
    form: Annotated[Pairs, typer.Argument(metavar="FORMAT", help=", ".join(Pairs) + ".")],
    files: Files,
    out: Out,
    mapping: MappingFile = None,
    comments: Annotated[
        Path | None, typer.Option(help="litbench-test: file of comments with id, body and link_title.")
    ] = None,
    score_key: ScoreKey = None,
    lower_is_better: LowerIsBetter = False,
    assume_human_best: AssumeHumanBest = False,
    corpus: Corpus = None,
    license: License = "unknown",
    language: Language = None,
    min_words: MinWords = 1,
    max_words: MaxWords = None,
    only_language: OnlyLanguage = None,
    only_license: OnlyLicense = None,
    whole: Whole = False,
    near_duplicates: NearDuplicates = None,
    keep_duplicates: KeepDuplicates = False,
    keep_contradicted: Annotated[
        bool, typer.Option("--keep-contradicted", help="Keep pairs whose rejected story has the higher score.")
    ] = False,
) -> None:
    """Read preference pairs; their construction is "imported".

    Example: storyalign import pairs litbench-train train-00000-of-00001.parquet --out pairs.jsonl

    Groups (rewardbench2, judged-groups) give one pair for each rejected story. A broken row stops the import, is named
    with file and line, and nothing is written.
    """
    from storyalign.corpus import preference_sets as sets
    from storyalign.corpus.column_mapping import read_mapped
    from storyalign.corpus.imported_rows import Origin, clean_instances, clean_pairs, pairs_of

    keep_inputs([*files, mapping], out)
    origin = Origin(corpus or files[0].stem, license, language)
    filters = make_filters(min_words, max_words, only_language, only_license, whole, near_duplicates, keep_duplicates)
    tally = Tally()
    readers: dict[Pairs, Callable[[Path], Iterator[Line]]] = {
        Pairs.litbench_train: sets.read_litbench_train,
        Pairs.ultrafeedback: sets.read_ultrafeedback,
        Pairs.writing_preference_bench: sets.read_writing_preference_bench,
        Pairs.trl: sets.read_trl,
    }
    if form is Pairs.litbench_test:
        if comments is None:
            raise RecipeError("litbench-test holds ids alone; name a file with the comments: --comments FILE")
        find = sets.comments_in(comments, sets.litbench_test_ids(files))
        readers[form] = lambda path: sets.read_litbench_test(path, find)
    elif form is Pairs.columns:
        columns = mapping_of(mapping, "pairs")
        readers[form] = lambda path: read_mapped(path, columns)
    if form in readers:
        lines = with_bar(each_file(files, readers[form]))
        rows = clean_pairs(lines, origin, tally, keep_contradicted=keep_contradicted)
    else:
        groups = _groups(form, files, score_key, lower_is_better, assume_human_best, tally)
        rows = (
            pair
            for group in clean_instances(with_bar(groups), origin, tally)
            for pair in _counted(pairs_of(group), tally)
        )
    write_rows(rows, filters, tally, out, "pairs", files)


@imports.command("benchmark")
def benchmark(
    form: Annotated[Benchmarks, typer.Argument(metavar="FORMAT", help=", ".join(Benchmarks) + ".")],
    files: Files,
    out: Out,
    mapping: MappingFile = None,
    expect_paper_counts: Annotated[
        bool, typer.Option("--expect-paper-counts", help="Refuse all but the paper's 1,133 instances of StoryRMB.")
    ] = False,
    score_key: ScoreKey = None,
    lower_is_better: LowerIsBetter = False,
    assume_human_best: AssumeHumanBest = False,
    corpus: Corpus = None,
    license: License = "unknown",
    language: Language = None,
    keep_duplicates: KeepDuplicates = False,
) -> None:
    """Read groups of one chosen and some rejected stories.

    Examples: storyalign import benchmark columns release.parquet --mapping release.yaml --out instances.jsonl

    storyalign import benchmark judged-groups groups.jsonl --score-key quality --out groups-of-4.jsonl

    The rows can be scored as they are, or built into a folder with storyalign build storyrmb.
    """
    from storyalign.corpus.column_mapping import read_mapped
    from storyalign.corpus.imported_rows import Origin, clean_instances

    keep_inputs([*files, mapping], out)
    origin = Origin(corpus or files[0].stem, license, language)
    filters, tally = make_filters(1, None, None, None, False, None, keep_duplicates), Tally()
    if form is Benchmarks.columns:
        columns = mapping_of(mapping, "benchmark")
        lines = each_file(files, lambda path: read_mapped(path, columns))
    else:
        lines = _groups(form, files, score_key, lower_is_better, assume_human_best, tally)
    rows = clean_instances(with_bar(lines), origin, tally)
    write_rows(_official(rows, files) if expect_paper_counts else rows, filters, tally, out, "instances", files)


def _official(rows: Iterable[Instance], files: list[Path]) -> Iterator[Instance]:
    """Yield the rows, and fail after the last one unless they are StoryRMB in the paper's numbers."""
    from storyalign.hub.build.row_checks import check_official_size
    from storyalign.records import BadRow

    table: Counter[tuple[str, str]] = Counter()
    for row in rows:
        try:
            row.require_storyrmb()
        except BadRow as error:
            raise DataError(f"{files[0]}: {row.id}: {error}") from error
        table[row.dimension or "", row.source or ""] += 1
        yield row
    check_official_size(table, ", ".join(map(str, files)))


def _groups(
    form: Pairs | Benchmarks, files: list[Path], score_key: str | None, lower: bool, human: bool, tally: Tally
) -> Iterator[Line]:
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.corpus.judged_groups import CANDIDATE_REASONS
    from storyalign.corpus.preference_sets import read_rewardbench2
    from storyalign.files import Line

    if form.value == "rewardbench2":
        yield from each_file(files, read_rewardbench2)
        return
    for path in files:
        found = load_evaluation_set(path, score_key=score_key, lower_is_better=lower, assume_human_best=human)
        for reason, n in found.dropped.items():
            if reason in CANDIDATE_REASONS:
                tally.left_out[reason] += n
            else:
                tally.read += n
                tally.dropped[reason] += n
        for number, instance in enumerate(found.instances, start=1):
            yield Line(path, number, instance.to_row())


def _counted(pairs: Iterable[PreferencePair], tally: Tally) -> Iterator[PreferencePair]:
    """Count the pairs of a group in the place of the group."""
    for number, pair in enumerate(pairs):
        if number:
            tally.read += 1
            tally.keep()
        yield pair
