"""The model of a file without one of its keys, from the model with all of them: no new fit.

What a model says of the other keys is its sum over the categories of the one that is left out. A
model fitted anew to fewer keys would choose other terms, or shrink them otherwise; with many keys
the difference is small, and the time is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maskmeter.data.keys import Codes, KeySpace
from maskmeter.data.microdata import Microdata
from maskmeter.loglinear.means import DenseMeans, FittedMeans, Means, table_sizes
from maskmeter.loglinear.model import CellModel
from maskmeter.loglinear.observed import Counted, Observed
from maskmeter.loglinear.population import Population
from maskmeter.loglinear.terms import Term
from maskmeter.types import Array

_AT_ONCE = 1 << 21  # of cells times categories that are summed over


@dataclass(frozen=True, eq=False, repr=False)
class MarginalMeans:
    """Fitted means of a hierarchical model, summed over one key."""

    space: KeySpace
    whole: FittedMeans
    left_out: int

    @property
    def total(self) -> float:
        """Sum of all means."""
        return self.whole.total

    def at(self, codes: Codes) -> Array:
        """Return the fitted mean of each cell."""
        found, touched = np.ones(len(codes)), []
        for keys, table in self.whole.factors:
            if self.left_out in keys:
                touched.append((keys, table))
            else:
                found *= table[tuple(codes[:, self._column(key)] for key in keys)]
        step = max(_AT_ONCE // self.whole.space.sizes[self.left_out], 1)
        for start in range(0, len(codes), step):
            block = slice(start, start + step)
            found[block] *= self._summed(codes[block], touched)
        return found

    def _summed(self, codes: Codes, factors: list[tuple[Term, Array]]) -> Array:
        """Return the sums over the key of the product of the factors that hold it."""
        product = np.ones((len(codes), self.whole.space.sizes[self.left_out]))
        for keys, table in factors:
            others = tuple(key for key in keys if key != self.left_out)
            rows = np.moveaxis(table, keys.index(self.left_out), -1).reshape(-1, product.shape[1])
            given = [codes[:, self._column(key)] for key in others]
            sizes = table_sizes(self.whole.space, others)
            product *= rows[np.ravel_multi_index(given, sizes) if given else 0]
        summed: Array = product.sum(axis=1)
        return summed

    def _column(self, key: int) -> int:
        """Return where a key of the whole model stands among those that are left."""
        return key - (key > self.left_out)

    def at_counted(self, counts: Counted) -> Array:
        """Return the fitted mean of each occupied cell of a table."""
        return self.at(counts.codes)

    def dense(self) -> Array:
        """Return the fitted means of all cells, an axis for each key."""
        return self.at(self.space.codes(np.arange(self.space.size))).reshape(self.space.sizes)

    def margin(self, keys: Term) -> Array:
        """Return the fitted margin of some keys, an axis for each."""
        return self.whole.margin(tuple(key + (key >= self.left_out) for key in keys))

    def draw(self, number: int, *, seed: int) -> Codes:
        """Return the codes of cells that are drawn in proportion to their means."""
        return np.delete(self.whole.draw(number, seed=seed), self.left_out, axis=1)

    def drawn(self, number: int, *, seed: int) -> tuple[Codes, Array]:
        """Return the same codes, and the fitted mean of each cell."""
        codes = np.delete(self.whole.drawn(number, seed=seed)[0], self.left_out, axis=1)
        return codes, self.at(codes)


@dataclass(frozen=True, eq=False, repr=False)
class MarginalModel(CellModel):
    """A model of a file, summed over the categories of a key that is left out."""

    whole: CellModel

    @classmethod
    def of(cls, whole: CellModel, data: Microdata, observed: Observed) -> MarginalModel:
        """Return a model without the one of its keys that the data do not have."""
        names = whole.data.space.names
        (name,) = set(names) - set(data.space.names)
        key, rest = names.index(name), whole.unsampled
        return cls(
            data,
            _summed_over(whole.means, key, data.space),
            observed,
            whole,
            unsampled=None if rest is None else _summed_over(rest, key, data.space),
        )

    @property
    def terms(self) -> tuple[str, ...]:
        """Terms of the model with all keys, in words."""
        return self.whole.terms

    @cached_property
    def population(self) -> Population:
        """What the model says of the population."""
        return Population(self.data, self.means, self.unsampled, self.whole.observed.pseudo)

    @property
    def exact_sums(self) -> bool:
        """Whether sums over all cells are worked out: only where all cells are held."""
        return isinstance(self.means, DenseMeans)


def _summed_over(means: Means, key: int, space: KeySpace) -> Means:
    """Return fitted means, summed over one key."""
    if isinstance(means, FittedMeans):
        return MarginalMeans(space, means, key)
    return DenseMeans(space, means.dense().sum(axis=key))
