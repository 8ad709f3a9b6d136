"""Which key to redraw, and for whom: what `find_release` searches when it is given nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import floor, log10

import numpy as np

from maskmeter.checks import Progress
from maskmeter.data.microdata import Microdata
from maskmeter.perturb import Redraw, Release
from maskmeter.perturb.rarity import Rarity
from maskmeter.risk.intruder import INFORMED
from maskmeter.risk.target import Target
from maskmeter.risk.view import View
from maskmeter.types import Array

_MOST_RARE = 0.9  # of the records: beyond, nobody is common


@dataclass(frozen=True, eq=False)
class RedrawnKeys:
    """Keys that may be redrawn together, the matches that would be left if everybody's were, and bounds.

    `left` is the number of correct matches to expect then in each scenario.
    """

    sample: Microdata
    keys: tuple[str, ...]
    known: tuple[str, ...]  # by somebody: the other keys among them make a record rare
    left: Mapping[str, float]
    first: str = ""  # the key that a block was built on

    @property
    def least(self) -> float:
        """The correct matches to expect if everybody's were redrawn, in the worst scenario."""
        return max(self.left.values())

    def may_reach(self, target: Target, uniques: Mapping[str, int]) -> bool:
        """Return False if an informed intruder keeps more matches than a target allows.

        Exact matching may fall below that, and so may the largest risk of a record.
        """
        if target.intruder != INFORMED or target.max_record is not None:
            return True
        return all(most <= target.allowed(uniques[name]) for name, most in self.left.items())

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
) -> tuple[RedrawnKeys, ...]:
    """Return each key that somebody knows, that with the largest fall of the expected matches first.

    The fall is that from A, the sum of 1/F over the sample uniques of the file as it is, to B, the
    sum of 1/G, where G counts the people who share the other keys. A file with one key has none:
    then everybody is alike in the others.
    """
    names = _known(sample, views)
    if len(names) < 2:
        return ()
    return _ranked(sample, views, _announced(((name,) for name in names), progress))


def pair_to_redraw(
    first: RedrawnKeys, views: Mapping[str, View], progress: Progress = lambda *_: None
) -> RedrawnKeys | None:
    """Return the pair of a key and one more with the largest fall; None if there is no third key.

    Pairs for which no bound tells rare records from common ones are left out.
    """
    names = _known(first.sample, views)
    if len(names) < 3:
        return None
    others = [name for name in names if name not in first.keys]
    pairs = (tuple(n for n in names if n in (*first.keys, name)) for name in others)
    ranked = _ranked(first.sample, views, _announced(pairs, progress), first=first.keys[0])
    return next((one for one in ranked if one.bounds), None)


def _known(sample: Microdata, views: Mapping[str, View]) -> tuple[str, ...]:
    """Return the keys that somebody knows, in the order of the file."""
    known = {name for view in views.values() for name in view.keys}
    return tuple(name for name in sample.space.names if name in known)


def _announced(blocks: Iterable[tuple[str, ...]], progress: Progress) -> Iterator[tuple[str, ...]]:
    """Yield keys, and tell each time which ones are looked at."""
    for keys in blocks:
        progress(f"Choosing the key to redraw: {' x '.join(keys)}", 0, 0)
        yield keys


def _ranked(
    sample: Microdata,
    views: Mapping[str, View],
    blocks: Iterable[tuple[str, ...]],
    *,
    first: str = "",
) -> tuple[RedrawnKeys, ...]:
    known = _known(sample, views)
    found = [
        RedrawnKeys(
            sample,
            keys,
            known,
            {name: least_matches(view, keys) for name, view in views.items()},
            first,
        )
        for keys in blocks
    ]
    return tuple(sorted(found, key=lambda one: one.least))


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


def told(
    redrawn: RedrawnKeys,
    release: Release,
    *,
    before: float,
    others: Sequence[str] = (),
    met: bool = True,
) -> str:
    """Return why this redraw was chosen; `before` are the matches before it.

    `others` are the single keys that were searched too. Where the target is not `met`, nothing is
    said of them: they were not all tried.
    """
    (rare,) = release.rare
    keys = " and ".join(redrawn.keys)
    if len(redrawn.keys) > 1:
        why = f" No key alone does it. Of all pairs with {redrawn.first}, this one lowers the risk most."
    elif not met:
        why = ""
    elif others:
        why = f" A redraw of {' or of '.join(others)} would lose more or miss the target."
    else:
        why = " No redraw of another key would meet the target."
    return (
        f"It redraws {keys} for the {rare.records / rare.of:.1%} of records whose other keys fewer than"
        f" {rare.bound:g} people share, which changes {release.changed.mean():.1%} of all records."
        f"{why} Redrawn for everybody, {keys} would leave {redrawn.least:.0f} of {before:.0f}"
        " expected matches."
    )
