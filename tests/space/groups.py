"""Small groups to explore; the words of a story say what it is."""

from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.records import Instance


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
