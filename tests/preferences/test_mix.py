"""The mix by counting: stories are made of words that no other story has, unless a test plants a likeness."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from storyalign.audit.leakage import LeakageIndex
from storyalign.errors import DataError, RecipeError, RowError
from storyalign.files import read_jsonl, write_jsonl
from storyalign.hub.build.dataset_folder import build_story_preferences
from storyalign.preferences import mix
from storyalign.preferences.mix import Mix, mix_pairs
from storyalign.preferences.mix_groups import Groups, validation_groups
from storyalign.records import Instance, PreferencePair
from tests.audit.test_leakage import prose

pytest.importorskip("rensa")

ALL = Mix(targets={}, total=None, validation_share=0.2)


def row(number: int, **changes) -> dict:
    construction = ("rewriting", "llm_pairs", "back_generation", "guided_continuation")[number % 4]
    return {
        "id": f"pair-{number}",
        "prompt": prose(f"premise {number}", 40),
        "chosen": prose(f"chosen {number}", 200),
        "rejected": prose(f"rejected {number}", 200),
        "construction": construction,
        **changes,
    }


def mixed(tmp_path: Path, rows: list[dict], settings: Mix = ALL, index: LeakageIndex | None = None):
    write_jsonl(tmp_path / "in.jsonl", rows)
    report = mix_pairs(
        [tmp_path / "in.jsonl"], tmp_path / "out.jsonl", settings, index, size_pairs=tmp_path / "size.jsonl"
    )
    return report, [PreferencePair.from_row(line.row) for line in read_jsonl(tmp_path / "out.jsonl")]


def test_all_pairs_come_through_in_two_splits(tmp_path: Path) -> None:
    report, pairs = mixed(tmp_path, [row(n) for n in range(40)])
    assert [pair.id for pair in pairs] == [f"pair-{n}" for n in range(40)]
    # a fifth of ten pairs of each construction
    assert Counter((p.construction, p.split) for p in pairs) == report.counts
    assert {report.count(c, "validation") for c, _ in report.counts} == {2}
    assert report.tally.kept == 40


def test_repetitions_are_dropped_and_counted(tmp_path: Path) -> None:
    first = row(0)
    swapped = {**first, "id": "swapped", "chosen": first["rejected"], "rejected": first["chosen"]}
    two = row(2)
    near = {**row(6, id="near"), "chosen": "New. " + two["chosen"], "rejected": two["rejected"] + " End."}
    report, pairs = mixed(tmp_path, [first, {**first, "id": "again"}, swapped, two, near, row(5, id="pair-0"), row(1)])
    assert [pair.id for pair in pairs] == ["pair-0", "pair-2", "pair-1"]
    assert report.tally.dropped == {mix.REPEATED: 2, mix.NEARLY_REPEATED: 1, mix.SAME_ID: 1}


def test_one_story_with_two_rewritings_is_no_repetition(tmp_path: Path) -> None:
    first = row(0)
    light = [{**first, "id": f"light-{n}", "rejected": first["chosen"].replace(".", f" {n}.", 1)} for n in range(2)]
    _, pairs = mixed(tmp_path, [first, {**first, "id": "other", "rejected": prose("another rewriting", 200)}, *light])
    assert len(pairs) == 4


def test_what_leaks_stays_out(tmp_path: Path) -> None:
    index, planted = LeakageIndex(), row(3)
    index.add("bench", [Instance("rmb-1", prose("p", 40), planted["chosen"], (prose("r", 200),))])
    report, pairs = mixed(tmp_path, [row(n) for n in range(8)], index=index)
    assert "pair-3" not in {pair.id for pair in pairs}
    assert report.tally.dropped == {mix.LEAKS: 1}
    assert (report.leakage.pairs, report.leakage.kinds) == (8, {"story, exact": 1})


def test_pairs_by_authors_of_the_evaluation_set_stay_out(tmp_path: Path) -> None:
    index = LeakageIndex()
    index.add(
        "bench", [Instance("rmb-1", prose("p", 40), prose("c", 200), (prose("r", 200),))], ["person-a", "person-b"]
    )
    keys = {0: ["person-a"], 1: ["person-c", "person-b"], 2: ["person-c"], 3: []}
    report, pairs = mixed(tmp_path, [row(n, author_keys=keys.get(n % 8)) for n in range(16)], index=index)
    # two of each eight; no keys, null and other authors stay
    assert sorted(int(pair.id[5:]) for pair in pairs) == [n for n in range(16) if n % 8 > 1]
    assert report.tally.dropped == {mix.SAME_AUTHOR: 4}
    assert report.leakage.leaking == 0


def test_targets_are_kept_and_the_rest_fills_up_the_total(tmp_path: Path) -> None:
    settings = Mix(targets={"rewriting": 4, "back_generation": 12, "guided_continuation": 2}, total=20)
    report, _ = mixed(tmp_path, [row(n) for n in range(40)], settings)
    # 10 of each: 4 of rewriting, all 10 of back_generation, 2 of guided_continuation; 20 - 16 = 4 are left
    assert {c: report.count(c) for c, _ in report.counts} == {
        "rewriting": 4, "back_generation": 10, "guided_continuation": 2, "llm_pairs": 4
    }  # fmt: skip
    assert report.tally.dropped == {mix.OVER_TARGET: 20}


def test_targets_above_the_total_are_refused() -> None:
    message = r"targets add up to 60, more than total \(59\)"
    with pytest.raises(RecipeError, match=message):
        Mix(targets={"rewriting": 50, "back_generation": 10, "llm_pairs": None}, total=59)
    assert Mix(targets={"rewriting": 50, "back_generation": 10, "llm_pairs": None}, total=60).total == 60


def test_the_draw_does_not_depend_on_the_order_of_the_file(tmp_path: Path) -> None:
    settings = Mix(targets={"rewriting": 3}, total=10, validation_share=0.3)
    rows = [row(n) for n in range(40)]
    _, first = mixed(tmp_path, rows, settings)
    _, second = mixed(tmp_path, rows[::-1], settings)
    assert {(p.id, p.split) for p in first} == {(p.id, p.split) for p in second}


def test_no_premise_author_story_or_near_story_stands_in_both_splits(tmp_path: Path) -> None:
    pick, rows = random.Random(5), []
    for n in range(200):
        changes: dict = {
            "author_keys": [f"author-{pick.randrange(150)}"],
            "story_ids": [f"story-{pick.randrange(300)}"],
        }
        if rows and n % 5 == 0:
            other = pick.choice(rows)
            paragraphs = other["chosen"].split("\n\n")
            paragraphs[1] = prose(f"changed {n}", 40)
            changes |= pick.choice(
                [{"prompt": other["prompt"]}, {"rejected": other["chosen"]}, {"chosen": "\n\n".join(paragraphs)}]
            )
        rows.append(row(n, **changes))
    report, pairs = mixed(tmp_path, rows)
    split = {pair.id: pair.split for pair in pairs}
    assert 20 <= sum(s == "validation" for s in split.values()) <= 40
    for field in ("author_keys", "story_ids"):
        for value in {value for r in rows for value in r[field]}:
            assert len({split[r["id"]] for r in rows if value in r[field] and r["id"] in split}) <= 1
    assert report.tally.kept == len(pairs)
    # the build checks exact texts for itself
    build_story_preferences([tmp_path / "out.jsonl"], tmp_path / "story_preferences")
    train = LeakageIndex()
    train.add("train", (Instance(p.id, p.prompt, p.chosen, (p.rejected,)) for p in pairs if p.split == "train"))
    assert [leak for pair in pairs if pair.split == "validation" for leak in train.leaks(pair)] == []


def test_pairs_by_size_that_are_left_over_replace_a_construction(tmp_path: Path) -> None:
    rows = [row(n) for n in range(40)]
    rows += [row(4 * n + 41, edit="by_size") for n in range(30)]  # 4n + 41: llm_pairs
    settings = Mix(targets={"llm_pairs": 10}, total=None, validation_share=0.1)
    report, pairs = mixed(tmp_path, rows, settings)
    size = [PreferencePair.from_row(line.row) for line in read_jsonl(tmp_path / "size.jsonl")]
    # 10 pairs of each other construction, 1 of them for validation: 9 can be removed
    assert len(size) == report.size_pairs == 9
    assert all(pair.edit == "by_size" and pair.split == "train" for pair in size)
    assert not {pair.id for pair in size} & {pair.id for pair in pairs}


def test_length_alone_is_audited_for_each_construction(tmp_path: Path) -> None:
    rows = [row(4 * n) for n in range(20)]
    for n, changed in enumerate(rows[:15]):
        changed["chosen"] = prose(f"longer {n}", 240)
    for n, changed in enumerate(rows[15:18]):
        changed["chosen"] = prose(f"shorter {n}", 160)
    report, _ = mixed(tmp_path, rows)
    (rule,) = [r for r in report.cues.rules("rewriting") if r.cue == "words"]
    # 15 longer, 3 shorter, 2 ties that count half
    assert (rule.accuracy, rule.n, rule.ties, rule.rule) == (0.8, 20, 2, "more words")
    low, high = rule.interval
    assert (round(low, 4), round(high, 4)) == (0.584, 0.9193)  # Wilson for 16 of 20, statsmodels


def test_a_broken_row_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(RowError, match=r"in\.jsonl:3 \(id pair-2\): chosen is empty"):
        mixed(tmp_path, [row(0), row(1), row(2, chosen=" ")])
    assert not (tmp_path / "out.jsonl").exists()
    with pytest.raises(DataError, match="no pairs are left to mix"):
        mixed(tmp_path, [])
    with pytest.raises(RecipeError, match="unknown construction 'swaps'"):
        Mix(targets={"swaps": 3})


def test_groups_join_over_any_key() -> None:
    groups = Groups()
    for keys in ((1, 2), (3,), (4, 5), (2, 3), (6,)):
        groups.add(keys)
    groups.join(2, 4)
    assert [groups.of(n) for n in range(5)] == [0, 0, 2, 0, 2]


def test_a_group_too_large_for_validation_stays_in_train() -> None:
    groups = [0] * 60 + list(range(60, 100))
    chosen = validation_groups(groups, ["rewriting"] * 100, [str(n) for n in range(100)], 0.1, 0)
    assert len(chosen) == 10
    assert 0 not in chosen


def recased(text: str) -> str:
    return text.upper().replace(".", " ...")


def one_word_changed(text: str, place: int) -> str:
    words = text.split()
    words[place % len(words)] = "otherwise"
    return " ".join(words)


def paragraph_changed(text: str, number: int) -> str:
    paragraphs = text.split("\n\n")
    paragraphs[number % len(paragraphs)] = prose(f"another {number}", 40)
    return "\n\n".join(paragraphs)


@pytest.mark.parametrize("words", [10, 25, 40])
def test_no_planted_likeness_stands_in_both_splits(tmp_path: Path, words: int) -> None:
    kinds = {
        "other case and punctuation": lambda a, n: {"prompt": recased(a["prompt"])},
        "one word of the premise changed": lambda a, n: {"prompt": one_word_changed(a["prompt"], n)},
        "chosen nearly the chosen": lambda a, n: {"chosen": paragraph_changed(a["chosen"], n)},
        "rejected nearly the chosen": lambda a, n: {"rejected": paragraph_changed(a["chosen"], n)},
        "beginning as premise": lambda a, n: {"prompt": recased(" ".join(a["chosen"].split()[:words]))},
    }
    firsts, seconds = [], []
    for kind, planted in kinds.items():
        for n in range(20):
            first = row(2 * n, id=f"{kind} {n}", prompt=" ".join(prose(f"p {kind} {n}", 40).split()[:words]))
            first |= {name: prose(f"{name} {kind} {n}", 200) for name in ("chosen", "rejected")}
            second = row(2 * n + 1, id=f"{kind} {n} too", chosen=prose(f"c {kind} {n}", 200))
            second |= {"rejected": prose(f"r {kind} {n}", 200), "prompt": prose(f"q {kind} {n}", 40)}
            firsts.append(first)
            seconds.append(second | planted(first, n))
    for rows in ([*firsts, *seconds], [*seconds, *firsts]):
        _, pairs = mixed(tmp_path, rows, Mix(targets={}, total=None, validation_share=0.4))
        split = {pair.id: pair.split for pair in pairs}
        assert len(split) == len(rows)
        assert sum(s == "validation" for s in split.values()) > 60
        shared = Counter(f["id"].rsplit(" ", 1)[0] for f in firsts if split[f["id"]] != split[f"{f['id']} too"])
        assert shared == {}


def test_all_near_copies_are_joined_and_not_the_closest_alone(tmp_path: Path) -> None:
    base = prose("base", 200)
    a, b = paragraph_changed(base, 0), paragraph_changed(base, 1)
    for seed in range(12):
        rows = [row(n) for n in range(40)]
        rows += [row(50, chosen=a), row(51, chosen=b), row(52, chosen=base)]
        _, pairs = mixed(tmp_path, rows, Mix(targets={}, total=None, validation_share=0.4, seed=seed))
        assert len({p.split for p in pairs if p.id in ("pair-50", "pair-51", "pair-52")}) == 1


def test_the_balance_of_writers_is_reported_for_each_construction(tmp_path: Path) -> None:
    rows = [row(4 * n, chosen_writer="a", rejected_writer="b") for n in range(3)]
    rows += [row(12, chosen_writer="b", rejected_writer="a"), row(16), row(1, chosen_writer="c", rejected_writer="c")]
    report, _ = mixed(tmp_path, rows)
    writers = report.to_json()["writers"]
    rewriting = writers["rewriting"]
    assert [(w["writer"], w["chosen"], w["rejected"]) for w in rewriting["writers"]] == [("a", 3, 1), ("b", 1, 3)]
    # "a is better" is right for 3 of 4; one pair names no writers
    assert (rewriting["n"], rewriting["n_unnamed"], rewriting["accuracy"]) == (4, 1, 0.75)
    assert (writers["llm_pairs"]["n"], writers["llm_pairs"]["accuracy"]) == (1, 0.5)
