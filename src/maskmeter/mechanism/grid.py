"""All true cells that some released cells may come from, as a dense table.

Misclassified keys change and the others do not: a column of the table is a combination of the
other keys, and a row a combination of the misclassified ones. Each matrix is then applied along
its own axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import CellNumbers, Codes
from maskmeter.mechanism.mechanism import Mechanism
from maskmeter.types import Array, Integers

LARGEST_GRID = 1 << 25  # cells; 256 MB
_SINGULAR = 1e-3  # of the largest singular value: smaller ones count as none


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Grid:
    """The columns that hold some released cells, the targets, and where each of these stands.

    Tables over the grid have a row for each combination of the misclassified keys and a column for
    each combination of the others that holds a target.
    """

    mechanism: Mechanism
    cells: Codes  # the targets
    columns: CellNumbers  # sorted numbers of the untouched keys
    examples: Codes  # a cell of each column
    groups: list[tuple[list[Array], NDArray[np.int64]]]  # columns that share all their matrices
    row: NDArray[np.int64]  # of each target
    column: NDArray[np.int64]

    @staticmethod
    def cost(mechanism: Mechanism, cells: Codes) -> float:
        """Return the rough number of elementary operations, infinity if the table is too large."""
        size = Grid.size_for(mechanism, cells)
        axes = sum(factor.size for factor in mechanism.factors)
        return float(size) * axes if size <= LARGEST_GRID else inf

    @staticmethod
    def size_for(mechanism: Mechanism, cells: Codes) -> int:
        """Return how many cells the grid of some released cells has."""
        columns = len(np.unique(mechanism.untouched_number(cells)))
        return columns * prod(factor.size for factor in mechanism.factors)

    @classmethod
    def of(cls, mechanism: Mechanism, cells: Codes) -> Grid:
        """Return the grid that holds some released cells."""
        columns, first, column = np.unique(
            mechanism.untouched_number(cells), return_index=True, return_inverse=True
        )
        examples = cells[first]
        strata = np.stack(
            [np.zeros(len(examples), np.int64), *(f.stratum(examples) for f in mechanism.factors)],
            axis=1,
        )
        kinds, kind = np.unique(strata, axis=0, return_inverse=True)
        groups = []
        for number, kind_of_column in enumerate(kinds):
            chosen = zip(mechanism.factors, kind_of_column[1:], strict=True)
            matrices = [factor.P[stratum] for factor, stratum in chosen]
            groups.append((matrices, np.flatnonzero(kind == number)))
        return cls(mechanism, cells, columns, examples, groups, _row(mechanism, cells), column)

    @property
    def rows(self) -> int:
        """Number of combinations of the misclassified keys."""
        return prod(factor.size for factor in self.mechanism.factors)

    def codes(self) -> Codes:
        """Return the codes of all cells, row after row."""
        codes = np.tile(self.examples, (self.rows, 1))
        sizes = [factor.size for factor in self.mechanism.factors]
        parts = np.unravel_index(np.arange(self.rows), sizes) if sizes else ()
        for factor, part in zip(self.mechanism.factors, parts, strict=True):
            values = np.unravel_index(np.repeat(part, len(self.columns)), factor.sizes)
            for key, value in zip(factor.columns, values, strict=True):
                codes[:, key] = value
        return codes

    def table(self, values: Array) -> Array:
        """Return values of all cells, in the order of `codes`, as a table over the grid."""
        return values.reshape(self.rows, len(self.columns))

    def fill(self, codes: Codes, units: NDArray[np.generic]) -> Array:
        """Return a table of units in cells; those outside the grid are left out."""
        wanted = self.mechanism.untouched_number(codes)
        column = np.minimum(np.searchsorted(self.columns, wanted), len(self.columns) - 1)
        inside = self.columns[column] == wanted
        table = np.zeros((self.rows, len(self.columns)))
        table[_row(self.mechanism, codes[inside]), column[inside]] = units[inside]
        return table

    def at(self, table: Array) -> Array:
        """Return the values of a table at the targets."""
        return table[self.row, self.column]

    @property
    def stay(self) -> Array:
        """M_jj of the targets."""
        return self.mechanism.stay(self.cells)

    def spread(self, table: Array, *, power: int = 1) -> Array:
        """Return `sum over k of table_k M_jk**power` for each released cell j."""
        return self._along_axes(table, lambda moved, P: moved.T @ P**power)

    def largest(self, table: Array) -> Array:
        """Return `max over k of table_k M_jk` for each released cell j: (max, times) for (plus, times)."""
        return self._along_axes(table, _largest_products)

    def trace_back(self, table: Array) -> Array:
        """Return `sum over j of table_j M_jk` for each true cell k."""
        return self._along_axes(table, lambda moved, P: moved.T @ P.T)

    def trace_inverse(self, table: Array, *, power: int = 1) -> Array:
        """Return `sum over j of table_j (P^-1)_jk**power`: with power 1, units as they truly were.

        That has no bias, and no sign; power 2 gives the variance if the units of j are Poisson. A
        matrix that cannot be inverted is inverted as far as it can be.
        """
        return self._along_axes(
            table, lambda moved, P: moved.T @ np.linalg.pinv(P, rcond=_SINGULAR) ** power
        )

    def _along_axes(self, table: Array, applied: Callable[[Array, Array], Array]) -> Array:
        result = np.empty_like(table)
        for matrices, columns in self.groups:
            moved = table[:, columns]
            for P in matrices:
                # The first axis is worked on and goes to the back: the next comes to the front.
                moved = applied(moved.reshape(len(P), -1), P)
            result[:, columns] = moved.reshape(len(columns), -1).T if matrices else moved
        return result

    def chances(self, targets: Integers) -> Array:
        """Return M_jk for some targets j and every row k of their column."""
        cells = np.unravel_index(self.row[targets], [f.size for f in self.mechanism.factors] or [1])
        chance = np.ones((len(self.row[targets]), 1))
        examples = self.examples[self.column[targets]]
        for factor, released in zip(self.mechanism.factors, cells, strict=False):
            one = factor.P[factor.stratum(examples), :, released]
            chance = (chance[:, :, None] * one[:, None, :]).reshape(len(chance), -1)
        return chance

    def likeliest_rows(self, targets: Integers, number: int) -> tuple[Integers, Array]:
        """Return the rows k with the largest M_jk of some targets j, and these M_jk: so many at most.

        The largest products of several factors are among the products of the largest of each.
        """
        factors = self.mechanism.factors
        cells = np.unravel_index(self.row[targets], [f.size for f in factors])
        examples = self.examples[self.column[targets]]
        row = np.zeros((len(examples), 1), dtype=np.int64)
        chance = np.ones((len(examples), 1))
        for factor, released in zip(factors, cells, strict=True):
            one = factor.P[factor.stratum(examples), :, released]
            row = (row[:, :, None] * factor.size + np.arange(factor.size)).reshape(len(row), -1)
            chance = (chance[:, :, None] * one[:, None, :]).reshape(len(chance), -1)
            if chance.shape[1] > number:
                best = np.argpartition(-chance, number - 1, axis=1)[:, :number]
                row = np.take_along_axis(row, best, axis=1)
                chance = np.take_along_axis(chance, best, axis=1)
        return row, chance


def _largest_products(moved: Array, P: Array) -> Array:
    """Return `max over k of moved[k, rest] P[k, j]` as [rest, j].

    Rows with the least P[k, j] of a column need not be told apart: where P[k, j] is larger, so is
    the product. Most matrices have one P for all moves to a category.
    """
    found, product = np.empty((P.shape[1], moved.shape[1])), np.empty(moved.shape[1])
    largest = moved.max(axis=0)
    for column, best in zip(P.T, found, strict=True):
        np.multiply(largest, column.min(), out=best)
        for k in np.flatnonzero(column > column.min()):
            np.maximum(best, np.multiply(moved[k], column[k], out=product), out=best)
    return found.T


def _row(mechanism: Mechanism, codes: Codes) -> NDArray[np.int64]:
    """Return the number of each cell's combination of the misclassified keys."""
    sizes = [factor.size for factor in mechanism.factors]
    if not sizes:
        return np.zeros(len(codes), dtype=np.int64)
    return np.ravel_multi_index([factor.code(codes) for factor in mechanism.factors], sizes)
