"""Minimum-error statistics, which say whether a model will do to estimate risk.

Skinner and Shlomo (2008). B estimates by how much the estimated risk is off because of the model;
z is B over its standard deviation, about N(0, 1) when the model holds and has few parameters. Large
and positive: the model misses structure and overstates the risk. Clearly negative: it follows the
sample too closely and understates it. B is a test, never a correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray

from maskmeter.loglinear.cell_sums import AllCells
from maskmeter.loglinear.expectations import error_coefficients
from maskmeter.types import Array

_AT_ONCE = 1 << 15  # a quarter of a megabyte for each array: they stay in the processor's cache


@dataclass(frozen=True)
class Goodness:
    """B1 and B2 (for tau1 and tau2) with z statistics, by the model's variance and a robust one.

    `b2_variance` is the model's variance of B2. `overdispersion` is phi, the squared coefficient of
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
    b2_variance: float
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
    sums = _sums_of_empty(cells)
    seen, mistaken = _sums_of_seen(counts, lam, pi), _sums_of_seen(0 * counts, lam, pi)
    total, squares, spread = sums[:, :3].T + (seen - mistaken).T
    variance, curvature = sums[:, 3], float(sums[1, 2])
    robust = size / max(size - 1, 1) * (squares - total**2 / size)
    z1, z2 = (_ratio(t, v) for t, v in zip(total, variance, strict=True))
    z1_robust, z2_robust = (_ratio(t, v) for t, v in zip(total, robust, strict=True))
    return Goodness(
        b1=float(total[0]),
        b2=float(total[1]),
        z1=z1,
        z2=z2,
        z1_robust=z1_robust,
        z2_robust=z2_robust,
        b2_variance=float(variance[1]),
        overdispersion=max(float(spread[1]) / curvature, 0.0) if curvature > 0 else 0.0,
        draws=cells.draws,
        error=_error_of_ratio(float(total[1]), sums[1], cells.draws) if cells.draws else 0.0,
    )


def _error_of_ratio(total: float, sums: Array, draws: int) -> float:
    """Return the standard error of z = B / sqrt(v) when both are sums over draws (delta method)."""
    b, v = sums[0], sums[3]
    if v <= 0:
        return nan
    of_b, of_v = sums[4] - b**2 / draws, sums[5] - v**2 / draws
    together = sums[6] - b * v / draws
    noise = of_b / v - total / v**2 * together + total**2 / (4 * v**3) * of_v
    return sqrt(max(float(noise), 0.0))


def _sums_of_empty(cells: AllCells) -> Array:
    """Return sums over all cells, for h1 and h2, as if all were empty.

    Of t, of t squared, of b mu^2 and of the variance v; then, for the error that draws leave, of
    (weight t) squared, (weight v) squared and their product.
    """
    sums = np.zeros((2, 7))
    for start in range(0, len(cells.lam), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        lam = cells.lam[block]
        pi, weight = (a[block] if a.ndim else np.full(1, a) for a in (cells.pi, cells.weight))
        mu, weight = pi * lam, np.broadcast_to(weight, lam.shape)
        for order, (a, b_mu) in enumerate(error_coefficients(lam, pi=pi)):
            t = mu * (b_mu - a)
            heavy, varied = t * weight, (a * a * mu + 2 * b_mu * b_mu) * weight
            sums[order, :4] += heavy.sum(), _dot(heavy, t), _dot(b_mu * mu, weight), varied.sum()
            if cells.draws:  # all cells leave no error, and a search has no time for it
                sums[order, 4:] += _dot(heavy, heavy), _dot(varied, varied), _dot(heavy, varied)
    return sums


def _sums_of_seen(f: NDArray[np.int64], lam: Array, pi: Array) -> Array:
    """Return the sums over occupied cells of t, of t squared and of b [(f - mu)^2 - f]."""
    mu = pi * lam
    rows = []
    for a, b_mu in error_coefficients(lam, pi=pi):
        curved = b_mu / mu * ((f - mu) ** 2 - f)
        t = a * (f - mu) + curved
        rows.append([t.sum(), _dot(t, t), curved.sum()])
    return np.array(rows)


def _dot(one: Array, other: Array) -> float:
    """Return the sum of products, in this thread: threads for so little work wait for each other."""
    return float(np.einsum("i,i->", one, other))


def _ratio(total: float, variance: float) -> float:
    return float(total / sqrt(variance)) if variance > 0 else nan
