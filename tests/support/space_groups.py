"""Small groups to explore; the words of a story say what it is."""

from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.files import write_json, write_jsonl
from storyalign.records import Instance, Reward
from storyalign.scoring.reward_store import row_signature
from storyalign.text import TEXT_RULE, digest


def instance(number, dimension="coherence", source="human_llm", k=3, writer="human"):
    return Instance(
        id=f"g{number}",
        prompt=f"Premise {number} about a Whale",
        chosen=f"best of {number}",
        rejected=tuple(f"worse {i} of {number}" for i in range(1, k + 1)),
        dimension=dimension,
        source=source,
        chosen_writer=writer,
        rejected_writers=tuple(f"model-{i}" for i in range(1, k + 1)),
    )


GROUPS = [
    instance(0),
    instance(1, dimension="fluency", source="llm_llm", writer="model-9"),
    instance(2, k=1),
    instance(3, dimension="fluency"),
]
REWARDS = {
    "steady/scorer": {"g0": [4.0, 1, 2, 3], "g1": [1.0, 2, 3, 9], "g2": [1.0, 2.0], "g3": [None, 1, 2, 3]},
    "null: first": {f"g{i}": [1.0] + [0.0] * (1 if i == 2 else 3) for i in range(4)},
}


def small_set():
    return EvaluationSet(list(GROUPS), digest="d" * 64, name="small set")


def write_rewards(folder, evaluation_set, name, reward):
    """Write a rewards file as `storyalign score` does; ``reward`` takes an instance and a candidate."""
    scorer = {"kind": "reward_model", "model": name, "dtype": "fp32", "text_rule": TEXT_RULE}
    settings = {"digest": digest("settings", name), "scorer": scorer}
    rows = [
        Reward(
            i.id,
            c,
            value,
            10,
            False,
            "failed" if value is None else "scored",
            row_signature(settings["digest"], i.prompt, story),
        ).to_row()
        for i in evaluation_set.instances
        for c, story in enumerate(i.stories)
        for value in [reward(i, c)]
    ]
    folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(folder / "rewards.jsonl", rows)
    write_json(folder / "rewards.jsonl.scorer.json", settings)
    return folder / "rewards.jsonl"
