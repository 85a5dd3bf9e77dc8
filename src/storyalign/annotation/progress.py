"""How far the work is: groups by state, and each annotator's share and pace."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from storyalign.annotation.annotator_agreement import Figure, agreement_figures, consistency_figures
from storyalign.annotation.assignments import Role
from storyalign.annotation.settling import Settled, settle, state_of
from storyalign.annotation.store import Store
from storyalign.annotation.tasks import Task
from storyalign.annotation.verdicts import Verdict


class Share(NamedTuple):
    """One annotator's work."""

    key: str
    role: Role
    judged: int
    """Groups with an independent or senior verdict."""
    checks: int
    unsure: int
    contradictory: int
    """Verdicts whose order contradicts its scores, kept after a warning."""
    median_seconds: float | None
    timed: int
    """Verdicts behind the median."""


class Progress(NamedTuple):
    """Everything that the dashboard and ``storyalign annotate status`` show."""

    groups: int
    states: Mapping[str, int]
    """open, disputed and settled groups."""
    results: Mapping[str, int]
    """Settled groups by verdict."""
    by_senior: int
    shares: Sequence[Share]
    agreement: Sequence[Figure]
    consistency: Sequence[Figure]


def progress_of(store: Store) -> Progress:
    """Sum up a store."""
    tasks, verdicts, needed = store.tasks(), store.verdicts(), store.settings().needed
    own = _by_task(verdicts)
    settled = settled_groups(tasks, verdicts, needed)
    states = Counter(state_of(task, own[task.id], needed) for task in tasks)
    return Progress(
        groups=len(tasks),
        states={name: states[name] for name in ("settled", "disputed", "open")},
        results=dict(sorted(Counter(s.verdict for s in settled).items())),
        by_senior=sum(s.settled_by == "senior" for s in settled),
        shares=shares_of(verdicts, store.roles()),
        agreement=agreement_figures(verdicts),
        consistency=consistency_figures(verdicts),
    )


def settled_groups(tasks: Sequence[Task], verdicts: Sequence[Verdict], needed: int) -> list[Settled]:
    """Return what is settled, in the order of the tasks."""
    own = _by_task(verdicts)
    return [settled for task in tasks if (settled := settle(task, own[task.id], needed)) is not None]


def shares_of(verdicts: Sequence[Verdict], roles: Mapping[str, Role]) -> list[Share]:
    """Sum up each annotator's work."""
    by: dict[str, list[Verdict]] = {key: [] for key in roles}
    for verdict in verdicts:
        by.setdefault(verdict.annotator, []).append(verdict)
    shares = []
    for key, own in by.items():
        first = [v for v in own if v.kind != "check"]
        times = [v.seconds for v in first if v.seconds is not None]
        shares.append(
            Share(
                key=key,
                role=roles.get(key, "annotator"),
                judged=len(first),
                checks=len(own) - len(first),
                unsure=sum(v.verdict == "unsure" for v in first),
                contradictory=sum(v.contradictions > 0 for v in first),
                median_seconds=median(times) if times else None,
                timed=len(times),
            )
        )
    return shares


def _by_task(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    own: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        own[verdict.id].append(verdict)
    return own
