"""Runs a scripted judge over small groups, with a real rewards file and a real HTTP server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storyalign.llm.endpoint import Endpoint
from storyalign.records import Instance, Reward
from storyalign.scoring.call_log import CallLog
from storyalign.scoring.judges import JudgeScorer
from storyalign.scoring.reward_store import Counts, open_store
from storyalign.scoring.run import score_instances
from tests.support.rows import storyrmb_row
from tests.support.scripted_llm_server import Running, prompt_of, scripted_server

_BLOCK = re.compile(r"\[story(?: (\d+))? begins (\w+)\]\n(.*?)\n\[story(?: \d+)? ends \2\]", re.S)


def instances(count: int) -> list[Instance]:
    """Whole instances of four stories."""
    return [Instance.from_row(storyrmb_row(i)) for i in range(count)]


def shown_stories(body: dict[str, Any]) -> list[str]:
    """Read the stories back out of a request, in the order shown."""
    return [story for _, _, story in _BLOCK.findall(prompt_of(body))]


def names(story: str) -> Callable[[dict[str, Any], int], str]:
    """Script a judge that always finds the story containing this text."""
    return lambda body, _: f'{{"best": {1 + next(i for i, s in enumerate(shown_stories(body)) if story in s)}}}'


@dataclass
class Judged:
    """One run: the rewards file's rows, the judge's report, the server's view."""

    rows: list[Reward]
    counts: Counts
    report: dict[str, Any]
    server: Running

    @property
    def port(self) -> int:
        """The server's port."""
        return int(self.server.url.split(":")[-1].split("/")[0])

    def by_instance(self) -> dict[str, list[float | None]]:
        """Give the rewards of each instance, the chosen story's first."""
        found: dict[str, list[float | None]] = {}
        for row in self.rows:
            found.setdefault(row.id, []).append(row.reward)
        return found


def judge(
    script: Callable[[dict[str, Any], int], Any],
    items: list[Instance],
    out: Path,
    mode: str = "choose",
    *,
    port: int = 0,
    max_cost: float | None = None,
    **endpoint: Any,
) -> Judged:
    """Judge the instances as the command line does; a run that goes on needs the first run's port, part of the url."""
    fast = {"tries": 2, "first_pause": 0.01, "timeout": 5.0, "max_concurrency": 4}
    with scripted_server(script, port) as server, open_store(out) as store:
        log = CallLog(out)
        log.load()
        settings = Endpoint(server.url, "scripted", **{**fast, **endpoint})
        scorer = JudgeScorer("scripted", settings, mode, log, max_cost=max_cost)
        counts = score_instances(scorer, items, store, {"name": "test", "digest": "0"})
        sidecar = store.settings() or {}
    return Judged(read_rewards(out), counts, sidecar.get("report", {}), server)


def read_rewards(out: Path) -> list[Reward]:
    """Read a rewards file with the row's own checks."""
    return [Reward.from_row(json.loads(line)) for line in out.read_text("utf-8").splitlines()]
