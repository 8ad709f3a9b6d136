"""Sums over all cells of a key space under a model, exact or by draws from the model.

`sum over all cells of g` is a plain sum while the table is small. Beyond, it is the mean of
`g / fitted mean` over cells drawn from the model, times the model's total, whatever the number of
cells: the functions that the goodness of fit sums are bounded against the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes, KeySpace
from maskmeter.data.varying import By
from maskmeter.loglinear.observed import margin_of
from maskmeter.loglinear.population import Population
from maskmeter.loglinear.table_sums import summed_to
from maskmeter.loglinear.terms import Term
from maskmeter.types import Array

MOST_CELLS = 10_000_000  # beyond, sums over all cells are estimated by draws
MOST_ON_PATH = (
    2_000_000  # the same for models that a search only passes: draws are faster from here
)
DRAWS = 200_000
FEW_DRAWS = 20_000  # enough to rank models
_SEED = 0  # the same for all models, so that their differences are not noise


@dataclass(frozen=True, eq=False, repr=False)
class AllCells:
    """Cells with a positive mean, and the weight of each in a sum over all cells.

    `lam` is the population mean and `pi` the inclusion probability. `codes` are those of drawn
    cells, and None when every cell is there once: then `place` are their numbers, or None for all.
    """

    space: KeySpace
    lam: Array
    pi: Array
    weight: Array
    place: NDArray[np.int64] | None
    codes: Codes | None

    @property
    def draws(self) -> int:
        """Number of cells drawn; 0 when the sums are exact."""
        return 0 if self.codes is None else len(self.codes)

    def margin(self, keys: Term, values: Array) -> Array:
        """Return the sums of weighted values over all other keys."""
        weighted = values * self.weight
        if self.codes is not None:
            return margin_of(weighted, self.codes, keys, space=self.space)
        table = weighted
        if self.place is not None:
            table = np.zeros(self.space.size)
            table[self.place] = weighted
        return summed_to(table.reshape(self.space.sizes), keys)


def summed_exactly(space: KeySpace) -> bool:
    """Return True where all cells are summed over, not drawn from."""
    return space.size <= MOST_CELLS


def every_cell(population: Population) -> AllCells:
    """Return all cells that a model gives a mean, each once."""
    space = population.data.space
    table = population.means.dense().ravel()
    place = None if table.all() else np.flatnonzero(table)
    fitted = table if place is None else table[place]
    if population.unsampled is None:
        lam, pi = population.scaled(fitted, _inclusion(population, place))
    else:
        rest = population.unsampled.dense().ravel()
        lam, pi = population.joined(fitted, rest if place is None else rest[place])
    return AllCells(space, lam, pi, np.array(1.0), place, None)


def drawn_cells(population: Population, number: int) -> AllCells:
    """Return so many cells that are drawn from a model."""
    means = population.means
    codes, fitted = means.drawn(number, seed=_SEED)
    lam, pi = population.of(fitted, codes)
    weight = means.total / (number * fitted)
    return AllCells(population.data.space, lam, pi, weight, None, codes)


def _inclusion(population: Population, place: NDArray[np.int64] | None) -> Array:
    """Return the inclusion probability of some cells or all, as one number where it is the same."""
    data = population.data
    if not isinstance(data.fraction, By):
        return np.asarray(data.inclusion(np.zeros((1, len(data.space.keys)), np.int64))[0])
    return data.inclusion(data.space.codes(np.arange(data.space.size) if place is None else place))
