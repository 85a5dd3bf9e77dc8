"""A ranking as HTML: the verdict in words, the warnings, then one card a story."""

from __future__ import annotations

from collections.abc import Sequence

from ranking import RankedStory, Ranking
from ranking_files import data_link, ranking_csv, ranking_json

from storyalign.web.story_html import folded_story, message, name, text


def ranking_html(ranking: Ranking) -> str:
    """Draw a whole ranking."""
    rewards = [story.scored.reward for story in ranking.placed if story.scored.reward is not None]
    cards = "".join(_card(story, rewards) for story in ranking.placed)
    left_out = [story for story in ranking.stories if story.place is None]
    return (
        f'<section class="sa-ranking" aria-label="Ranking">{_verdict(ranking)}{_warnings(ranking)}'
        f'<ol class="sa-cards">{cards}</ol>{_left_out(left_out)}{_downloads(ranking)}'
        f"{_footnote(ranking)}</section>"
    )


def _verdict(ranking: Ranking) -> str:
    placed = ranking.placed
    if not placed:
        return message("error", "No story got a reward", "The reasons are below.")
    first = [story for story in placed if story.place == 1]
    if len(first) == len(placed) and len(first) > 1:
        return '<p class="sa-verdict">The model sees no difference: all stories got the same reward.</p>'
    if len(first) > 1:
        names = " and ".join(name(story.name) for story in first)
        return f'<p class="sa-verdict">{names} share the first place.</p>'
    if len(placed) == 1 or placed[0].beats_next is None:
        return f'<p class="sa-verdict">Only {name(placed[0].name)} got a reward.</p>'
    return (
        f'<p class="sa-verdict"><strong>{name(placed[0].name)}</strong> comes first. Beside {name(placed[1].name)}, '
        f"the model expects readers to prefer it {_in_hundred(placed[0].beats_next)}.</p>"
    )


def _warnings(ranking: Ranking) -> str:
    if not ranking.warnings:
        return ""
    items = "".join(f'<li dir="auto">{text(warning)}</li>' for warning in ranking.warnings)
    return f'<ul class="sa-warnings" aria-label="Before you trust this order">{items}</ul>'


def _card(story: RankedStory, rewards: Sequence[float]) -> str:
    reward = story.scored.reward
    assert reward is not None
    low, high = min(rewards), max(rewards)
    share = 100.0 if high == low else 8 + 92 * (reward - low) / (high - low)
    first = " sa-first" if story.place == 1 else ""
    beats = ""
    if story.beats_next is not None:
        beats = f'<p class="sa-beats">Preferred to the next one {_in_hundred(story.beats_next)}</p>'
    return (
        f'<li class="sa-card{first}"><div class="sa-head"><span class="sa-place" aria-label="Place {story.place}">'
        f'{story.place}</span><h3>{name(story.name)}</h3><span class="sa-reward">{signed(reward)}</span></div>'
        f'<div class="sa-bar" role="img" aria-label="Reward {signed(reward)}">'
        f'<span style="width:{share:.0f}%"></span></div>'
        f"{_facts(story)}{folded_story(story.text)}{beats}</li>"
    )


def _facts(story: RankedStory) -> str:
    facts = [story.facts.length]
    if story.scored.n_tokens:
        facts.append(f"{story.scored.n_tokens:,} tokens")
    facts.append(f"burstiness {story.facts.burstiness:.2f}")
    if story.scored.truncated:
        facts.append('<strong class="sa-cut">read only in part</strong>')
    return f'<p class="sa-facts">{" · ".join(facts)}</p>'


def _left_out(stories: Sequence[RankedStory]) -> str:
    if not stories:
        return ""
    items = "".join(
        f'<li class="sa-card sa-unscored"><div class="sa-head"><span class="sa-place" aria-label="No place">–</span>'
        f'<h3>{name(story.name)}</h3></div><p class="sa-facts">{story.facts.length} · '
        f"{text(story.scored.detail or 'no reward')}</p>{folded_story(story.text)}</li>"
        for story in stories
    )
    return f'<h4 class="sa-subtitle">Without a reward</h4><ul class="sa-cards">{items}</ul>'


def _downloads(ranking: Ranking) -> str:
    as_json = data_link(ranking_json(ranking), "application/json")
    as_csv = data_link(ranking_csv(ranking), "text/csv;charset=utf-8")
    return (
        f'<p class="sa-downloads"><a class="sa-button" download="ranking.json" href="{as_json}">Download JSON</a>'
        f'<a class="sa-button" download="ranking.csv" href="{as_csv}">Download CSV</a></p>'
    )


def _footnote(ranking: Ranking) -> str:
    signature = f" · signature {text(ranking.signature[:12])}" if ranking.signature else ""
    return (
        '<p class="sa-footnote">A reward has no unit; only differences between stories of one premise count. '
        "Burstiness says how uneven the sentences are in length: 0 is even. "
        f"Scored by {name(ranking.scorer)}{signature}.</p>"
    )


def signed(value: float, digits: int = 2) -> str:
    """Write a number with its sign, as people print it.

    >>> signed(1.234), signed(-0.5, 1), signed(0.001)
    ('+1.23', '−0.5', '0.00')
    """
    rounded = f"{value:+.{digits}f}"
    return rounded[1:] if float(rounded) == 0 else rounded.replace("-", "−")


def _in_hundred(probability: float) -> str:
    """Return a probability as a count, never as certainty.

    >>> _in_hundred(0.714), _in_hundred(0.9999), _in_hundred(0.5)
    ('71 times in 100', 'more than 99 times in 100', '50 times in 100')
    """
    if probability > 0.995:
        return "more than 99 times in 100"
    return f"{probability * 100:.0f} times in 100"
