"""The second tab: groups of a dataset side by side, first as a game, then with everything that is known of them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gradio as gr
from blind_choice import Tally, count_answer, count_scorers, deal
from choice_book import ChoiceBook
from group_html import blind_html, open_html, tally_html
from group_selection import Rewards, Wish, names_in, select, writers_in
from group_sources import VisitorSets, menu
from story_scorer import OneAtATime
from visitor_limits import InputRefused

from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.errors import StoryAlignError
from storyalign.records import Instance
from storyalign.web.story_html import message

ANY = "any"
BLIND, OPEN = "Guess first", "Show everything"
STORED = "as stored"
HARDEST = "hardest for "
SEARCH_CHARS = 200

CHOOSE = """
element.addEventListener("click", (event) => {
  const button = event.target.closest("[data-seat]");
  if (button) trigger("choose", {seat: Number(button.dataset.seat)});
});
"""

SHOW_GROUP = """() => {
  const group = document.getElementById("sa-score");
  if (group.getBoundingClientRect().top < 0) group.scrollIntoView({block: "start"});
}"""
"""Bring the answer or the next group into view where the visitor has scrolled past its beginning."""

Published = Mapping[str, Mapping[str, Rewards]]
"""Digest of a set -> scorer -> rewards."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Where one visitor stands."""

    seed: int | None = None
    """Decides the order of the stories; drawn at the first look."""
    dataset: str = ""
    found: tuple[int, ...] = ()
    at: int = 0
    picked: int | None = None
    blind: bool = True
    tally: Tally = field(default_factory=Tally)


class ExploreTab:
    """The components of the tab and what they do.

    Args:
        sets: the sets that the operator named.
        problems: why others could not be loaded.
        published: rewards that scorers gave the groups.
        scorer: the Space's own model; asked where nobody has published rewards.
        book: takes down choices of visitors who agreed; None, the default, keeps nothing.
    """

    def __init__(
        self,
        sets: Sequence[EvaluationSet],
        problems: Sequence[str] = (),
        published: Published | None = None,
        scorer: OneAtATime | None = None,
        book: ChoiceBook | None = None,
    ):
        self.sets = dict(zip(menu(sets), sets, strict=True))
        self.problems, self.published, self.scorer = problems, published or {}, scorer
        self.book, self.visitors = book, VisitorSets()

    def build(self, tab: gr.Tab) -> None:
        """Lay out the tab inside the current ``gr.Blocks``."""
        if self.problems:
            gr.HTML(message("error", "Some data could not be loaded", *self.problems), apply_default_css=False)
        first = next(iter(self.sets.values()), None)
        with gr.Row(elem_classes="sa-walk"):
            self.mode = gr.Radio([BLIND, OPEN], value=BLIND, show_label=False, container=False, elem_id="sa-mode")
            back = gr.Button("← Back", size="sm", min_width=90)
            self.place = gr.HTML("", apply_default_css=False, elem_id="sa-walk-place")
            onward = gr.Button("Next →", size="sm", min_width=90, elem_id="sa-next")
        with gr.Accordion("Choose data, filter, sort, search", open=False, elem_id="sa-filters"), gr.Row():
            self.dataset = gr.Dropdown(list(self.sets), label="Dataset", min_width=200, elem_id="sa-dataset")
            self.dimension = gr.Dropdown([ANY], value=ANY, label="Judged on", min_width=130)
            self.source = gr.Dropdown([ANY], value=ANY, label="Source", min_width=130)
            self.writer = gr.Dropdown([ANY], value=ANY, label="Writer", min_width=160, filterable=True)
            self.order = gr.Dropdown([STORED], value=STORED, label="Order", min_width=160)
            self.words = gr.Textbox(
                label="Search", placeholder="a word or a name", min_width=160, max_length=SEARCH_CHARS
            )
        self.score = gr.HTML(tally_html(Tally()), apply_default_css=False, elem_id="sa-score")
        self.group = gr.HTML(
            message("empty", "Nothing to explore", "No dataset is loaded.") if first is None else "",
            apply_default_css=False,
            js_on_load=CHOOSE,
            elem_id="sa-group",
            min_height=200,
        )
        with gr.Accordion("Explore another dataset of the Hub", open=False):
            with gr.Row():
                self.hub_id = gr.Textbox(
                    label="Dataset id", placeholder="owner/name", max_length=200, elem_id="sa-hub-id"
                )
                fetch = gr.Button("Open", min_width=80, scale=0)
            self.hub_said = gr.HTML(
                '<p class="sa-facts">A public dataset with the columns prompt, chosen and rejected.</p>',
                apply_default_css=False,
            )
        consent = "" if self.book is None else self.book.consent
        self.share = gr.Checkbox(label=consent, value=False, visible=self.book is not None, container=False)
        self.walk = gr.State(Walk())
        self._connect(tab, back, onward, fetch)

    def _connect(self, tab: gr.Tab, back: gr.Button, onward: gr.Button, fetch: gr.Button) -> None:
        quick: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "trigger_mode": "always_last"}
        filters: list[Any] = [self.dimension, self.source, self.writer, self.order, self.words]
        view = [self.walk, self.place, self.score, self.group]
        for trigger in (tab.select, self.dataset.input):
            trigger(self.open_set, [self.walk, self.dataset], [*filters, *view], **quick)
        for wish in filters[:4]:
            wish.input(self.filter, [self.walk, *filters], view, **quick)
        self.words.submit(self.filter, [self.walk, *filters], view, **quick)
        self.words.blur(self.filter, [self.walk, *filters], view, **quick)
        self.mode.input(self.switch, [self.walk, self.mode], view, **quick)
        back.click(lambda walk: self.step(walk, -1), self.walk, view, **quick).then(None, js=SHOW_GROUP)
        onward.click(lambda walk: self.step(walk, 1), self.walk, view, **quick).then(None, js=SHOW_GROUP)
        chosen = self.group.choose(self.choose, [self.walk, self.share], view, **quick).then(None, js=SHOW_GROUP)
        if self.scorer is not None:
            chosen.then(self.ask_model, self.walk, view, **{**quick, "concurrency_limit": 1, "concurrency_id": "model"})
        fetched = gr.on(
            [fetch.click, self.hub_id.submit],
            self.fetch,
            [self.walk, self.hub_id],
            [self.hub_said, self.dataset],
            **{**quick, "show_progress": "full", "concurrency_limit": 2, "concurrency_id": "hub"},
        )
        fetched.success(self.open_set, [self.walk, self.dataset], [*filters, *view], **quick)

    def open_set(self, walk: Walk, dataset: str | None) -> list[Any]:
        """Show a set from its first group, and fill the filters with what it holds."""
        if not dataset:
            return [gr.skip()] * 9
        if dataset == walk.dataset:
            return [*[gr.skip()] * 5, *self.view(walk)]
        instances = self.set_of(dataset).instances
        seed = random.SystemRandom().getrandbits(48) if walk.seed is None else walk.seed
        walk = replace(walk, seed=seed, dataset=dataset, found=tuple(range(len(instances))), at=0, picked=None)
        orders = [STORED, *(HARDEST + scorer for scorer in self.rewards_of(dataset))]
        return [
            gr.update(choices=[ANY, *names_in(instances, "dimension")], value=ANY),
            gr.update(choices=[ANY, *names_in(instances, "source")], value=ANY),
            gr.update(choices=[ANY, *writers_in(instances)], value=ANY),
            gr.update(choices=orders, value=STORED),
            "",
            *self.view(walk),
        ]

    def filter(self, walk: Walk, dimension: str, source: str, writer: str, order: str, words: str) -> list[Any]:
        """Show the first group that fits the wishes."""
        hardest = self.rewards_of(walk.dataset).get(order.removeprefix(HARDEST)) if order != STORED else None
        wish = Wish(_wanted(dimension), _wanted(source), _wanted(writer), (words or "")[:SEARCH_CHARS], hardest)
        found = tuple(select(self.set_of(walk.dataset).instances, wish)) if walk.dataset else ()
        if found == walk.found:
            return [gr.skip()] * 4
        return self.view(replace(walk, found=found, at=0, picked=None))

    def switch(self, walk: Walk, mode: str) -> list[Any]:
        """Change between guessing and reading."""
        return self.view(replace(walk, blind=mode == BLIND, picked=None))

    def step(self, walk: Walk, by: int) -> list[Any]:
        """Go to another group; after the last one comes the first."""
        if not walk.found:
            return self.view(walk)
        return self.view(replace(walk, at=(walk.at + by) % len(walk.found), picked=None))

    def choose(self, walk: Walk, share: bool, event: gr.EventData) -> list[Any]:
        """Take the visitor's choice and show the answer; write it down only where the visitor shares it."""
        instance = self.current(walk)
        seat = getattr(event, "seat", None)
        if instance is None or walk.picked is not None or not isinstance(seat, int):
            return self.view(walk)
        order = deal(instance, walk.seed)
        if not 0 <= seat < len(order):
            return self.view(walk)
        if self.book is not None and share is True and instance.id not in walk.tally.answered:
            self.book.note(walk.dataset, instance.id, order[seat])
        tally = count_answer(walk.tally, instance, order[seat], self.group_rewards(walk.dataset, instance))
        return self.view(replace(walk, picked=order[seat], tally=tally))

    def ask_model(self, walk: Walk) -> list[Any]:
        """Score with the Space's own model too, where nobody has published rewards for the set."""
        instance = self.current(walk)
        if self.scorer is None or instance is None or walk.picked is None or self.rewards_of(walk.dataset):
            return [gr.skip()] * 4
        try:
            rewards = [scored.reward for scored in self.scorer(instance.prompt, instance.stories)]
        except StoryAlignError as error:
            raise gr.Error(str(error), title="The model could not score this group") from error
        own = {self.scorer.name: rewards}
        walk = replace(walk, tally=count_scorers(walk.tally, own))
        return self.view(walk, own)

    def fetch(self, walk: Walk, hub_id: str) -> list[Any]:
        """Load a dataset of the Hub by its id."""
        try:
            found = self.visitors.load(hub_id or "")
        except InputRefused as error:
            raise gr.Error(str(error), title="Not opened", print_exception=False) from error
        said = f'<p class="sa-facts">{len(found.instances):,} groups.</p>'
        return [said, gr.update(choices=[*self.sets, hub_id.strip()], value=hub_id.strip())]

    def view(self, walk: Walk, live: Mapping[str, Sequence[float | None]] | None = None) -> list[Any]:
        """Draw where the visitor stands: the walk, the place, the score and the group."""
        instance = self.current(walk)
        if instance is None:
            nothing = message("empty", "No group fits", "Ask for less: another writer, a shorter search.")
            return [walk, "", tally_html(walk.tally), nothing]
        place = f'<p class="sa-facts">{walk.at + 1:,} of {len(walk.found):,}</p>'
        order = deal(instance, walk.seed)
        if walk.blind and walk.picked is None:
            return [walk, place, tally_html(walk.tally), blind_html(instance, order)]
        rewards = live or self.group_rewards(walk.dataset, instance)
        return [walk, place, tally_html(walk.tally), open_html(instance, order, rewards, walk.picked)]

    def current(self, walk: Walk) -> Instance | None:
        """Return the group that the visitor looks at."""
        if not walk.dataset or not walk.found:
            return None
        return self.set_of(walk.dataset).instances[walk.found[walk.at]]

    def set_of(self, dataset: str) -> EvaluationSet:
        """Return a set by its name in the menu, or by its id on the Hub."""
        return self.sets[dataset] if dataset in self.sets else self.visitors.load(dataset)

    def rewards_of(self, dataset: str) -> Mapping[str, Rewards]:
        """Return the published rewards of a set, by scorer."""
        known = self.sets.get(dataset)
        return self.published.get(known.digest, {}) if known is not None and known.digest else {}

    def group_rewards(self, dataset: str, instance: Instance) -> dict[str, Sequence[float | None]]:
        """Return the published rewards of one group, by scorer."""
        return {name: own[instance.id] for name, own in self.rewards_of(dataset).items() if instance.id in own}


def _wanted(choice: str | None) -> str | None:
    return None if choice in (None, ANY) else choice
