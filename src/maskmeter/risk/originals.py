"""The model of true counts behind released ones, by EM."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maskmeter.loglinear import LogLinear
from maskmeter.loglinear.fit import fit_means
from maskmeter.loglinear.means import FittedMeans
from maskmeter.loglinear.observed import Counted
from maskmeter.mechanism import Grid
from maskmeter.risk.expected import expected_originals

_TOLERANCE, _SWEEPS = 1e-5, 2
_SETTLED = 2e-3  # of the risk: how far it may still be from its limit
_MOST_ROUNDS = 500


def fit_originals(
    grid: Grid, model: LogLinear, risk: Callable[[FittedMeans], float]
) -> tuple[FittedMeans, bool]:
    """Return the means of the true cells behind a released table, and whether they converged.

    The targets of the grid are the cells of that table, which `model` was fitted to. E-step: the
    units of released cell j come from k in proportion to `M_jk m_k`. M-step: the terms of the
    model are fitted to their sums. It ends when the `risk` has settled: changes that shrink by
    the ratio r each round still add up to `change r / (1 - r)`.
    """
    table, codes = model.observed, grid.codes()
    released = grid.fill(table.codes, table.counts)
    means, last, change = model.means, np.inf, np.inf
    for _ in range(_MOST_ROUNDS):
        units = expected_originals(grid, released, grid.table(means.at(codes))).ravel()
        some = units > 0
        originals = Counted(table.space, codes[some], units[some])
        # A step towards the fit will do: the next round moves what it is fitted to.
        means = fit_means(
            originals, means.generators, start=means, tolerance=_TOLERANCE, most_sweeps=_SWEEPS
        )
        now = risk(means)
        before, change, last = change, abs(now - last), now
        ratio = change / before if np.isfinite(before) and before > 0 else 1.0
        if change == 0 or (ratio < 1 and change * ratio / (1 - ratio) <= _SETTLED * now):
            return means, True
    return means, False
