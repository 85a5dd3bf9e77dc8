"""Rank stories the way readers would: the StoryAlign Space. Run it with ``python space/app.py``.

The model, the datasets and the results are named by whoever runs the Space, through environment variables (README.md).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
# Gradio sums up all recorded requests after each one, with a call that pandas 3 warns about; nobody looks at the sums.
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "100")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(10**9))

import bundled_package  # noqa: F401  before all that imports the kit
import gradio as gr
import gradio.mcp
from best_of_n_tab import BestOfNTab
from choice_book import ChoiceBook, choice_book_of
from endpoints import best_of_n_endpoint, publish, rank_endpoint
from explore_tab import ExploreTab
from group_sources import HUB_ID, operator_sets
from leaderboard_tab import LeaderboardTab
from rank_tab import RankTab
from refusals import HANDLERS, Page
from request_size import RequestSize
from results_shelf import Board, published, read_results, result_places
from starlette.middleware import Middleware
from story_judge import StoryJudge, judge_of
from story_scorer import OneAtATime, StoryScorer, load_scorer
from story_writer import StoryWriter, writer_of
from visitor_limits import DEFAULT_LIMITS, Limits, limits_of

from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.errors import StoryAlignError
from storyalign.web.look import head, theme

DESCRIPTION = "Rank stories the way readers would, explore story-preference data, and compare reward models."
TITLE = "Which story would readers prefer?"
LEAD = (
    "Give one idea and a few stories written for it. A model that learned from pairs of stories puts them in order "
    "and says how sure it is."
)


def build_app(
    scorer: StoryScorer | None,
    datasets: Sequence[EvaluationSet] = (),
    results: Sequence[Board] = (),
    *,
    writer: StoryWriter | None = None,
    judge: StoryJudge | None = None,
    book: ChoiceBook | None = None,
    missing: str = "",
    data_problems: Sequence[str] = (),
    result_problems: Sequence[str] = (),
    results_home: str = "",
    limits: Limits = DEFAULT_LIMITS,
) -> gr.Blocks:
    """Build the whole app around a scorer.

    Args:
        scorer: the model, or None where none is loaded.
        datasets: the sets to explore.
        results: what scorers reached, one board a benchmark.
        writer: the endpoint that writes stories for the Best-of-N tab; without it there is no such tab.
        judge: rates stories on five dimensions in the Rank tab; None leaves that out.
        book: takes down choices that visitors share; None keeps nothing.
        missing: why there is no model; shown to the visitor.
        data_problems: why other sets could not be loaded.
        result_problems: why other results could not be used.
        results_home: id of the dataset on the Hub that takes submissions.
        limits: the largest inputs that visitors may hand in.
    """
    one = OneAtATime(scorer) if scorer is not None else None
    app = Page(title="StoryAlign", analytics_enabled=False, delete_cache=(600, 3600))
    with app:
        best_of_n = None if one is None or writer is None else best_of_n_endpoint(one, writer, limits)
        publish(rank_endpoint(one, limits, missing), best_of_n)  # first, so that no event of the page takes a name
        gr.HTML(f'<header class="sa-hero"><h1>{TITLE}</h1><p>{LEAD}</p></header>', apply_default_css=False)
        with gr.Tabs():
            with gr.Tab("Rank", id="rank"):
                RankTab(one, limits, missing, judge).build()
            if one is not None and writer is not None:
                with gr.Tab("Best of N", id="best-of-n"):
                    BestOfNTab(one, writer, limits).build()
            with gr.Tab("Explore", id="explore") as explore:
                ExploreTab(datasets, data_problems, published(results), one, book).build(explore)
            with gr.Tab("Leaderboard", id="leaderboard"):
                LeaderboardTab(results, result_problems, results_home).build()
    app.queue(max_size=limits.queue, default_concurrency_limit=8)
    return app


def launch(app: gr.Blocks, limits: Limits = DEFAULT_LIMITS, **options: Any) -> None:
    """Start serving and return; ``options`` go to ``gr.Blocks.launch``."""
    if with_tools := find_spec("mcp") is not None:
        from agent_tools import AgentTools

        gradio.mcp.GradioMCPServer = partial(AgentTools, limits=limits)  # launch builds the server by this name
    app.launch(
        theme=theme(),
        head=head(DESCRIPTION, Path(__file__).with_name("style.css")),
        max_file_size=limits.file_bytes,
        state_session_capacity=limits.sessions,
        enable_monitoring=False,
        run_history=False,
        footer_links=["api", "gradio", "settings"],
        ssr_mode=False,
        prevent_thread_lock=True,
        mcp_server=with_tools,
        _frontend=False,  # drops one thing: a check that ends the start where the first page takes over three seconds
        app_kwargs={
            "middleware": [Middleware(RequestSize, limit=limits.body_bytes)],
            "exception_handlers": HANDLERS,
        },
        **options,
    )


async def start() -> gr.Blocks:
    """Load what the environment names, once, and start serving.

    A coroutine, because gradio opens (and never closes) an event loop for each lock that it makes outside of one.
    """
    limits = limits_of(os.environ)
    if model := os.environ.get("STORYALIGN_MODEL"):
        print(f"loading {model} ...", flush=True)
    scorer, missing = load_scorer(os.environ)
    if missing:
        print(f"no model: {missing}", flush=True)
    datasets, data_problems = operator_sets(os.environ)
    places = result_places(os.environ)
    results, result_problems = read_results(places, datasets)
    app = build_app(
        scorer,
        datasets,
        results,
        writer=writer_of(os.environ),
        judge=judge_of(os.environ),
        book=choice_book_of(os.environ),
        missing=missing,
        limits=limits,
        data_problems=data_problems,
        result_problems=result_problems,
        results_home=next((place for place in places if HUB_ID.fullmatch(place) and not Path(place).exists()), ""),
    )
    if find_spec("mcp") is None:
        print("no MCP tool, as mcp is not installed; pip install 'storyalign[space]'", file=sys.stderr)
    launch(app, limits, quiet=True)
    print(f"Open {app.local_url} in a browser. Ctrl-C ends the app.", flush=True)
    return app


def main() -> None:
    """Serve until Ctrl-C; what the operator can mend is one line, not a traceback."""
    try:
        started = asyncio.run(start())
    except StoryAlignError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:  # the port is taken
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(StoryAlignError.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    started.block_thread()


if __name__ == "__main__":
    main()
