"""Stories longer than the limit: refused by name, or cut under a flag and counted."""

from storyalign.files import read_jsonl, write_jsonl
from storyalign.records import Instance
from tests.support.command import storyalign
from tests.support.rows_to_score import read_rewards, write_instances
from tests.support.tiny_models import tiny_model_folder, words


def test_refused_by_name_then_cut_and_counted(tmp_path):
    model, data, out = tiny_model_folder(tmp_path / "model"), tmp_path / "data.jsonl", tmp_path / "rewards.jsonl"
    instances = write_instances(data, 3)
    same_start = words(300, 5)
    long = Instance("long-1", "A premise.", same_start + " One end.", (same_start + " Another end.", "Short."))
    no_room = Instance("long-2", words(300, 6), "A story.", ("Another.",))
    write_jsonl(data, [item.to_row() for item in [*instances, long]])

    refused = storyalign("score", model, data, "--out", out, "--max-length", "150")
    assert refused.returncode == 2
    assert "error: 2 of 15 stories are longer than 150 tokens: long-1[0]" in refused.stderr
    assert not out.exists()

    write_jsonl(data, [item.to_row() for item in [*instances, long, no_room]])
    cut = storyalign("score", model, data, "--out", out, "--max-length", "150", "--truncate", "head")
    assert cut.returncode == 0, cut.stderr
    assert "scored 15 | unscored 2 | truncated 2" in cut.stdout
    rows = read_rewards(out)
    first, second = rows["long-1", 0], rows["long-1", 1]
    assert first["truncated"]
    assert second["truncated"]
    assert first["reward"] == second["reward"], "equal after the cut is a tie, not a ranking by noise"
    assert first["n_tokens"] > 150
    assert not rows["long-1", 2]["truncated"]
    assert rows["long-2", 0]["status"] == "too_long"
    assert rows["long-2", 0]["reward"] is None
    assert len(list(read_jsonl(data))) == 5
