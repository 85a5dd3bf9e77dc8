"""LLM judges as scorers: the calls that a group of stories takes, their answers, and the rewards that follow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from storyalign._version import __version__
from storyalign.errors import StoryAlignError
from storyalign.llm.budget import Budget, dollars, estimate_tokens
from storyalign.llm.client import Answer, Call, Client
from storyalign.llm.endpoint import Endpoint, Sampling
from storyalign.llm.replies import UnparsedReply
from storyalign.records import Reward
from storyalign.scoring.call_log import CallLog, LoggedCall
from storyalign.scoring.questions import prompt_of, question, read_vote, reply_form
from storyalign.scoring.reward_store import Request, row_signature
from storyalign.scoring.run import Scorer
from storyalign.scoring.voting import RATED, Mode, Order, flips, orders, rewards
from storyalign.text import content_id, digest

RE_ASKS = 2
"""How often a run asks again for a reply that cannot be read, each time with another seed where the judge has one."""

_VOTES = "every order or none"
"""How replies become rewards; part of the signature, so that rewards made by another rule are not taken for these."""


class CostLimitError(StoryAlignError):
    """The cost limit stopped a run before all stories were judged."""


class Estimate(NamedTuple):
    """What a run will take at most, before it starts."""

    calls: int
    prompt_tokens: int
    reply_tokens: int
    """Upper bound: every reply as long as ``max_tokens`` allows."""
    cost: float | None
    """US dollars, an upper bound without retries and re-asks; None where no price is known."""

    def __str__(self) -> str:
        """Return one line; re-asks of unread replies stand apart, as most runs need few."""
        cost = "price unknown" if self.cost is None else f"at most {dollars(self.cost)}"
        tokens = f"about {self.prompt_tokens:,} prompt tokens, at most {self.reply_tokens:,} reply tokens"
        again = f"unread replies are asked for up to {RE_ASKS} more times"
        if self.cost:
            again += f", with which it is at most {dollars((1 + RE_ASKS) * self.cost)}"
        return f"{self.calls:,} calls, {tokens}, {cost}; {again}"


@dataclass(slots=True)
class _Group:
    """Stories that are judged together, and what is known of their calls."""

    requests: list[Request]
    """The candidates that need a reward."""
    stories: tuple[str, ...]
    candidates: tuple[int, ...]
    """The candidate number of each story."""
    votes: dict[Order, float] = field(default_factory=dict)
    unparsed: dict[Order, str] = field(default_factory=dict)
    failed: dict[Order, str] = field(default_factory=dict)

    def settled(self, mode: Mode) -> bool:
        return len(self.votes) + len(self.unparsed) + len(self.failed) == len(orders(mode, len(self.stories)))


_Slot = tuple[_Group, Order]


class JudgeScorer(Scorer):
    """Score stories with an LLM behind an endpoint, which alone knows its limit; what it refuses is unscored.

    Args:
        name: what the user called the judge.
        endpoint: where it is asked.
        mode: how it is asked, see ``voting``.
        log: the calls beside the rewards file.
        max_cost: US dollars that this run may spend; None means no limit.

    Raises:
        EndpointError: the key's variable is not set.
        RecipeError: a cost limit without a known price.
    """

    def __init__(self, name: str, endpoint: Endpoint, mode: Mode, log: CallLog, *, max_cost: float | None = None):
        self.name, self.endpoint, self.mode, self.log = name, endpoint, mode, log
        self.client = Client(endpoint, Budget(max_cost, endpoint.known_price))
        self.sees_rivals = mode not in RATED
        """The reward of a story depends on the other stories of its group."""
        prompt = prompt_of(mode)
        self.signature: dict[str, Any] = {
            "kind": "judge",
            "name": f"judge:{name}",
            "model": endpoint.model,
            "url": endpoint.url,
            "mode": mode,
            "prompt": prompt.name,
            "prompt_digest": prompt.digest,
            "reply_format": endpoint.reply_format,
            "temperature": endpoint.temperature,
            "seed": endpoint.seed,
            "max_tokens": endpoint.max_tokens,
            "extra": dict(endpoint.extra or {}),
            "votes": _VOTES,
            "storyalign": __version__,
        }
        self._settings = digest(endpoint.settings_digest(), mode, prompt.digest)
        self.digest = digest(self._settings, _VOTES, __version__)
        self._asked = self._re_asked = self._reused = self._failed = self._unparsed = 0

    def estimate(self, requests: Iterable[Request]) -> Estimate:
        """Estimate what judging these candidates takes; calls whose reply the log holds are left out if it is read."""
        waiting = self._unanswered(list(self._groups(requests)))
        calls = len(waiting)
        prompt_tokens = sum(estimate_tokens(self._text(*slots[0])) + 4 for slots in waiting.values())
        reply_tokens = calls * self.endpoint.max_tokens
        price = self.endpoint.known_price
        cost = None if price is None else price.cost(prompt_tokens, reply_tokens)
        return Estimate(calls, prompt_tokens, reply_tokens, cost)

    def score(self, requests: Iterable[Request]) -> Iterator[list[Reward]]:
        """Judge candidates and give the rewards of one group at a time, as its last answer comes.

        Raises:
            EndpointError: no call can succeed, or too many failed in a row; what was answered is in the log.
            CostLimitError: the limit leaves no room for the rest.
        """
        groups = list(self._groups(requests))
        waiting = self._unanswered(groups)
        self._reused += sum(len(group.votes) for group in groups)
        _forget_unread(waiting.values())
        done = 0
        for group in groups:
            if group.settled(self.mode):
                done += 1
                yield self._rows(group)
        with self.log.appending() as writer:
            for re_ask in range(1 + RE_ASKS):
                unread: dict[str, list[_Slot]] = {}
                with closing(self.client.ask(self._calls(waiting))) as answers:
                    for call, answer in answers:
                        slots = waiting[call.id]
                        writer.add(_logged(call, answer, *slots[0]))
                        self._asked += 1
                        self._re_asked += re_ask > 0
                        if not self._take(slots, answer) and re_ask < RE_ASKS:
                            unread[call.id] = slots
                            _forget_unread([slots])
                            continue
                        for group in {id(group): group for group, _ in slots}.values():
                            if group.settled(self.mode):
                                done += 1
                                yield self._rows(group)
                waiting = unread
                if not waiting:
                    break
        if done < len(groups):
            budget = self.client.budget
            raise CostLimitError(
                f"judge:{self.name}: the limit of {dollars(budget.limit or 0)} is reached"
                f" ({dollars(budget.spent or 0)} spent) with {len(groups) - done} of {len(groups)} groups to go;"
                " run again with a higher --max-cost to go on"
            )

    def reply_to(self, premise: str, stories: Sequence[str]) -> str | None:
        """Return the reply about stories in this order, as it was said; None where the log has none."""
        return self.log.replies.get(self._call_id(question(self.mode, premise, stories)))

    def report(self, requests: Iterable[Request]) -> dict[str, Any]:
        """Return the figures that belong beside the rewards: flips over all groups, and what this run took."""
        groups = list(self._groups(requests))
        self._unanswered(groups)
        found = [flips(self.mode, len(group.stories), group.votes) for group in groups]
        changed, compared = sum(flip.changed for flip in found), sum(flip.compared for flip in found)
        budget = self.client.budget
        return {
            "flip_rate": changed / compared if compared else None,
            "flips": changed,
            "flips_of": compared,
            "flips_unit": {"choose": "instances", "pairwise": "pairs"}.get(self.mode),
            "valid_replies": sum(len(group.votes) for group in groups),
            "unparsed_replies": sum(len(group.unparsed) for group in groups),
            "this_run": {
                "asked": self._asked,
                "re_asked": self._re_asked,
                "reused": self._reused,
                "failed": self._failed,
                "unparsed": self._unparsed,
                "prompt_tokens": budget.prompt_tokens,
                "reply_tokens": budget.reply_tokens,
                "cost": budget.spent,
            },
        }

    def _groups(self, requests: Iterable[Request]) -> Iterator[_Group]:
        if not self.sees_rivals:
            for request in requests:
                yield _Group([request], (request.story,), (request.candidate,))
            return
        by_id: dict[str, list[Request]] = defaultdict(list)
        for request in requests:
            by_id[request.id].append(request)
        for group in by_id.values():
            stories = group[0].rivals
            yield _Group(group, stories, tuple(range(len(stories))))

    def _unanswered(self, groups: list[_Group]) -> dict[str, list[_Slot]]:
        """Count the votes that the log holds; list the calls without one, with what waits for each."""
        waiting: dict[str, list[_Slot]] = defaultdict(list)
        for group in groups:
            for order in orders(self.mode, len(group.stories)):
                call = self._call_id(self._text(group, order))
                if (reply := self.log.replies.get(call)) is None or not self._count(group, order, reply):
                    waiting[call].append((group, order))
        return waiting

    def _take(self, slots: list[_Slot], answer: Answer) -> bool:
        """Take an answer in; return False for a reply that cannot be read."""
        if answer.reply is None:
            for group, order in slots:
                group.failed[order] = str(answer.failure)
            self._failed += 1
            return True
        for group, order in slots:
            read = self._count(group, order, answer.reply.text)  # all alike: they share the request
        self._unparsed += not read
        return read

    def _calls(self, waiting: dict[str, list[_Slot]]) -> Iterator[Call]:
        response_format = reply_form(self.mode)
        for call, slots in waiting.items():
            group, order = slots[0]
            yield Call(
                call, [{"role": "user", "content": self._text(group, order)}], response_format, self._sampling(call)
            )

    def _sampling(self, call: str) -> Sampling:
        """Draw with another seed for each reply that the log holds already: the same one would come again."""
        sampling = self.endpoint.sampling
        return sampling if sampling.seed is None else replace(sampling, seed=sampling.seed + self.log.counts[call])

    def _text(self, group: _Group, order: Order) -> str:
        return question(self.mode, group.requests[0].prompt, [group.stories[i] for i in order])

    def _call_id(self, text: str) -> str:
        return content_id("call", self._settings, text)

    def _count(self, group: _Group, order: Order, reply: str) -> bool:
        """Read a reply as a vote; say whether it is one."""
        try:
            group.votes[order] = read_vote(self.mode, reply, order)
        except UnparsedReply as reason:
            group.unparsed[order] = str(reason)
            return False
        group.unparsed.pop(order, None)
        return True

    def _rows(self, group: _Group) -> list[Reward]:
        total = len(orders(self.mode, len(group.stories)))
        if group.failed:
            reason = f"{len(group.failed)} of {total} calls failed: {next(iter(group.failed.values()))}"
        elif group.unparsed:
            unread = f"{len(group.unparsed)} of {total} replies unread, asked for {1 + RE_ASKS} times"
            reason = f"{unread}: {next(iter(group.unparsed.values()))}"
        else:
            reason = ""
        values = rewards(self.mode, len(group.stories), group.votes)
        rows = []
        for request in group.requests:
            value = values[group.candidates.index(request.candidate)]
            signature = row_signature(self.digest, request.prompt, request.story, request.rivals)
            status, detail = ("failed", reason) if value is None else ("scored", None)
            rows.append(Reward(request.id, request.candidate, value, 0, False, status, signature, detail))  # type: ignore[arg-type]
        return rows


def _forget_unread(calls: Iterable[list[_Slot]]) -> None:
    """Reopen what waits for calls whose reply could not be read: they are made again."""
    for group, order in (slot for slots in calls for slot in slots):
        group.unparsed.pop(order, None)


def _logged(call: Call, answer: Answer, group: _Group, order: Order) -> LoggedCall:
    shown = tuple(group.candidates[i] for i in order)
    reply, seed = answer.reply.text if answer.reply else None, call.sampling.seed if call.sampling else None
    tokens = answer.prompt_tokens, answer.reply_tokens
    return LoggedCall(call.id, group.requests[0].id, shown, reply, answer.failure, answer.tries, seed, *tokens)
