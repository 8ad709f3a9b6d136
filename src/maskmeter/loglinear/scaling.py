"""Iterative proportional fitting of one table: its cells are scaled to one margin after the other.

A cell with an empty margin stays empty. Where most are, only the others are held, as a list; else
all are held as a table, whose sums are faster.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from maskmeter.loglinear.table_sums import summed_to
from maskmeter.types import Array

MOSTLY = 0.4  # of the cells: with more of them not empty, a table is faster than a list


class Scaling(Protocol):
    """Means of the cells of a table, in a form that can be scaled to its margins."""

    means: Array

    def of(self, table: Array) -> Array:
        """Return the cells of another table in the same form."""

    def sweep(self) -> float:
        """Scale the means to one margin after the other; return how far the worst was off."""

    def table(self) -> Array:
        """Return the means of all cells, an axis for each key."""


def scaling(
    first: Array | None, shape: tuple[int, ...], margins: list[tuple[tuple[int, ...], Array]]
) -> Scaling:
    """Return means to scale, each 1 or as in a `first` table, but 0 where a margin is empty.

    A margin is given by the axes that it has, in order, and by its target.
    """
    support = np.ones(shape, dtype=bool) if first is None else first > 0
    for axes, target in margins:
        support = support & (target > 0).reshape(_wide(axes, shape))
    if support.mean() > MOSTLY:
        return _WholeTable(first, support, margins)
    return _ListedCells(first, support, margins)


class _WholeTable:
    """Means of all cells as a table."""

    def __init__(
        self,
        first: Array | None,
        support: NDArray[np.bool_],
        margins: list[tuple[tuple[int, ...], Array]],
    ) -> None:
        self.means = support.astype(np.float64) if first is None else np.where(support, first, 0.0)
        self._margins = margins

    def of(self, table: Array) -> Array:
        """Return the cells of another table in the same form."""
        return table

    def sweep(self) -> float:
        """Scale the means to one margin after the other; return how far the worst was off."""
        deviation = 0.0
        for axes, target in self._margins:
            margin = summed_to(self.means, axes)
            deviation = max(deviation, float(np.abs(margin - target).sum()))
            scale = np.divide(target, margin, out=np.zeros_like(margin), where=margin > 0)
            self.means *= scale.reshape(_wide(axes, self.means.shape))
        return deviation

    def table(self) -> Array:
        """Return the means of all cells, an axis for each key."""
        return self.means


class _ListedCells:
    """Means of the cells that have no empty margin."""

    def __init__(
        self,
        first: Array | None,
        support: NDArray[np.bool_],
        margins: list[tuple[tuple[int, ...], Array]],
    ) -> None:
        self._at, self._shape = np.nonzero(support), support.shape
        self.means = np.ones(len(self._at[0])) if first is None else first[self._at]
        self._margins = [
            (margin_places(axes, self._at, support.shape), target.ravel())
            for axes, target in margins
        ]

    def of(self, table: Array) -> Array:
        """Return the cells of another table in the same form."""
        cells: Array = table[self._at]
        return cells

    def sweep(self) -> float:
        """Scale the means to one margin after the other; return how far the worst was off."""
        deviation = 0.0
        for place, target in self._margins:
            margin = np.bincount(place, weights=self.means, minlength=len(target))
            deviation = max(deviation, float(np.abs(margin - target).sum()))
            scale = np.divide(target, margin, out=np.zeros(len(target)), where=margin > 0)
            self.means *= scale[place]
        return deviation

    def table(self) -> Array:
        """Return the means of all cells, an axis for each key."""
        table = np.zeros(self._shape)
        table[self._at] = self.means
        return table


def margin_places(
    axes: tuple[int, ...], at: tuple[NDArray[np.int64], ...], shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return the cell of the margin over some axes that each cell of a table belongs to."""
    return np.ravel_multi_index([at[axis] for axis in axes], [shape[axis] for axis in axes])


def _wide(axes: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
    """Return the shape of a margin beside a table: 1 along the axes that it does not have."""
    return [size if axis in axes else 1 for axis, size in enumerate(shape)]
