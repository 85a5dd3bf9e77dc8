"""Stories as HTML. Every text that a person or a model wrote passes through ``text`` or ``story_block``."""

from __future__ import annotations

from html import escape

from storyalign.text import script_language

_OPENING = 180


def text(value: str) -> str:
    """Turn any text into HTML that shows it as it is: tags, entities and quotes become visible characters."""
    return escape(value, quote=True)


def name(value: str) -> str:
    """Show a short name that may run in either direction without turning its neighbours around."""
    return f"<bdi>{text(value)}</bdi>"


def story_block(value: str, classes: str = "") -> str:
    """Show a whole story: line breaks kept, its own direction, fonts by script, nothing rendered."""
    return f'<div class="sa-story {classes}" dir="auto" lang="{script_language(value)}">{text(value)}</div>'


def opening(value: str) -> str:
    """Show the first lines of a story; a Chinese character says as much as two letters."""
    flat = " ".join(value.split())
    length = _OPENING if script_language(value) == "en" else _OPENING // 2
    cut = flat
    if len(flat) > length:
        whole_words = flat[:length].rsplit(" ", 1)[0]
        cut = (whole_words if len(whole_words) > length // 2 else flat[:length]).rstrip() + "…"
    return f'<p class="sa-opening" dir="auto" lang="{script_language(value)}">{text(cut)}</p>'


def folded_story(value: str) -> str:
    """Show a story's opening, and the whole of it on demand."""
    if len(value) <= _OPENING // 2 and "\n" not in value.strip():
        return story_block(value)
    return f"{opening(value)}<details><summary>Read the whole story</summary>{story_block(value)}</details>"


def message(kind: str, title: str, *paragraphs: str) -> str:
    """Draw a box that explains a state.

    Args:
        kind: ``empty``, ``error`` or ``note``.
        title: plain text.
        paragraphs: plain text.
    """
    role = ' role="alert"' if kind == "error" else ""
    body = "".join(f"<p>{text(paragraph)}</p>" for paragraph in paragraphs)
    return f'<div class="sa-message sa-{kind}"{role}><p class="sa-title">{text(title)}</p>{body}</div>'
