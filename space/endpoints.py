"""What programs and agents can call: the HTTP API, and the same functions as tools of the MCP server.

Gradio reads the schema off the annotations themselves, so they must not become strings here.
"""

from collections.abc import Callable
from typing import Any, TypedDict

import gradio as gr
from gradio.events import api
from rank_tab import letter_names, rank_request
from ranking import Ranking
from story_scorer import OneAtATime
from visitor_limits import Limits

from storyalign.errors import StoryAlignError


class RankedStory(TypedDict):
    """One story in its place."""

    place: int | None
    index: int
    reward: float | None
    beats_next: float | None
    words: int
    tokens: int | None
    burstiness: float
    truncated: bool
    detail: str | None


class RankAnswer(TypedDict):
    """A ranking, best story first."""

    stories: list[RankedStory]
    warnings: list[str]
    scorer: str
    signature: str


def answer_of(ranking: Ranking, names: list[str]) -> RankAnswer:
    """Turn a ranking into what the API answers; ``index`` counts the stories of the request from 0."""
    return {
        "stories": [
            {
                "place": story.place,
                "index": names.index(story.name),
                "reward": story.scored.reward,
                "beats_next": story.beats_next,
                "words": story.facts.words,
                "tokens": story.scored.n_tokens,
                "burstiness": story.facts.burstiness,
                "truncated": story.scored.truncated,
                "detail": story.scored.detail,
            }
            for story in ranking.stories
        ],
        "warnings": list(ranking.warnings),
        "scorer": ranking.scorer,
        "signature": ranking.signature,
    }


def rank_endpoint(scorer: OneAtATime | None, limits: Limits, missing: str) -> Callable[[str, list[str]], RankAnswer]:
    """Make the function behind ``/rank``."""

    def rank(premise: str, stories: list[str]) -> RankAnswer:
        """Rank stories that were written for one premise the way readers would, best first.

        Args:
            premise: the writing prompt or idea that the stories answer.
            stories: 2 to 16 whole stories as plain text.

        Returns:
            stories: best first, each with its place (equal rewards share one), its index in the request, its reward
                (no unit; only differences count), and the probability that readers prefer it to the next one;
                warnings: what to know before trusting the order; scorer and signature: which model said so.
        """
        if scorer is None:
            raise refused(f"No model is loaded. {missing}")
        if (
            not isinstance(premise, str)
            or not isinstance(stories, list)
            or not all(isinstance(s, str) for s in stories)
        ):
            raise refused("premise is a text, stories is a list of texts.")
        names = letter_names(len(stories)) if len(stories) <= 26 else [str(i) for i in range(len(stories))]
        try:
            return answer_of(rank_request(scorer, limits, premise, stories, names), names)
        except StoryAlignError as error:
            raise refused(str(error)) from error

    return rank


def refused(reason: str) -> gr.Error:
    """Make an error whose message reaches the caller and that prints no traceback."""
    return gr.Error(reason, print_exception=False)


def publish(rank: Callable[..., Any]) -> None:
    """Publish the endpoints inside the current ``gr.Blocks``; calls share the model's queue with the page."""
    api(rank, api_name="rank", concurrency_limit=1, concurrency_id="model")
