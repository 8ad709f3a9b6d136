"""Original counts and their model, estimated from released counts alone (EM)."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskmeter.errors import ConvergenceWarning
from maskmeter.loglinear.fit import fit_means
from maskmeter.loglinear.observed import Observed
from maskmeter.loglinear.poisson import expected_inverse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskmeter.loglinear import LogLinear
    from maskmeter.misclassification import Grid

    Array = NDArray[np.float64]

_TOLERANCE = 1e-5
_SETTLED = 1e-4  # relative change of the estimated risk
_MOST_ROUNDS = 200


def traced_back(grid: Grid, model: LogLinear) -> LogLinear:
    """Return the model of the true cells behind a released table.

    The grid's targets are the cells of that table, which `model` was fitted to. E-step: the units
    of released cell j come from k in proportion to `M_jk m_k`. M-step: the terms of the model are
    fitted to the sums `n_k`. Until the estimated risk of the sample uniques settles.
    """
    released, codes = model.observed, grid.codes()
    seen = grid.fill(released.codes, released.counts)
    last = np.inf
    for _ in range(_MOST_ROUNDS):
        units = shared_out(grid, seen, grid.table(model.means.at(codes))).ravel()
        some = units > 0
        table = Observed(released.space, codes[some], units[some], released.records, released.place)
        means = fit_means(table, model.means.generators, start=model.means, tolerance=_TOLERANCE)
        model = replace(model, means=means)
        cells = released.uniques
        lam, pi = model.population_mean(cells), model.data.inclusion(cells)
        risk = float((grid.mechanism.stay(cells) * expected_inverse(lam, pi=pi)).sum())
        if abs(risk - last) <= _SETTLED * risk:
            return model
        last = risk
    message = (
        f"The original counts behind the released ones did not settle in {_MOST_ROUNDS} rounds:"
        " read the risk as approximate, or use method='paper'."
    )
    warnings.warn(message, ConvergenceWarning, stacklevel=5)
    return model


def shared_out(grid: Grid, released: Array, means: Array) -> Array:
    """Return the units of released cells, given to the true cells they may come from.

    `n_k = sum over j of f~_j M_jk m_k / sum over l of M_jl m_l`
    """
    origin = grid.spread(means)
    share = np.divide(released, origin, out=np.zeros_like(origin), where=origin > 0)
    return means * grid.trace_back(share)
