"""Trial 18: rewards of half a run, of another scorer or data, with wrong ids, or edited by hand are refused by name."""

from __future__ import annotations

import json

import pytest

from storyalign.errors import StoryAlignError
from storyalign.evaluation.scored_sets import read_scored_set
from storyalign.records import Instance
from storyalign.scoring.reward_store import row_signature
from tests.support.scored import evaluation_set, instance, rewards_rows, right_in, write_rewards

ITEMS = [instance(n) for n in range(10)]
SCORER, OTHER = "a" * 64, "b" * 64


def rows(scorer=SCORER, items=ITEMS):
    return rewards_rows(items, right_in(0.5), scorer)


def refused(path, items=ITEMS):
    with pytest.raises(StoryAlignError) as caught:
        read_scored_set(path, evaluation_set(items))
    message = str(caught.value)
    assert "\n" not in message and str(path.name) in message
    return message


def test_a_whole_file_is_taken_whatever_the_order_of_its_rows(tmp_path):
    path = write_rewards(tmp_path / "r.jsonl", rows()[::-1], SCORER, model="m")
    scored = read_scored_set(path, evaluation_set(ITEMS))
    assert scored.name == "m" and scored.kind == "model" and scored.digest == SCORER
    assert scored.rewards == {i.id: [right_in(0.5)(i, c) for c in range(4)] for i in ITEMS}


def test_unscored_rows_keep_their_reason(tmp_path):
    given = rewards_rows(ITEMS, lambda i, c: None if (i.id, c) == ("g-002", 1) else 1.0, SCORER)
    scored = read_scored_set(write_rewards(tmp_path / "r.jsonl", given, SCORER), evaluation_set(ITEMS))
    assert scored.rewards["g-002"] == [1.0, None, 1.0, 1.0]
    assert scored.reasons == {"g-002": "candidate 1 failed: no answer"}


def test_half_a_run(tmp_path):
    message = refused(write_rewards(tmp_path / "r.jsonl", rows()[:22], SCORER))
    assert "18 of 40 stories of toy.jsonl have no row, the first is g-005 candidate 2" in message


def test_a_run_that_has_not_ended(tmp_path):
    (tmp_path / "r.jsonl.part-0").write_text("")
    assert "its run has not ended" in refused(tmp_path / "r.jsonl")


def test_no_file_and_an_empty_one(tmp_path):
    assert "no such file" in refused(tmp_path / "r.jsonl")
    assert "holds no rewards" in refused(write_rewards(tmp_path / "r.jsonl", [], SCORER))


def test_rows_of_another_revision_mixed_in(tmp_path):
    mixed = rows()[:13] + rows(OTHER)[13:]
    message = refused(write_rewards(tmp_path / "r.jsonl", mixed, SCORER))
    assert "r.jsonl:14 (id g-003)" in message and "another model, revision or setting" in message


def test_settings_of_another_scorer_beside_the_file(tmp_path):
    assert "r.jsonl:1 (id g-000)" in refused(write_rewards(tmp_path / "r.jsonl", rows(), OTHER))


def test_a_story_that_changed_after_scoring(tmp_path):
    path = write_rewards(tmp_path / "r.jsonl", rows(), SCORER)
    changed = [*ITEMS[:4], instance(4, chosen="Another story."), *ITEMS[5:]]
    message = refused(path, changed)
    assert "r.jsonl:17 (id g-004): candidate 0" in message and "the story changed" in message


def test_rewards_of_other_data(tmp_path):
    path = write_rewards(tmp_path / "r.jsonl", rows(items=[instance(77)]), SCORER)
    assert "r.jsonl:1 (id g-077): toy.jsonl has no instance of this id" in refused(path)


def test_a_row_belongs_to_the_story_that_it_signs(tmp_path):
    # judged groups are scored in the order of their file, the chosen story is not the first there
    given = rows()
    for row in given:
        row["candidate"] = (row["candidate"] + 1) % 4
    scored = read_scored_set(write_rewards(tmp_path / "r.jsonl", given, SCORER), evaluation_set(ITEMS))
    assert scored.rewards["g-003"] == [right_in(0.5)(ITEMS[3], c) for c in range(4)]


def test_equal_stories_keep_their_rows_apart(tmp_path):
    twin = instance(0, rejected=("Same.", "Same.", "Other."))
    given = rewards_rows([twin], lambda i, c: float(c), SCORER)
    scored = read_scored_set(write_rewards(tmp_path / "r.jsonl", given, SCORER), evaluation_set([twin]))
    assert scored.rewards["g-000"] == [0.0, 1.0, 2.0, 3.0]


def test_rows_of_groups_without_a_gold_order_are_passed_over_when_the_data_is_the_same(tmp_path):
    path = write_rewards(tmp_path / "r.jsonl", rows(), SCORER)
    ranked = [Instance(ITEMS[0].id, ITEMS[0].prompt, ITEMS[0].rejected[1], (ITEMS[0].chosen, ITEMS[0].rejected[2]))]
    assert "the signature fits no story of this group" in refused(path, ranked)
    scored = read_scored_set(path, evaluation_set(ranked), evaluation_set(ITEMS, has_gold=False))
    reward = right_in(0.5)
    assert scored.rewards == {"g-000": [reward(ITEMS[0], 2), reward(ITEMS[0], 0), reward(ITEMS[0], 3)]}


def test_a_judge_signs_the_whole_group(tmp_path):
    given = rows()
    for row in given:
        item = next(i for i in ITEMS if i.id == row["id"])
        row["signature"] = row_signature(SCORER, item.prompt, item.stories[row["candidate"]], item.stories)
    path = write_rewards(
        tmp_path / "r.jsonl", given, SCORER, kind="judge", mode="choose", model="gpt", sees_rivals=True
    )
    scored = read_scored_set(path, evaluation_set(ITEMS))
    assert scored.kind == "judge" and scored.name == "gpt (choose)"
    # another rival is another question
    changed = [instance(0, rejected=("New.", *ITEMS[0].rejected[1:])), *ITEMS[1:]]
    assert "r.jsonl:1 (id g-000)" in refused(path, changed)


def test_the_same_candidate_twice(tmp_path):
    given = rows()
    path = write_rewards(tmp_path / "r.jsonl", [*given, given[5]], SCORER)
    assert "r.jsonl:41 (id g-001): candidate 1 stands twice" in refused(path)


def test_a_reward_changed_by_hand(tmp_path):
    path = write_rewards(tmp_path / "r.jsonl", rows(), SCORER)
    given = rows()
    given[0]["reward"] = 99.0
    path.write_text("".join(json.dumps(row) + "\n" for row in given))
    assert "was changed after its run ended" in refused(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward": "high"}, "reward is 'high'"),
        ({"reward": None}, "status scored with reward None"),
        ({"candidate": "0"}, "candidate is '0'"),
        ({"status": "done"}, "unknown status 'done'"),
        ({"n_tokens": "many"}, "r.jsonl:1 (id g-000)"),
    ],
)
def test_broken_rows(tmp_path, change, message):
    given = rows()
    given[0].update(change)
    assert message in refused(write_rewards(tmp_path / "r.jsonl", given, SCORER))


def test_settings_missing_or_unreadable(tmp_path):
    path = write_rewards(tmp_path / "r.jsonl", rows(), SCORER)
    sidecar = tmp_path / "r.jsonl.scorer.json"
    for text in ("{", "[]", '{"digest": 3}'):
        sidecar.write_text(text)
        assert "r.jsonl.scorer.json" in refused(path)
    sidecar.unlink()
    assert "says which scorer made r.jsonl" in refused(path)


def test_ids_and_texts_alone_decide(tmp_path):
    # dimension, source and writer are no part of what was scored
    path = write_rewards(tmp_path / "r.jsonl", rows(), SCORER)
    relabelled = [Instance(i.id, i.prompt, i.chosen, i.rejected) for i in ITEMS]
    assert read_scored_set(path, evaluation_set(relabelled)).rewards
