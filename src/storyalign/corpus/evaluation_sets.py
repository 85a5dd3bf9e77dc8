"""Everything that can be scored, as instances: dataset folders, Hub datasets, JSONL, and groups that people judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from storyalign.corpus.dataset_rows import DatasetRow, open_dataset
from storyalign.corpus.judged_groups import (
    RANKS,
    Best,
    JudgedGroup,
    Ordered,
    in_file_order,
    instance,
    is_judged_group,
    order,
    overall_key,
    read_judged_groups,
    score_keys,
    with_the_rest,
)
from storyalign.errors import DataError, RecipeError
from storyalign.files import Line, read_jsonl
from storyalign.records import BadRow, Instance, row_digest
from storyalign.text import digest

_FEWEST_GROUPS = 2
"""A score that leaves fewer groups is not recommended."""

_KEYS_NAMED = 5
"""Scores named in a line of advice."""


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Instances to score, and what they are called."""

    instances: list[Instance]
    digest: str
    """64 hexadecimal digits over all columns of all instances; the order of the instances does not count."""
    name: str
    dropped: Counter[str] = field(default_factory=Counter)
    """Groups and candidates that were left out, by reason."""
    has_gold: bool = True
    """False where ``chosen`` is merely the first story of the file: rewards can be had, accuracy cannot."""
    author_keys: frozenset[str] = frozenset()
    """Salted keys of the authors of human stories, where the rows carry them."""


def load_evaluation_set(
    data: str | Path,
    *,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    score_key: str | None = None,
    lower_is_better: bool = False,
    assume_human_best: bool = False,
    needs_gold: bool = True,
    every_story: bool = False,
) -> EvaluationSet:
    """Load a benchmark from wherever it is.

    Args:
        data: a dataset folder, a JSONL file (rows of StoryRMB, preference pairs, or judged groups), or a Hub id.
        config: configuration of a folder or Hub dataset; ``default`` where it has one.
        split: split of a folder or Hub dataset; the only one there is, else ``test``.
        revision: revision of a Hub dataset.
        score_key: judged groups only: the best story is the one with the best mean of this score. Without it the only
            score, or the one that is the sum of all others, is taken.
        lower_is_better: the lowest ``score_key`` is the best.
        assume_human_best: judged groups only: the human story is the chosen one, whatever the scores say.
        needs_gold: with False, judged groups without a gold order are loaded in the order of the file.
        every_story: with ``needs_gold=False``, keep the groups and stories of judged groups that this gold order cannot
            rank, behind those that it can: what has to be scored so that any gold order can be evaluated.

    Raises:
        RowError: a row is broken, or an id comes twice.
        DataError: there is nothing to score, or no gold order.
        HubError: a Hub dataset cannot be loaded.
        RecipeError: an option does not fit the data.
    """
    path, best = Path(data), Best(score_key, lower_is_better, assume_human_best)
    rows: Iterable[Line | DatasetRow]
    if path.is_file():
        _refuse(path, "a file has none of these", config=config, split=split, revision=revision)
        first = next(read_jsonl(path), None)
        if first is None:
            raise DataError(f"{path}: the file is empty")
        if is_judged_group(first.row):
            return _from_groups(path, best, needs_gold, every_story)
        name, rows = path.name, read_jsonl(path)
    else:
        name, rows = open_dataset(data, config, split, revision)
    author_keys: set[str] = set()
    instances = list(read_instances(_noting_authors(rows, author_keys)))
    _refuse(
        name,
        "the data says itself which story is chosen",
        score_key=score_key,
        lower_is_better=lower_is_better or None,
        assume_human_best=assume_human_best or None,
    )
    return replace(_evaluation_set(instances, name), author_keys=frozenset(author_keys))


def _noting_authors(rows: Iterable[Line | DatasetRow], author_keys: set[str]) -> Iterator[Line | DatasetRow]:
    for line in rows:
        if (key := line.row.get("author_key")) is not None:
            if not isinstance(key, str):
                raise line.error(f"author_key must be a string or null, got {type(key).__name__}")
            author_keys.add(key)
        yield line


def _refuse(data: str | Path, reason: str, **options: object) -> None:
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
    if given:
        raise RecipeError(f"{data}: {reason}; leave out {', '.join(given)}")


def read_instances(rows: Iterable[Line | DatasetRow]) -> Iterator[Instance]:
    """Yield the instances of a dataset; memory holds their ids alone.

    Raises:
        DataError: a row is broken, or an id comes twice; names both places.
    """
    places: dict[str, str] = {}
    for line in rows:
        try:
            item = Instance.from_row(group_of(line.row))
        except BadRow as error:
            raise line.error(str(error)) from error
        if item.id in places:
            raise line.error(f"duplicate id {item.id}: {places[item.id]} has it, too")
        places[item.id] = line.place
        yield item


def group_of(row: dict[str, Any]) -> Mapping[str, Any]:
    """Take a preference pair as a group of two, and say what other rows are."""
    if isinstance(row.get("rejected"), str):
        writer = row.get("rejected_writer")
        return {**row, "rejected": [row["rejected"]], "rejected_writers": [writer] if writer else None}
    if "rejected" in row:
        return row
    if {"candidate", "reward"} <= set(row):
        raise BadRow("this is a row of a rewards file; name the dataset that was scored")
    if "premise" in row and "candidates" not in row:
        raise BadRow(
            "a premise without stories, so there is nothing to score; `storyalign best-of-n` writes and ranks some"
        )
    raise BadRow(
        "neither a group (prompt, chosen, rejected) nor a judged group (premise, candidates); "
        f"fields found: {', '.join(sorted(row)[:8]) or 'none'}"
    )


def _evaluation_set(
    instances: list[Instance], name: str, dropped: Counter[str] | None = None, has_gold: bool = True
) -> EvaluationSet:
    if not instances:
        raise DataError(f"{name}: no instances")
    content = digest(*(row_digest(i.to_row()) for i in sorted(instances, key=lambda i: i.id)))
    return EvaluationSet(instances, content, name, dropped or Counter(), has_gold)


def _from_groups(path: Path, best: Best, needs_gold: bool, every_story: bool) -> EvaluationSet:
    if best.score_key == RANKS and not best.lower_is_better:
        raise RecipeError(f"{path}: {RANKS} holds places, 1 is the best; add --lower-is-better")
    if best.lower_is_better and best.score_key is None:
        raise RecipeError(f"{path}: --lower-is-better needs --score-key")
    groups = list(read_judged_groups(path))
    if best.score_key and not any(best.score_key in c.scores for group in groups for c in group.candidates):
        raise DataError(f"{path}: no story has the score {best.score_key!r}; {_advice(groups)}")
    if best.score_key is None and not best.human:
        best = best._replace(score_key=overall_key(groups))
    how = "human story best" if best.human else f"best by {best.score_key}" if best.score_key else None
    ordered = [order(group, best) for group in groups] if how else []
    if not any(o.candidates for o in ordered):
        if needs_gold:
            raise DataError(f"{path}: no gold order, so no accuracy: {_why(groups, ordered)}; {_advice(groups)}")
        how, ordered = None, [in_file_order(group) for group in groups]
    if every_story:
        ordered = [with_the_rest(group, o) for group, o in zip(groups, ordered, strict=True)]
    dropped = Counter(o.dropped for o in ordered if o.dropped)
    for o in ordered:
        dropped.update(o.left_out)
    instances = [instance(g, o.candidates) for g, o in zip(groups, ordered, strict=True) if o.candidates]
    return _evaluation_set(instances, f"{path.name} ({how or 'no gold order'})", dropped, has_gold=how is not None)


def _why(groups: list[JudgedGroup], ordered: list[Ordered]) -> str:
    """Return why no group has a best story: by the score asked for, else by each score there is."""
    keys = score_keys(groups)
    if not keys and not ordered:
        return "nobody judged the stories"
    reasons = Counter(
        o.dropped for o in ordered or (order(g, Best(key, key == RANKS)) for g in groups for key in keys) if o.dropped
    )
    tries, failed = len(groups) * len(keys), reasons.total()
    if not ordered and 2 * failed <= tries:
        return f"{len(keys)} scores, and none of them speaks for the whole story"
    reason, n = reasons.most_common(1)[0]
    if ordered:
        return f"{reason} ({n} of {len(groups)})"
    return (
        f"each of {len(keys)} scores was tried on each of {len(groups)} groups, and {failed} of {tries} tries find no "
        f"best story, {'all' if n == failed else n} of them in {reason}"
    )


def _advice(groups: list[JudgedGroup]) -> str:
    """Return what the user can do: the scores that leave most groups, else what works without a gold order."""
    advice = []
    left = dict(sorted(score_keys(groups).items(), key=lambda entry: -entry[1]))  # stable: ties as in the file
    useful = {key: n for key, n in left.items() if n >= min(_FEWEST_GROUPS, len(groups))}
    if useful:
        named = [
            f"{key!r}{' with --lower-is-better' if key == RANKS else ''} (leaves {n} of {len(groups)} groups)"
            for key, n in list(useful.items())[:_KEYS_NAMED]
        ]
        more = f" and {len(useful) - len(named)} more" if len(useful) > len(named) else ""
        advice.append(f"--score-key can be {', '.join(named)}{more}")
    elif any(left.values()):
        most = next(iter(left.values()))
        advice.append(f"no --score-key leaves more than {most} of {len(groups)} groups, too few for an accuracy")
    if any(c.human and c.story for g in groups for c in g.candidates):
        advice.append("--assume-human-best takes the human story as the best")
    if not advice or not useful:
        advice.append("storyalign score gives rewards without a gold order")
    return "; ".join(advice)
