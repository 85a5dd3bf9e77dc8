"""Planted copies are found, and nothing else. Stories are random words, so clean ones share no run of three words."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from storyalign.audit.leakage import LeakageIndex, LeakageReport
from storyalign.records import Instance, PreferencePair

pytest.importorskip("rensa")

WORDS = [a + b + c for a in ("ba", "lo", "mi", "tu", "re") for b in ("ka", "no", "si", "ve") for c in "nrstl"]


def prose(seed: str, words: int = 400) -> str:
    pick = random.Random(seed)
    paragraphs = []
    for _ in range(words // 40):
        sentences = [" ".join(pick.choices(WORDS, k=10)).capitalize() + "." for _ in range(4)]
        paragraphs.append(" ".join(sentences))
    return "\n\n".join(paragraphs)


def instance(number: int) -> Instance:
    return Instance(
        id=f"rmb-{number}",
        prompt=prose(f"premise {number}", 40),
        chosen=prose(f"chosen {number}"),
        rejected=tuple(prose(f"rejected {number} {i}") for i in range(3)),
    )


def pair(number: int) -> PreferencePair:
    return PreferencePair(
        id=f"pair-{number}",
        prompt=prose(f"other premise {number}", 40),
        chosen=prose(f"better {number}"),
        rejected=prose(f"worse {number}"),
        construction="rewriting",
    )


@pytest.fixture(scope="module")
def index() -> LeakageIndex:
    index = LeakageIndex()
    index.add("storyrmb", map(instance, range(40)))
    return index


def spaced(text: str) -> str:
    """A story as the Penn Treebank's tokeniser leaves it."""
    return text.replace(".", " .").replace(",", " ,").replace("\n\n", " <newline> ").lower().replace("<newline>", "\n")


def test_the_clean_rest_raises_no_alarm(index: LeakageIndex) -> None:
    assert [leak for number in range(150) for leak in index.leaks(pair(number))] == []


def test_copies_of_a_story_are_found_under_any_premise_and_on_either_side(index: LeakageIndex) -> None:
    for which in ("chosen", "rejected"):
        for story in instance(7).stories:
            (leak,) = index.leaks(replace(pair(1), **{which: story}))
            assert (leak.text, leak.kind, leak.instance_id) == (which, "story, exact", "rmb-7")
            assert (leak.evaluation_set, leak.similarity) == ("storyrmb", 1.0)


def test_treebank_spacing_and_case_do_not_hide_a_copy(index: LeakageIndex) -> None:
    (leak,) = index.leaks(replace(pair(1), chosen=spaced(instance(3).rejected[1])))
    assert (leak.kind, leak.instance_id) == ("story, exact", "rmb-3")


@pytest.mark.parametrize("place", [0, 4, 9])
def test_a_changed_paragraph_does_not_hide_a_copy(index: LeakageIndex, place: int) -> None:
    for number in range(20):
        paragraphs = instance(number).chosen.split("\n\n")
        paragraphs[place] = prose(f"new {number}", 40)
        (leak,) = index.leaks(replace(pair(1), rejected="\n\n".join(paragraphs)))
        assert (leak.kind, leak.instance_id) == ("story, near", f"rmb-{number}")
        assert 0.5 <= leak.similarity < 1  # 9 of 10 paragraphs: 0.9 / 1.1 = 0.82, give or take the estimate's error


def test_a_premise_is_found_with_some_words_changed(index: LeakageIndex) -> None:
    words = instance(5).prompt.split()
    words[10] = "otherwise"
    leaks = index.leaks(replace(pair(1), prompt=" ".join(words)))
    assert [(leak.text, leak.kind, leak.instance_id) for leak in leaks] == [("prompt", "premise, near", "rmb-5")]
    assert [leak.kind for leak in index.leaks(replace(pair(1), prompt=instance(5).prompt))] == ["premise, exact"]


def test_the_first_part_of_a_story_as_premise_is_found(index: LeakageIndex) -> None:
    beginning = "\n\n".join(instance(9).chosen.split("\n\n")[:4])
    leaks = index.leaks(replace(pair(1), prompt=beginning))
    assert [(leak.text, leak.kind, leak.instance_id) for leak in leaks] == [("prompt", "passage, exact", "rmb-9")]


def test_a_story_with_a_new_beginning_is_known_by_its_end(index: LeakageIndex) -> None:
    half = instance(9).chosen.split("\n\n")[6:]
    leaks = index.leaks(replace(pair(1), chosen="\n\n".join([prose("a new start", 300), *half])))
    assert [(leak.text, leak.kind) for leak in leaks] == [("chosen", "passage, exact")]


def test_the_report_counts_pairs_and_kinds_and_keeps_examples(index: LeakageIndex) -> None:
    report = LeakageReport()
    for number in range(20):
        planted = replace(pair(number), chosen=instance(number).chosen, prompt=instance(number).prompt)
        for row in (pair(number), planted):
            report.add(row, index.leaks(row))
    assert (report.pairs, report.leaking) == (40, 20)
    assert report.kinds == {"premise, exact": 20, "story, exact": 20}
    assert report.constructions == {"rewriting": 20}
    assert [len(leaks) for leaks in report.to_json()["examples"].values()] == [10, 10]


def embedded(passage: str, number: int) -> str:
    return f"{prose(f'before {number}', 200)} {passage} {prose(f'after {number}', 200)}"


@pytest.mark.parametrize("size", [30, 45, 60, 120])
@pytest.mark.parametrize("which", ["prompt", "chosen", "rejected"])
def test_a_passage_is_found_from_30_words_on(index: LeakageIndex, size: int, which: str) -> None:
    for number in range(12):
        words = spaced(instance(number).rejected[1]).replace(" .", "").split()
        for start in (0, 17 * number, len(words) - size):
            passage = " ".join(words[start : start + size])
            planted = passage if which == "prompt" and start == 0 else embedded(passage, number)
            (leak,) = index.leaks(replace(pair(1), **{which: planted}))
            assert (leak.text, leak.kind, leak.instance_id) == (which, "passage, exact", f"rmb-{number}")


def test_29_words_are_no_passage(index: LeakageIndex) -> None:
    for number in range(40):
        words = instance(number).chosen.split()[number : number + 29]
        framed = embedded(f"otherwise {' '.join(words)} otherwise", number)
        assert index.leaks(replace(pair(1), chosen=framed)) == []


def test_a_whole_story_inside_a_longer_text_is_found(index: LeakageIndex) -> None:
    for number in range(12):
        longer = f"{prose(f'frame {number}', 2000)} {instance(number).chosen} {prose(f'frame end {number}', 2000)}"
        (leak,) = index.leaks(replace(pair(1), chosen=longer))
        assert (leak.kind, leak.instance_id) == ("passage, exact", f"rmb-{number}")


def test_30_chinese_characters_are_a_passage() -> None:
    pick = random.Random(3)
    story, other = ("".join(chr(pick.randrange(0x4E00, 0x9FA5)) for _ in range(400)) for _ in range(2))
    index = LeakageIndex()
    index.add("zh", [replace(instance(1), chosen=story)])
    assert index.leaks(replace(pair(1), chosen=other[:100] + story[50:79] + other[100:])) == []
    (leak,) = index.leaks(replace(pair(1), chosen=other[:100] + story[50:80] + other[100:]))
    assert leak.kind == "passage, exact"
