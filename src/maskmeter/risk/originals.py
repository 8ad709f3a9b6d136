"""The model of true counts behind released ones: unmixed margins, or EM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from maskmeter.data.keys import Codes, KeySpace
from maskmeter.data.microdata import Microdata
from maskmeter.loglinear import LogLinear, OneModel, ShrunkLogLinear
from maskmeter.loglinear.means import FittedMeans
from maskmeter.loglinear.observed import Counted
from maskmeter.loglinear.terms import Term
from maskmeter.mechanism import Grid, Mechanism
from maskmeter.risk.expected import expected_originals
from maskmeter.types import Array

_SETTLED = 2e-3  # of the risk: how far it may still be from its limit
_MOST_ROUNDS = 500


def true_model(
    grid: Grid, model: OneModel, risk: Callable[[OneModel], float]
) -> tuple[OneModel, bool]:
    """Return the model of the true cells behind a released table, and whether it converged.

    The targets of the grid are the cells of that table, which `model` was fitted to.
    """
    if isinstance(model, ShrunkLogLinear):
        return unmixed(model, grid.mechanism), True
    return fit_originals(grid, model, risk)


def unmixed(model: ShrunkLogLinear, mechanism: Mechanism) -> ShrunkLogLinear:
    """Return the empirical-Bayes model of the true cells: its margins are undone one by one.

    Not EM: counts that a model has traced back look like the model, so that terms would be shrunk
    away which the file does show.
    """
    table, data = model.observed, model.data
    rest = table.unsampled
    return ShrunkLogLinear.fitted(
        model.data,
        table,
        sampled=TrueMargins(table, mechanism, data),
        unsampled=None if rest is None else TrueMargins(rest, mechanism, data),
    )


@dataclass(frozen=True, eq=False, repr=False)
class TrueMargins:
    """Margins of the true units behind a released table, as the inverse of the matrices gives them.

    Their noise is larger than that of counts: `unit` is its standard deviation against theirs. With
    the variance, which would be right if the noise were even, rare cells lose structure that the file
    does show: two keys of a census came out 15 % too high, and 9 % with the standard deviation.
    """

    released: Counted
    mechanism: Mechanism
    data: Microdata  # over whose other keys a matrix is averaged

    @property
    def space(self) -> KeySpace:
        """The keys."""
        return self.released.space

    @property
    def total(self) -> float:
        """Sum of all units."""
        return self.released.total

    def margin(self, keys: Term) -> Array:
        """Return the margin of some keys, an axis for each; what is below 0 counts as 0."""
        return self._found(keys)[0]

    def unit(self, keys: Term) -> float:
        """Return how many units of a margin tell as much as one record."""
        return self._found(keys)[1]

    def _found(self, keys: Term) -> tuple[Array, float]:
        if keys not in self._kept:
            self._kept[keys] = self._unmixed(keys)
        return self._kept[keys]

    @cached_property
    def _kept(self) -> dict[Term, tuple[Array, float]]:
        return {}

    def _unmixed(self, keys: Term) -> tuple[Array, float]:
        """Return a margin of the true units, and how much more it varies than a count does."""
        released, scale = self.released.margin(keys), self.released.scale
        names = [self.space.names[key] for key in keys]
        if not set(names) & set(self.mechanism.touched) or not self.total:
            return released, scale
        records = self.data
        mechanism = self.mechanism.marginal(names, true=records.codes, times=records.times)
        grid = Grid.of(mechanism, np.indices(released.shape).reshape(len(keys), -1).T)
        table = grid.fill(grid.cells, released.ravel())
        units = np.maximum(grid.at(grid.trace_inverse(table)), 0.0).reshape(released.shape)
        noise = float(grid.trace_inverse(table, power=2).sum()) / self.total
        return units * (self.total / units.sum()), scale * sqrt(max(noise, 1.0))


def fit_originals(
    grid: Grid, model: LogLinear, risk: Callable[[LogLinear], float]
) -> tuple[LogLinear, bool]:
    """Return a model with the same terms, of the true cells behind a released table, by EM.

    E-step: the units of released cell j come from k in proportion to `M_jk m_k`. M-step: the model
    takes a step towards their sums; units that weights stand for are traced back in the same way.
    It ends when the `risk` has settled: changes that shrink by the ratio r each round still add up
    to `change r / (1 - r)`.
    """
    table, codes = model.observed, grid.codes()
    last, change = np.inf, np.inf
    for _ in range(_MOST_ROUNDS):
        rest = None
        if table.unsampled is not None and model.unsampled is not None:
            rest = _originals(grid, codes, table.unsampled, model.unsampled)
        # A step towards the fit will do: the next round moves what it is fitted to.
        model = model.towards(_originals(grid, codes, table, model.means), rest)
        now = risk(model)
        before, change, last = change, abs(now - last), now
        ratio = change / before if np.isfinite(before) and before > 0 else 1.0
        if change == 0 or (ratio < 1 and change * ratio / (1 - ratio) <= _SETTLED * now):
            return model, True
    return model, False


def _originals(grid: Grid, codes: Codes, released: Counted, means: FittedMeans) -> Counted:
    """Return the units to expect in each true cell behind a released table."""
    counts = grid.fill(released.codes, released.counts)
    units = expected_originals(grid, counts, grid.table(means.at(codes))).ravel()
    some = units > 0
    return Counted(released.space, codes[some], units[some])
