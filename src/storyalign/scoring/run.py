"""One scoring run: take what earlier runs finished, deal the rest to the processes, write the rewards file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Protocol

from storyalign.records import Instance, Reward
from storyalign.scoring.processes import Processes
from storyalign.scoring.reward_store import Counts, Request, RewardStore, requests_of
from storyalign.text import TEXT_RULE


class Scorer(Protocol):
    """Whatever gives rewards: a reward model, a judge, a null scorer."""

    digest: str
    """Hash of everything that shapes a reward, the texts left out."""
    signature: dict[str, Any]
    """The same in readable form."""
    sees_rivals: bool
    """Whether the reward of a story depends on the other stories of its group."""

    def refuse_too_long(self, requests: Sequence[Request]) -> None:
        """Raise ``TooLongError`` for stories that cannot be scored, before any work is done; by default none is."""
        return

    def score(self, requests: Iterable[Request]) -> Iterator[list[Reward]]:
        """Yield the rewards of a stream of requests of any length, in batches and in any order.

        Raises:
            StoryAlignError: the scorer cannot go on, or a story is too long.
        """
        ...

    def report(self, requests: Iterable[Request]) -> dict[str, Any]:
        """Return figures of the finished run that belong beside the rewards; most scorers have none."""
        return {}


Progress = Callable[[list[Reward], int], None]
"""Called after each batch with its rewards and the characters of its stories."""


def score_instances(
    scorer: Scorer,
    instances: Sequence[Instance],
    store: RewardStore,
    data: dict[str, Any],
    *,
    processes: Processes | None = None,
    begin: Callable[[int, int], None] = lambda stories, characters: None,
    progress: Progress = lambda rewards, characters: None,
) -> Counts:
    """Score every candidate of every instance that has no reward yet, and finish the rewards file.

    Args:
        scorer: what scores.
        instances: the data.
        store: the rewards file, held open.
        data: name and digest of the data, kept with the settings.
        processes: those that score together; each calls this function.
        begin: called once with the stories and characters that this process has to score.
        progress: called after each batch.

    Raises:
        StoryAlignError: stories are too long and may not be cut, or the scorer gives no rewards.
    """
    processes = processes or Processes()
    requests = list(requests_of(instances, with_rivals=scorer.sees_rivals))
    known = store.known(scorer.digest, requests)
    todo = (r for r in requests if (r.id, r.candidate) not in known)
    # Stories of one premise stay together: equal ones are then scored once, and tie exactly.
    groups = [list(group) for _, group in groupby(todo, key=lambda r: r.id)]
    dealt = processes.deal(groups, lambda group: sum(map(_characters, group)))
    share = [request for group in dealt for request in group]
    processes.together(lambda: scorer.refuse_too_long(share))
    sizes = {(r.id, r.candidate): _characters(r) for r in share}
    begin(len(share), sum(sizes.values()))

    def work() -> None:
        with store.appending(processes.rank) as keep:
            for rewards in scorer.score(share):
                keep(rewards)
                progress(rewards, sum(sizes[r.id, r.candidate] for r in rewards))

    processes.together(work)
    settings: dict[str, Any] = {"scorer": {**scorer.signature, "text_rule": TEXT_RULE}, "data": data}
    if scorer.sees_rivals:
        settings["sees_rivals"] = True
    if report := scorer.report(requests):
        settings["report"] = report
    counts = processes.together(lambda: store.finish(scorer.digest, requests, settings, len(known)), only_main=True)
    return next(c for c in processes.share(counts) if c is not None)


def _characters(request: Request) -> int:
    return len(request.prompt) + len(request.story)
