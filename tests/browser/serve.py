"""Serves the Space with the fake scorer, in a process of its own: ``python -W error serve.py PORT [--no-model]``."""

import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "space"), str(ROOT)]

import app as space_app  # noqa: E402

from tests.space.fake_scorer import FakeScorer  # noqa: E402
from tests.space.groups import REWARDS, small_set  # noqa: E402


async def start(port, *flags):
    scorer = None if "--no-model" in flags else FakeScorer()
    app = space_app.build_app(
        scorer,
        [small_set()],
        published={small_set().digest: REWARDS},
        missing="The variable STORYALIGN_MODEL is not set.",
    )
    space_app.launch(app, server_port=int(port), quiet=True)
    return app


asyncio.run(start(*sys.argv[1:])).block_thread()
