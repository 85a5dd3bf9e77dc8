"""``storyalign release``: everything to the Hub; ``storyalign rehydrate``: withheld texts filled in again."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from storyalign.cli.release_previews import payload_lines, preview_lines

if TYPE_CHECKING:
    from storyalign.hub.payload import Kind
    from storyalign.hub.release.release_options import ReleaseOptions

Folder = Annotated[Path, typer.Argument(help="The folder to release.")]
KitFolder = Annotated[Path | None, typer.Argument(help="The folder to release. Default: the kit's own.")]
Repo = Annotated[str, typer.Option("--repo", help="Where to: ORG/NAME.")]
Private = Annotated[bool, typer.Option("--private", help="Make a new repository private.")]
PullRequest = Annotated[bool, typer.Option("--pr", help="Propose the change as a pull request.")]
Tag = Annotated[str | None, typer.Option("--tag", help="Name of the release, like v1.0.0.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything and say what would change; send nothing.")]
Reviewed = Annotated[
    bool, typer.Option("--personal-data-reviewed", help="You looked at the listed personal data: it is harmless.")
]
Withhold = Annotated[bool, typer.Option("--withhold", help="Publish rows under closed licences as ids and digests.")]
MayPassOn = Annotated[
    list[str] | None,
    typer.Option("--may-pass-on", metavar="LICENCE", help="A licence that you know to allow passing texts on."),
]
Person = Annotated[
    list[str] | None, typer.Option("--person", metavar="NAME", help="A writer who is a person: a salted key goes up.")
]
Contact = Annotated[
    str | None, typer.Option("--contact", help="Mail or web address for people who want a row removed.")
]

TAG = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?<!\.lock)")
"""Names that git takes for a tag, without those that look odd in an address."""

_GROUP = """
Release datasets, metric, Space and model to the Hugging Face Hub. The token comes from HF_TOKEN or `hf auth login`.

Examples:

  storyalign release dataset ./storyrmb --repo my-org/storyrmb-sample --dry-run

  storyalign release all --org my-org --tag v1.0.0
"""

release = typer.Typer(no_args_is_help=True, help=_GROUP, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.add_typer(release, name="release")
    app.command("rehydrate")(rehydrate)


@release.command("dataset")
def dataset(
    folder: Folder,
    repo: Repo,
    private: Private = False,
    pr: PullRequest = False,
    tag: Tag = None,
    dry_run: DryRun = False,
    withhold: Withhold = False,
    may_pass_on: MayPassOn = None,
    personal_data_reviewed: Reviewed = False,
    person: Person = None,
    contact: Contact = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="Folder or Hub id; the card says how many tokens the stories have.")
    ] = None,
    against: Annotated[
        list[str] | None, typer.Option(help="An evaluation set; the card of pairs says what leaks into it.")
    ] = None,
) -> None:
    """Release a dataset folder that `storyalign build` wrote.

    Refused: rows without a licence, anything like a key, pickles, code, a card with a gap in it. Personal data is
    listed first. The token comes from HF_TOKEN or `hf auth login`.

    Example: storyalign release dataset ./storyrmb --repo my-org/storyrmb-sample --tag v1.0.0
    """
    from dataclasses import replace

    from storyalign.hub.release.release_options import named

    options = _dataset_options(tag, withhold, may_pass_on, personal_data_reviewed, person, contact)
    measured = replace(
        options, tokenizer=named(tokenizer) if tokenizer else None, against=tuple(map(named, against or ()))
    )
    _release("dataset", folder, repo, private, pr, tag, dry_run, measured)


@release.command("metric")
def metric(
    repo: Repo,
    folder: KitFolder = None,
    private: Private = False,
    pr: PullRequest = False,
    tag: Tag = None,
    dry_run: DryRun = False,
) -> None:
    """Release a metric, so that `evaluate.load("ORG/NAME")` finds it.

    Example: storyalign release metric --repo my-org/storyrmb_accuracy
    """
    _release("metric", folder or _kit_folder("metric"), repo, private, pr, tag, dry_run, _options(tag))


@release.command("space")
def space(
    repo: Repo,
    folder: KitFolder = None,
    private: Private = False,
    pr: PullRequest = False,
    tag: Tag = None,
    dry_run: DryRun = False,
    model: Annotated[
        str | None, typer.Option(help="ORG/NAME[@COMMIT] of the reward model that the Space loads.")
    ] = None,
) -> None:
    """Release the Space, with this very version of the kit as a wheel in it.

    Example: storyalign release space --repo my-org/storyalign --model my-org/storyreward
    """
    _release("space", folder or _kit_folder("space"), repo, private, pr, tag, dry_run, _options(tag))
    if model and not dry_run and not pr:
        from storyalign.hub.release.space_release import set_space_variables

        name, _, commit = model.partition("@")
        set_space_variables(repo, {"STORYALIGN_MODEL": name, **({"STORYALIGN_REVISION": commit} if commit else {})})


@release.command("model")
def model(
    folder: Folder,
    repo: Repo,
    private: Private = False,
    pr: PullRequest = False,
    tag: Tag = None,
    dry_run: DryRun = False,
    results: Annotated[Path | None, typer.Option(help="results.json of an evaluation of this model.")] = None,
    benchmark: Annotated[str | None, typer.Option(help="ORG/NAME@COMMIT of the StoryRMB it was measured on.")] = None,
    personal_data_reviewed: Reviewed = False,
) -> None:
    """Release a trained reward model; with --results and --benchmark what it reached, too.

    Example: storyalign release model runs/demo/model --repo my-org/storyreward-sample
    """
    _release(
        "model",
        folder,
        repo,
        private,
        pr,
        tag,
        dry_run,
        _options(tag, results, benchmark, reviewed=personal_data_reviewed),
    )


@release.command("all")
def everything(
    org: Annotated[str, typer.Option("--org", help="User name or organisation.")],
    out: Annotated[Path, typer.Option(help="The manifest to write.")] = Path("release.json"),
    storyrmb: Annotated[Path | None, typer.Option(help="Folder of the benchmark. Default: storyrmb.")] = None,
    story_preferences: Annotated[
        Path | None, typer.Option(help="Folder of the pairs. Default: story_preferences.")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Folder of the model. Default: runs/demo/model.")] = None,
    results: Annotated[Path | None, typer.Option(help="Evaluation of the model. Default: beside its folder.")] = None,
    metric: Annotated[Path | None, typer.Option(help="Folder of the metric. Default: the kit's.")] = None,
    space: Annotated[Path | None, typer.Option(help="Folder of the Space. Default: the kit's.")] = None,
    private: Private = False,
    tag: Tag = None,
    dry_run: DryRun = False,
    verify: Annotated[bool, typer.Option(help="Load everything back afterwards.")] = True,
    withhold: Withhold = False,
    may_pass_on: MayPassOn = None,
    personal_data_reviewed: Reviewed = False,
    person: Person = None,
    contact: Contact = None,
) -> None:
    """Release datasets, metric, model and Space, and write a manifest of the commits.

    A part whose default folder is not there is left out, and named; `none` leaves out any. Every folder is checked
    before the first is published.

    Examples:

      storyalign release all --org my-org --dry-run

      storyalign release all --org my-org --tag v1.0.0
    """
    from storyalign.errors import RecipeError
    from storyalign.hub.release.release_all import Folders, prepare_all, preview_all, release_all
    from storyalign.hub.release.release_one import dry_run as look

    trained = _part("model", model, Path("runs/demo/model"))
    beside = trained.parent / "results.json" if trained else None
    folders = Folders(
        storyrmb=_part("storyrmb", storyrmb, Path("storyrmb")),
        story_preferences=_part("story_preferences", story_preferences, Path("story_preferences")),
        metric=_part("metric", metric, _kit_folder("metric")),
        model=trained,
        space=_part("space", space, _kit_folder("space")),
        results=results or (beside if beside and beside.is_file() else None),
    )
    if results and not (folders.model and folders.storyrmb):
        raise RecipeError("--results needs the model and the benchmark that it was measured on; release both with it")
    options = _dataset_options(tag, withhold, may_pass_on, personal_data_reviewed, person, contact)
    with tempfile.TemporaryDirectory(prefix="storyalign-release-") as work:
        if dry_run:
            parts = prepare_all(folders, org, Path(work), options)
            for part in parts.values():
                _echo(payload_lines(part.payload, part.repo, tag))
            for preview in preview_all(parts, folders, tag, look):
                _echo(preview_lines(preview))
            typer.echo("dry run: nothing was sent")
            return
        release_all(folders, org, Path(work), out, private=private, tag=tag, options=options)
    typer.echo(f"manifest: {out}")
    if verify:
        _verify(out)


@release.command("verify")
def verify_release(manifest: Annotated[Path, typer.Argument(help="The manifest of a release.")]) -> None:
    """Load a release back with plain clients in fresh processes, and compare it with its manifest.

    Example: storyalign release verify release.json
    """
    _verify(manifest)


def _echo(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)


def _kit_folder(name: str) -> Path:
    import storyalign

    place = {"metric": "evaluate_metric/storyrmb_accuracy", "space": "space"}[name]
    return Path(storyalign.__file__).parent / place


def _part(name: str, given: Path | None, default: Path) -> Path | None:
    """Return the folder of a part. One that somebody named must be there; a default one that is not is left out."""
    if given is not None:
        return None if given == Path("none") else given
    if default.is_dir():
        return default
    typer.echo(f"left out: {name}, as {default} is not there")
    return None


def _verify(path: Path) -> None:
    from storyalign.hub.release.manifest import read_manifest
    from storyalign.hub.release.verify import require_verified, verify

    checks = []
    for check in verify(read_manifest(path)):
        what = f"{check.repo}: {check.what}"
        typer.echo(f"  failed {what}: {check.problem}" if check.problem else f"  ok   {what}")
        if check.note:
            typer.echo(f"  note {check.repo}: {check.note}")
        checks.append(check)
    require_verified(checks)
    typer.echo(f"verified: {len(checks)} checks")


def rehydrate(
    dataset: Annotated[str, typer.Argument(help="A folder, or ORG/NAME[@REVISION] on the Hub.")],
    source: Annotated[list[Path], typer.Option("--source", help="Files or folders with the texts.")],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
) -> None:
    """Fill the withheld texts of a released dataset in, from sources that you have.

    Texts are found by their SHA-256, in any JSONL, JSON, Parquet or text file.

    Example: storyalign rehydrate my-org/storyrmb --source writingprompts/ --out storyrmb-full
    """
    from storyalign.hub.release.rehydrate import rehydrate as fill
    from storyalign.hub.released_rows import dataset_folder

    done = fill(dataset_folder(dataset), source, out)
    typer.echo(f"{done.path}: {done.rows:,} rows, {done.filled:,} of them filled in; the digest is the original's")


def _dataset_options(
    tag: str | None,
    withhold: bool,
    may_pass_on: list[str] | None,
    reviewed: bool,
    people: list[str] | None,
    contact: str | None,
) -> ReleaseOptions:
    from dataclasses import replace

    return replace(
        _options(tag, reviewed=reviewed),
        withhold=withhold,
        may_pass_on=tuple(may_pass_on or ()),
        people=tuple(people or ()),
        contact=contact,
    )


def _options(
    tag: str | None, results: Path | None = None, benchmark: str | None = None, *, reviewed: bool = False
) -> ReleaseOptions:
    from storyalign.errors import RecipeError
    from storyalign.hub.release.release_options import ReleaseOptions

    if tag is not None and not TAG.fullmatch(tag):
        raise RecipeError(f"--tag {tag}: write a version like v1.0.0: letters, digits, '-', '_', and '.' between them")
    repo, at, commit = (benchmark or "").partition("@")
    if benchmark and not (at and commit and "/" in repo):
        raise RecipeError(f"--benchmark {benchmark}: write ORG/NAME@COMMIT")
    return ReleaseOptions(
        personal_data_reviewed=reviewed,
        results=results,
        benchmark=(repo, commit) if benchmark else None,
        say=typer.echo,
    )


def _release(
    kind: Kind,
    folder: Path,
    repo: str,
    private: bool,
    pr: bool,
    tag: str | None,
    dry_run: bool,
    options: ReleaseOptions,
) -> None:
    from storyalign.hub.release.release_one import dry_run as look
    from storyalign.hub.release.release_one import prepare, told
    from storyalign.hub.release.release_one import release as send

    with tempfile.TemporaryDirectory(prefix="storyalign-release-") as work:
        payload = prepare(kind, folder, repo, Path(work), options)
        if dry_run:
            _echo(payload_lines(payload, repo, tag))
            _echo(preview_lines(look(payload, repo, tag)))
            typer.echo("dry run: nothing was sent")
            return
        done = send(payload, repo, private=private, pull_request=pr, tag=tag)
    typer.echo(told(done))
