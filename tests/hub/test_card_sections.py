"""What a release adds to a card: tokens, leakage, and whom to ask for a removal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from storyalign.hub.cards.card_lint import lint_card
from storyalign.hub.cards.card_sections import with_leakage, with_take_down, with_tokens
from storyalign.hub.cards.dataset_card import add_section
from storyalign.hub.payload import Payload, collect
from storyalign.hub.release.release_options import Named, named
from tests.support.rows import pair_row, storyrmb_row, write_rows


def pairs(tmp_path: Path, *changes: dict[str, str]) -> Payload:
    rows = [pair_row(i, **(changes[i] if i < len(changes) else {})) for i in range(10)]
    return collect(
        build_story_preferences([write_rows(tmp_path / "p.jsonl", rows)], tmp_path / "pairs").path, "dataset"
    )


def test_sections_stand_before_the_citation_and_once() -> None:
    card = "# A\n\n## B\n\nb\n\n## Citation\n\nc\n"
    once = add_section(card, "## New\n\nfirst")
    assert once == "# A\n\n## B\n\nb\n\n## New\n\nfirst\n\n## Citation\n\nc\n"
    two = add_section(once, "## Other\n\nother")
    assert add_section(two, "## New\n\nsecond") == (
        "# A\n\n## B\n\nb\n\n## Other\n\nother\n\n## New\n\nsecond\n\n## Citation\n\nc\n"
    )


def test_leakage(tmp_path: Path) -> None:
    """One premise and one story of the benchmark stand in the pairs; a person's words are not quoted in the report."""
    benchmark = [storyrmb_row(0)]
    raw = write_rows(tmp_path / "rmb.jsonl", benchmark)
    place = str(build_storyrmb([raw], tmp_path / "storyrmb").path)
    leaks = ({"prompt": benchmark[0]["prompt"]}, {"rejected": benchmark[0]["chosen"].upper()})
    payload, leaking = with_leakage(pairs(tmp_path, *leaks), [Named(place, "org/storyrmb")])
    assert leaking == 2
    report = json.loads(payload.read("leakage.json"))
    assert (report["pairs"], report["leaking"]) == (10, 2)
    assert report["kinds"] == {"premise, exact": 1, "story, exact": 1}
    assert [(one["name"], one["instances"]) for one in report["against"]] == [("org/storyrmb", 1)]
    card = payload.text("README.md")
    assert "with those of `org/storyrmb` (1 instances)" in card
    assert "2 of 10 pairs have a text in common with them" in card
    assert "| story, exact | 1 |" in card
    everything = card + payload.read("leakage.json").decode()
    assert str(tmp_path) not in everything
    assert not [row for row in benchmark if row["prompt"] in everything]
    assert lint_card(payload) == []


def test_no_leakage_is_said_as_well(tmp_path: Path) -> None:
    raw = write_rows(tmp_path / "rmb.jsonl", [storyrmb_row(i) for i in range(6)])
    payload, leaking = with_leakage(pairs(tmp_path), [Named(str(raw), "rmb")])
    assert leaking == 0
    assert "0 of 10 pairs have a text in common" in payload.text("README.md")


def test_tokens(tmp_path: Path) -> None:
    """As the tokenizer counts whole conversations itself, template and all."""
    pytest.importorskip("transformers")
    from tests.support.tiny_models import tiny_model_folder, tiny_tokenizer

    payload = with_tokens(pairs(tmp_path), Named(str(tiny_model_folder(tmp_path / "model")), "org/model"))
    tokenizer = tiny_tokenizer()
    lengths = sorted(
        len(
            tokenizer.apply_chat_template(
                [{"role": "user", "content": row["prompt"]}, {"role": "assistant", "content": row[name]}],
                return_dict=True,
            )["input_ids"]
        )
        for row in map(pair_row, range(10))
        for name in ("chosen", "rejected")
    )
    facts = json.loads(payload.read("tokens.json"))
    assert (facts["tokenizer"], facts["stories"], facts["total"]) == ("org/model", 20, sum(lengths))
    assert (facts["shortest"], facts["p95"], facts["longest"]) == (lengths[0], lengths[18], lengths[19])
    assert f"| 20 | {sum(lengths) / 20:,.1f} |" in payload.text("README.md")
    assert lint_card(payload) == []


def test_take_down(tmp_path: Path) -> None:
    payload = pairs(tmp_path)
    assert "Community tab of this repository, and give the row's `id`" in with_take_down(payload, None).text(
        "README.md"
    )
    card = with_take_down(payload, "rights@example.org").text("README.md")
    assert "Community tab of this repository, or write to rights@example.org, and give" in card


def test_a_folder_is_named_without_its_place(tmp_path: Path) -> None:
    assert named(str(tmp_path)) == (str(tmp_path), tmp_path.name)
    assert named("org/model") == ("org/model", "org/model")
