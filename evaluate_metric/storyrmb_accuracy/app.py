"""The metric's Space: paste rewards, read accuracies."""

import json
from pathlib import Path

import evaluate
import gradio as gr

MAX_CHARACTERS = 1_000_000
EXAMPLE = """\
{"rewards": [2.1, 0.3, -0.5, 1.0], "chosen": 0, "dimension": "coherence", "source": "llm_llm"}
{"rewards": [0.4, 0.4, 0.1, 0.2], "chosen": 0, "dimension": "fluency", "source": "human_llm"}
{"rewards": [1.7, 2.9, 0.6, 0.8], "chosen": 2, "dimension": "coherence", "source": "human_llm"}
{"rewards": [0.9, null, 0.3, 0.1], "chosen": 0, "dimension": "creativity", "source": "llm_llm"}
"""
ABOUT = """
# StoryRMB accuracy

One JSON object a line: `rewards` (a number a candidate, `null` where there is none), `chosen` (the index of the chosen
story), and, where known, `dimension` and `source`. The card explains ties, unscored groups and intervals.
"""
HEADERS = ["group", "accuracy (%)", "95% interval", "n", "ties", "unscored"]

# By file, because a Space's folder may have any name.
metric = evaluate.load(str(Path(__file__).with_name("storyrmb_accuracy.py")), "grouped")


def score(lines: str, tie_policy: str) -> tuple[list[list[str]], dict]:
    """Compute top-1 accuracy from pasted JSON lines.

    Args:
        lines: one object a line with rewards, chosen and optionally dimension and source.
        tie_policy: split (1/k for a tie of k at the top) or strict (a tie is wrong).
    """
    if len(lines) > MAX_CHARACTERS:
        raise gr.Error(f"{len(lines):,} characters; the limit is {MAX_CHARACTERS:,}. Run the metric on your machine.")
    groups = [read_group(line, number) for number, line in enumerate(lines.splitlines(), start=1) if line.strip()]
    try:
        report = metric.compute(
            predictions=[group["rewards"] for group in groups],
            references=[group["chosen"] for group in groups],
            dimensions=[group.get("dimension") for group in groups],
            sources=[group.get("source") for group in groups],
            tie_policy=tie_policy,
        )
    except ValueError as error:
        raise gr.Error(str(error)) from error
    macro = {"accuracy": report["macro_accuracy"], "ci": report["macro_ci"]}
    rows = [table_row("all", report), table_row("mean of the dimensions", macro)]
    rows += [table_row(name, part) for name, part in (report["by_dimension"] | report["by_source"]).items()]
    return rows, report


def read_group(line: str, number: int) -> dict:
    """Read one line."""
    try:
        group = json.loads(line)
    except json.JSONDecodeError as error:
        raise gr.Error(f"line {number} is no JSON: {error}") from error
    if not isinstance(group, dict) or not {"rewards", "chosen"} <= set(group):
        raise gr.Error(f"line {number} needs an object with 'rewards' and 'chosen'")
    return group


def table_row(name: str, part: dict) -> list[str]:
    """Write one accuracy as a row of the table."""
    counts = [str(part.get(key, "")) for key in ("n", "n_ties", "n_unscored")]
    if part["accuracy"] is None:
        return [name, "none scored", "", *counts]
    low, high = part["ci"]
    return [name, f"{100 * part['accuracy']:.1f}", f"{100 * low:.1f} to {100 * high:.1f}", *counts]


with gr.Blocks(title="StoryRMB accuracy") as demo:
    gr.Markdown(ABOUT)
    rewards = gr.Code(EXAMPLE, language="json", label="Rewards", lines=8)
    ties = gr.Radio(["split", "strict"], value="split", label="Ties at the top", info="split: 1/k; strict: wrong")
    button = gr.Button("Compute", variant="primary")
    table = gr.Dataframe(headers=HEADERS, label="Accuracy", interactive=False)
    with gr.Accordion("All figures", open=False):
        figures = gr.JSON(label="Fractions")
    button.click(score, [rewards, ties], [table, figures], api_name="score")

if __name__ == "__main__":
    demo.queue(max_size=64).launch()
