"""The fitted table of one component, with what is worked out from it once: margins and conditionals."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np

from maskmeter.loglinear.table_sums import summed_to
from maskmeter.loglinear.terms import Term
from maskmeter.types import Array

_LARGEST_KEPT = 20_000  # cells of a margin that is remembered


@dataclass(frozen=True, eq=False, repr=False)
class ComponentTable:
    """Fitted means over the keys of a component, an axis for each, and how their fitting ended.

    `deviation` is that of the fitted margins from the observed ones, summed, against their total;
    `tolerance` is what the fit was asked for. Models that share a component share this object.
    """

    keys: Term
    terms: tuple[Term, ...]
    table: Array
    sweeps: int = 0
    deviation: float = 0.0
    converged: bool = True
    tolerance: float = 0.0
    _margins: dict[Term, Array] = field(default_factory=dict, init=False)
    _steps: dict[tuple[Term, Term], Array] = field(default_factory=dict, init=False)

    def settled(self, terms: tuple[Term, ...], tolerance: float) -> bool:
        """Return True when this is a close enough fit of some terms."""
        return self.converged and self.tolerance <= tolerance and self.terms == terms

    def margin(self, keys: Term) -> Array:
        """Return the margin of some keys, in order, an axis for each."""
        if keys == self.keys:
            return self.table
        if keys not in self._margins:
            held, table = self._smallest_with(keys)
            margin = summed_to(table, tuple(map(held.index, keys)))
            if margin.size > _LARGEST_KEPT:
                return margin
            self._margins[keys] = margin
        return self._margins[keys]

    def _smallest_with(self, keys: Term) -> tuple[Term, Array]:
        """Return the smallest table at hand that has some keys."""
        wanted, smallest = set(keys), (self.keys, self.table)
        for held, table in self._margins.items():
            if table.size < smallest[1].size and wanted <= set(held):
                smallest = held, table
        return smallest

    def step(self, given: Term, wanted: Term) -> Array:
        """Return the chance of each cell of some keys given each cell of others: a row for these."""
        if (given, wanted) not in self._steps:
            joint = self.joint(given, wanted)
            base = joint.sum(axis=1, keepdims=True)
            share: Array = np.divide(joint, base, out=np.zeros_like(joint), where=base > 0)
            if share.size > _LARGEST_KEPT:
                return share
            self._steps[given, wanted] = share
        return self._steps[given, wanted]

    def joint(self, rows: Term, columns: Term) -> Array:
        """Return the margin of two sets of keys as a matrix, a row for each cell of the first.

        A key in both sets has the same category in both: other places hold 0.
        """
        both = tuple(sorted({*rows, *columns}))
        table = self.margin(both)
        size = dict(zip(both, table.shape, strict=True))
        matrix = np.zeros([prod(size[key] for key in keys) for keys in (rows, columns)])
        at = dict(zip(both, np.indices(table.shape).reshape(len(both), -1), strict=True))
        row, column = (
            np.ravel_multi_index([at[key] for key in keys], [size[key] for key in keys])
            for keys in (rows, columns)
        )
        matrix[row, column] = table.ravel()
        return matrix
