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
    from collections.abc import Callable

    from numpy.typing import NDArray

    from maskmeter.keys import Codes, KeySpace

    Array = NDArray[np.float64]
    Means = Callable[[Codes], tuple[Array, Array]]  # population mean and inclusion of cells

MOST_CELLS = 10_000_000  # beyond, sums over all cells are not made one by one
_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class Goodness:
    """B1 and B2 (for tau1 and tau2) with z statistics, by the model's variance and a robust one."""

    b1: float
    b2: float
    z1: float
    z2: float
    z1_robust: float
    z2_robust: float


def goodness_of_fit(
    space: KeySpace, occupied: Codes, counts: NDArray[np.int64], means: Means
) -> Goodness:
    """Return the statistics, summed over all cells of the space, empty ones included.

    `t = a (f - mu) + b [(f - mu)^2 - f]`, `B = sum t`, `v = sum a^2 mu + 2 b^2 mu^2`
    """
    sums = np.zeros((2, 3))  # for h1 and h2: sums of t, of t squared and of the variance
    for start in range(0, space.size, _AT_ONCE):
        cells = space.codes(np.arange(start, min(start + _AT_ONCE, space.size)))
        sums += _sums(np.zeros(len(cells)), *means(cells))
    lam, pi = means(occupied)
    # The occupied cells were counted as empty: put that right.
    sums[:, :2] += (_sums(counts.astype(np.float64), lam, pi) - _sums(np.zeros(len(lam)), lam, pi))[
        :, :2
    ]
    total, squares, variance = sums.T
    robust = space.size / (space.size - 1) * (squares - total**2 / space.size)
    z, z_robust = (
        [_ratio(t, v) for t, v in zip(total, by, strict=True)] for by in (variance, robust)
    )
    return Goodness(float(total[0]), float(total[1]), *z, *z_robust)


def _sums(f: Array, lam: Array, pi: Array) -> Array:
    mu = pi * lam
    rows = []
    for a, b in zip(first_order(lam, pi=pi), second_order(lam, pi=pi), strict=True):
        t = a * (f - mu) + b * ((f - mu) ** 2 - f)
        rows.append([t.sum(), (t**2).sum(), (a**2 * mu + 2 * b**2 * mu**2).sum()])
    return np.array(rows)


def _ratio(total: float, variance: float) -> float:
    return float(total / sqrt(variance)) if variance > 0 else nan
