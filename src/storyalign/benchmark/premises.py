"""Premises by LLMs: from themes to seeds, to premises with people and places, to premises in many manners (Appendix A).

Rows: a *call* asks for several seeds of one theme; a seed carries family, theme and turn; each further step adds a text
(``plain``, ``prompt``) or the faults that a check found.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storyalign.benchmark.recipe import Recipe
from storyalign.errors import RecipeError
from storyalign.llm.prompts import fence_tag, fenced, load_prompt, schema
from storyalign.llm.replies import UnparsedReply, final_answer, json_field
from storyalign.llm.steps import Request, Row, RowDropped, Step, user_message
from storyalign.llm.story_replies import read_story
from storyalign.text import content_id, count_words

FAULTS = ("empty", "inconsistent", "sensitive")
"""What the check looks for."""

_LIST_MARK = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s+(.+)$")
_FEWEST_SEED_WORDS = 4


@dataclass(frozen=True, slots=True)
class Family:
    """Themes that belong together."""

    label: str
    about: str
    themes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Themes:
    """The taxonomy: families of themes, the turns that a seed may be built on, and manners of writing."""

    families: tuple[Family, ...]
    turns: Mapping[str, str]
    """Name and description, as ``conflict`` and ``reversal``."""
    styles: tuple[str, ...]

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> Themes:
        """Check what a YAML file holds.

        Raises:
            RecipeError: a part is missing or empty.
        """
        try:
            families = tuple(
                Family(str(entry["label"]), str(entry["about"]), tuple(map(str, entry["themes"])))
                for entry in content["families"]
            )
            turns = {str(name): str(text) for name, text in content["turns"].items()}
            styles = tuple(map(str, content["styles"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise RecipeError("themes: need families (label, about, themes), turns and styles") from error
        if not families or not turns or not styles or not all(family.themes for family in families):
            raise RecipeError("themes: families, their themes, turns and styles must not be empty")
        return cls(families, turns, styles)


def seed_calls(themes: Themes, recipe: Recipe) -> Iterator[Row]:
    """List the calls for seeds: every theme with every turn, so many times."""
    for family in themes.families:
        for theme in family.themes:
            for turn, description in themes.turns.items():
                for number in range(recipe.premises.calls_per_theme):
                    yield {
                        "id": content_id("seeds", family.label, theme, turn, str(number)),
                        "family": family.label,
                        "about": family.about,
                        "theme": theme,
                        "turn": turn,
                        "turn_description": description,
                    }


def seed_step(recipe: Recipe) -> Step:
    """Ask for seeds of one theme."""
    prompt, settings = load_prompt("seed_premises"), recipe.premises

    def request(row: Row) -> Request:
        text = prompt.fill(
            count=str(settings.seeds_per_call),
            family=row["family"],
            about=row["about"],
            theme=row["theme"],
            turn=row["turn_description"],
        )
        array = {"type": "array", "items": {"type": "string"}}
        return Request(
            user_message(text),
            settings.max_tokens,
            settings.temperature,
            recipe.seed_for("seeds", row["id"]),
            schema("seeds", {"seeds": array}),
        )

    return Step("seeds", prompt, request, lambda row, reply: {**row, "seeds": read_seeds(reply)}, tries=2)


def read_seeds(reply: str) -> list[str]:
    """Read the seeds of a reply: a JSON object, or else a numbered or dotted list.

    Raises:
        UnparsedReply: there is none.
    """
    answer = final_answer(reply)
    try:
        stated = json_field(answer, ("seeds", "premises"))
    except UnparsedReply:
        stated = None
    listed = (
        stated if isinstance(stated, list) else [m[1] for line in answer.splitlines() if (m := _LIST_MARK.match(line))]
    )
    seeds = [" ".join(seed.split()) for seed in listed if isinstance(seed, str)]
    seeds = [seed for seed in dict.fromkeys(seeds) if count_words(seed) >= _FEWEST_SEED_WORDS]
    if not seeds:
        raise UnparsedReply("the reply holds no seeds")
    return seeds


def seeds_of(calls: Iterable[Row]) -> Iterator[Row]:
    """Make one row a seed; a seed that comes twice is kept once."""
    seen: set[str] = set()
    for call in calls:
        for seed in call["seeds"]:
            seed_id = content_id("premise", seed)
            if seed_id not in seen:
                seen.add(seed_id)
                yield {"id": seed_id, **{key: call[key] for key in ("family", "theme", "turn")}, "seed": seed}


def enrich_step(recipe: Recipe) -> Step:
    """Return a seed a person, a place and a time."""
    prompt = load_prompt("enrich_premise")
    return _rewriting("enriching", prompt.name, "seed", "plain", recipe, lambda row: {})


def restyle_step(recipe: Recipe, styles: Sequence[str]) -> Step:
    """Write a premise anew in a manner that its id draws."""

    def style(row: Row) -> dict[str, str]:
        return {"style": random.Random(recipe.seed_for("style", row["id"])).choice(styles)}

    return _rewriting("restyling", "restyle_premise", "plain", "prompt", recipe, style, place="premise")


def _rewriting(
    name: str, prompt_name: str, source: str, target: str, recipe: Recipe, more: Any, place: str | None = None
) -> Step:
    prompt, settings = load_prompt(prompt_name), recipe.premises

    def request(row: Row) -> Request:
        text = fenced(place or source, row[source], fence_tag((row[source],)))
        filled = prompt.fill(**{place or source: text, "words": str(settings.most_words), **more(row)})
        seed = recipe.seed_for(name, row["id"])
        return Request(user_message(filled), settings.max_tokens, settings.temperature, seed)

    def read(row: Row, reply: str) -> Row:
        return {**row, target: read_premise(reply, settings.most_words), **more(row)}

    return Step(name, prompt, request, read, tries=2)


def read_premise(reply: str, most_words: int) -> str:
    """Read a premise: one paragraph, on one line; twice the words asked for are too many.

    Raises:
        UnparsedReply: the reply is something else.
    """
    text = read_story(reply, max_words=2 * most_words).strip("\"“”' \n")
    if "\n\n" in text:
        raise RowDropped("more than one paragraph")
    return " ".join(text.split())


def check_step(recipe: Recipe) -> Step:
    """Look for faults in a premise."""
    prompt, settings = load_prompt("check_premise"), recipe.premises

    def request(row: Row) -> Request:
        text = prompt.fill(premise=fenced("premise", row["prompt"], fence_tag((row["prompt"],))))
        answer = schema("faults", {fault: {"type": "boolean"} for fault in FAULTS})
        return Request(user_message(text), settings.max_tokens, 0.0, recipe.seed_for("check", row["id"]), answer)

    return Step("checking", prompt, request, lambda row, reply: {**row, "faults": read_faults(reply, FAULTS)}, tries=2)


def read_faults(reply: str, names: Sequence[str]) -> list[str]:
    """Return which of the named faults a reply states, in the order of the names.

    Raises:
        UnparsedReply: it does not say yes or no to each.
    """
    answer = final_answer(reply)
    stated = {name: json_field(answer, (name,)) for name in names}
    for name, value in stated.items():
        if not isinstance(value, bool):
            raise UnparsedReply(f"the reply does not say yes or no to {name}")
    return [name for name, value in stated.items() if value]
