"""Five qualities of each story, as an LLM judge sees them; asked on demand, with a bound on what visitors spend."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from allowance import Allowance
from operator_endpoint import hourly, operator_endpoint

from storyalign.errors import EndpointError
from storyalign.llm.client import Call, Client
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.prompts import ratings_request
from storyalign.llm.rating_replies import SCORES, parse_ratings, ratings_schema
from storyalign.llm.replies import UnparsedReply
from storyalign.scoring.systems import JUDGE_PREFIX, JudgeSystem, resolve
from storyalign.text import digest

PER_HOUR = 400
READINGS = 2
"""How often the judge is asked where its reply cannot be read."""
TOKENS_A_STORY = 120
"""Room for the six scores of one story in the reply."""
TOKENS_BESIDE = 200
SECONDS = 120.0
"""Nobody waits longer than this for one try."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the judge gave each story, in the order of the request."""

    judge: str
    scores: tuple[Mapping[str, float], ...]
    """One mapping a story: the five dimensions and ``overall``, each from 1 to 10."""


class StoryJudge:
    """Asks one endpoint to rate stories.

    Args:
        endpoint: where and how.
        per_hour: stories that all visitors together may have judged within an hour.
    """

    def __init__(self, endpoint: Endpoint, per_hour: int = PER_HOUR):
        self.endpoint, self.allowance = endpoint, Allowance(per_hour, "judges")

    def __call__(self, premise: str, stories: Sequence[str]) -> Opinion:
        """Have all stories rated in one reading, in a shuffled order that the same texts always get.

        Raises:
            InputRefused: the allowance is used up.
            EndpointError: there is no reply, or none that can be read; no score is made up.
        """
        self.allowance.take(len(stories))
        order = list(range(len(stories)))
        random.Random(digest(premise, *stories)).shuffle(order)
        room = max(self.endpoint.max_tokens, TOKENS_BESIDE + TOKENS_A_STORY * len(stories))
        client = Client(replace(self.endpoint, max_tokens=room, timeout=min(self.endpoint.timeout, SECONDS), tries=2))
        asked = [{"role": "user", "content": ratings_request(premise, [stories[i] for i in order])}]
        why = ""
        for _ in range(READINGS):
            with closing(client.ask([Call("ratings", asked, ratings_schema(SCORES))])) as answers:
                [(_, answer)] = answers
            if answer.reply is None:
                raise EndpointError(f"{self.endpoint.model}: {answer.failure}")
            try:
                shown = parse_ratings(answer.reply.text, SCORES, len(stories))
            except UnparsedReply as reason:
                why = str(reason)
            else:
                return Opinion(self.endpoint.model, tuple(shown[order.index(i)] for i in range(len(stories))))
        raise EndpointError(f"{self.endpoint.model}: its reply cannot be read ({why}); ask again")


def judge_of(settings: Mapping[str, str]) -> StoryJudge | None:
    """Make the judge that the operator named, if any; else the endpoint that writes stories judges them, too.

    Args:
        settings: environment variables: ``STORYALIGN_JUDGE`` (a judge of ``recipes/scorers.yaml`` or of the file in
            ``STORYALIGN_SCORERS``), ``STORYALIGN_JUDGE_STORIES_PER_HOUR``, and those of ``operator_endpoint``.

    Raises:
        RecipeError: no such judge, or the endpoint is wrong.
        EndpointError: the judge's key is not set.
    """
    name = settings.get("STORYALIGN_JUDGE", "").strip()
    endpoint: Endpoint | None
    if name:
        system = resolve(JUDGE_PREFIX + name.removeprefix(JUDGE_PREFIX))
        assert isinstance(system, JudgeSystem)
        endpoint = system.endpoint
        endpoint.key()
    else:
        endpoint = operator_endpoint(settings, temperature=0.0, max_tokens=TOKENS_BESIDE, tries=2)
    if endpoint is None:
        return None
    return StoryJudge(endpoint, hourly(settings, "STORYALIGN_JUDGE_STORIES_PER_HOUR", PER_HOUR))
