"""The third tab: who ranks the preferred story highest how often, and whether two scorers really differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gradio as gr
from board_html import board_html, charts_html, comparison_html
from board_view import BY_KEY, KIND_NAMES, KINDS, View, shown_rows
from results_shelf import Board

from storyalign.errors import StoryAlignError
from storyalign.evaluation.comparison import compare_scorers
from storyalign.web.story_html import message

SEARCH_CHARS = 100

SORT = """
element.addEventListener("click", (event) => {
  const button = event.target.closest("[data-sort]");
  if (button) trigger("sort", {key: button.dataset.sort});
});
"""

NOTHING = message(
    "empty",
    "No results yet",
    "Score a model with `storyalign evaluate`, or run `make demo`.",
    "Then name the folder in the variable STORYALIGN_RESULTS and start again.",
)

SUBMIT = """
Score your model on the benchmark; the command keeps every reward and can be stopped and continued:

```bash
storyalign score your/model storyrmb --out my-model/rewards.jsonl
```

{where}

Rewards are checked here: each row is bound to its story and to the scorer's settings, and every figure is computed
anew. A row without its rewards is shown as reported and cannot be compared.
"""


class LeaderboardTab:
    """The components of the tab and what they do.

    Args:
        boards: one a benchmark.
        problems: why other results could not be used.
        home: id of the dataset on the Hub that takes submissions; empty where there is none.
    """

    def __init__(self, boards: Sequence[Board], problems: Sequence[str] = (), home: str = ""):
        self.boards, self.problems, self.home = list(boards), problems, home

    def build(self) -> None:
        """Lay out the tab inside the current ``gr.Blocks``."""
        if self.problems:
            gr.HTML(message("error", "Some results cannot be used", *self.problems), apply_default_css=False)
        if not self.boards:
            gr.HTML(NOTHING, apply_default_css=False)
        else:
            self._build_board()
        with gr.Accordion("How to submit", open=False):
            gr.Markdown(SUBMIT.format(where=self._where()))

    def _build_board(self) -> None:
        view, kinds = View(), [(KIND_NAMES[kind], kind) for kind in KINDS]
        names = [f"{board.name} ({len(board.rows)} scorers)" for board in self.boards]
        with gr.Row(elem_classes="sa-filters"):
            benchmark = gr.Dropdown(
                list(zip(names, range(len(names)), strict=True)), value=0, label="Benchmark", visible=len(names) > 1
            )
            kind = gr.CheckboxGroup(kinds, value=list(KINDS), label="Show")
            words = gr.Textbox(label="Search", placeholder="a name", max_length=SEARCH_CHARS)
        table = gr.HTML(self.draw(view)[1], apply_default_css=False, js_on_load=SORT, elem_id="sa-table")
        charts = gr.HTML(self.draw(view)[2], apply_default_css=False, elem_id="sa-charts")
        with gr.Column(elem_id="sa-compare"):
            gr.HTML('<h4 class="sa-subtitle">Is the difference real?</h4>', apply_default_css=False)
            with gr.Row():
                first = gr.Dropdown(self.comparable(0), label="Scorer", min_width=200, value=self._pick(0, 0))
                second = gr.Dropdown(self.comparable(0), label="Another scorer", min_width=200, value=self._pick(0, 1))
                compare = gr.Button("Compare", min_width=100, scale=0)
            said = gr.HTML(self._first_words(0), apply_default_css=False, elem_id="sa-comparison")
        state = gr.State(view)
        quick: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "trigger_mode": "always_last"}
        drawn = [state, table, charts]
        table.sort(self.sort, state, drawn, **quick)
        kind.input(self.filter, [state, kind, words], drawn, **quick)
        words.change(self.filter, [state, kind, words], drawn, **quick)
        benchmark.input(self.change, [state, benchmark], [*drawn, first, second, said], **quick)
        compare.click(self.compare, [state, first, second], said, api_visibility="private", concurrency_limit=2)

    def draw(self, view: View) -> list[Any]:
        """Draw the view: the state, the table and the charts."""
        board = self.boards[view.board]
        rows = shown_rows(board.rows, view)
        return [view, board_html(board, rows, view), charts_html(board, rows)]

    def sort(self, view: View, event: gr.EventData) -> list[Any]:
        """Sort by a column, falling at first; the same column again turns the order around."""
        key = getattr(event, "key", None)
        if key != "name" and key not in BY_KEY:
            return self.draw(view)
        falling = not view.falling if key == view.sort else key != "name"
        return self.draw(replace(view, sort=str(key), falling=falling))

    def filter(self, view: View, kinds: list[str], words: str) -> list[Any]:
        """Show some kinds of scorers, or some names."""
        return self.draw(replace(view, kinds=tuple(kinds), words=(words or "")[:SEARCH_CHARS]))

    def change(self, view: View, board: int) -> list[Any]:
        """Show another benchmark."""
        first = gr.update(choices=self.comparable(board), value=self._pick(board, 0))
        second = gr.update(choices=self.comparable(board), value=self._pick(board, 1))
        return [*self.draw(replace(view, board=board)), first, second, self._first_words(board)]

    def compare(self, view: View, first: str | None, second: str | None) -> str:
        """Test the difference of two rows in pairs."""
        board = self.boards[view.board]
        if not first or not second or first == second:
            return message("error", "Not compared", "Choose two different scorers.")
        if board.evaluation_set is None or first not in board.scored or second not in board.scored:
            return message("error", "Not compared", "One of them has no rewards here, only a reported figure.")
        try:
            found = compare_scorers(board.evaluation_set, [board.scored[first], board.scored[second]])
        except StoryAlignError as error:
            return message("error", "Not compared", str(error))
        return comparison_html(found[0])

    def comparable(self, board: int) -> list[str]:
        """List the rows that have rewards, models first."""
        rows = shown_rows(self.boards[board].rows, View())
        return [
            row.name
            for row in sorted(rows, key=lambda row: row.kind == "null")
            if row.name in self.boards[board].scored
        ]

    def _pick(self, board: int, place: int) -> str | None:
        names = self.comparable(board)
        return names[place] if place < len(names) else None

    def _first_words(self, board: int) -> str:
        if len(self.comparable(board)) < 2:
            return '<p class="sa-facts">Two scorers with their rewards are needed; see “How to submit”.</p>'
        return (
            '<p class="sa-facts">Two bare percentages do not tell: both scorers are tested on the same groups '
            "(McNemar), with an interval for the difference.</p>"
        )

    def _where(self) -> str:
        if not self.home:
            return "Put the folder `my-model` into the results folder of this Space and start it again."
        return (
            f"Then open a pull request with the folder `my-model` on the dataset "
            f"[{self.home}](https://huggingface.co/datasets/{self.home}/discussions)."
        )
