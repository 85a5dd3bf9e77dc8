"""Trial 22: the same text by the command line, the page, Python, a dataset and a judge gets one and the same reward."""

import json
import sys
import unicodedata
from pathlib import Path

import pytest

from storyalign.cli.rank import rank
from storyalign.cli.score import score
from storyalign.errors import RowError
from storyalign.evaluation.scored_sets import read_scored_set
from storyalign.models.chat import render
from storyalign.records import Instance
from storyalign.scoring.questions import question
from storyalign.scoring.reward_models import load_scorer
from storyalign.scoring.voting import MODES
from storyalign.training.tokens import LengthPolicy, tokenize_pairs
from tests.support.rows_to_score import read_rewards, write_instances
from tests.support.tiny_models import tiny_model_folder, tiny_tokenizer

PREMISE = "A keeper at the café"
STORY = "Zoë climbed the stair.\n\nThe sea was calm."
OTHER = "Rain fell over the old town."
FORMS = {
    "line break at the end": lambda text: text + "\n",
    "CRLF": lambda text: text.replace("\n", "\r\n") + "\r\n",
    "old Mac": lambda text: text.replace("\n", "\r"),
    "blanks around": lambda text: f" \t{text}  \u3000",
    "byte order mark": lambda text: "\ufeff" + text,
    "zero-width space at the end": lambda text: text + "\u200b\n",
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_model_folder(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def scorer(model):
    return load_scorer(model)


@pytest.fixture(params=sorted(FORMS))
def form(request):
    return FORMS[request.param]


def test_python_page_and_token_counts(scorer, form):
    expected = [row.reward for row in scorer(PREMISE, [STORY, OTHER])]
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "space"))  # its modules stand flat
    from story_scorer import OneAtATime

    given = form(PREMISE), [form(STORY), form(OTHER)]
    assert [row.reward for row in scorer(*given)] == expected
    assert [one.reward for one in OneAtATime(scorer)(*given)] == expected
    assert scorer.tokens(*given) == scorer.tokens(PREMISE, [STORY, OTHER])


def test_rank(model, scorer, form, tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(form(STORY).encode())
    (tmp_path / "b.txt").write_bytes(OTHER.encode())
    rank([tmp_path / "a.txt", tmp_path / "b.txt"], model=str(model), premise=form(PREMISE), as_json=True)
    ranked = {row["file"]: row["reward"] for row in json.loads(capsys.readouterr().out)}
    assert list(ranked.values()) == sorted((r.reward for r in scorer(PREMISE, [STORY, OTHER])), reverse=True)


def test_a_dataset_in_another_form_needs_no_new_rewards(model, form, tmp_path, capsys):
    clean = Instance("g", PREMISE, STORY, (OTHER,))
    other = Instance("g", form(PREMISE), form(STORY), (form(OTHER),))
    for item in (clean, other):
        (tmp_path / "data.jsonl").write_text(json.dumps(item.to_row()) + "\n")
        score(str(model), str(tmp_path / "data.jsonl"), tmp_path / "r.jsonl")
    assert "(0 new, 2 from before)" in capsys.readouterr().out
    score(str(model), str(tmp_path / "data.jsonl"), tmp_path / "again.jsonl")
    kept, new = (read_rewards(tmp_path / name) for name in ("r.jsonl", "again.jsonl"))
    assert kept == new


@pytest.mark.parametrize("mode", MODES)
def test_judges_read_one_request(mode, form):
    assert question(mode, form(PREMISE), [form(STORY), form(OTHER)]) == question(mode, PREMISE, [STORY, OTHER])


def test_training_reads_the_ids_that_scoring_reads(form, tmp_path):
    from storyalign.training.pairs import PairSource, load_pairs

    tokenizer = tiny_tokenizer()
    row = {"prompt": form(PREMISE), "chosen": form(STORY), "rejected": form(OTHER)}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    [pair] = tokenize_pairs(
        load_pairs(PairSource(str(tmp_path / "pairs.jsonl"))), tokenizer, LengthPolicy(None), cache=tmp_path
    ).rows
    assert pair["chosen_ids"] == render(tokenizer, PREMISE, STORY)
    assert pair["rejected_ids"] == render(tokenizer, PREMISE, OTHER)


def test_rewards_made_by_another_rule_are_named_and_scored_again(model, tmp_path, capsys):
    from storyalign.corpus.evaluation_sets import load_evaluation_set

    data, out = tmp_path / "data.jsonl", tmp_path / "r.jsonl"
    write_instances(data, 1)
    score(str(model), str(data), out)
    sidecar = tmp_path / "r.jsonl.scorer.json"
    settings = json.loads(sidecar.read_text())
    assert settings["scorer"].pop("text_rule")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    for row in rows:  # as an older kit signed and wrote them
        row["signature"] = "0" * 64
        del row["check"]
    out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    del settings["rewards"]
    sidecar.write_text(json.dumps(settings))
    with pytest.raises(RowError, match=r"read by another rule .* again with the same --out"):
        read_scored_set(out, load_evaluation_set(data))
    capsys.readouterr()
    score(str(model), str(data), out)
    said = capsys.readouterr()
    assert "read by another rule" in said.err and "(4 new" in said.out
    assert json.loads(sidecar.read_text())["scorer"]["text_rule"] == "nfc-trimmed-lf"
