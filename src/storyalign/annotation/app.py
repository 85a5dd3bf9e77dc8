"""The annotation app: sign in, judge one group after another, watch the progress. Gradio on top of the store."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
# Gradio sums up all recorded requests after each one, with a call that pandas 3 warns about; nobody looks at the sums.
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "100")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(10**9))

import gradio as gr

from storyalign.annotation.board_html import board_html, finished_html, token_of
from storyalign.annotation.dashboard_html import dashboard_html
from storyalign.annotation.exchange import seats_of
from storyalign.annotation.progress import progress_of
from storyalign.annotation.store import Annotator, Claim, Store
from storyalign.annotation.verdicts import Answer, make_verdict
from storyalign.errors import StoryAlignError
from storyalign.records import BadRow
from storyalign.web.look import head, theme
from storyalign.web.story_html import message, text

HERE = Path(__file__).parent
MOST_NAME = 80
TO_TOP = "() => window.scrollTo({top: 0})"

WELCOME = """
<header class="sa-hero"><h1>Read, compare, decide</h1>
<p>You get one group of stories after another, all written for the same premise. You don't see who wrote them, and
everybody gets them in another order.</p></header>
<ol class="an-steps">
<li><strong>Read every story of a group.</strong> Nothing can be saved before each was opened.</li>
<li><strong>Judge the story, not its length.</strong> Look at coherence, creativity, characters, fluency, and how well
it fits the premise.</li>
<li><strong>Undecided is an answer.</strong> Say so instead of guessing.</li>
</ol>
"""


class AnnotationApp:
    """The app over one store.

    Args:
        store: groups and verdicts.
        seniors: names of those who settle disputes.
        allowed: names that may sign in; empty lets in everybody.
    """

    def __init__(self, store: Store, seniors: Collection[str] = (), allowed: Collection[str] = ()):
        self.store = store
        self.seniors = {store.key_of(name) for name in seniors}
        self.allowed = {store.key_of(name) for name in (*allowed, *seniors)} if allowed else set()

    def build(self) -> gr.Blocks:
        """Lay out the page."""
        quick: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        # The key in the browser's storage differs between stores; what lies there is the person's own name.
        remembered_as = self.store.key_of("the browser of this store")
        app: gr.Blocks = gr.Blocks(title="Annotation · StoryAlign", analytics_enabled=False)
        with app:
            remembered = gr.BrowserState("", storage_key=remembered_as, secret=remembered_as)
            who = gr.State(None)
            with gr.Column(visible=False, elem_id="an-welcome") as welcome:
                gr.HTML(WELCOME, apply_default_css=False)
                refused = gr.HTML("", apply_default_css=False, elem_id="an-refused")
                with gr.Row(elem_classes="an-sign-in"):
                    name = gr.Textbox(
                        label="Your name",
                        info="Kept on this computer only. Files that leave it carry a key instead.",
                        max_length=MOST_NAME,
                        elem_id="an-name",
                    )
                    start = gr.Button("Start", variant="primary", scale=0, min_width=120)
            with gr.Column(visible=False, elem_id="an-work") as work, gr.Tabs():
                with gr.Tab("Annotate", id="annotate"):
                    with gr.Row(elem_classes="an-top"):
                        place = gr.HTML("", apply_default_css=False, elem_id="an-place")
                        leave = gr.Button("Sign out", size="sm", scale=0, min_width=90)
                    notice = gr.HTML("", apply_default_css=False, elem_id="an-notice")
                    script = (HERE / "board.js").read_text(encoding="utf-8")
                    board = gr.HTML("", apply_default_css=False, js_on_load=script, elem_id="an-group", min_height=200)
                    again = gr.Button("Look again", visible=False, elem_id="an-again")
                with gr.Tab("Progress", id="progress") as progress:
                    dashboard = gr.HTML("", apply_default_css=False, elem_id="an-dashboard", min_height=200)
                    refresh = gr.Button("Refresh", size="sm", elem_id="an-refresh")
            view = [place, notice, board, again]
            entrance = [who, remembered, welcome, work, refused, *view]
            gr.on([start.click, name.submit], self.sign_in, name, entrance, **quick)
            app.load(self.come_back, remembered, entrance, **quick)
            leave.click(self.sign_out, None, entrance, **quick)
            again.click(self.show, who, view, **quick)
            board.draft(self.note, who, None, **quick, trigger_mode="multiple")
            board.answer(self.answer, who, view, **quick, trigger_mode="once").then(None, js=TO_TOP)
            gr.on([progress.select, refresh.click], self.dashboard, who, dashboard, **quick)
        app.queue(max_size=200, default_concurrency_limit=8)
        return app

    def sign_in(self, name: str) -> list[Any]:
        """Sign a person in, or return why not."""
        name = " ".join((name or "").split())[:MOST_NAME]
        if not name:
            return self._stay_out("Type your name, then press Start.")
        try:
            key = self.store.key_of(name)
            if self.allowed and key not in self.allowed:
                return self._stay_out(f"{name} is not on the list of annotators. Ask whoever runs this for the name.")
            annotator = self.store.sign_in(name, "senior" if key in self.seniors else "annotator")
            entered = [annotator, name, gr.update(visible=False), gr.update(visible=True), ""]
            return [*entered, *self.show(annotator)]
        except StoryAlignError as error:
            return self._stay_out(str(error))

    def come_back(self, remembered: str) -> list[Any]:
        """Go on where the browser left off, or ask who is there."""
        return self.sign_in(remembered) if remembered else self._stay_out("")

    def sign_out(self) -> list[Any]:
        """Forget the person in this browser; the open group stays theirs."""
        return self._stay_out("")

    def show(self, annotator: Annotator | None) -> list[Any]:
        """Return the annotator's group, or say why there is none."""
        if annotator is None:
            return ["", "", "", gr.update(visible=False)]
        claim = self.store.claim_next(annotator)
        judged = self._place(annotator, claim)
        if claim is not None:
            disputed = [v for v in self.store.verdicts_on(claim.task.id) if v.kind == "independent"]
            drawn = board_html(claim, disputed if claim.kind == "senior" else ())
            return [judged, "", drawn, gr.update(visible=False)]
        counts = self.store.counts(annotator.key)
        drawn = finished_html(
            counts.judged, senior=annotator.role == "senior", empty=not counts.groups, waiting=counts.open
        )
        return [judged, "", drawn, gr.update(visible=True)]

    def note(self, annotator: Annotator | None, event: gr.EventData) -> None:
        """Keep what the page holds so far."""
        entered = _entered(event)
        claim = None if annotator is None else self._claim(annotator, entered)
        if claim is not None:
            self.store.note_draft(claim, {name: entered[name] for name in _DRAFT if name in entered})

    def answer(self, annotator: Annotator | None, event: gr.EventData) -> list[Any]:
        """Take an answer and hand out the next group; a refused answer leaves the page as it is."""
        entered = _entered(event)
        if annotator is None:
            return [gr.skip(), message("error", "Not saved", "Sign in again, please."), gr.skip(), gr.skip()]
        try:
            claim = self._claim(annotator, entered)
            if claim is None:
                told = message("note", "That group was saved before", "Here is the next one.")
                place, _, board, again = self.show(annotator)
                return [place, told, board, again]
            seats = seats_of(claim.task, annotator.key, claim.kind)
            answer, opened, seconds = read_answer(entered, seats)
            self.store.give(make_verdict(claim.task, answer, annotator.key, claim.kind, seconds, opened))
            return self.show(annotator)
        except (BadRow, StoryAlignError) as error:
            return [gr.skip(), message("error", "Not saved", str(error)), gr.skip(), gr.skip()]

    def dashboard(self, annotator: Annotator | None) -> str:
        """Draw the progress of everybody."""
        return dashboard_html(progress_of(self.store), None if annotator is None else annotator.key)

    def _claim(self, annotator: Annotator, entered: Mapping[str, Any]) -> Claim | None:
        claim = self.store.claim_next(annotator)
        return claim if claim is not None and token_of(claim) == entered.get("token") else None

    def _place(self, annotator: Annotator, claim: Claim | None) -> str:
        counts = self.store.counts(annotator.key)
        work = {"check": "a group that came back", "senior": "a dispute"}.get(claim.kind, "") if claim else ""
        parts = [
            f"<strong>{counts.judged:,}</strong> judged by you",
            f"{counts.groups - counts.open:,} of {counts.groups:,} groups have all verdicts",
            *filter(None, [work]),
        ]
        name = self.store.names().get(annotator.key, "")
        return f'<p class="sa-facts an-facts"><bdi>{text(name)}</bdi> · {" · ".join(parts)}</p>'

    @staticmethod
    def _stay_out(why: str) -> list[Any]:
        told = message("error", "Not signed in", why) if why else ""
        return [
            None, "", gr.update(visible=True), gr.update(visible=False), told, "", "", "", gr.update(visible=False)
        ]  # fmt: skip


_DRAFT = ("order", "scores", "byHand", "changing", "open", "opened", "seconds")


def read_answer(entered: Mapping[str, Any], seats: tuple[int, ...]) -> tuple[Answer, set[int], float | None]:
    """Turn what the page sent, by seats, into an answer by candidates, the opened candidates, and the seconds.

    Raises:
        BadRow: the page sent what no page of ours sends.
    """
    try:
        opened = {seats[seat] for seat in _seats(entered.get("opened"), len(seats))}
        ranking = tuple(seats[seat] for seat in _seats(entered.get("order"), len(seats)))
        by_seat = {int(seat): int(score) for seat, score in (entered.get("scores") or {}).items() if score}
        scores = tuple(by_seat.get(seats.index(candidate)) for candidate in range(len(seats)))
        seconds = entered.get("seconds")
        answer = Answer(ranking, scores, entered.get("unsure") is True, entered.get("accepted") is True)
        return answer, opened, max(0.0, float(seconds)) if seconds is not None else None
    except (TypeError, ValueError, AttributeError) as error:
        raise BadRow("the page sent an answer that cannot be read; reload it") from error


def _seats(value: object, n: int) -> list[int]:
    if not isinstance(value, list) or any(type(seat) is not int or not 0 <= seat < n for seat in value):
        raise ValueError(value)
    return value


def _entered(event: gr.EventData) -> dict[str, Any]:
    data = getattr(event, "_data", None)
    return data if isinstance(data, dict) else {}


def launch(app: gr.Blocks, **options: Any) -> None:
    """Start serving and return; ``options`` go to ``gr.Blocks.launch``."""
    app.launch(
        theme=theme(),
        head=head("Judge stories blind, one group after another.", HERE / "annotate.css"),
        enable_monitoring=False,
        run_history=False,
        footer_links=["settings"],
        ssr_mode=False,
        prevent_thread_lock=True,
        **options,
    )
