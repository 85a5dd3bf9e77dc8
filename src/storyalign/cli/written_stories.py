"""Having stories written on the command line: the cost first, then a bar, then the counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import storyalign
from storyalign.errors import DataError, RecipeError

if TYPE_CHECKING:
    from storyalign.corpus.premise_lists import PremiseList
    from storyalign.evaluation.drafts import Draft, StoryWriter
    from storyalign.scoring.options import ScoringOptions

DEFAULT_RECIPE = "best_of_n.yaml"

WriterRecipe = Annotated[Path | None, typer.Option(help="Who writes, how many, how long (YAML).")]
WriterUrl = Annotated[
    str | None, typer.Option(help="API root of the endpoint that writes, like http://localhost:8000/v1.")
]
WriterModel = Annotated[str | None, typer.Option(help="With --url: the model that writes there.")]
StoriesWritten = Annotated[
    int | None, typer.Option(min=2, help="Stories of each premise; by default 16, or what --recipe says.")
]


class WritingOptions(NamedTuple):
    """Who writes, how many stories, how long."""

    recipe: Path | None = None
    url: str | None = None
    model: str | None = None
    local: str | None = None
    n: int | None = None
    words: int | None = None
    max_tokens: int | None = None

    @property
    def asked(self) -> bool:
        """Whether stories are to be written at all."""
        return any(value is not None for value in (self.recipe, self.url, self.model, self.local))

    @property
    def taken(self) -> frozenset[str]:
        """The scoring options that the writer takes, too: an endpoint may cost money."""
        return frozenset() if self.local is not None else frozenset({"max_cost", "yes"})


def have_written(
    premises: PremiseList, writing: WritingOptions, money: ScoringOptions, out: Path, default: str = DEFAULT_RECIPE
) -> Path:
    """Have the missing stories written and return ``out/candidates.jsonl``, where they are gathered.

    Args:
        premises: what to write for.
        writing: who writes, how many, how long.
        money: ``max_cost`` and ``yes``.
        out: the folder of the run.
        default: the recipe where none is named.

    Raises:
        RecipeError: options contradict each other, or the run costs money and nobody agreed.
        DataError: no premise has two stories.
    """
    from tqdm import tqdm

    from storyalign.evaluation.drafts import open_drafts, plan, write_candidates

    writer, n = _writer(writing, money.max_cost, default)
    drafts, candidates = plan(premises.premises, n, writer.digest), out / "candidates.jsonl"
    with open_drafts(out / "drafts.jsonl") as store:
        missing = [draft for draft in drafts if draft.id not in store.stories]
        for reason, n in Counter(store.unread[d.id] for d in missing if d.id in store.unread).most_common():
            typer.echo(f"{store.path}: {n:,} stories of an earlier run are none ({reason}); they are written again")
        _agree_on_cost(writer, missing, money)
        written = list(tqdm(store.write(writer, drafts), desc="stories", unit="", total=len(missing), disable=None))
        failures = Counter(one.failure for one in written if one.failure)
        if len(written) < len(missing):
            failures["--max-cost leaves no money for it"] += len(missing) - len(written)
        gathered = write_candidates(candidates, drafts, store, premises.name)
    typer.echo(
        f"{candidates}: {gathered.stories:,} stories for {gathered.groups:,} premises"
        f" ({len(drafts) - gathered.missing:,} of {len(drafts):,} drafts written,"
        f" {len(drafts) - len(missing):,} of them before)"
    )
    if gathered.repeated:
        typer.echo(f"{gathered.repeated:,} drafts repeat another one of their premise; each story counts once")
    for reason, n in failures.most_common():
        typer.echo(f"not written: {reason} ({n:,}); the same command asks for them again")
    if gathered.too_few:
        named = ", ".join(gathered.too_few[:5])
        typer.echo(f"left out, as they have fewer than 2 stories: {len(gathered.too_few):,} premises ({named})")
    if not gathered.groups:
        raise DataError(f"{candidates}: no premise has two stories to choose from")
    return candidates


def _writer(options: WritingOptions, max_cost: float | None, default: str) -> tuple[StoryWriter, int]:
    from storyalign.evaluation.story_writers import EndpointWriter, LocalWriter, read_writer_recipe

    if options.local is not None:
        if options.url or options.model or options.recipe:
            raise RecipeError("--local writes on this machine; leave out --recipe, --url and --model")
        words = options.words or 300
        return LocalWriter(options.local, words, max_tokens=options.max_tokens or 4 * words), options.n or 16
    if options.max_tokens is not None:
        raise RecipeError("--max-tokens is for --local; an endpoint's writer has max_tokens in its recipe")
    shipped = Path(storyalign.__file__).parent / "recipes" / "writers" / default
    recipe = read_writer_recipe(options.recipe or shipped)
    recipe = recipe.changed(n=options.n, words=options.words, url=options.url, model=options.model)
    return EndpointWriter(recipe.writer, recipe.words, max_cost=max_cost), recipe.n


def _agree_on_cost(writer: StoryWriter, missing: list[Draft], money: ScoringOptions) -> None:
    from storyalign.evaluation.story_writers import EndpointWriter
    from storyalign.llm.budget import dollars

    if not isinstance(writer, EndpointWriter) or not missing:
        return
    calls, tokens, cost = writer.estimate(missing)
    price = "price unknown" if cost is None else f"at most {dollars(cost)}"
    line = f"{writer.name}: {calls:,} stories to write, at most {tokens:,} tokens of reply, {price}"
    typer.echo(line, err=True)
    if cost != 0.0 and not money.yes and money.max_cost is None:
        raise RecipeError(f"{line}; run again with --yes, or with --max-cost DOLLARS to set a limit")
