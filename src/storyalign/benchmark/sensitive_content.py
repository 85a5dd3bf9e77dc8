"""A judge's check of human stories for sensitive content, as the paper's ethics statement reports it.

A story stays only if the judge said no to every category. A story without a readable answer is dropped under a reason
of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from storyalign.benchmark.premises import read_faults
from storyalign.benchmark.recipe import Recipe
from storyalign.files import RowsById
from storyalign.llm.prompts import fence_tag, fenced, load_prompt, schema
from storyalign.llm.steps import Dropped, Request, Row, Step, user_message

CATEGORIES = ("violence", "sex", "minors", "hatred", "self_harm", "private_data")
"""What the judge looks for; ``check_story.txt`` says what each one means."""


def sensitivity_step(recipe: Recipe) -> Step:
    """Ask which categories of sensitive content a human story has; the row that comes out holds their names.

    A flagged story is a whole answer, not a failure: it is not asked about again until a try finds it harmless.
    """
    prompt, settings = load_prompt("check_story"), recipe.human_premises

    def request(row: Row) -> Request:
        story = row["human_story"]
        text = prompt.fill(story=fenced("story", story, fence_tag((story,))))
        answer = schema("sensitive_content", {name: {"type": "boolean"} for name in CATEGORIES})
        return Request(user_message(text), settings.max_tokens, 0.0, recipe.seed_for("sensitive", row["id"]), answer)

    def read(row: Row, reply: str) -> Row:
        return {"id": row["id"], "sensitive": read_faults(reply, CATEGORIES)}

    return Step("sensitive content", prompt, request, read, tries=2)


def without_sensitive(drawn: Iterable[Row | Dropped], checked: RowsById, failed: RowsById) -> Iterator[Row | Dropped]:
    """Keep the stories in which the judge found nothing; every other one gets its reason.

    Args:
        drawn: premises with their human stories; what was dropped before passes through.
        checked: the judge's answers.
        failed: what came to nothing there, with its reason.
    """
    for row in drawn:
        if isinstance(row, Dropped):
            yield row
        elif (answer := checked.get(row["id"])) is None:
            failure = failed.get(row["id"]) or {"reason": "not asked yet", "again": True}
            yield Dropped(row["id"], f"unchecked for sensitive content: {failure['reason']}", bool(failure["again"]))
        elif answer["sensitive"]:
            yield Dropped(row["id"], f"sensitive: {', '.join(answer['sensitive'])}")
        else:
            yield row
