"""Pairs of LLM stories (section 3.1, E.1): two stories for one premise, in one of two ways.

- ``judged``: the smaller writer of a pairing writes both, the larger one judges them in both orders; a judge that
  changes its mind with the order decides nothing, and the pair is dropped.
- ``by_size``: the larger and the smaller writer write one each; the larger one's story is chosen. Nobody judges. The
  ablations of Table 2 put such pairs in the place of a construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from storyalign.corpus.tally import Tally
from storyalign.errors import RecipeError
from storyalign.llm.choice_replies import parse_choice
from storyalign.llm.prompts import choice_request, fence_tag, fenced, load_prompt
from storyalign.llm.steps import Request, Row, Step, user_message
from storyalign.llm.story_replies import read_story
from storyalign.preferences.pair_files import MadePair
from storyalign.records import PreferencePair
from storyalign.settings import Temperature, checked
from storyalign.text import UNKNOWN_LANGUAGE, content_id, digest

DISAGREES = "the judge's choice changed with the order of the stories"
UNJUDGED = "the judge gave no choice for one of both orders"
ONE_STORY = "one of both stories is missing"
SAME = "both stories are the same text"
TWICE = "the premise stands twice in the pool"


@checked
@dataclass(frozen=True, slots=True)
class Pairing:
    """A smaller and a larger writer of one family, by the names of their endpoints."""

    smaller: str
    larger: str


@checked
@dataclass(frozen=True, slots=True)
class LlmPairs:
    """How premises are shared out and stories are written."""

    target: int
    pairings: tuple[Pairing, ...]
    judged_share: float = 0.5
    """Share of the premises whose pairs are judged; the others are pairs by size."""
    words: int = 1_000
    """About so many words are asked for."""
    min_words: int = 100
    spare: float = 0.3
    extra_tokens: int = 400
    """Room of a reply beyond what its words take; reasoning models need more."""
    temperature: Temperature | None = 0.8
    judge_tokens: int = 256
    """Room of a verdict, reasoning included."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot make a pair."""
        if not self.pairings:
            raise RecipeError("llm_pairs: pairings is empty; expected some of {smaller: ..., larger: ...}")
        if not 0 <= self.judged_share <= 1:
            raise RecipeError(f"llm_pairs: judged_share is {self.judged_share}; expected 0 to 1")


def plan(premises: Iterable[dict[str, Any]], settings: LlmPairs, tally: Tally) -> Iterator[Row]:
    """Yield each premise a pairing and a way, and two rows: one for each of its stories.

    Args:
        premises: rows of the premise pool: id, prompt, and language, corpus and license where they are known.
        settings: pairings and shares.
        tally: counts premises.
    """
    seen: set[str] = set()
    left = round(settings.target * (1 + settings.spare))
    for row in premises:
        if not left:
            return
        tally.read += 1
        key = digest(" ".join(row["prompt"].split()))
        if key in seen:
            tally.drop(TWICE, str(row["id"]))
            continue
        seen.add(key)
        tally.keep()
        left -= 1
        draw = int(digest(str(settings.seed), key)[:8], 16)
        pairing = settings.pairings[draw % len(settings.pairings)]
        judged = draw // len(settings.pairings) % 1000 < 1000 * settings.judged_share
        writers = (pairing.smaller, pairing.smaller) if judged else (pairing.larger, pairing.smaller)
        base = {name: row.get(name) for name in ("prompt", "language", "corpus", "license")}
        for place, writer in zip("ab", writers, strict=True):
            yield {
                "id": f"{content_id('llm', row['prompt'])}-{place}",
                "writer": writer,
                "judge": pairing.larger if judged else None,
                # Two tries for one story move the seed on by one, so the second story starts far from the first.
                "seed": settings.seed + 1_000 * "ab".index(place),
                "premise_id": str(row["id"]),
                **base,
            }


def writing_step(settings: LlmPairs) -> Step:
    """Make the step that writes one story."""
    prompt = load_prompt("write_story")

    def request(row: Row) -> Request:
        premise = fenced("idea", row["prompt"], fence_tag((row["prompt"],)))
        text = prompt.fill(premise=premise, words=str(settings.words))
        return Request(
            user_message(text), 3 * settings.words + settings.extra_tokens, settings.temperature, row["seed"]
        )

    def read(row: Row, reply: str) -> Row:
        return {**row, "story": read_story(reply, min_words=settings.min_words)}

    return Step("llm_pairs_story", prompt, request, read, tries=2)


def judging_rows(first: Row, second: Row) -> tuple[Row, Row]:
    """Show two stories in both orders."""
    base = first["id"].removesuffix("-a")
    shown = {"prompt": first["prompt"], "judge": first["judge"]}
    a, b = first["story"], second["story"]
    return {"id": f"{base}-ab", **shown, "stories": [a, b]}, {"id": f"{base}-ba", **shown, "stories": [b, a]}


def judging_step(settings: LlmPairs) -> Step:
    """Make the step that chooses the better of two stories."""
    prompt = load_prompt("choose_best_story")

    def request(row: Row) -> Request:
        text = choice_request(row["prompt"], row["stories"])
        return Request(user_message(text), settings.judge_tokens, 0.0, settings.seed)

    def read(row: Row, reply: str) -> Row:
        place = parse_choice(reply, 2)
        winner = place if row["id"].endswith("-ab") else 1 - place
        # The texts stay with the stories' rows; a verdict is short.
        return {"id": row["id"], "winner": "ab"[winner]}

    return Step("llm_pairs_judge", prompt, request, read, tries=2)


def made_pair(first: Row | None, second: Row | None, verdicts: tuple[Row | None, Row | None] | None) -> MadePair | str:
    """Make the pair of two stories, or say why there is none.

    Args:
        first: story a: in pairs by size the larger writer's.
        second: story b.
        verdicts: of both orders, for judged pairs; None for pairs by size.
    """
    if first is None or second is None:
        return ONE_STORY
    if first["story"].split() == second["story"].split():
        return SAME
    winner, judge = "a", None
    if verdicts is not None:
        if verdicts[0] is None or verdicts[1] is None:
            return UNJUDGED
        if verdicts[0]["winner"] != verdicts[1]["winner"]:
            return DISAGREES
        winner, judge = verdicts[0]["winner"], verdicts[0]["made_by"]
    chosen, rejected = (first, second) if winner == "a" else (second, first)
    pair = PreferencePair(
        id=content_id("pair", first["prompt"], chosen["story"], rejected["story"]),
        prompt=first["prompt"],
        chosen=chosen["story"],
        rejected=rejected["story"],
        construction="llm_pairs",
        chosen_writer=chosen["made_by"]["model"],
        rejected_writer=rejected["made_by"]["model"],
        corpus=first.get("corpus") or "unknown",
        language=first.get("language") or UNKNOWN_LANGUAGE,
        license=first.get("license") or "unknown",
        edit="judged" if verdicts is not None else "by_size",
    )
    made_by = {"chosen": chosen["made_by"], "rejected": rejected["made_by"], "judge": judge}
    return MadePair(pair, (), (), made_by)
