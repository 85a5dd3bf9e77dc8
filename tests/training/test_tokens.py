from __future__ import annotations

from pathlib import Path

import pytest

from storyalign.errors import DataError
from storyalign.files import write_jsonl
from storyalign.models.chat import render
from storyalign.training.pairs import LoadedPairs, PairSource, load_pairs
from storyalign.training.tokens import LengthPolicy, LengthTable, TokenPairs, tokenize_pairs
from tests.support.tiny_models import tiny_tokenizer

LONG = " ".join(["sea"] * 60)


def pairs_file(tmp_path: Path) -> LoadedPairs:
    rows = [
        {"id": "short", "prompt": "p", "chosen": "the sea", "rejected": "rain", "construction": "rewriting"},
        {"id": "long", "prompt": "p", "chosen": LONG + " calm", "rejected": "rain", "construction": "rewriting"},
        # After a cut at the head the two are the same.
        {"id": "late", "prompt": "p", "chosen": LONG + " a", "rejected": LONG + " b", "construction": "llm_pairs"},
        {"id": "premise", "prompt": LONG, "chosen": "the sea", "rejected": "rain", "construction": "llm_pairs"},
    ]
    write_jsonl(tmp_path / "pairs.jsonl", rows)
    return load_pairs(PairSource(str(tmp_path / "pairs.jsonl")))


def tokenize(tmp_path: Path, policy: LengthPolicy) -> TokenPairs:
    return tokenize_pairs(pairs_file(tmp_path), tiny_tokenizer(), policy, cache=tmp_path / "cache")


def test_tokens_are_those_of_scoring(tmp_path: Path) -> None:
    tokens = tokenize(tmp_path, LengthPolicy(None))
    row = tokens.rows[0]
    assert row["chosen_ids"] == render(tiny_tokenizer(), "p", "the sea")
    assert row["rejected_ids"] == render(tiny_tokenizer(), "p", "rain")
    assert row["n_tokens"] == len(row["chosen_ids"]) + len(row["rejected_ids"])
    assert set(tokens.rows["fate"]) == {"kept"}


def test_too_long_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"3 of 4 pairs are longer than 40 tokens, the first one id long with \d+"):
        tokenize(tmp_path, LengthPolicy(40, "error"))


def test_drop_and_truncate_are_counted_by_construction(tmp_path: Path) -> None:
    dropped = LengthTable.of([tokenize(tmp_path, LengthPolicy(40, "drop"))])
    assert dropped.counts == {"rewriting": {"kept": 1, "dropped": 1}, "llm_pairs": {"dropped": 2}}
    assert dropped.lost_share == 0.75
    cut = LengthTable.of([tokenize(tmp_path, LengthPolicy(40, "truncate", "head"))])
    # "late" is no pair any more once its only difference is cut off, and nothing of a story fits behind "premise".
    assert cut.counts == {"rewriting": {"kept": 1, "cut": 1}, "llm_pairs": {"dropped": 2}}
    tail = LengthTable.of([tokenize(tmp_path, LengthPolicy(40, "truncate", "tail"))])
    assert tail.counts == {"rewriting": {"kept": 1, "cut": 1}, "llm_pairs": {"cut": 1, "dropped": 1}}
    lines = str(tail).splitlines()
    assert lines[0].split() == ["construction", "kept", "cut", "dropped", "longest", "(tokens)"]
    assert lines[1].split()[:4] == ["llm_pairs", "0", "1", "1"]


@pytest.mark.parametrize("keep", ["head", "tail", "middle"])
def test_cut_conversations_keep_template_and_premise(tmp_path: Path, keep: str) -> None:
    rows = tokenize(tmp_path, LengthPolicy(40, "truncate", keep)).rows  # type: ignore[arg-type]
    ids = rows[1]["chosen_ids"]
    whole = render(tiny_tokenizer(), "p", LONG + " calm")
    assert len(ids) == 40
    frame = len(render(tiny_tokenizer(), "p", "")) - 2  # the end of the turn is <|im_end|> and a line break
    assert ids[:frame] == whole[:frame] and ids[-2:] == whole[-2:]
    room = 40 - frame - 2
    excess = len(whole) - 40
    start = {"head": 0, "middle": excess // 2, "tail": excess}[keep]
    assert ids[frame:-2] == whole[frame + start : frame + start + room]


def test_a_large_loss_stops_and_names_the_share(tmp_path: Path) -> None:
    table = LengthTable.of([tokenize(tmp_path, LengthPolicy(40, "drop"))])
    table.check(0.75)
    with pytest.raises(DataError, match=r"75\.0% of the pairs are cut or dropped, and max_lost_share is 70\.0%"):
        table.check(0.7)


def test_cache_follows_texts_template_and_policy(tmp_path: Path) -> None:
    def folders() -> int:
        return len([p for p in (tmp_path / "cache").iterdir() if p.is_dir()])

    tokenize(tmp_path, LengthPolicy(None))
    tokenize(tmp_path, LengthPolicy(None))
    assert folders() == 1  # the second time nothing was made
    tokenize(tmp_path, LengthPolicy(40, "drop"))
    assert folders() == 2
    other = tiny_tokenizer(template="{% for m in messages %}[{{ m['content'] }}]{% endfor %}")
    tokenize_pairs(pairs_file(tmp_path), other, LengthPolicy(None), cache=tmp_path / "cache")
    assert folders() == 3
    loaded = pairs_file(tmp_path)
    rows = [{**row, "chosen": row["chosen"] + " dawn"} for row in loaded.rows.to_list()]
    write_jsonl(tmp_path / "pairs.jsonl", [{k: v for k, v in row.items() if k != "__line__"} for row in rows])
    changed = load_pairs(loaded.source)
    tokens = tokenize_pairs(changed, tiny_tokenizer(), LengthPolicy(None), cache=tmp_path / "cache")
    assert folders() == 4
    assert tokens.rows[0]["chosen_ids"] == render(tiny_tokenizer(), "p", "the sea dawn")


def test_workers_give_the_same_rows(tmp_path: Path) -> None:
    pairs = pairs_file(tmp_path)
    one = tokenize_pairs(pairs, tiny_tokenizer(), LengthPolicy(None), processes=1, cache=tmp_path / "one")
    two = tokenize_pairs(pairs, tiny_tokenizer(), LengthPolicy(None), processes=2, cache=tmp_path / "two")
    assert one.rows.to_list() == two.rows.to_list()
