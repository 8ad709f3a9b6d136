"""Which key to redraw, and for whom: what `find_release` searches when it is given nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import floor, log10

import numpy as np

from maskmeter.checks import Progress
from maskmeter.data.microdata import Microdata
from maskmeter.perturb import Redraw, Release
from maskmeter.perturb.rarity import Rarity
from maskmeter.risk.view import View
from maskmeter.types import Array

_MOST_RARE = 0.9  # of the records: beyond, nobody is common


@dataclass(frozen=True, eq=False)
class RedrawnKeys:
    """Keys that may be redrawn together, the matches that would be left if everybody's were, and bounds.

    `least` is the number of correct matches to expect then, in the scenario with the most of them.
    """

    sample: Microdata
    keys: tuple[str, ...]
    known: tuple[str, ...]  # by somebody: the other keys among them make a record rare
    least: float
    first: str = ""  # the key that a block was built on

    @property
    def label(self) -> str:
        """The keys as they are named on a map."""
        return f"redraw {' x '.join(self.keys)}"

    @cached_property
    def people(self) -> Array:
        """How many people are expected to share the other keys of each record."""
        rarity: Rarity = self.step(1.0).rarity(self.sample)
        return rarity.people(rarity.model.data.codes)

    @cached_property
    def bounds(self) -> list[float]:
        """Bounds that divide the records differently, from few rare ones to many, as round numbers."""
        values, records = np.unique(self.people, return_counts=True)
        below = np.cumsum(records)
        kept = (below >= 2) & (below <= _MOST_RARE * len(self.people))
        pairs = zip(pairwise(values.tolist()), kept[:-1], strict=True)
        rounded = [round_between(low, high) for (low, high), on in pairs if on]
        # Nobody needs to tell 168 from 168.26: bounds have three digits.
        return [one for one in rounded if float(f"{one:.3g}") == one] or rounded

    def step(self, bound: float) -> Redraw:
        """Return the redraw of these keys for records that are rarer than a bound.

        Keys that nobody is taken to know do not make a record rare.
        """
        others = tuple(name for name in self.known if name not in self.keys)
        everything = len(self.known) == len(self.sample.space.names)
        return Redraw(self.keys, rarer_than=bound, others=() if everything else others)


def round_between(low: float, high: float) -> float:
    """Return the roundest number above `low` and not above `high`.

    >>> round_between(118.2, 123.9), round_between(0.031, 0.0323), round_between(7.0, 7.5)
    (120.0, 0.032, 7.1)
    """
    step = 10.0 ** (floor(log10(high)) + 1)
    for _ in range(17):
        found = (floor(low / step) + 1) * step
        if low < found <= high:
            return float(f"{found:.15g}")
        step /= 10
    return high


def keys_to_redraw(
    sample: Microdata, views: Mapping[str, View], progress: Progress = lambda *_: None
) -> Iterator[RedrawnKeys]:
    """Yield the key with the largest fall of the expected matches, then the best block of it and one more.

    The fall is that from A, the sum of 1/F over the sample uniques of the file as it is, to B, the
    sum of 1/G, where G counts the people who share the other keys.
    """
    known = {name for view in views.values() for name in view.keys}
    names = tuple(name for name in sample.space.names if name in known)
    if len(names) < 2:
        return
    first = _best(sample, views, names, _announced(((name,) for name in names), progress))
    yield first
    if len(names) > 2:
        others = [name for name in names if name not in first.keys]
        blocks = (tuple(n for n in names if n in (*first.keys, name)) for name in others)
        yield _best(sample, views, names, _announced(blocks, progress), first=first.keys[0])


def _announced(blocks: Iterable[tuple[str, ...]], progress: Progress) -> Iterator[tuple[str, ...]]:
    """Yield keys, and tell each time which ones are looked at."""
    for keys in blocks:
        progress(f"Choosing the key to redraw: {' x '.join(keys)}", 0, 0)
        yield keys


def _best(
    sample: Microdata,
    views: Mapping[str, View],
    known: tuple[str, ...],
    blocks: Iterable[tuple[str, ...]],
    *,
    first: str = "",
) -> RedrawnKeys:
    found = [
        RedrawnKeys(
            sample,
            keys,
            known,
            max(least_matches(view, keys) for view in views.values()),
            first,
        )
        for keys in blocks
    ]
    return min(found, key=lambda one: one.least)


def least_matches(view: View, keys: tuple[str, ...]) -> float:
    """Return B: the correct matches to expect if these keys said nothing about anybody.

    `sum over the sample uniques of E(1/G)`, over the people with the same other keys.
    """
    bare = view.before()
    others = [name for name in bare.keys if name not in keys]
    uniques = bare.sight.uniques
    if not others:  # then everybody is alike
        return len(uniques) / bare.sight.released.expected_population
    seen = bare.through(others)
    if seen.population is not None:
        people = seen.population.lookup(seen.sight.released.codes[uniques])
        return float((1 / np.maximum(people, 1)).sum())
    return float(seen.risk(interval="none").by_record[uniques].sum())


def told(redrawn: RedrawnKeys, release: Release, *, before: float) -> str:
    """Return why this redraw was chosen, in two sentences; `before` are the matches before it."""
    (rare,) = release.rare
    keys = " and ".join(redrawn.keys)
    among = "Of all keys" if len(redrawn.keys) == 1 else f"Of all pairs with {redrawn.first}"
    return (
        f"It redraws {keys} for the {rare.records / rare.of:.1%} of records whose other keys fewer than"
        f" {rare.bound:g} people share, which changes {release.changed.mean():.1%} of all records."
        f" {among}, {keys} would lower the expected matches most if redrawn for everybody: from"
        f" {before:.0f} to {redrawn.least:.0f}."
    )
