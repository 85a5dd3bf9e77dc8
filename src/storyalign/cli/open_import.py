"""``storyalign import open``: openly licensed stories with human judgements, fetched and built into two folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

import storyalign
from storyalign.cli.import_steps import encoding_lines
from storyalign.errors import DataError, RecipeError

if TYPE_CHECKING:
    from storyalign.corpus.open_recipe import OpenFile, OpenSource
    from storyalign.corpus.open_sets import OpenSets
    from storyalign.corpus.tally import Tally

RECIPE = Path(storyalign.__file__).parent / "recipes" / "open.yaml"
BENCHMARK, PAIRS = "storyrmb_open", "story_preferences_open"
SETTLED = "digests.yaml"
"""The digests that were accepted with --trust-new-files, by source and file."""


def import_open(
    out: Annotated[Path, typer.Option(help="Folder for downloads, rows and the two dataset folders.")],
    recipe: Annotated[
        Path | None, typer.Option(help="Sources, addresses and digests; recipes/open.yaml by default.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Take this source; may be given several times.")] = None,
    skip: Annotated[list[str] | None, typer.Option(help="Leave this source out; may be given several times.")] = None,
    trust_new_files: Annotated[
        bool, typer.Option("--trust-new-files", help="Go on with files whose digest nobody has pinned, and pin them.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Decides which of the worse stories are drawn.")] = 0,
) -> None:
    """Fetch openly licensed stories that people judged, as a best-of-4 benchmark and a set of pairs.

    Example: storyalign import open --out open --skip litbench --trust-new-files

    Writes OUT/storyrmb_open and OUT/story_preferences_open, two folders for load_dataset that share no premise and no
    story, OUT/judged with all ratings of all raters, and OUT/SOURCES.md with licences and citations. What was fetched
    stays in OUT/downloads and is not fetched again; a download that breaks off is tried 3 times.
    """
    from storyalign.corpus.open_sets import OpenSets

    sources = _chosen(recipe or RECIPE, only or [], skip or [])
    files = {source.name: _fetch(source, out) for source in sources}
    settled = _settle(sources, files, out, trust_new_files)
    sets, tallies = OpenSets(seed), dict[str, Any]()
    for source in sources:
        if source.layout != "litbench":
            tallies[source.name] = _read_groups(source, files[source.name], out, sets)
    _build_benchmark(sets, out)
    n_pairs = _build_pairs(sets, [s for s in sources if s.layout == "litbench"], files, out, tallies)
    _report(sources, sets, tallies)
    for line in encoding_lines(path for found in files.values() for path in found.values()):
        typer.echo(line)
    _write_sources(sources, settled, out)
    typer.echo(f"{out / BENCHMARK}: {len(sets.instances):,} instances")
    typer.echo(f"{out / PAIRS}: {n_pairs:,} pairs")


def _chosen(recipe: Path, only: list[str], skip: list[str]) -> list[OpenSource]:
    from storyalign.corpus.open_recipe import load_open_recipe

    sources = load_open_recipe(recipe)
    names = [source.name for source in sources]
    if unknown := [name for name in (*only, *skip) if name not in names]:
        raise RecipeError(f"{recipe}: no source {unknown[0]!r}; it has {', '.join(names)}")
    chosen = [s for s in sources if (not only or s.name in only) and s.name not in skip]
    if not chosen:
        raise RecipeError("--only and --skip leave no source")
    return chosen


def _fetch(source: OpenSource, out: Path) -> dict[str, Path]:
    from storyalign.corpus.fetch import fetch

    pinned, paths = _pins(out).get(source.name, {}), {}
    for file in source.files:
        suffix = PurePosixPath(urlsplit(file.url).path).suffix
        paths[file.name] = out / "downloads" / source.name / f"{file.name}{suffix}"
        fetch(file.url, paths[file.name], file.sha256 or pinned.get(file.name))
    return paths


def _settle(
    sources: list[OpenSource], files: dict[str, dict[str, Path]], out: Path, trust: bool
) -> dict[str, dict[str, str]]:
    """Accept the digests of files that nobody has pinned, or stop and show them."""
    import yaml

    from storyalign.corpus.fetch import file_digest
    from storyalign.files import write_text

    settled = _pins(out)
    new: list[tuple[OpenSource, OpenFile, str]] = []
    for source in sources:
        known = settled.setdefault(source.name, {})
        for file in source.files:
            if file.sha256 is None and file.name not in known:
                new.append((source, file, file_digest(files[source.name][file.name])))
    for source, file, digest in new:
        typer.echo(f"new: {source.name}/{file.name} sha256 {digest}")
        settled[source.name][file.name] = digest
    if new and not trust:
        raise DataError(
            f"{len(new)} files are not pinned, so nobody can say whether they are what their authors published; "
            f"they are in {out / 'downloads'}. Look at them, then put the digests above into a recipe, or run again "
            "with --trust-new-files, which pins them for this folder"
        )
    if new:
        write_text(out / SETTLED, yaml.safe_dump(settled, sort_keys=True))
    return settled


def _pins(out: Path) -> dict[str, dict[str, str]]:
    import yaml

    path = out / SETTLED
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, yaml.YAMLError) as error:
        raise DataError(f"{path}: cannot be read ({' '.join(str(error).split())}); remove it to pin anew") from error
    return {str(source): dict(files) for source, files in (content or {}).items()}


def _read_groups(source: OpenSource, files: dict[str, Path], out: Path, sets: OpenSets) -> Tally:
    from storyalign.corpus.best_of_four import Clear
    from storyalign.corpus.judged_groups import read_judged_groups
    from storyalign.corpus.open_layouts import read_open_groups
    from storyalign.files import write_jsonl

    judged = out / "judged" / f"{source.name}.jsonl"
    write_jsonl(judged, read_open_groups(source, files))
    clear = Clear(source.score, source.min_margin, source.min_agreement, source.dimensions)
    return sets.add_groups(source.name, read_judged_groups(judged), clear, source.corpus)


def _build_benchmark(sets: OpenSets, out: Path) -> None:
    from storyalign.files import write_jsonl
    from storyalign.hub.build.dataset_folder import build_storyrmb

    raw = out / "raw" / "instances.jsonl"
    write_jsonl(raw, (instance.to_row() for instance in sets.instances))
    if sets.instances:
        build_storyrmb([raw], out / BENCHMARK, dimension_optional=True)


def _build_pairs(
    sets: OpenSets,
    pair_sources: list[OpenSource],
    files: dict[str, dict[str, Path]],
    out: Path,
    tallies: dict[str, Any],
) -> int:
    from storyalign.corpus.imported_rows import Origin, clean_pairs
    from storyalign.corpus.preference_sets import read_litbench_train
    from storyalign.corpus.tally import Tally
    from storyalign.files import write_jsonl
    from storyalign.hub.build.dataset_folder import build_story_preferences

    def rows() -> Iterator[dict[str, Any]]:
        tally = tallies["pairs of judged groups"] = Tally()
        yield from (pair.to_row() for pair in sets.clean_of_benchmark(_counted(sets.pairs_of_groups(), tally), tally))
        for source in pair_sources:
            tally = tallies[source.name] = Tally()
            origin = Origin(source.corpus, source.license, source.language)
            for path in files[source.name].values():
                pairs = clean_pairs(read_litbench_train(path), origin, tally)
                yield from (pair.to_row() for pair in sets.clean_of_benchmark(pairs, tally))

    raw = out / "raw" / "pairs.jsonl"
    n_pairs = write_jsonl(raw, rows())
    if n_pairs:
        build_story_preferences([raw], out / PAIRS)
    return n_pairs


def _counted(pairs: Iterable[Any], tally: Tally) -> Iterator[Any]:
    for pair in pairs:
        tally.read += 1
        tally.keep()
        yield pair


def _report(sources: list[OpenSource], sets: OpenSets, tallies: dict[str, Any]) -> None:
    for name, tally in tallies.items():
        first, *others = tally.lines()
        typer.echo(f"{name}: {first}")
        for line in (*others, *(f"  left out {n:,}: {reason}" for reason, n in sets.left_out.get(name, {}).items())):
            typer.echo(line)
    names = {source.corpus: source.name for source in sources}
    for corpus, n in Counter(instance.corpus for instance in sets.instances).items():
        instances = [instance for instance in sets.instances if instance.corpus == corpus]
        taus = [instance.tau_avg for instance in instances if instance.tau_avg is not None]
        kinds = Counter(instance.source for instance in instances)
        dimensions = Counter(instance.dimension or "none" for instance in instances)
        agreement = (
            f"mean tau between raters {sum(taus) / len(taus):.2f} (n = {len(taus)})" if taus else "no common raters"
        )
        typer.echo(
            f"{names[corpus]}: {n:,} instances ({_counts(kinds)}; dimension: {_counts(dimensions)}; {agreement})"
        )


def _counts(counter: Counter[Any]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counter.most_common())


def _write_sources(sources: list[OpenSource], settled: dict[str, dict[str, str]], out: Path) -> None:
    from storyalign.files import write_text

    lines = ["# Sources", "", "Cite whom you use; each licence goes on holding for the rows of its source.", ""]
    for source in sources:
        lines += [f"## {source.name}", "", f"- corpus: {source.corpus}", f"- licence: {source.license}"]
        lines += [f"- cite: {source.citation}", "- files:"]
        for file in source.files:
            lines.append(f"  - {file.name}: {file.url} (sha256 {file.sha256 or settled[source.name][file.name]})")
        lines.append("")
    write_text(out / "SOURCES.md", "\n".join(lines))
