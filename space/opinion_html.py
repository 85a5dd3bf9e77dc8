"""A judge's opinion as HTML: one row a story, one column a quality."""

from __future__ import annotations

from collections.abc import Sequence

from story_judge import Opinion

from storyalign.llm.rating_replies import SCORES
from storyalign.web.story_html import name

COLUMNS = ("overall", *(score for score in SCORES if score != "overall"))


def opinion_html(opinion: Opinion, names: Sequence[str]) -> str:
    """Draw the scores, the best story as a whole first; stories of one score keep their order.

    Args:
        opinion: what the judge said.
        names: one name a story.
    """
    order = sorted(range(len(names)), key=lambda i: -opinion.scores[i]["overall"])
    head = "".join(f'<th scope="col">{column.capitalize()}</th>' for column in COLUMNS)
    rows = "".join(
        f'<tr><th scope="row">{name(names[i])}</th>{"".join(_cell(opinion.scores[i][c]) for c in COLUMNS)}</tr>'
        for i in order
    )
    return (
        '<section aria-label="A judge\'s view"><div class="sa-wide" tabindex="0"><table class="sa-board sa-opinion">'
        f'<thead><tr><th scope="col">From 1 to 10</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<p class="sa-footnote">{name(opinion.judge)} read all stories once, in a shuffled order. It is an LLM, not '
        "the model that made the ranking: they may disagree, and a gap below one point says little.</p></section>"
    )


def _cell(score: float) -> str:
    share = (score - 1) / 9 * 100
    return (
        f'<td>{score:.1f}<span class="sa-bar" aria-hidden="true"><span style="width:{share:.0f}%"></span></span></td>'
    )
