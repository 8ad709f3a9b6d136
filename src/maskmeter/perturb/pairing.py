"""Pairing records of different categories, uniformly over all ways to do so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskmeter.types import Integers

_EXCHANGES = 20  # random partner exchanges per pair, after which pairings are as good as uniform


def pair(category: Integers, stratum: Integers, *, rng: np.random.Generator) -> Integers:
    """Return pairs of positions, two columns, within strata and never of one category.

    Every stratum must hold an even number of positions, at most half of them in one category. A
    random pairing is repaired where both have one category, and then random pairs of pairs try to
    exchange partners many times: proposals are symmetric, so all pairings become equally likely.

    >>> from maskmeter.streams import generator
    >>> pairs = pair(np.array([0, 1, 1, 0]), np.zeros(4, np.int64), rng=generator(1, "pair"))
    >>> sorted(np.sort(pairs, axis=1).tolist()) in ([[0, 1], [2, 3]], [[0, 2], [1, 3]])
    True
    """
    order = np.argsort(stratum + rng.random(len(category))).reshape(-1, 2)  # at random in a stratum
    small = category.astype(np.min_scalar_type(int(category.max(initial=0))))
    pairs = _Pairs(
        [order[:, 0].copy(), order[:, 1].copy()], [small[order[:, 0]], small[order[:, 1]]]
    )
    where = stratum[order[:, 0]]
    _repair(pairs, where, rng)
    _, where = np.unique(where, return_inverse=True)
    where = where.astype(np.min_scalar_type(len(where)))  # small integers sort faster
    several = bool(where.any())
    for _ in range(_EXCHANGES):
        shuffled = rng.permutation(len(where))
        if several:
            shuffled = shuffled[np.argsort(where[shuffled], kind="stable")]
        one, other = shuffled[:-1:2], shuffled[1::2]
        same = where[one] == where[other]
        pairs.exchange(one[same], other[same], side=int(rng.integers(2)))
    return np.stack(pairs.record, axis=1)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The two records of each pair, and their categories."""

    record: list[Integers]
    category: list[NDArray[np.unsignedinteger]]

    def exchange(self, one: Integers, other: Integers, *, side: int) -> None:
        """Give the second record of one pair for the record on a side of the other.

        Pairs of which either would then have one category stay as they are.
        """
        gives, takes = self.category[1][one], self.category[side][other]
        good = (self.category[0][one] != takes) & (self.category[1 - side][other] != gives)
        one, other = one[good], other[good]
        for values in (self.record, self.category):
            values[1][one], values[side][other] = values[side][other], values[1][one]


def _repair(pairs: _Pairs, where: Integers, rng: np.random.Generator) -> None:
    """Break up pairs of one category, each with the help of another pair of its stratum.

    For each category in turn, pairs of it are matched at random with pairs that have none of it:
    there are at least as many of these, as long as no category holds more than half.
    """
    first, second = pairs.category
    for kind in np.unique(first[first == second]):
        bad = np.flatnonzero((first == kind) & (second == kind))
        free = np.flatnonzero((first != kind) & (second != kind))
        free = free[np.argsort(where[free] + rng.random(len(free)))]
        # The n-th bad pair of a stratum takes the n-th free pair of that stratum.
        rank = np.arange(len(bad)) - np.searchsorted(where[bad], where[bad])
        pairs.exchange(bad, free[np.searchsorted(where[free], where[bad]) + rank], side=1)
