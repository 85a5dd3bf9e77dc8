"""Small evaluation sets and rewards files for tests."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.evaluation.scored_sets import ScoredSet
from storyalign.records import DIMENSIONS, SOURCES, Instance
from storyalign.scoring.reward_store import row_signature
from storyalign.text import TEXT_RULE, digest

Reward = Callable[[Instance, int], float | None]


def instance(number: int, size: int = 4, **changes: object) -> Instance:
    fields = {
        "id": f"g-{number:03d}",
        "prompt": f"Premise {number} of a harbour.",
        "chosen": f"Story {number} of the boat. It came home at dusk, and nobody spoke.",
        "rejected": tuple(f"Story {number} went wrong in way {way}." for way in range(1, size)),
        "dimension": DIMENSIONS[number % 5],
        "source": SOURCES[number % 2],
    }
    return Instance(**{**fields, **changes})  # type: ignore[arg-type]


def evaluation_set(instances: list[Instance], has_gold: bool = True) -> EvaluationSet:
    content = digest(*(digest(i.id, i.prompt, *i.stories) for i in instances))
    return EvaluationSet(instances, content, "toy.jsonl", Counter({"tied for best": 2}), has_gold)


def scored_set(name: str, instances: list[Instance], reward: Reward, kind: str = "model") -> ScoredSet:
    rewards = {i.id: [reward(i, c) for c in range(len(i.stories))] for i in instances}
    return ScoredSet(name, kind, rewards)  # type: ignore[arg-type]


def right_in(share: float, seed: int = 0) -> Reward:
    """A scorer that has each group right with this probability, else prefers a rejected story."""

    def reward(item: Instance, candidate: int) -> float:
        generator = random.Random(f"{seed}-{item.id}")
        winner = 0 if generator.random() < share else generator.randrange(1, len(item.stories))
        return 1.0 if candidate == winner else generator.random() * 0.5 + candidate * 0.01

    return reward


def rewards_rows(instances: list[Instance], reward: Reward, scorer: str, **changes: object) -> list[dict]:
    return [
        {
            "id": item.id,
            "candidate": candidate,
            "reward": (value := reward(item, candidate)),
            "n_tokens": 10,
            "truncated": False,
            "status": "failed" if value is None else "scored",
            "signature": row_signature(scorer, item.prompt, story),
            "detail": "no answer" if value is None else None,
            **changes,
        }
        for item in instances
        for candidate, story in enumerate(item.stories)
    ]


def write_rewards(
    path: Path, rows: list[dict], scorer: str = "s" * 64, sees_rivals: bool = False, **settings: object
) -> Path:
    """Write rows and the settings beside them, as a scoring run does."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text)
    described = {"kind": "reward_model", "model": path.stem, "dtype": "fp32", "text_rule": TEXT_RULE, **settings}
    sidecar = {
        "sees_rivals": sees_rivals,
        "scorer": described,
        "digest": scorer,
        "rewards": digest(text),
        "rows": len(rows),
    }
    path.with_name(f"{path.name}.scorer.json").write_text(json.dumps(sidecar))
    return path
