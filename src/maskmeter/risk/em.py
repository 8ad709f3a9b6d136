"""The model of true counts behind released ones, by EM."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maskmeter.loglinear import LogLinear
from maskmeter.loglinear.fit import fit_means
from maskmeter.loglinear.means import FittedMeans
from maskmeter.loglinear.observed import Counted
from maskmeter.mechanism import Grid
from maskmeter.types import Array

_TOLERANCE = 1e-5
_SETTLED = 2e-3  # of the risk: how far it may still be from its limit
_MOST_ROUNDS = 500


def traced_back(
    grid: Grid, model: LogLinear, risk: Callable[[FittedMeans], float]
) -> tuple[FittedMeans, bool]:
    """Return the means of the true cells behind a released table, and whether they have settled.

    The grid's targets are the cells of that table, which `model` was fitted to. E-step: the units
    of released cell j come from k in proportion to `M_jk m_k`. M-step: the terms of the model are
    fitted to the sums `n_k`. Until the `risk` has settled: changes that shrink by the ratio r each
    round still add up to `change r / (1 - r)`.
    """
    released, codes = model.observed, grid.codes()
    seen = grid.fill(released.codes, released.counts)
    means, last, change = model.means, np.inf, np.inf
    for _ in range(_MOST_ROUNDS):
        units = shared_out(grid, seen, grid.table(means.at(codes))).ravel()
        some = units > 0
        table = Counted(released.space, codes[some], units[some])
        means = fit_means(table, means.generators, start=means, tolerance=_TOLERANCE)
        now = risk(means)
        before, change, last = change, abs(now - last), now
        ratio = change / before if np.isfinite(before) and before > 0 else 1.0
        if change == 0 or (ratio < 1 and change * ratio / (1 - ratio) <= _SETTLED * now):
            return means, True
    return means, False


def shared_out(grid: Grid, released: Array, means: Array) -> Array:
    """Return the units of released cells, given to the true cells they may come from.

    `n_k = sum over j of f~_j M_jk m_k / sum over l of M_jl m_l`
    """
    origin = grid.spread(means)
    share = np.divide(released, origin, out=np.zeros_like(origin), where=origin > 0)
    return means * grid.trace_back(share)
