"""Serves the Space with the fake scorer, in a process of its own.

``python -W error space_server.py PORT FOLDER [--no-model] [--queue N] [--sessions N] [--seconds S] [--writer URL]``
"""

import argparse
import asyncio
import dataclasses
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "space"), str(ROOT)]

import app as space_app  # noqa: E402
from results_shelf import read_results  # noqa: E402
from story_judge import StoryJudge  # noqa: E402
from story_writer import StoryWriter  # noqa: E402
from visitor_limits import DEFAULT_LIMITS  # noqa: E402

from storyalign.llm.endpoint import Endpoint  # noqa: E402
from tests.support.fake_endpoint import endpoint  # noqa: E402
from tests.support.fake_judge import rate  # noqa: E402
from tests.support.fake_scorer import FakeScorer  # noqa: E402
from tests.support.space_groups import small_set, write_rewards  # noqa: E402


def results(folder):
    """Two scorers on the small set, written and read as real ones are."""
    evaluation_set = small_set()
    for name, right in (("steady/scorer", {"g0", "g1", "g3"}), ("shaky/scorer", {"g0"})):
        write_rewards(folder / name, evaluation_set, name, lambda i, c, right=right: float((c == 0) == (i.id in right)))
    boards, problems = read_results([folder], [evaluation_set])
    assert problems == []
    return boards


async def start(options, writer_at, judge_at):
    limits = dataclasses.replace(DEFAULT_LIMITS, queue=options.queue, sessions=options.sessions)
    app = space_app.build_app(
        None if options.no_model else FakeScorer(options.seconds),
        [small_set()],
        results(options.folder),
        writer=StoryWriter(Endpoint(writer_at, "fake/writer", max_concurrency=1)),
        judge=StoryJudge(Endpoint(judge_at, "fake/judge")),
        missing="The variable STORYALIGN_MODEL is not set.",
        limits=limits,
    )
    space_app.launch(app, limits, server_port=options.port, quiet=True)
    return app


parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("folder", type=Path)
parser.add_argument("--no-model", action="store_true")
parser.add_argument("--queue", type=int, default=DEFAULT_LIMITS.queue)
parser.add_argument("--sessions", type=int, default=DEFAULT_LIMITS.sessions)
parser.add_argument("--seconds", type=float, default=0.0)
parser.add_argument("--writer", help="an endpoint that writes, in place of the scripted one")
DRAFTS = ["a first draft reward=1", "a second draft reward=2"]
with endpoint(DRAFTS, seconds=0.2) as (_, writer_at), endpoint([rate]) as (_, judge_at):
    options = parser.parse_args()
    asyncio.run(start(options, options.writer or writer_at, judge_at)).block_thread()
