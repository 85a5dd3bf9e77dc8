"""A tab where the endpoint writes several stories for one idea and the model ranks them as they come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import gradio as gr
from ranking import Ranking, rank_stories
from ranking_html import ranking_html
from story_scorer import OneAtATime, Scored
from story_writer import MOST_STORIES, WORDS, StoryWriter, Written
from visitor_limits import InputRefused, Limits, check_characters

from storyalign.errors import StoryAlignError
from storyalign.web.story_html import message

EMPTY = message(
    "empty",
    "Several drafts, the best one first",
    "Write down an idea. A language model writes a few stories for it, and each takes its place as it comes.",
)
STOPPED = '<p class="sa-facts">Stopped. What is there stays; no more is written.</p>'


def write_and_rank(
    scorer: OneAtATime, writer: StoryWriter, limits: Limits, premise: str, count: int, words: int
) -> Iterator[tuple[Ranking | None, list[Written]]]:
    """Have stories written and rank those that are there, after each one.

    Args:
        scorer: the model.
        writer: the endpoint.
        limits: the largest accepted input.
        premise: the idea.
        count: stories to write.
        words: their length, roughly.

    Returns:
        The ranking so far (None before the first story) and all that has come, with failures.

    Raises:
        InputRefused: the input is missing, too long, or out of range.
        EndpointError: no call can succeed.
        ModelError: the scorer failed.
    """
    if not premise.strip():
        raise InputRefused("The idea is empty. A sentence or two will do.")
    if len(premise) > limits.premise_chars:
        raise InputRefused(f"The idea has {len(premise):,} characters; at most {limits.premise_chars:,} are accepted.")
    check_characters("The idea", premise)
    names: list[str] = []
    stories: list[str] = []
    scored: list[Scored] = []
    come: list[Written] = []
    with closing(writer.write(premise, count, words)) as drafts:
        for draft in drafts:
            come.append(draft)
            if draft.story is not None:
                names.append(f"Draft {draft.number}")
                stories.append(draft.story)
                scored += scorer(premise, [draft.story])
            ranking = None
            if stories:
                ranking = rank_stories(
                    premise, names, stories, scored,
                    scorer=scorer.name, signature=scorer.signature, learned_from=scorer.learned_from,
                )  # fmt: skip
            yield ranking, come


def drafts_html(ranking: Ranking | None, come: list[Written]) -> str:
    """Draw what is there so far."""
    failures = [f"Draft {draft.number}: {draft.failure}" for draft in come if draft.failure]
    missing = message("error", "Not all could be written", *failures) if failures else ""
    return missing + (ranking_html(ranking) if ranking is not None else "")


class BestOfNTab:
    """The components of the tab and what they do."""

    def __init__(self, scorer: OneAtATime, writer: StoryWriter, limits: Limits):
        self.scorer, self.writer, self.limits = scorer, writer, limits

    def build(self) -> None:
        """Lay out the tab inside the current ``gr.Blocks``."""
        with gr.Row(equal_height=False):
            with gr.Column(scale=5, min_width=320):
                premise = gr.Textbox(
                    label="Your idea",
                    info="What should the stories be about?",
                    placeholder="Two rival bakers discover that they share a starter dough.",
                    lines=3,
                    max_lines=8,
                )
                count = gr.Slider(2, MOST_STORIES, value=4, step=1, label="Stories")
                words = gr.Slider(*WORDS, value=200, step=20, label="Words, roughly")
                with gr.Row():
                    write = gr.Button("Write and rank", variant="primary", min_width=140)
                    stop = gr.Button("Stop", min_width=80, scale=0)
                said = gr.HTML("", apply_default_css=False, elem_id="sa-drafts-said")
                gr.HTML(
                    f'<p class="sa-facts">Your idea is sent to {self.writer.endpoint.model}, a language model run by '
                    "others, which writes the stories.</p>",
                    apply_default_css=False,
                )
            with gr.Column(scale=6, min_width=320):
                result = gr.HTML(EMPTY, apply_default_css=False, elem_id="sa-drafts", min_height=200)
        options: dict[str, Any] = {"concurrency_limit": 4, "concurrency_id": "writer", "api_visibility": "private"}
        running = write.click(self.run, [premise, count, words], [result, said], **options)
        stop.click(lambda: STOPPED, None, said, cancels=[running], api_visibility="private", queue=False)

    def run(self, premise: str, count: int, words: int) -> Iterator[tuple[str, str]]:
        """Write, rank and draw, after each story; the second text says how far it is."""
        yield EMPTY, '<p class="sa-facts">The first story is being written …</p>'
        try:
            for ranking, come in write_and_rank(self.scorer, self.writer, self.limits, premise or "", count, words):
                said = f'<p class="sa-facts">{len(come)} of {count} written</p>' if len(come) < count else ""
                yield drafts_html(ranking, come), said
        except InputRefused as error:
            yield message("error", "Nothing was written", str(error)), ""
        except StoryAlignError as error:
            yield message("error", "The endpoint or the model failed", str(error)), ""
