"""A dense table over the misclassified keys, and each matrix applied along its own axis."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskmeter.keys import Codes
    from maskmeter.misclassification.product import Mechanism
    from maskmeter.table import KeyTable

_LARGEST_TABLE = 1 << 25  # cells; 256 MB


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows of the table (cells of the untouched keys) that share all their matrices."""

    matrices: list[NDArray[np.float64]]  # P[true, released] of each axis
    table: NDArray[np.float64]  # [combination of the misclassified keys, row]
    targets: NDArray[np.int64]
    place: NDArray[np.int64]  # of each target, in the flattened [row, combination]


@dataclass(frozen=True, slots=True)
class Axes:
    """What is needed to spread a population over the released cells that matter."""

    groups: list[_Group]
    own: NDArray[np.int64]  # F_j
    stay: NDArray[np.float64]

    @staticmethod
    def cost(mechanism: Mechanism, cells: Codes) -> float:
        """Return the rough number of elementary operations, infinity if the table is too large."""
        sizes = [factor.size for factor in mechanism.factors]
        size = len(np.unique(mechanism.untouched_number(cells))) * prod(sizes)
        return float(size) * sum(sizes) if size <= _LARGEST_TABLE else inf

    @classmethod
    def of(cls, mechanism: Mechanism, population: KeyTable, cells: Codes) -> Axes:
        """Return the table of the rows that hold the released cells."""
        rows, row = np.unique(mechanism.untouched_number(cells), return_inverse=True)
        strata = np.stack([factor.stratum(cells) for factor in mechanism.factors], axis=1)
        kinds, kind = np.unique(strata, axis=0, return_inverse=True)
        kind_of_row = np.empty(len(rows), dtype=np.int64)
        kind_of_row[row] = kind

        source = population.codes
        wanted = mechanism.untouched_number(source)
        source_row = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
        used = rows[source_row] == wanted
        source, source_row, units = source[used], source_row[used], population.counts[used]
        groups = []
        for number, stratum in enumerate(kinds):
            within = np.flatnonzero(kind_of_row == number)
            local = np.zeros(len(rows), dtype=np.int64)
            local[within] = np.arange(len(within))
            here = kind_of_row[source_row] == number
            table = np.zeros((prod(factor.size for factor in mechanism.factors), len(within)))
            table[_combination(mechanism, source[here]), local[source_row[here]]] = units[here]
            targets = np.flatnonzero(kind == number)
            place = local[row[targets]] * len(table) + _combination(mechanism, cells[targets])
            matrices = [f.P[s] for f, s in zip(mechanism.factors, stratum, strict=True)]
            groups.append(_Group(matrices, table, targets, place))
        return cls(groups, population.lookup(cells), mechanism.stay(cells))

    def moved_in(self, *, power: int) -> NDArray[np.float64]:
        """Return `sum over k != j of F_k M_jk**power` for each released cell j."""
        total = np.empty(len(self.own))
        for group in self.groups:
            spread = group.table
            for P in group.matrices:
                # The first axis is spread and goes to the back, so the next one comes to the front.
                spread = spread.reshape(len(P), -1).T @ P**power
            total[group.targets] = spread.ravel()[group.place]
        # What rounding leaves below zero is nothing.
        return np.maximum(total - self.own * self.stay**power, 0)


def _combination(mechanism: Mechanism, codes: Codes) -> NDArray[np.int64]:
    """Return the number of each row's combination of the misclassified keys."""
    sizes = [factor.size for factor in mechanism.factors]
    return np.ravel_multi_index([factor.code(codes) for factor in mechanism.factors], sizes)
