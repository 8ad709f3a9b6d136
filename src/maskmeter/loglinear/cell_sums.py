"""Sums over all cells of a key space under a model, exact or by draws from the model.

`sum over all cells of g` is a plain sum while the table is small. Beyond, it is the mean of
`g / fitted mean` over cells drawn from the model, times the model's total, whatever the number of
cells: the functions that the goodness of fit sums are bounded against the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.data.varying import By
from maskmeter.loglinear.means import FittedMeans
from maskmeter.loglinear.observed import margin_of
from maskmeter.loglinear.terms import Term
from maskmeter.types import Array

MOST_CELLS = 10_000_000  # beyond, sums over all cells are estimated by draws
DRAWS = 200_000
FEW_DRAWS = 20_000  # enough to rank models
_SEED = 0  # the same for all models, so that their differences are not noise


@dataclass(frozen=True, eq=False, repr=False)
class AllCells:
    """Cells with a positive mean, and the weight of each in a sum over all cells.

    `lam` is the population mean and `pi` the inclusion probability. `codes` are those of drawn
    cells, and None when every cell is there once: then `place` are their numbers.
    """

    means: FittedMeans
    lam: Array
    pi: Array
    weight: Array
    place: NDArray[np.int64] | None
    codes: Codes | None

    @classmethod
    def of(cls, means: FittedMeans, data: Microdata, draws: int) -> AllCells:
        """Return the cells of a model that was fitted to a file; so many draws if there are many."""
        exact = data.space.size <= MOST_CELLS
        return _every(means, data) if exact else _drawn(means, data, draws)

    @property
    def draws(self) -> int:
        """Number of cells drawn; 0 when the sums are exact."""
        return 0 if self.codes is None else len(self.codes)

    def margin(self, keys: Term, values: Array) -> Array:
        """Return the sums of weighted values over all other keys."""
        space, weighted = self.means.space, values * self.weight
        if self.codes is not None:
            return margin_of(weighted, self.codes, keys, space=space)
        table = np.zeros(space.size)
        table[self.place] = weighted
        others = tuple(k for k in range(len(space.keys)) if k not in keys)
        return np.asarray(table.reshape(space.sizes).sum(axis=others))


def population_mean(means: Array, pi: Array, data: Microdata) -> Array:
    """Return lambda: weights already stand for the population, plain counts are divided by pi."""
    return means if data.weights is not None else means / pi


def _every(means: FittedMeans, data: Microdata) -> AllCells:
    table = means.dense().ravel()
    place = np.flatnonzero(table)
    fitted = table[place]
    varies = isinstance(data.fraction, By)
    pi = data.inclusion(data.space.codes(place if varies else place[:1]))
    pi = pi if varies else pi[0]
    lam = population_mean(fitted, pi, data)
    return AllCells(means, lam, pi, np.array(1.0), place, None)


def _drawn(means: FittedMeans, data: Microdata, number: int) -> AllCells:
    codes = means.draw(number, seed=_SEED)
    fitted, pi = means.at(codes), data.inclusion(codes)
    weight = float(means.components[0].sum()) / (number * fitted)
    return AllCells(means, population_mean(fitted, pi, data), pi, weight, None, codes)
