"""Marks are counted as patterns count them."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from storyalign.audit.pair_cues import CUES, PairCues
from storyalign.records import PreferencePair

PATTERNS = {
    "quotation marks a word": '["“”„«»「」『』]',
    "dashes a word": "[—–]| - |--",
    "commas a word": "[,，、]",
    "exclamations a word": "[!！]",
}
STORIES = st.text(st.sampled_from('a -—–"“”„«»「」『』,，、!！\n'), min_size=1, max_size=40)


@settings(deadline=None)
@given(STORIES, STORIES)
def test_each_rule_sees_what_its_pattern_finds(chosen: str, rejected: str) -> None:
    cues = PairCues()
    words = cues.add(PreferencePair("id", "premise", chosen, rejected, "rewriting"))
    for cue, pattern in PATTERNS.items():
        a, b = (len(re.findall(pattern, s)) / max(n, 1) for s, n in zip((chosen, rejected), words, strict=True))
        assert (cues.more["rewriting"][cue], cues.ties["rewriting"][cue]) == (a > b, a == b)
    assert {rule.cue for rule in cues.rules("rewriting")} == set(CUES)
