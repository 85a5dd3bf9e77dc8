"""Which numbers of a card are backed."""

from __future__ import annotations

import pytest

from storyalign.hub.card_numbers import numbers_without_file, scalars

FACTS = [1133, 265, 0.7416, 2802.44, 9e-06]


@pytest.mark.parametrize(
    "text",
    [
        "1,133 instances, 265 of them for coherence",
        "accuracy 0.742, that is 74.2% or 74.16 %",
        "mean 2,802.4 words, about 2802",
        "learning rate 9e-06",
        "| **all** | 1133 |",
        "chance is 25%, or 0.25; 95% intervals; four of 4, 0 to 10",
        "```\nload(4711)\n```\nand `n=4711`, [link](https://example.org/4711), https://example.org/4711",
        "Qwen3-8B, GPT-4o, Llama-3.1-8B, v1.2.3, version 10.20.30, in 2026, on 2025-11-30",
        "12. a list item",
        "<a href='x' width=4711>text</a>",
    ],
)
def test_backed(text: str) -> None:
    assert numbers_without_file(text, FACTS) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,134 instances", "1,134"),
        ("accuracy 0.743", "0.743"),
        ("74.3%", "74.3"),
        ("0.7417", "0.7417"),
        ("a mean of 2,803 words", "2,803"),
        ("better than 812 others", "812"),
        ("learning rate 9.1e-06", "9.1e-06"),
        ("-17 degrees", "-17"),
    ],
)
def test_not_backed(text: str, number: str) -> None:
    assert [(found.number, found.line) for found in numbers_without_file(f"First line.\n{text}", FACTS)] == [
        (number, 2)
    ]


def test_numbers_in_files() -> None:
    value = {"a": [1, 2.5, None, True], "b": {"c": "lr 3e-05 of 7,000"}}
    assert sorted(scalars(value)) == [3e-05, 1.0, 2.5, 4.0, 7000.0]  # 4: the length of the list
