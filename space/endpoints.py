"""What programs and agents can call: the HTTP API, and the same functions as tools of the MCP server.

Gradio reads the schema off the annotations themselves, so they must not become strings here.
"""

from collections.abc import Callable
from typing import Any, TypedDict

from best_of_n_tab import write_and_rank
from gradio.events import api
from rank_tab import letter_names, rank_request
from ranking import Ranking
from refusals import refused
from story_scorer import OneAtATime
from story_writer import StoryWriter
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
    learned_from: str


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
        "learned_from": ranking.learned_from,
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
                warnings: what to know before trusting the order; scorer and signature: which model said so;
                learned_from: what that model was trained on.
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


class BestOfNAnswer(TypedDict):
    """The best story of several that were written for one premise."""

    best: str
    stories: list[str]
    ranking: RankAnswer
    failures: list[str]


def best_of_n_endpoint(
    scorer: OneAtATime, writer: StoryWriter, limits: Limits
) -> Callable[[str, int, int], BestOfNAnswer]:
    """Make the function behind ``/best_of_n``."""

    def best_of_n(premise: str, n: int = 4, words: int = 200) -> BestOfNAnswer:
        """Have n stories written for a premise and give the one that readers would most likely prefer.

        Args:
            premise: the idea to write about.
            n: 2 to 8 stories.
            words: 80 to 600, the rough length of each.

        Returns:
            best: the winning story; stories: all that were written; ranking: as of rank, with index into stories;
                failures: why others could not be written.
        """
        if not isinstance(premise, str) or type(n) is not int or type(words) is not int:
            raise refused("premise is a text, n and words are whole numbers.")
        try:
            *_, (ranking, come) = write_and_rank(scorer, writer, limits, premise, n, words)
        except StoryAlignError as error:
            raise refused(str(error)) from error
        failures = [f"draft {draft.number}: {draft.failure}" for draft in come if draft.failure]
        if ranking is None or not ranking.placed:
            raise refused("; ".join(failures) or "no story was written")
        written = {f"Draft {draft.number}": draft.story for draft in come if draft.story is not None}
        return {
            "best": ranking.placed[0].text,
            "stories": list(written.values()),
            "ranking": answer_of(ranking, list(written)),
            "failures": failures,
        }

    return best_of_n


def publish(rank: Callable[..., Any], best_of_n: Callable[..., Any] | None = None) -> None:
    """Publish the endpoints inside the current ``gr.Blocks``; calls share the queues of the page."""
    api(rank, api_name="rank", concurrency_limit=1, concurrency_id="model")
    if best_of_n is not None:
        api(best_of_n, api_name="best_of_n", concurrency_limit=4, concurrency_id="writer")
