"""The verb paper: rows of the paper from rewards files, empty cells marked, in Markdown, LaTeX and charts."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from storyalign.corpus.evaluation_sets import load_evaluation_set
from storyalign.tables import tex
from tests.cli.test_evaluate import call, write_data
from tests.support.rows import write_rows
from tests.support.scored import instance, rewards_rows, right_in, write_rewards

__all__ = ["call"]

ITEMS = [instance(n) for n in range(20)]


def add_rewards(path, data, reward, digit, **settings):
    path.parent.mkdir(parents=True, exist_ok=True)
    scorer = digit * 64
    write_rewards(path, rewards_rows(data.instances, reward, scorer), scorer, **settings)
    sidecar = path.with_name(path.name + ".scorer.json")
    facts = json.loads(sidecar.read_text())
    sidecar.write_text(json.dumps({**facts, "data": {"name": data.name, "digest": data.digest}}))


@pytest.fixture
def runs(tmp_path):
    write_data(tmp_path / "rmb.jsonl", ITEMS)
    data = load_evaluation_set(tmp_path / "rmb.jsonl")
    folder = tmp_path / "runs"
    first = lambda item, candidate: -float(candidate)  # noqa: E731  always right
    half = lambda item, candidate: float(candidate == (int(item.id[2:]) % 2))  # noqa: E731  right in every other group
    add_rewards(folder / "a.jsonl", data, first, "a", model="RLHFlow/ArmoRM-Llama3-8B-v0.1")
    add_rewards(folder / "b.jsonl", data, half, "b", model="runs/ablation_no_rewriting/model")
    add_rewards(folder / "c.jsonl", data, half, "c", kind="judge", name="judge:gpt-4o", mode="choose")
    add_rewards(folder / "d.jsonl", data, right_in(0.5), "d", model="mine")
    return folder


def row(page, title, name):
    section = page.split(f"## {title}")[1].split("\n## ")[0]
    return next(line for line in section.splitlines() if line.startswith(f"| {name} |")).split("|")[2:-1]


def test_tables_and_figures(call, runs, tmp_path):
    code, _, err = call("paper", runs, "--benchmark", "rmb.jsonl")
    assert code == 0, err
    page = (runs / "paper/paper.md").read_text()
    armo = [cell.strip() for cell in row(page, "Table 1", "ArmoRM-Llama3-8B-v0.1")]
    # 4 instances of each of 5 dimensions, all right; Wilson's lower bound of 4 of 4 is 1 / (1 + 1.96^2 / 4).
    assert armo[0] == "100.0 [51.0–100.0]" and armo[5] == "100.0 [83.9–100.0]" and armo[-2:] == ["0", "0"]
    assert row(page, "Table 1", "GPT-4o")[5].strip().startswith("50.0 [")
    assert {cell.strip() for cell in row(page, "Table 1", "WQRM")} == {"·"}
    assert row(page, "Table 1", "mine") and row(page, "Table 1", "most bursty")
    assert "Rewriting" not in page.split("## Table 1")[1].split("## ")[0]  # an ablation stands in Table 2
    assert row(page, "Table 2", "(-) Prompt-Guided Rewriting")[5].strip().startswith("50.0 [")
    assert {cell.strip() for cell in row(page, "Table 2", "StoryReward-Qwen")} == {"·"}
    assert row(page, "Table 8", "ArmoRM-Llama3-8B-v0.1")[1].strip() in ("+0.0", "–")
    assert row(page, "Table 9", "rmb.jsonl")[0].strip() == "20"
    assert "No run of storyalign creative-writing was found" in page
    assert "Not drawn: there is no best_of_n/candidates.jsonl" in page
    assert page.count("digest=") > 5  # every part carries its signatures
    for name in ("figure_2.png", "figure_2.svg", "figure_4.png", "figure_4.svg"):
        assert (runs / "paper" / name).stat().st_size > 2000
    latex = (runs / "paper/paper.tex").read_text()
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") == 5
    assert latex.count(r"\begin{figure}") == 2 and r"$\cdot$" in latex
    shown = "\n".join(line for line in latex.splitlines() if not line.startswith("%"))
    assert not re.search(r"(?<!\\)[%&_#](?! )", shown.replace("figure_", "").replace("tab:", ""))  # nothing unescaped


def test_figure_3_needs_ranks_of_the_candidates(call, runs, tmp_path):
    groups = [
        {"id": f"p{n}", "premise": f"P{n}", "candidates": [{"story": f"s{n} {c}", "writer": "w"} for c in "ab"]}
        for n in range(6)
    ]
    (runs / "best_of_n").mkdir()
    write_rows(runs / "best_of_n/candidates.jsonl", groups)
    data = load_evaluation_set(runs / "best_of_n/candidates.jsonl", needs_gold=False)
    add_rewards(runs / "best_of_n/x.jsonl", data, lambda i, c: float(c == 0), "e", model="x")
    add_rewards(runs / "best_of_n/y.jsonl", data, lambda i, c: float(c == 1), "f", model="y")
    ranks = [{"id": f"p{n}", "annotator": a, "ranks": [1, 2]} for n in range(6) for a in ("ann", "bob")]
    write_rows(runs / "best_of_n/ranks.jsonl", ranks)
    names = {"best_of_n/x.jsonl": "StoryReward-Qwen"}
    (runs / "paper.yaml").write_text(json.dumps({"names": names, "human_rankings": ["best_of_n/ranks.jsonl"]}))
    (runs / "creative_writing").mkdir()
    found = {
        "judge": "J",
        "prompts": "p.json",
        "n_prompts": 3,
        "n": "16",
        "caveat": "C.",
        "signatures": ["sig=1"],
        "scorers": [{"name": "StoryReward-Qwen", "score": 2.725, "ci": [2.5, 3.0], "n": 3, "unscored": 1}],
    }
    (runs / "creative_writing/creative_writing.json").write_text(json.dumps(found))
    code, out, err = call("paper", runs, "--benchmark", "rmb.jsonl", "--out", "p")
    assert code == 0, err
    assert "Figure 3: head-to-head by people's ranks of best-of-N stories: drawn" in out
    svg = (tmp_path / "p/figure_3.svg").read_text()
    assert "StoryReward-Qwen against" in svg and ">100<" in svg
    page = (tmp_path / "p/paper.md").read_text()
    assert "2 annotators; Krippendorff's alpha (ordinal) 1.00" in page
    assert [c.strip() for c in row(page, "Table 10", "StoryReward-Qwen")] == ["2.73 [2.50–3.00]", "3", "1"]


def test_a_sample_is_called_a_sample(call, tmp_path):
    items = [replace(item, chosen_writer="kit-author") for item in ITEMS]
    write_data(tmp_path / "rmb.jsonl", items)
    data = load_evaluation_set(tmp_path / "rmb.jsonl")
    for name, digit in (("a", "a"), ("b", "b")):
        add_rewards(tmp_path / f"runs/{name}.jsonl", data, lambda i, c: -float(c), digit, model=name)
    code, out, err = call("paper", "runs", "--benchmark", "rmb.jsonl")
    assert code == 0, err
    page, latex = ((tmp_path / "runs/paper" / name).read_text() for name in ("paper.md", "paper.tex"))
    name = "rmb.jsonl (the kit's sample)"
    assert page.startswith(f"# The paper's tables and figures on {name}\n")
    assert row(page, "Table 9", name)[0].strip() == "20" and f"| {name} (chosen stories) |" in page
    assert f"Figure 4: head-to-head by the order stored in {name}: drawn" in " ".join(out.split())
    assert page.replace("not StoryRMB.", "").count("StoryRMB") == 0
    assert latex.count("not StoryRMB.}") == latex.count(r"\caption{") - 1 == 6  # Table 10 has other stories
    assert "Figure 3" in page and page.count("not StoryRMB.") == 6


def test_what_cannot_be_filled_is_said(call, runs, tmp_path):
    other = write_data(tmp_path / "other.jsonl", ITEMS[:5])
    code, out, err = call("paper", runs, "--benchmark", other)
    assert code == 2 and "no rewards of other.jsonl" in err and "which is neither the benchmark" in out
    (runs / "paper.yaml").write_text("names: {a.jsonl: X, d.jsonl: X}")
    code, _, err = call("paper", runs, "--benchmark", "rmb.jsonl")
    assert code == 2 and "two rewards files for X" in err
    (runs / "paper.yaml").write_text("rows: {}")
    assert call("paper", runs, "--benchmark", "rmb.jsonl")[0] == 2
    assert call("paper", "none", "--benchmark", "rmb.jsonl")[0] == 2
    (runs / "paper.yaml").unlink()
    (runs / "a.jsonl.scorer.json").unlink()
    (runs / "notes.jsonl").write_text("[1]\nno JSON\n")
    code, out, err = call("paper", runs, "--benchmark", "rmb.jsonl")
    assert code == 0, err
    assert "a.jsonl: holds rewards, but a.jsonl.scorer.json does not stand beside it" in " ".join(out.split())
    assert "notes" not in out


def test_latex_shows_texts_as_they_are():
    assert tex("a_b & 50% of {x} #1 ~ ^ \\n $5") == (
        r"a\_b \& 50\% of \{x\} \#1 \textasciitilde{} \textasciicircum{} \textbackslash{}n \$5"
    )
