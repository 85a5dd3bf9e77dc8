"""The embedded sample: a small benchmark and small preference pairs, made by offline edits of the kit's own stories.

Synthetic, to try the kit on: it is not StoryRMB. Every chosen story is by ``kit-author``, every rejected one is an edit
(``kit-edit:<operator>``); ``source`` is simulated, and nobody ranked anything.

What keeps the answer from being given away by something else than quality:

- no premise stands in two splits, and edits draw on stories of their own split only;
- lengths differ by at most 10%, and the chosen story takes each rank by length equally often;
- a story of another premise is rejected where that premise is answered by it elsewhere, so no story is good as such;
- one operator per dimension is left to the benchmark (``offline_edits.operators.HELD_OUT``).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

from storyalign.corpus.sample import THEMES, SampleStory, load_sample_stories
from storyalign.preferences.offline_edits.operators import HELD_OUT, MAX_LENGTH_CHANGE, OPERATORS, Edit, edits
from storyalign.preferences.offline_edits.text import Tale, count_words
from storyalign.preferences.sample_balance import Ledger, more_or_less
from storyalign.records import DIMENSIONS, SOURCES, Instance, PreferencePair
from storyalign.text import content_id

CORPUS = "storyalign-sample"
_PAIRS = {
    "en": {"relevance": 3, "coherence": 2, "creativity": 2, "characterization": 2, "fluency": 1},
    "zh": {"relevance": 2, "coherence": 1, "creativity": 1, "characterization": 1, "fluency": 1},
}
"""Pairs per premise. Broken language is learnt from few pairs, another premise's story is not."""

_SWAPPED = {"other_story": 1, "borrowed_names": 1}
"""Operators of relevance that are used on two premises at once, and how many such pairs each premise gets."""

_SHARE = Counter({name: 1 for group in OPERATORS.values() for name in group} | {"premise_repeated": 2})
"""How often each operator is used beside the others of its dimension.

Only ``premise_repeated`` has more words of the premise than the chosen story has; most others have fewer.
"""


class Split(NamedTuple):
    """The sample's stories, split by premise."""

    benchmark: list[SampleStory]
    """25: four English and one Chinese per theme."""
    train: list[SampleStory]
    """55."""
    validation: list[SampleStory]
    """5: one per theme, one of them Chinese."""


def split_sample(seed: int = 0) -> Split:
    """Split the sample's stories, stratified by theme and language."""
    rng = random.Random(f"{CORPUS}/{seed}/split")
    split = Split([], [], [])
    chinese_theme = rng.choice(THEMES)
    for theme in THEMES:
        for language, bench in (("en", 4), ("zh", 1)):
            group = [s for s in load_sample_stories() if s.theme == theme and s.language == language]
            rng.shuffle(group)
            valid = int((language == "zh") == (theme == chinese_theme))
            split.benchmark.extend(group[:bench])
            split.validation.extend(group[bench : bench + valid])
            split.train.extend(group[bench + valid :])
    return split


def sample_instances(seed: int = 0) -> list[Instance]:
    """Make the benchmark: instances with three rejected stories, for five of six premises in each dimension.

    A sixth, another one each time, is left out, so that small machines score the sample in minutes. The three rejected
    stories come from three operators of the dimension, one of them held out from training where it applies.
    """
    stories = split_sample(seed).benchmark
    rng = random.Random(f"{CORPUS}/{seed}/benchmark")
    instances, used, books = [], Counter[str](), Ledger()
    for place, dimension in enumerate(DIMENSIONS):
        taken = [story for k, story in enumerate(stories) if (k - place) % 6]
        order = rng.sample(taken, len(taken))
        longer = _spread((0, 1, 2, 3, 0, 3), len(order), rng)
        sources = _spread(range(2), len(order), rng)
        for story, n_longer, source in zip(order, longer, sources, strict=True):
            tale, donors = _tale(story), _donors(story, stories)
            groups = _three_operators(dimension, tale, donors, f"{seed}/{story.id}", used, rng)
            if len(groups) < 3:
                continue
            rejected = _with_lengths(dimension, tale, groups, n_longer, books, used, rng)
            for edit in rejected:
                books.enter(dimension, tale, edit)
                used.update([edit.operator, *([edit.donor.story] if edit.donor else [])])
            instances.append(_instance(story, dimension, SOURCES[source], rejected))
    rng.shuffle(instances)
    return instances


def sample_pairs(seed: int = 0) -> list[PreferencePair]:
    """Make the preference pairs: about ten per premise, for training and validation, none with a held-out operator."""
    split = split_sample(seed)
    pairs = []
    for name, stories in (("train", split.train), ("validation", split.validation)):
        rng = random.Random(f"{CORPUS}/{seed}/{name}")
        made = [
            pair_of(story, edit.operator, edit.story, name)
            for story, edit in _swaps(stories, seed, rng) + _edited(stories, seed, rng)
        ]
        rng.shuffle(made)
        pairs += made
    return pairs


def _three_operators(
    dimension: str, tale: Tale, donors: list[Tale], seed: str, used: Counter[str], rng: random.Random
) -> list[list[Edit]]:
    """Edits by one held-out operator and two others, the ones used least so far; others where one does not apply."""
    held = rng.sample(HELD_OUT[dimension], len(HELD_OUT[dimension]))
    seen = [n for n in OPERATORS[dimension] if n not in held]
    seen = sorted(rng.sample(seen, len(seen)), key=lambda n: used[n] / _SHARE[n])
    tries = len(donors) if dimension == "relevance" else 10
    groups: list[list[Edit]] = []
    for name in held + seen:
        found = edits(name, tale, donors, seed, tries) if len(groups) < 3 else []
        groups += [found] if found else []
    return groups


def _with_lengths(
    dimension: str,
    tale: Tale,
    groups: list[list[Edit]],
    n_longer: int,
    books: Ledger,
    used: Counter[str],
    rng: random.Random,
) -> list[Edit]:
    """Choose one edit of each group so that ``n_longer`` of them are longer than the original and the rest shorter."""

    def cost(edit: Edit, sign: int) -> float:
        wrong = 100.0 * (1 - sign * more_or_less(tale, edit)["length"])
        return wrong + books.cost(dimension, tale, edit) + 2 * (used[edit.donor.story] if edit.donor else 0)

    cheapest = [{sign: min((cost(e, sign), k) for k, e in enumerate(g)) for sign in (1, -1)} for g in groups]
    signs = sorted(set(permutations([1] * n_longer + [-1] * (len(groups) - n_longer))))
    best = min(signs, key=lambda order: sum(c[sign][0] for c, sign in zip(cheapest, order, strict=True)))
    chosen = [g[c[sign][1]] for g, c, sign in zip(groups, cheapest, best, strict=True)]
    return rng.sample(chosen, len(chosen))


def _swaps(stories: Sequence[SampleStory], seed: int, rng: random.Random) -> list[tuple[SampleStory, Edit]]:
    """Pairs of premises that reject each other's story: whichever is longer, each is chosen once and rejected once."""
    made: list[tuple[SampleStory, Edit]] = []
    met: set[frozenset[str]] = set()
    for name, degree in _SWAPPED.items():
        count: Counter[str] = Counter()
        for story in sorted(rng.sample(list(stories), len(stories)), key=lambda s: count_words(s.story)):
            others = [o for o in stories if _may_swap(name, story, o) and frozenset((story.id, o.id)) not in met]
            for other in sorted(rng.sample(others, len(others)), key=lambda o: count[o.id]):
                if max(count[story.id], count[other.id]) >= degree:
                    continue
                there = edits(name, _tale(story), [_tale(other)], f"{seed}/{story.id}", 1)
                back = edits(name, _tale(other), [_tale(story)], f"{seed}/{other.id}", 1)
                if there and back:
                    made += [(story, there[0]), (other, back[0])]
                    met.add(frozenset((story.id, other.id)))
                    count.update([story.id, other.id])
    return made


def _may_swap(name: str, story: SampleStory, other: SampleStory) -> bool:
    """Return whether two stories are of one language, of nearly one length, and of two themes where that is asked."""
    if (
        story.id == other.id
        or story.language != other.language
        or (name == "other_story" and story.theme == other.theme)
    ):
        return False
    shorter, longer = sorted((count_words(story.story), count_words(other.story)))
    return longer <= (1 + MAX_LENGTH_CHANGE) * shorter


def _edited(stories: Sequence[SampleStory], seed: int, rng: random.Random) -> list[tuple[SampleStory, Edit]]:
    """Pairs by all other operators, each dimension and operator longer as often as shorter."""
    made: list[tuple[SampleStory, Edit]] = []
    used: Counter[str] = Counter()
    books = Ledger()
    for story in rng.sample(list(stories), len(stories)):
        tale, donors = _tale(story), _donors(story, stories)
        for dimension, count in _PAIRS[story.language].items():
            if dimension == "relevance":
                count -= sum(_SWAPPED.values())
            names = [n for n in OPERATORS[dimension] if n not in (*HELD_OUT[dimension], *_SWAPPED)]
            names = sorted(rng.sample(names, len(names)), key=lambda n: used[n] / _SHARE[n])
            for name in names:
                found = edits(name, tale, donors, f"{seed}/{story.id}", 10) if count else []
                if not found:
                    continue
                edit = min(found, key=lambda e: books.cost(dimension, tale, e))
                books.enter(dimension, tale, edit)
                used[name] += 1
                made.append((story, edit))
                count -= 1
    return made


def _spread(values: Sequence[int], count: int, rng: random.Random) -> list[int]:
    """Return each value equally often, as far as ``count`` allows, in random order."""
    spread = [values[i % len(values)] for i in range(count)]
    rng.shuffle(spread)
    return spread


def _tale(story: SampleStory) -> Tale:
    return Tale(story.premise, story.story, story.language, story.theme)


def _donors(story: SampleStory, stories: Sequence[SampleStory]) -> list[Tale]:
    return [_tale(s) for s in stories if s.language == story.language and s.id != story.id]


def _instance(story: SampleStory, dimension: str, source: str, rejected: Sequence[Edit]) -> Instance:
    texts = tuple(e.story for e in rejected)
    return Instance(
        id=content_id("rmb", story.premise, story.story, *texts),
        prompt=story.premise,
        chosen=story.story,
        rejected=texts,
        dimension=dimension,
        source=source,
        chosen_writer=story.writer,
        rejected_writers=tuple(f"kit-edit:{e.operator}" for e in rejected),
        language=story.language,
        corpus=CORPUS,
        license=story.license,
    )


def pair_of(story: SampleStory, operator: str, rejected: str, split: str) -> PreferencePair:
    """Return the pair of a sample story and what an operator made of it."""
    return PreferencePair(
        id=content_id("pair", story.premise, story.story, rejected),
        prompt=story.premise,
        chosen=story.story,
        rejected=rejected,
        construction="rewriting",
        chosen_writer=story.writer,
        rejected_writer=f"kit-edit:{operator}",
        corpus=CORPUS,
        language=story.language,
        license=story.license,
        edit=operator,
        split=split,
    )
