"""Minimum-error statistics, which say whether a model will do to estimate risk.

Skinner and Shlomo (2008). B estimates by how much the estimated risk is off because of the model;
z is B over its standard deviation, about N(0, 1) when the model holds and has few parameters. Large
and positive: the model misses structure and overstates the risk. Clearly negative: it follows the
sample too closely and understates it. B is a test, never a correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from maskmeter.loglinear.poisson import first_order, second_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskmeter.loglinear.cells import AllCells

    Array = NDArray[np.float64]

_AT_ONCE = 1 << 15  # a quarter of a megabyte for each array: they stay in the processor's cache


@dataclass(frozen=True)
class Goodness:
    """B1 and B2 (for tau1 and tau2) with z statistics, by the model's variance and a robust one.

    `v2` is the model's variance of B2. `overdispersion` is phi, the squared coefficient of
    variation of the true means around the fitted ones (0 when there is none to be seen). Beyond
    ten million cells the sums are estimated by `draws` from the model; `error` is the standard
    error of z2 that this leaves.
    """

    b1: float
    b2: float
    z1: float
    z2: float
    z1_robust: float
    z2_robust: float
    v2: float
    overdispersion: float
    draws: int = 0
    error: float = 0.0


def goodness_of_fit(
    cells: AllCells, counts: NDArray[np.int64], lam: Array, pi: Array, *, size: int
) -> Goodness:
    """Return the statistics, summed over all `size` cells, empty ones included.

    `t = a (f - mu) + b [(f - mu)^2 - f]`, `B = sum t`, `v = sum a^2 mu + 2 b^2 mu^2`. `counts`,
    `lam` and `pi` are those of the occupied cells, which `cells` holds as if they were empty.
    """
    sums, squares = np.zeros((2, 4)), np.zeros(2)
    for start in range(0, len(cells.lam), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        weight = cells.weight[block] if cells.weight.ndim else cells.weight
        at = cells.pi[block] if cells.pi.ndim else cells.pi
        terms = _terms(None, cells.lam[block], at)
        sums += (terms * weight).sum(axis=2)
        squares += ((terms[:, 0] * weight) ** 2).sum(axis=1)
    seen = _terms(counts.astype(np.float64), lam, pi).sum(axis=2)
    empty = _terms(None, lam, pi).sum(axis=2)
    total, square = sums[:, 0] + seen[:, 0] - empty[:, 0], sums[:, 1] + seen[:, 1] - empty[:, 1]
    variance, curvature = sums[:, 2], sums[1, 3]
    robust = size / max(size - 1, 1) * (square - total**2 / size)
    spread = curvature + seen[1, 3] - empty[1, 3]
    draws = max(cells.draws, 1)
    error = squares[1] - sums[1, 0] ** 2 / draws if cells.draws else 0.0
    return Goodness(
        float(total[0]),
        float(total[1]),
        *(_ratio(t, v) for t, v in zip(total, variance, strict=True)),
        *(_ratio(t, v) for t, v in zip(total, robust, strict=True)),
        v2=float(variance[1]),
        overdispersion=max(float(spread / curvature), 0.0) if curvature > 0 else 0.0,
        draws=cells.draws,
        error=_ratio(sqrt(max(error, 0.0)), float(variance[1])) if cells.draws else 0.0,
    )


def _terms(f: Array | None, lam: Array, pi: Array) -> Array:
    """Return t, t squared, the variance and b [(f - mu)^2 - f] of each cell, for h1 and h2."""
    mu = pi * lam
    found = np.empty((2, 4, len(lam)))
    for row, a, b in zip(found, first_order(lam, pi=pi), second_order(lam, pi=pi), strict=True):
        row[3] = b * mu**2 if f is None else b * ((f - mu) ** 2 - f)
        row[0] = row[3] + (-a * mu if f is None else a * (f - mu))
        row[1] = row[0] ** 2
        row[2] = mu * a**2 + 2 * (b * mu) ** 2
    return found


def _ratio(total: float, variance: float) -> float:
    return float(total / sqrt(variance)) if variance > 0 else nan
