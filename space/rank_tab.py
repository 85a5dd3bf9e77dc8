"""The first tab: a premise, some stories, and the order in which readers would put them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr
from examples_shelf import Example, read_examples
from opinion_html import opinion_html
from ranking import Ranking, rank_stories
from ranking_html import ranking_html
from story_files import SUFFIXES, Dropped, read_story_files
from story_judge import StoryJudge
from story_scorer import OneAtATime
from visitor_limits import InputRefused, Limits, check_request, check_tokens

from storyalign.errors import StoryAlignError
from storyalign.web.story_html import message, text

START = 3
"""Story boxes that are open at first."""

SHOW_PROGRESS = """() => {
  document.getElementById("sa-form").classList.add("sa-ranked");
  const column = document.getElementById("sa-result-column"), top = column.getBoundingClientRect().top;
  if (top < 0 || top > window.innerHeight * 0.3) column.scrollIntoView({block: "start"});
}"""
"""Shrink the form to a line a story and bring the result's place into view: beside the form, or below it on a phone."""

SHOW_RESULT = """() => {
  const ranked = document.querySelector("#sa-result .sa-card") !== null;
  document.getElementById("sa-form").classList.toggle("sa-ranked", ranked);
  const column = document.getElementById("sa-result-column"), top = column.getBoundingClientRect().top;
  if (top < 0 || top > window.innerHeight * 0.3) column.scrollIntoView({block: "start"});
}"""
"""Keep the result in view; where there is none, the form opens again and the message stays in view."""

OPEN_FORM = """() => document.getElementById("sa-form").classList.remove("sa-ranked")"""

SHOW_OPINION = """() => document.getElementById("sa-opinion").scrollIntoView({block: "nearest"})"""
"""The ranking above it may fill the column."""

EMPTY = """
<div class="sa-message sa-empty"><p class="sa-title">The order appears here</p>
<p>Try an example, or bring one idea and two or more stories that were written for it.</p>
<ol class="sa-steps">
<li><strong>People chose.</strong> Shown stories written for the same idea, readers said which they like better.</li>
<li><strong>A model learned.</strong> It read many such choices and now gives any story a number, its reward.</li>
<li><strong>You compare.</strong> The larger the gap between two rewards, the surer the model is. It has a taste and
makes mistakes, like any reader.</li>
</ol></div>
"""


def rank_request(scorer: OneAtATime, limits: Limits, premise: str, stories: list[str], names: list[str]) -> Ranking:
    """Check a request, score it and rank it; what the tab and the API share.

    Raises:
        InputRefused: the input is missing, too long, or too much for one request.
        StoryAlignError: the scorer failed.
    """
    check_request(premise, stories, names, limits)
    tokens = scorer.tokens(premise, stories)
    check_tokens(tokens, scorer.seconds(tokens), limits)
    scored = scorer(premise, stories)
    return rank_stories(
        premise, names, stories, scored,
        scorer=scorer.name, signature=scorer.signature, learned_from=scorer.learned_from,
    )  # fmt: skip


def filled(boxes: Sequence[str | None], names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the stories of the boxes that hold something, and their names."""
    pairs = [(box, name) for box, name in zip(boxes, names, strict=True) if box and box.strip()]
    return [story for story, _ in pairs], [name for _, name in pairs]


def letter_names(count: int) -> list[str]:
    """Name boxes: Story A, Story B, ..."""
    return [f"Story {chr(ord('A') + i)}" for i in range(count)]


def place_stories(
    boxes: Sequence[str | None], names: Sequence[str], dropped: Dropped, limits: Limits
) -> tuple[list[str], list[str]]:
    """Put dropped stories into the empty boxes, first come first served.

    Raises:
        InputRefused: there are more stories than empty boxes.
    """
    texts, labels = [box or "" for box in boxes], list(names)
    free = [i for i, box in enumerate(texts) if not box.strip()]
    if len(dropped.stories) > len(free):
        raise InputRefused(
            f"{len(dropped.stories)} stories were dropped, but only {len(free)} of {limits.max_stories} places "
            "are free. Clear some first."
        )
    for i, name, story in zip(free, dropped.names, dropped.stories, strict=False):
        texts[i], labels[i] = story, name
    return texts, labels


class RankTab:
    """The components of the tab and what they do.

    Args:
        scorer: the model; None where there is none.
        limits: the largest accepted input.
        missing: why there is no model.
        judge: an LLM that says more about the stories; None where there is none.
    """

    def __init__(self, scorer: OneAtATime | None, limits: Limits, missing: str = "", judge: StoryJudge | None = None):
        self.scorer, self.limits, self.missing, self.judge = scorer, limits, missing, judge

    def build(self) -> None:
        """Lay out the tab inside the current ``gr.Blocks``."""
        limits = self.limits
        with gr.Row(equal_height=False, elem_classes="sa-columns"):
            with gr.Column(scale=5, min_width=320, elem_id="sa-form"):
                chips: list[gr.Button] = []
                if shelf := read_examples():
                    gr.HTML('<p class="sa-label" id="sa-examples">Try an example</p>', apply_default_css=False)
                    with gr.Row(elem_classes="sa-examples"):
                        chips = [gr.Button(e.title, size="sm", elem_classes="sa-chip", min_width=80) for e in shelf]
                self.premise = gr.Textbox(
                    label="The idea",
                    info="What were the stories asked to be about?",
                    placeholder="A lighthouse keeper finds a letter addressed to herself, dated tomorrow.",
                    lines=2,
                    max_lines=8,
                    elem_id="sa-premise",
                )
                self.boxes = [
                    gr.Textbox(
                        label=name,
                        placeholder="Paste a story here" if i < START else "",
                        lines=3,
                        max_lines=7,
                        visible=i < START,
                        elem_classes="sa-box",
                        elem_id=f"sa-story-{i}",
                    )
                    for i, name in enumerate(letter_names(limits.max_stories))
                ]
                with gr.Row(elem_classes="sa-tools"):
                    add = gr.Button("Add another story", size="sm", min_width=120)
                    clear = gr.Button("Clear all", size="sm", min_width=80)
                rank = gr.Button("Rank the stories", variant="primary", size="lg", elem_id="sa-rank")
                self.notice = gr.HTML(visible=False, apply_default_css=False, elem_id="sa-notice")
                self.files = gr.File(
                    label=f"Or drop files: {', '.join(SUFFIXES)}",
                    file_count="multiple",
                    file_types=list(SUFFIXES),
                    height=150,
                    elem_id="sa-files",
                )
            with gr.Column(scale=6, min_width=320, elem_id="sa-result-column"):
                start = EMPTY if self.scorer else missing_model(self.missing)
                self.result = gr.HTML(start, apply_default_css=False, elem_id="sa-result", min_height=200)
                if self.judge is not None:
                    with gr.Column(visible=False) as self.judging:
                        ask = gr.Button("Ask a judge about five qualities", size="sm", elem_id="sa-ask")
                        self.opinion = gr.HTML(self.before_asking(), apply_default_css=False, elem_id="sa-opinion")
        self.names = gr.State(letter_names(limits.max_stories))
        self.open = gr.State(START)
        self._connect(rank, add, clear, chips, shelf)
        if self.judge is not None:
            self._connect_judge(ask, clear, [rank.click, self.premise.submit, *(chip.click for chip in chips)])

    def _connect(
        self, rank: gr.Button, add: gr.Button, clear: gr.Button, chips: list[gr.Button], shelf: list[Example]
    ) -> None:
        inputs = [self.premise, self.names, *self.boxes]
        form = [self.premise, self.names, self.open, *self.boxes]
        quick: dict[str, Any] = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}
        slow: dict[str, Any] = {"api_visibility": "private", "concurrency_limit": 1, "concurrency_id": "model"}
        for trigger in (rank.click, self.premise.submit):
            trigger(None, js=SHOW_PROGRESS)
            trigger(self.rank, inputs, self.result, **slow).then(None, js=SHOW_RESULT)
        clear.click(None, js=OPEN_FORM)
        add.click(self.add_box, self.open, [self.open, *self.boxes], **quick)
        clear.click(self.clear, None, [*form, self.notice, self.result], **quick)
        self.files.upload(self.take_files, [self.files, *form], [*form, self.files, self.notice], **quick)
        for chip, example in zip(chips, shelf, strict=True):
            fill = chip.click(lambda e=example: self.fill(e), None, [*form, self.notice], **quick)
            fill.then(None, js=SHOW_PROGRESS)
            fill.then(self.rank, inputs, self.result, **slow).then(None, js=SHOW_RESULT)

    def _connect_judge(self, ask: gr.Button, clear: gr.Button, rankings: list[Any]) -> None:
        quick: dict[str, Any] = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}
        shown = [self.judging, self.opinion]
        gr.on(rankings, lambda: [gr.update(visible=True), self.before_asking()], None, shown, **quick)
        clear.click(lambda: [gr.update(visible=False), self.before_asking()], None, shown, **quick)
        ask.click(
            self.ask_judge,
            [self.premise, self.names, *self.boxes],
            self.opinion,
            api_visibility="private",
            concurrency_limit=4,
            concurrency_id="judge",
        ).then(None, js=SHOW_OPINION)

    def before_asking(self) -> str:
        """Return where texts go before the judge is asked."""
        assert self.judge is not None
        return (
            f'<p class="sa-facts">The idea and the stories are then sent to {text(self.judge.endpoint.model)}, a '
            "language model run by others.</p>"
        )

    def ask_judge(self, premise: str, names: list[str], *boxes: str) -> str:
        """Have the judge rate what the form holds, and draw it, or the reason why there is nothing."""
        assert self.judge is not None
        stories, filled_names = filled(boxes, names)
        try:
            check_request(premise or "", stories, filled_names, self.limits)
            return opinion_html(self.judge(premise, stories), filled_names)
        except InputRefused as error:
            return message("error", "Not judged", str(error))
        except StoryAlignError as error:
            return message("error", "The judge gave no scores", str(error))

    def rank(self, premise: str, names: list[str], *boxes: str) -> str:
        """Rank what the form holds and draw the result, or the reason why there is none."""
        if self.scorer is None:
            return missing_model(self.missing)
        stories, filled_names = filled(boxes, names)
        try:
            return ranking_html(rank_request(self.scorer, self.limits, premise or "", stories, filled_names))
        except InputRefused as error:
            return message("error", "Not ranked", str(error))
        except StoryAlignError as error:
            return message("error", "The model could not score this", str(error))

    def add_box(self, shown: int) -> list[Any]:
        """Open one more box."""
        shown = min(shown + 1, self.limits.max_stories)
        return [shown, *(gr.update(visible=i < shown) for i in range(self.limits.max_stories))]

    def fill(self, example: Example) -> list[Any]:
        """Put an example into the form."""
        texts = [*example.stories, *[""] * (self.limits.max_stories - len(example.stories))]
        names = letter_names(self.limits.max_stories)
        return [*self._form(example.premise, names, texts), gr.update(visible=False)]

    def clear(self) -> list[Any]:
        """Empty the form and the result."""
        names = letter_names(self.limits.max_stories)
        start = EMPTY if self.scorer else missing_model(self.missing)
        return [*self._form("", names, [""] * self.limits.max_stories), gr.update(visible=False), start]

    def take_files(self, paths: list[str], premise: str, names: list[str], shown: int, *boxes: str) -> list[Any]:
        """Read dropped files into the empty boxes, and say what was taken."""
        try:
            dropped = read_story_files(paths or [], self.limits)
            texts, labels = place_stories(boxes, names, dropped, self.limits)
        except InputRefused as error:
            unchanged = [gr.skip()] * (3 + self.limits.max_stories)
            return [*unchanged, None, gr.update(value=message("error", "Nothing was taken", str(error)), visible=True)]
        count = len(dropped.stories)
        said = message("note", f"{count} {'story' if count == 1 else 'stories'} taken from files", *dropped.notices)
        premise = premise if premise.strip() else dropped.premise or premise
        return [*self._form(premise, labels, texts, shown), None, gr.update(value=said, visible=True)]

    def _form(self, premise: str, names: list[str], texts: list[str], shown: int = START) -> list[Any]:
        used = max((i + 1 for i, value in enumerate(texts) if value), default=0)
        shown = max(used, shown if used == 0 else min(shown, START))
        boxes = [
            gr.update(value=value, label=name, visible=i < shown)
            for i, (value, name) in enumerate(zip(texts, names, strict=True))
        ]
        return [premise, names, shown, *boxes]


def missing_model(why: str) -> str:
    """Explain what to do when no model is loaded."""
    return message(
        "empty",
        "No model is loaded, so nothing can be ranked yet",
        why,
        "On your own machine: run `make demo` once (about ten minutes), then `make app`.",
        "On a Space: set the variable STORYALIGN_MODEL to a reward model on the Hub and restart.",
        "Explore and Leaderboard work without a model.",
    )
