"""WQRM on a tiny random ModernBERT with the files of the published model."""

import json
import shutil

import pytest
import torch
from transformers import ModernBertConfig, ModernBertModel

from storyalign.errors import ModelError, RecipeError
from storyalign.models.chat import TooLongError
from storyalign.records import Instance
from storyalign.scoring.doctor import examine_writing_quality
from storyalign.scoring.findings import exit_code
from storyalign.scoring.options import ScoringOptions
from storyalign.scoring.reward_store import Request
from storyalign.scoring.scorers import open_scorer
from storyalign.scoring.writing_quality import WritingQualityScorer, load_writing_quality
from tests.support.tiny_models import tiny_tokenizer, words

PARAGRAPHS = [words(n, n) for n in (12, 3, 30)]
STORIES = [PARAGRAPHS[0], "\n\n".join(PARAGRAPHS), f"{PARAGRAPHS[2]}\r\n \n{PARAGRAPHS[1]}\n", words(50, 9)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wqrm")
    tokenizer = tiny_tokenizer(template=None, special=("<|endoftext|>", "[SEP]", "<|im_end|>", "<pad>"))
    tokenizer.sep_token = "[SEP]"
    torch.manual_seed(4)
    config = ModernBertConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        max_position_embeddings=128, local_attention=16, global_attn_every_n_layers=2, initializer_range=0.3,
        pad_token_id=tokenizer.pad_token_id, cls_token_id=0, sep_token_id=1, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    ModernBertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    shapes = {"1.weight": (16, 32), "1.bias": (16,), "3.weight": (1, 16), "3.bias": (1,)}
    head = {name: torch.randn(*shape) for name, shape in shapes.items()}
    torch.save({"regression_head": head}, folder / "heads.pth")
    return folder


def score(scorer, stories=STORIES):
    rows = [row for batch in scorer.score(Request("g", i, "P.", s) for i, s in enumerate(stories)) for row in batch]
    return [row.reward for row in sorted(rows, key=lambda row: row.candidate)], rows


def by_hand(folder, paragraph):
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    own, second = (tokenizer(t, add_special_tokens=False)["input_ids"] for t in (paragraph, "None"))
    ids = torch.tensor([[*own, tokenizer.sep_token_id, *second]])
    with torch.no_grad():
        mean = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0, : len(own)].mean(0)
    head = torch.load(folder / "heads.pth", weights_only=True)["regression_head"]
    inner = torch.nn.functional.gelu(head["1.weight"] @ mean + head["1.bias"])
    return 10 / (1 + float(torch.exp(-(head["3.weight"] @ inner + head["3.bias"]))))


def test_a_story_gets_the_mean_of_its_paragraphs(folder):
    found, rows = score(load_writing_quality(str(folder)))
    each = [by_hand(folder, p) for p in PARAGRAPHS]
    assert found[0] == pytest.approx(each[0], abs=1e-4)
    assert found[1] == pytest.approx(sum(each) / 3, abs=1e-4)
    assert found[2] == pytest.approx((each[2] + each[1]) / 2, abs=1e-4)
    assert len({round(r, 4) for r in found}) == 4
    assert all(0 < r < 10 for r in found)
    assert {(row.status, row.truncated) for row in rows} == {("scored", False)}
    assert all(row.n_tokens > 0 for row in rows)


def test_it_is_found_by_its_files_and_by_its_entry(folder, tmp_path):
    assert isinstance(open_scorer(str(folder), tmp_path / "r.jsonl"), WritingQualityScorer)
    with pytest.raises(RecipeError, match="--truncate cannot be used: it reads whole paragraphs"):
        open_scorer(str(folder), tmp_path / "r.jsonl", ScoringOptions(truncate="head"))


def test_a_paragraph_beyond_the_limit_is_refused_by_name(folder):
    scorer = load_writing_quality(str(folder))
    scorer.refuse_too_long([Request("g", 0, "P.", STORIES[1])])
    with pytest.raises(TooLongError, match=r"1 stories have a paragraph of more than \d+ tokens: g\[1\]"):
        scorer.refuse_too_long([Request("g", 0, "P.", STORIES[1]), Request("g", 1, "P.", words(200, 1))])


def test_the_digest_follows_body_and_head(folder, tmp_path):
    first = load_writing_quality(str(folder))
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved)
    assert load_writing_quality(str(moved)).digest == first.digest
    head = torch.load(moved / "heads.pth", weights_only=True)
    head["regression_head"]["3.bias"] += 1
    torch.save(head, moved / "heads.pth")
    assert load_writing_quality(str(moved)).digest != first.digest
    assert load_writing_quality(str(folder), dtype="bf16").digest != first.digest


class Evil:
    def __reduce__(self):
        return (print, ("run",))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no heads.pth"),
        ({"other": {}}, "holds no regression head"),
        ({"regression_head": {"1.weight": torch.zeros(2, 2)}}, "holds no regression head"),
        ({"regression_head": Evil()}, "holds no regression head"),
    ],
)
def test_heads_that_are_none_are_refused_and_no_pickle_is_run(folder, tmp_path, capsys, content, message):
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    (broken / "heads.pth").unlink()
    if content is not None:
        torch.save(content, broken / "heads.pth")
    with pytest.raises(ModelError, match=message):
        load_writing_quality(str(broken))
    assert "run" not in capsys.readouterr().out


def test_rewards_that_are_no_numbers_are_unscored(folder, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    head = torch.load(broken / "heads.pth", weights_only=True)
    head["regression_head"]["3.bias"].fill_(float("nan"))
    torch.save(head, broken / "heads.pth")
    _, rows = score(load_writing_quality(str(broken)), STORIES[:1])
    assert (rows[0].reward, rows[0].status, rows[0].detail) == (None, "not_finite", "the model returned nan")


def test_its_signature_is_readable(folder):
    signature = json.loads(json.dumps(load_writing_quality(str(folder)).signature))
    assert (signature["head"], signature["unit"], signature["dtype"]) == ("writing_quality", "paragraph", "fp32")


def test_the_doctor_knows_it(folder, tmp_path):
    findings = list(examine_writing_quality(str(folder)))
    assert exit_code(findings) == 0, findings
    long = Instance("g", "P.", STORIES[0], (words(200, 1),))
    assert any(
        f.subject == "context" and f.level == "fault" for f in examine_writing_quality(str(folder), instances=[long])
    )
    dead = tmp_path / "dead"
    shutil.copytree(folder, dead)
    head = torch.load(dead / "heads.pth", weights_only=True)
    head["regression_head"]["3.weight"].zero_()
    torch.save(head, dead / "heads.pth")
    assert any("different stories get" in f.text for f in examine_writing_quality(str(dead)))
    (dead / "heads.pth").unlink()
    assert [f.level for f in examine_writing_quality(str(dead))] == ["fault"]
