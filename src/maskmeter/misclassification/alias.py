"""Walker's alias method: one uniform and two look-ups per draw, whatever the number of categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class AliasTable:
    """Many distributions over the same categories, ready to be drawn from.

    >>> AliasTable.of(np.array([[0.0, 1.0], [0.5, 0.5]])).draw(np.array([0, 1]), np.array([0.2, 0.2]))
    array([1, 0])
    """

    size: int
    keep: NDArray[np.float64]
    other: NDArray[np.int64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> AliasTable:
        """Return the table of the distributions that are the rows of an array."""
        pairs = [_split(row) for row in rows]
        keep, other = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return cls(rows.shape[1], keep, other)

    def draw(self, row: NDArray[np.int64], uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return a category from the distribution `row` of each draw, decided by its uniform."""
        rest = uniform * self.size
        column = rest.astype(np.int64)
        rest -= column
        place = row * self.size
        place += column
        return np.where(rest < self.keep.take(place), column, self.other.take(place))


def _split(probabilities: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return, for each column, the share that is its own category and the category of the rest."""
    size = len(probabilities)
    likeliest = int(probabilities.argmax())
    if probabilities[likeliest] == 1:  # nothing to share out: a category that always stays
        return (np.arange(size) == likeliest).astype(np.float64), np.full(size, likeliest)
    keep = probabilities * size
    other = np.full(size, likeliest)
    small = [c for c in range(size) if keep[c] < 1]
    large = [c for c in range(size) if keep[c] >= 1]
    while small and large:
        filled, giver = small.pop(), large[-1]
        other[filled] = giver
        keep[giver] -= 1 - keep[filled]
        if keep[giver] < 1:
            small.append(large.pop())
    keep[small + large] = 1  # what rounding left a hair below
    return keep, other
