"""How often the kit's 95% intervals cover the truth, by number of premises.

Run it with ``python -m benchmarks.interval_coverage``. Groups of a premise share a probability drawn from a beta
distribution, so they are correlated. Some groups are ties worth one half. Accuracies get ``share_interval``; the
difference of two scorers gets ``bootstrap_interval``. Beside both stands the plain percentile bootstrap.
"""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

from storyalign.bootstrap import MIN_PREMISES, Floats, bootstrap_interval, premise_totals, share_interval

PREMISES = (2, 3, 5, 8, 15, 40)
SETTINGS = list(product((2, 4), (0.4, 0.7, 0.9), (0.1, 0.5), (0.0, 0.2)))
"""Groups per premise, accuracy, correlation of the groups of a premise, share of ties."""
ROUNDS = 200
DRAWS = 1000
OTHER = 0.6
"""Accuracy of the scorer compared with."""


def simulate(n_premises: int, rounds: int = ROUNDS, seed: int = 0) -> dict[str, list[float]]:
    """Return the coverage of each kind of interval, one number per setting; NaN where there is no interval."""
    generator = np.random.default_rng([seed, n_premises])
    covered: dict[str, list[float]] = {}
    for groups, accuracy, correlation, ties in SETTINGS:
        premises = [str(number) for number in range(n_premises) for _ in range(groups)]
        draw = partial(_credits, generator, (n_premises, groups), correlation, ties)
        rows: list[dict[str, float]] = []
        for _ in range(rounds):
            own, other = draw(accuracy), draw(OTHER)
            truth = (1 - ties) * accuracy + ties / 2
            gap = (1 - ties) * (accuracy - OTHER)
            rows.append(
                {
                    "accuracy, percentiles": _covers(_percentiles(own, premises), truth),
                    "accuracy": _covers(share_interval(own, premises), truth),
                    "difference, percentiles": _covers(_percentiles(own - other, premises), gap),
                    "difference": _covers(bootstrap_interval(_sums(own - other), premises, _mean, draws=DRAWS), gap),
                }
            )
        for name in rows[0]:
            covered.setdefault(name, []).append(float(np.mean([row[name] for row in rows])))
    return covered


def _credits(
    generator: np.random.Generator, shape: tuple[int, int], correlation: float, ties: float, mean: float
) -> Floats:
    scale = (1 - correlation) / correlation
    won = generator.random(shape) < generator.beta(mean * scale, (1 - mean) * scale, (shape[0], 1))
    return np.where(generator.random(shape) < ties, 0.5, won).ravel()


def _sums(values: Floats) -> Floats:
    return np.column_stack([values, np.ones(len(values))])


def _mean(totals: Floats) -> Floats:
    return np.asarray(totals[:, 0] / totals[:, 1])


def _percentiles(values: Floats, premises: list[str]) -> tuple[float, float]:
    low, high = np.quantile(_mean(premise_totals(_sums(values), premises, DRAWS)), [0.025, 0.975])
    return float(low), float(high)


def _covers(interval: tuple[float, float] | None, truth: float) -> float:
    if interval is None:
        return float("nan")
    return float(interval[0] - 1e-9 <= truth <= interval[1] + 1e-9)


def main() -> None:
    """Print the mean and the lowest coverage over the settings."""
    print(f"mean (lowest) coverage over {len(SETTINGS)} settings, {ROUNDS} rounds each")
    print(f"no bootstrap interval below {MIN_PREMISES} premises")
    for n_premises in PREMISES:
        cells = [f"{name} {np.mean(c):.3f} ({min(c):.3f})" for name, c in simulate(n_premises).items()]
        print(f"{n_premises:3d} premises | " + " | ".join(cells), flush=True)


if __name__ == "__main__":
    main()
