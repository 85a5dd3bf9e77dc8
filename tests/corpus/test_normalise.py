from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storyalign.corpus.normalise import RULES, normalise


@pytest.mark.parametrize(
    ("rule", "raw", "clean"),
    [
        ("line ends", "One.\r\n\r\nTwo.\rThree.", "One.\n\nTwo.\nThree."),
        ("HTML entities", "Tom &amp; Ann &#8220;Go&#8221; &lt;3", "Tom & Ann “Go” <3"),
        ("HTML entities", "twice &amp;quot;over&amp;quot;", 'twice "over"'),
        ("newline tokens", "One. <newline> <newline> Two.", "One.\n\nTwo."),
        ("newline tokens", "One.<br/>Two.[NEWLINE]Three.<|newline|>Four.", "One.\nTwo.\nThree.\nFour."),
        ("newline tokens", "One.\\n\\nTwo.\\nThree.", "One.\n\nTwo.\nThree."),
        ("newline tokens", "One.\\n\\nand two.\\nand three.", "One.\n\nand two.\nand three."),
        ("newline tokens", "One. \\newline \\newline Two.\\newlineThree.", "One.\n\nTwo.\nThree."),
        ("line ends", "One.&#13;&#10;Two.&#13;Three.&amp;#xD;Four.", "One.\nTwo.\nThree.\nFour."),
        ("mojibake", "It was â€œlateâ€\x9d, dâ€™you see", "It was “late”, d’you see"),
        ("mojibake", "ä»–åœ¨æµ·è¾¹ã€‚", "他在海边。"),
        ("invisible characters", "\ufeffThe \u200bsea\u00ad.", "The sea."),
        ("control characters", "The sea.\x00\x07", "The sea."),
        ("white space", "  The\u00a0 sea. \n\n\n\n\u3000\u3000她走了。  ", "The sea.\n\n她走了。"),
        (
            "Penn Treebank spacing",
            "It was n't late , and I 've told `` Ann '' .",
            "It wasn’t late, and I’ve told “Ann”.",
        ),
        ("chat around the story", "Sure! Here is a story for you:\n\n---\n\nThe sea.", "The sea."),
        ("chat around the story", "The sea.\n\nLet me know if you want a longer one!", "The sea."),
        ("chat around the story", "好的，这是一个为你写的故事：\n\n她走了。", "她走了。"),
    ],
)
def test_each_rule_mends_one_thing_and_is_counted(rule: str, raw: str, clean: str) -> None:
    counts = Counter[str]()
    assert normalise(raw, counts) == clean
    assert rule in counts


@pytest.mark.parametrize(
    "text",
    [
        "The sea was calm. “Go,” she said, and didn’t.",
        "Sure as the tide, he came home.\n\nIt was late.",
        "Here is the thing about lighthouses: nobody visits.\n\nI did.",
        "Of course she told him.\n\nThen she left.",
        "“Certainly,” he said.\n\nHe meant no.",
        "5 < 6, a[0] and a * b\n\n***\n\nA new scene.",
        "Ils sont là ! Où ? Déjà parti ; enfin.",
        "她说：“走吧。”\n\n他没有动。",
        "He moved C:\\new to D:\\notes, and what lay in C:\\newline to E:\\next\\nine.",
        "The folders \\new\\notes and \\next were empty.",
        "In TeX, \\noindent and \\newpage begin a line; \\alpha\\n\\n does not.",
        "A family: \N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}",  # joiners belong to the picture
        "He paused . Then nothing happened for a long while, " + "and the sea went on as before " * 20,
    ],
)
def test_what_is_written_well_stays_as_it_is(text: str) -> None:
    counts = Counter[str]()
    assert normalise(text, counts) == text.strip()
    assert not counts or set(counts) == {"white space"}


def test_a_text_of_nothing_but_chat_is_not_made_empty() -> None:
    assert normalise("Sure! Here is a story for you:") == "Sure! Here is a story for you:"


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=200))
def test_no_text_is_too_odd_and_nothing_is_counted_without_a_change(raw: str) -> None:
    counts = Counter[str]()
    clean = normalise(raw, counts)
    assert bool(counts) == (clean != raw) or counts.total() > 1  # two rules may undo each other's change
    assert not set(clean) & set("\ufeff\u200b\x00\r\u2028")


@pytest.mark.parametrize(
    "piece", ["Sure! Here is ", "< newline ", "&amp;", " n't ", "``", "* ", "\n", "I hope you ", "Ã"]
)
def test_no_rule_is_slow_on_repetitions(piece: str) -> None:
    # 200,000 characters: a rule whose time grows with the square would take minutes, not a second or two
    begun = time.process_time()
    normalise(piece * (200_000 // len(piece)))
    assert time.process_time() - begun < 10


def test_rules_have_different_names() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.real_data
@pytest.mark.skipif("STORYALIGN_REAL_DATA" not in os.environ, reason="STORYALIGN_REAL_DATA is not set")
def test_real_stories_keep_their_words_and_a_second_pass_changes_nothing() -> None:
    folder, counts, n = Path(os.environ["STORYALIGN_REAL_DATA"]), Counter[str](), 0
    for name in ("hanna", "lamp_rank", "confederacy", "wpb_zh_fiction"):
        for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            for candidate in json.loads(line)["candidates"]:
                clean = normalise(candidate["story"], counts)
                assert normalise(clean) == clean
                assert len(clean) > 0.8 * len(candidate["story"].strip())
                n += 1
    assert n == 168 + 150 + 26 + 48
    # Read one by one: 14 openings such as "Sure! Here is a story based on the prompt:" in hanna, 2 in the Chinese set.
    assert counts["chat around the story"] == 16
