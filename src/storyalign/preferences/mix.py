"""The mix: pairs of all constructions together, without repetitions and leaks, in two splits that share nothing.

Two passes over the files. The first keeps of each pair its place and a few numbers, and decides; the second writes.
Texts are never held; near-duplicate search takes about four kilobytes a different premise or story.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from xxhash import xxh3_64_intdigest

from storyalign.audit.leakage import CheckedText, LeakageIndex, LeakageReport
from storyalign.audit.pair_cues import PairCues
from storyalign.corpus.duplicates import PREMISE_THRESHOLD, Match, TextIndex
from storyalign.corpus.tally import Tally
from storyalign.errors import DataError, RecipeError
from storyalign.files import Line, atomic_path, read_jsonl
from storyalign.preferences.mix_groups import Groups, validation_groups
from storyalign.records import CONSTRUCTIONS, BadRow, PreferencePair
from storyalign.settings import checked
from storyalign.tables import Table
from storyalign.text import digest

REPEATED = "the same premise with the same stories came before"
NEARLY_REPEATED = "both stories are nearly those of an earlier pair"
SAME_ID = "another pair has this id"
LEAKS = "a text stands in an evaluation set"
SAME_AUTHOR = "its author has a story in an evaluation set"
OVER_TARGET = "more pairs than the construction's target"

PAPER_TARGETS: Mapping[str, int | None] = {
    "back_generation": 6_000,
    "rewriting": 30_000,
    "guided_continuation": 10_000,
    "llm_pairs": None,
}
"""Section 3.1; None stands for the rest."""

Track = Callable[[Iterable[Line]], Iterable[Line]]


@checked
@dataclass(frozen=True, slots=True)
class Mix:
    """What goes in."""

    targets: Mapping[str, int | None] = field(default_factory=lambda: dict(PAPER_TARGETS))
    """Pairs of each construction; None takes all there are, up to ``total``."""
    total: int | None = 100_000
    """Pairs of all constructions together; None for no bound."""
    validation_share: float = 0.02
    near_duplicates: float | None = 0.5
    """Estimated similarity from which stories may not stand in two splits, premises neither (these from 0.6 of their
    words); None looks for the same words in the same order alone."""
    repeated: float = 0.9
    """Similarity from which a story repeats another: pairs with two such stories are dropped."""
    size_pairs: bool = True
    """Write the replacement pairs of the ablations (Table 2), made of pairs by size that the mix leaves over."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse unknown constructions and shares that are none."""
        if unknown := sorted(set(self.targets) - set(CONSTRUCTIONS)):
            raise RecipeError(f"mix: unknown construction {unknown[0]!r}; expected some of {', '.join(CONSTRUCTIONS)}")
        if not 0 <= self.validation_share < 1:
            raise RecipeError(f"mix: validation_share is {self.validation_share}; expected 0 or more, below 1")
        fixed = sum(target for target in self.targets.values() if target is not None)
        if self.total is not None and fixed > self.total:
            raise RecipeError(
                f"mix: targets add up to {fixed:,}, more than total ({self.total:,}); lower the targets, or raise total"
            )


class _Kept(NamedTuple):
    """What the first pass keeps of a pair."""

    file: int
    offset: int
    id: str
    construction: str
    by_size: bool


@dataclass(slots=True)
class MixReport:
    """What the mix holds and what it left out."""

    tally: Tally
    leakage: LeakageReport
    cues: PairCues
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Pairs by construction and split."""
    words: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Words of each story by construction (Table 9)."""
    wanted: dict[str, int | None] = field(default_factory=dict)
    """The target of each construction."""
    size_pairs: int = 0
    """Pairs by size that were written for the ablations."""

    def count(self, construction: str, split: str | None = None) -> int:
        """Count the pairs of a construction, in one split or both."""
        return sum(n for (c, s), n in self.counts.items() if c == construction and split in (None, s))

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON-ready object."""
        return {
            "counts": {f"{c}/{s}": n for (c, s), n in sorted(self.counts.items())},
            "targets": self.wanted,
            "rows": self.tally.to_row(),
            "leakage": self.leakage.to_json(),
            "surface_cues": self.cues.to_json(),
            "writers": {name: balance.to_json() for name, balance in sorted(self.cues.writers.items())},
            "size_pairs": self.size_pairs,
        }


def table_of(report: MixReport) -> Table:
    """Return pairs by construction and split with the lengths of their stories, as in Table 9."""
    rows = []
    names = sorted({construction for construction, _ in report.counts})
    for name in names:
        wanted = report.wanted.get(name)
        splits = [f"{report.count(name, split):,}" for split in ("train", "validation")]
        rows.append([name, *splits, "rest" if wanted is None else f"{wanted:,}", *_words(report.words[name])])
    if everything := [n for name in names for n in report.words[name]]:
        totals = [sum(report.count(name, split) for name in names) for split in ("train", "validation")]
        rows.append(["all", *(f"{n:,}" for n in totals), "", *_words(everything)])
    return Table(["construction", "train", "validation", "target", "mean words", "median words"], rows)


def _words(counts: Sequence[int]) -> tuple[str, str]:
    return f"{statistics.fmean(counts):,.0f}", f"{statistics.median(counts):,.0f}"


def mix_pairs(
    paths: Sequence[str | Path],
    out: str | Path,
    settings: Mix,
    evaluation: LeakageIndex | None = None,
    *,
    size_pairs: str | Path | None = None,
    track: Track = iter,
) -> MixReport:
    """Mix pairs and write them to one JSONL file, ready for ``storyalign build story_preferences``.

    Args:
        paths: JSONL files of pairs, with the columns of ``pair_files.MadePair`` where a construction made them.
        out: the file to write, all of it or nothing.
        settings: what goes in.
        evaluation: texts that must not stand in the mix; None compares with nothing.
        size_pairs: a second file, for the ablations' replacement pairs.
        track: wraps the rows of the first pass, for a progress bar.

    Raises:
        RowError: a row is no pair; names file, line and id.
        DataError: there are no pairs.
    """
    report = MixReport(Tally(), LeakageReport(), PairCues(), wanted=dict(settings.targets))
    groups = Groups()
    kept = list(_first_pass(paths, settings, evaluation, groups, report, track))
    if not kept:
        raise DataError(f"{', '.join(map(str, paths)) or 'mix'}: no pairs are left to mix; {_reasons(report.tally)}")
    chosen = _within_targets(kept, settings, report.tally)
    validation = validation_groups(
        [groups.of(n) for n in chosen],
        [kept[n].construction for n in chosen],
        [kept[n].id for n in chosen],
        settings.validation_share,
        settings.seed,
    )
    splits = {n: "validation" if groups.of(n) in validation else "train" for n in chosen}
    _write(Path(out), paths, kept, splits, report)
    if size_pairs is not None and settings.size_pairs:
        removed = max((report.count(c, "train") for c in CONSTRUCTIONS if c != "llm_pairs"), default=0)
        left = [n for n in range(len(kept)) if n not in splits and kept[n].by_size and groups.of(n) not in validation]
        left.sort(key=lambda n: digest("size", str(settings.seed), kept[n].id))
        replacements = dict.fromkeys(left[:removed], "train")
        report.size_pairs = len(replacements)
        _write(Path(size_pairs), paths, kept, replacements, None)
    return report


def _first_pass(
    paths: Sequence[str | Path],
    settings: Mix,
    evaluation: LeakageIndex | None,
    groups: Groups,
    report: MixReport,
    track: Track,
) -> Iterator[_Kept]:
    tally = report.tally
    ids: set[int] = set()
    contents: set[int] = set()
    beginnings = _Beginnings()
    near = settings.near_duplicates
    index, premises = TextIndex(near), TextIndex(None if near is None else PREMISE_THRESHOLD)
    for file, line in track_files(paths, track):
        try:
            pair = PreferencePair.from_row(line.row)
        except BadRow as error:
            raise line.error(str(error)) from error
        tally.read += 1
        where = f"{line.path}:{line.number}"
        texts = [CheckedText.of(pair.prompt, run=1), *map(CheckedText.of, pair.stories)]
        row_id, (premise, *stories) = _key("id", pair.id), (text.whole.exact for text in texts)
        content = _key("content", f"{premise} {sorted(stories)}")
        if content in contents or row_id in ids:
            tally.drop(REPEATED if content in contents else SAME_ID, where)
            continue
        leaks = evaluation.leaks(pair, texts) if evaluation is not None else []
        report.leakage.add(pair, leaks)
        if leaks:
            tally.drop(LEAKS, where)
            continue
        author_keys = line.row.get("author_keys") or ()
        if evaluation is not None and not evaluation.author_keys.isdisjoint(author_keys):
            tally.drop(SAME_AUTHOR, where)
            continue
        matches = [index.find_all(text.whole) for text in texts[1:]]
        # Two rewritings of one story are two pairs, however little each of them changes.
        threshold = 1.0 if pair.construction == "rewriting" else settings.repeated
        if _repeats(matches, groups, threshold):
            tally.drop(NEARLY_REPEATED, where)
            continue
        ids.add(row_id)
        contents.add(content)
        owners = [_key("author", a) for a in author_keys]
        owners += [_key("story", s) for s in line.row.get("story_ids") or ()]
        # One key for a text, whether it serves as premise or as story.
        number = groups.add((*(_key("text", str(exact)) for exact in (premise, *stories)), *owners))
        beginnings.join(groups, number, texts)
        found = [premises.find_all(texts[0].whole), *matches]
        for text, likes, of in zip(texts, found, (premises, index, index), strict=True):
            for match in likes:
                groups.join(number, int(match.key))
            if not any(match.exact for match in likes):
                of.add(str(number), text.whole)
        yield _Kept(file, line.offset, pair.id, pair.construction, pair.edit == "by_size")


class _Beginnings:
    """Pairs by the first words of their texts: a premise that begins like a story joins it, premises alone do not."""

    SIZES = (30, 20, 10)

    def __init__(self) -> None:
        self._story: dict[int, int] = {}
        self._premises: dict[int, list[int]] = {}

    def join(self, groups: Groups, number: int, texts: Sequence[CheckedText]) -> None:
        """Put a pair together with those whose story its premise begins, and the other way round."""
        premise, *stories = (text.words for text in texts)
        for size in self.SIZES:
            if len(premise) >= size:
                key = hash(premise[:size].tobytes())
                if key in self._story:
                    groups.join(number, self._story[key])
                else:
                    self._premises.setdefault(key, []).append(number)
                break
        for story in stories:
            for size in self.SIZES:
                if len(story) >= size:
                    key = hash(story[:size].tobytes())
                    holder = self._story.setdefault(key, number)
                    for other in self._premises.pop(key, ()):
                        groups.join(holder, other)


def track_files(paths: Sequence[str | Path], track: Track) -> Iterator[tuple[int, Line]]:
    """Yield the lines of all files with the number of their file."""
    for file, path in enumerate(paths):
        for line in track(read_jsonl(path)):
            yield file, line


def _repeats(matches: Sequence[Sequence[Match]], groups: Groups, threshold: float) -> bool:
    """Return whether both stories repeat stories of pairs that already stand together."""
    first, second = ({groups.of(int(m.key)) for m in found if m.similarity >= threshold} for found in matches)
    return not first.isdisjoint(second)


def _within_targets(kept: Sequence[_Kept], settings: Mix, tally: Tally) -> list[int]:
    """Draw the pairs of each construction up to its target; what the fixed targets leave of the total is shared out."""
    by_construction: defaultdict[str, list[int]] = defaultdict(list)
    for number, pair in enumerate(kept):
        by_construction[pair.construction].append(number)
    for name, numbers in by_construction.items():
        numbers.sort(key=lambda n: digest("target", str(settings.seed), kept[n].id))
        target = settings.targets.get(name)
        if target is not None:
            by_construction[name] = numbers[:target]
    rest = [name for name in sorted(by_construction) if settings.targets.get(name) is None]
    fixed = sum(len(numbers) for name, numbers in by_construction.items() if name not in rest)
    if settings.total is not None:
        room = max(0, settings.total - fixed)
        for place, name in enumerate(rest):
            share = room // (len(rest) - place)
            by_construction[name] = by_construction[name][:share]
            room -= len(by_construction[name])
    chosen = sorted(number for numbers in by_construction.values() for number in numbers)
    for number in set(range(len(kept))).difference(chosen):
        tally.drop(OVER_TARGET, kept[number].id)
    tally.kept = len(chosen)
    return chosen


def _write(
    out: Path,
    paths: Sequence[str | Path],
    kept: Sequence[_Kept],
    splits: Mapping[int, str],
    report: MixReport | None,
) -> None:
    with ExitStack() as files:
        temporary = files.enter_context(atomic_path(out))
        handles = [files.enter_context(Path(path).open("rb", buffering=1 << 20)) for path in paths]
        with temporary.open("wb", buffering=1 << 20) as written:
            for number in sorted(splits):
                place = kept[number]
                handles[place.file].seek(place.offset)
                row = orjson.loads(handles[place.file].readline().removeprefix(b"\xef\xbb\xbf"))
                pair = PreferencePair.from_row({**row, "split": splits[number]})
                if report is not None:
                    report.counts[pair.construction, pair.split] += 1
                    report.words[pair.construction] += report.cues.add(pair)
                written.write(orjson.dumps(pair.to_row(), option=orjson.OPT_APPEND_NEWLINE))


def _key(kind: str, text: str) -> int:
    return xxh3_64_intdigest(f"{kind} {text}".encode("utf-8", "surrogatepass"))


def _reasons(tally: Tally) -> str:
    return "; ".join(f"{n:,}: {reason}" for reason, n in tally.dropped.most_common()) or "the files are empty"
