"""Train on groups that people judged and score groups that were held out: does a recipe learn from so few?

python docs/cross_validation.py groups.jsonl --score-key ranks --lower-is-better --config recipes/few_pairs.yaml \
    --setting "faster: --learning_rate 5e-5" --select --out runs/cross_validation

Folds are drawn over premises. Each training is a run of train.py in this process; finished ones are kept in --out, so
that a second call goes on. With ``--select``, each outer fold picks its setting by folds inside its training groups.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import random
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from storyalign.audit.null_scorers import NULL_SCORERS
from storyalign.bootstrap import bootstrap_interval
from storyalign.corpus.judged_groups import JudgedGroup, read_judged_groups
from storyalign.files import write_json, write_jsonl
from storyalign.records import IMPORTED
from storyalign.text import digest

ROOT = Path(__file__).resolve().parents[1]
INNER_FOLDS = 2

Rewards = Mapping[str, Sequence[float]]
"""Group -> one reward a candidate."""


class Setting(NamedTuple):
    """A name and the options of train.py that it stands for."""

    name: str
    options: tuple[str, ...]
    more: tuple[Path, ...] = ()
    """Files of pairs that are trained on as well."""


class Judged(NamedTuple):
    """A group with its stories and the people's score of each, higher is better."""

    group: JudgedGroup
    stories: tuple[str, ...]
    scores: tuple[float, ...]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Candidates (better, worse); equal ones make no pair."""
        ordered = [
            (a, b) if self.scores[a] > self.scores[b] else (b, a) for a, b in combinations(range(len(self.scores)), 2)
        ]
        return [(better, worse) for better, worse in ordered if self.scores[better] > self.scores[worse]]

    @property
    def best(self) -> int | None:
        """The one best candidate; None where two share the top."""
        top = max(self.scores)
        return self.scores.index(top) if self.scores.count(top) == 1 else None


def read(path: str, key: str, lower_is_better: bool) -> list[Judged]:
    """Return the groups of a file in which at least two stories have a score under ``key``."""
    sign = -1.0 if lower_is_better else 1.0
    judged = []
    for group in read_judged_groups(path):
        rated = [c for c in group.candidates if c.story is not None and key in c.scores]
        if len(rated) > 1:
            stories = tuple(c.story for c in rated if c.story is not None)
            judged.append(Judged(group, stories, tuple(round(sign * c.scores[key], 6) for c in rated)))
    return judged


def folds(groups: Sequence[Judged], count: int, seed: str) -> list[list[Judged]]:
    """Deal the premises out; groups of one premise lie in one fold."""
    premises = sorted({item.group.premise for item in groups}, key=lambda premise: digest(seed, premise))
    place = {premise: n % count for n, premise in enumerate(premises)}
    return [[item for item in groups if place[item.group.premise] == fold] for fold in range(count)]


def pair_rows(groups: Iterable[Judged]) -> list[dict[str, Any]]:
    """Make a training pair of every two candidates that people told apart."""
    return [
        {
            "id": f"{item.group.id}-{better}-{worse}",
            "prompt": item.group.premise,
            "chosen": item.stories[better],
            "rejected": item.stories[worse],
            "construction": IMPORTED,
        }
        for item in groups
        for better, worse in item.pairs
    ]


class Runs:
    """Trainings and what they say of held-out groups, kept in a folder."""

    def __init__(self, folder: Path, config: str):
        self.folder, self.config = folder, config
        folder.mkdir(parents=True, exist_ok=True)

    def rewards(self, setting: Setting, train: Sequence[Judged], test: Sequence[Judged], seed: int) -> Rewards:
        """Train on some groups and score others; a run that was done before is read."""
        rows = pair_rows(train)
        for path in setting.more:
            rows += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        scored = [item.group.id for item in test]
        key = digest(
            self.config, Path(self.config).read_text(), repr(setting.options), json.dumps(rows), repr(scored), str(seed)
        )
        kept = self.folder / f"{setting.name}-{key[7:19]}.json"
        if not kept.is_file():
            model, pairs = self.folder / "model", self.folder / "pairs.jsonl"
            write_jsonl(pairs, rows)
            with contextlib.redirect_stdout(None):
                train_script().main(
                    [
                        *("--config", self.config, "--dataset_name", str(pairs), "--output_dir", str(model)),
                        *("--seed", str(seed), "--overwrite", "--disable_tqdm", "true", *setting.options),
                    ]
                )
            write_json(kept, score(model, test))
            shutil.rmtree(model)
            print(f"{setting.name}, seed {seed}: {len(rows)} pairs, {len(test)} groups held out", flush=True)
        found: Rewards = json.loads(kept.read_bytes())
        return found


def train_script() -> Any:
    """Return ``train.py`` as a module."""
    spec = importlib.util.spec_from_file_location("train_script", ROOT / "train.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def score(model: Path, groups: Sequence[Judged]) -> dict[str, list[float]]:
    """Return the rewards of a trained model, by group."""
    from storyalign.scoring.reward_models import load_scorer

    scorer = load_scorer(model)
    return {item.group.id: scorer.rank(item.group.premise, item.stories) for item in groups}


class Score(NamedTuple):
    """How far rewards agree with the people."""

    pairwise: float
    pairwise_ci: tuple[float, float] | None
    n_pairs: int
    top1: float
    top1_ci: tuple[float, float] | None
    n_groups: int

    def __str__(self) -> str:
        def shown(value: float, ci: tuple[float, float] | None, n: int) -> str:
            return f"{value:.3f} {f'[{ci[0]:.3f}, {ci[1]:.3f}] ' if ci else ''}n {n}"

        return f"pairs {shown(*self[:3])} | top-1 {shown(*self[3:])}"


def agreement(runs: Sequence[Rewards], judged: Sequence[Judged]) -> Score:
    """Average over runs (seeds); a tie in the rewards earns half a pair, or its share of the top.

    Intervals are over premises, each drawn with all its groups and all runs.
    """
    columns = []
    for item in judged:
        right = tops = 0.0
        for rewards in runs:
            own = rewards[item.group.id]
            right += sum((own[b] > own[w]) + 0.5 * (own[b] == own[w]) for b, w in item.pairs)
            if item.best is not None and own[item.best] == max(own):
                tops += 1 / own.count(max(own))
        columns.append((right / len(runs), len(item.pairs), tops / len(runs), float(item.best is not None)))
    table, premises = np.array(columns), [item.group.premise for item in judged]
    sums = table.sum(axis=0)

    def interval(part: int) -> tuple[float, float] | None:
        return bootstrap_interval(table, premises, lambda totals: totals[:, part] / totals[:, part + 1])

    return Score(sums[0] / sums[1], interval(0), int(sums[1]), sums[2] / sums[3], interval(2), int(sums[3]))


def select(runs: Runs, settings: Sequence[Setting], train: Sequence[Judged], seed: int) -> Setting:
    """Pick a setting by folds inside the training groups: the best pairwise agreement, earlier ones first."""
    inner = folds(train, INNER_FOLDS, f"inner {seed}")
    figures = []
    for setting in settings:
        found: dict[str, Sequence[float]] = {}
        for held in inner:
            found |= runs.rewards(setting, [item for fold in inner if fold is not held for item in fold], held, seed)
        figures.append(agreement([found], train).pairwise)
    print("inner folds: " + ", ".join(f"{s.name} {f:.3f}" for s, f in zip(settings, figures, strict=True)), flush=True)
    return settings[figures.index(max(figures))]


def main() -> None:
    """Train and score on every fold and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", help="JSONL of judged groups")
    parser.add_argument("--score-key", required=True)
    parser.add_argument("--lower-is-better", action="store_true")
    parser.add_argument("--config", required=True, help="a recipe of train.py")
    parser.add_argument("--setting", action="append", default=[], help='"NAME: options of train.py [+PAIRS.jsonl]"')
    parser.add_argument("--select", action="store_true", help="choose among the settings on inner folds")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/cross_validation"))
    given = parser.parse_args()

    judged = read(given.groups, given.score_key, given.lower_is_better)
    settings = [to_setting(text) for text in given.setting] or [Setting("recipe", ())]
    runs, outer = Runs(given.out, given.config), folds(judged, given.folds, "outer")
    for name, rewards in null_rewards(judged):
        print(f"{name:20} {agreement([rewards], judged)}")

    def held_out(choose: Mapping[int, Setting], seed: int) -> Rewards:
        found: dict[str, Sequence[float]] = {}
        for number, held in enumerate(outer):
            train = [item for fold in outer if fold is not held for item in fold]
            found |= runs.rewards(choose[number], train, held, seed)
        return found

    if given.select:
        chosen = {}
        for number, held in enumerate(outer):
            chosen[number] = select(runs, settings, [item for fold in outer if fold is not held for item in fold], 0)
        print("chosen: " + ", ".join(setting.name for setting in chosen.values()))
        plans = [("chosen on inner folds", chosen)]
    else:
        plans = [(setting.name, dict.fromkeys(range(len(outer)), setting)) for setting in settings]
    for name, plan in plans:
        by_seed = [held_out(plan, seed) for seed in range(given.seeds)]
        for seed, rewards in enumerate(by_seed):
            print(f"{name:20} seed {seed} {agreement([rewards], judged)}")
        print(f"{name:20} mean of seeds {agreement(by_seed, judged)}")
        together = {id_: list(np.mean([zscore(rewards[id_]) for rewards in by_seed], axis=0)) for id_ in by_seed[0]}
        print(f"{name:20} all seeds together {agreement([together], judged)}")


def zscore(rewards: Sequence[float]) -> list[float]:
    """Return rewards with mean 0 and standard deviation 1."""
    values = np.array(rewards)
    return list((values - values.mean()) / (values.std() or 1.0))


def to_setting(text: str) -> Setting:
    """Read ``NAME: OPTIONS`` of the command line."""
    name, _, options = text.partition(":")
    words = shlex.split(options)
    more = tuple(Path(word[1:]) for word in words if word.startswith("+"))
    return Setting(name.strip(), tuple(word for word in words if not word.startswith("+")), more)


def null_rewards(judged: Sequence[Judged]) -> Iterable[tuple[str, Rewards]]:
    """Return the rewards of the null scorers for every group; candidates come in an order drawn from the group's id."""
    for name, scorer in NULL_SCORERS.items():
        found: dict[str, list[float]] = {}
        for item in judged:
            order = list(range(len(item.stories)))
            random.Random(item.group.id).shuffle(order)
            given = scorer(item.group.id, item.group.premise, [item.stories[place] for place in order])
            found[item.group.id] = [given[order.index(place)] for place in range(len(order))]
        yield name, found


if __name__ == "__main__":
    main()
