"""Serves the Space with the fake scorer, in a process of its own.

``python -W error serve.py PORT FOLDER [--no-model]``
"""

import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "space"), str(ROOT)]

import app as space_app  # noqa: E402
from results_shelf import read_results  # noqa: E402
from story_writer import StoryWriter  # noqa: E402

from storyalign.llm.endpoint import Endpoint  # noqa: E402
from tests.space.fake_endpoint import endpoint  # noqa: E402
from tests.space.fake_scorer import FakeScorer  # noqa: E402
from tests.space.groups import small_set, write_rewards  # noqa: E402


def results(folder):
    """Two scorers on the small set, written and read as real ones are."""
    evaluation_set = small_set()
    for name, right in (("steady/scorer", {"g0", "g1", "g3"}), ("shaky/scorer", {"g0"})):
        write_rewards(folder / name, evaluation_set, name, lambda i, c, right=right: float((c == 0) == (i.id in right)))
    boards, problems = read_results([folder], [evaluation_set])
    assert problems == []
    return boards


async def start(port, folder, writer_at, *flags):
    scorer = None if "--no-model" in flags else FakeScorer()
    app = space_app.build_app(
        scorer,
        [small_set()],
        results(Path(folder)),
        writer=StoryWriter(Endpoint(writer_at, "fake/writer", max_concurrency=1)),
        missing="The variable STORYALIGN_MODEL is not set.",
    )
    space_app.launch(app, server_port=int(port), quiet=True)
    return app


with endpoint(["a first draft reward=1", "a second draft reward=2"], seconds=0.2) as (_, address):
    asyncio.run(start(*sys.argv[1:3], address, *sys.argv[3:])).block_thread()
