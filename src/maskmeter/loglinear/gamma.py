"""Cells whose means vary around the fitted ones: a Poisson-gamma population seen through a sample.

`phi` is the squared coefficient of variation of the true means; 0 gives the Poisson population.
Given f sampled units of a cell, the others are Poisson with a gamma mean of shape 1/phi + f.
"""

from __future__ import annotations

import numpy as np

from maskmeter.loglinear import poisson
from maskmeter.types import Array

_AT_ONCE = 1 << 14  # cells, with 64 nodes each
_LARGEST_GAP = np.nextafter(1.0, 0.0)  # u > 0, for its logarithm


def chance_of_uniqueness(lam: Array, *, pi: Array, phi: float) -> Array:
    """Return h1 = Pr(F = 1 given f = 1) = (1 + q)^-(1/phi + 1).

    >>> chance_of_uniqueness(np.array([0.0]), pi=np.array([0.1]), phi=0.5).tolist()
    [1.0]
    """
    if phi == 0:
        return poisson.chance_of_uniqueness(lam, pi=pi)
    return np.exp(log_generating(1.0, lam=lam, pi=pi, phi=phi, count=1.0))


def expected_inverse(lam: Array, *, pi: Array, phi: float) -> Array:
    """Return h2 = E(1/F given f = 1) = phi/q (1 - (1 + q)^(-1/phi)).

    >>> expected_inverse(np.array([2.0]), pi=np.array([0.5]), phi=0.0).round(4).tolist()
    [0.6321]
    """
    if phi == 0:
        return poisson.expected_inverse(lam, pi=pi)
    q = _odds(lam, pi, phi)
    whole = -np.expm1(-np.log1p(q) / phi) * phi
    return np.divide(whole, q, out=np.ones_like(q), where=q > 0)


def expected_inverse_of(count: Array, lam: Array, *, pi: Array, phi: float = 0.0) -> Array:
    """Return E(1/F given f = count), the risk of a record that shares its cell with others.

    `integral over t in [0, 1] of t^(count - 1) E(t^(F - f))`; for Poisson cells it is
    `1F1(1; count + 1; -nu) / count`.

    >>> expected_inverse_of(np.array([3.0]), np.array([0.0]), pi=np.array([0.1])).round(4).tolist()
    [0.3333]
    """
    found = np.empty(len(count))
    for start in range(0, len(count), _AT_ONCE):
        at = slice(start, start + _AT_ONCE)
        m, mean, share = count[at, None], lam[at, None], pi[at, None]
        gap, weight = nodes((m + (1 - share) * mean)[:, 0])
        logs = (m - 1) * np.log1p(-gap)
        logs += log_generating(gap, lam=mean, pi=share, phi=phi, count=m)
        found[at] = (np.exp(logs) * weight).sum(axis=1)
    return found


def log_generating(
    gap: Array | float, *, lam: Array, pi: Array, phi: float, count: Array | float
) -> Array:
    """Return log E(u^(F - f) given f = count) at u = 1 - gap, for the units not in the sample.

    `-(1 - pi) lam gap`, or with phi `-(1/phi + count) log(1 + q gap)`
    """
    if phi == 0:
        return -(1 - pi) * lam * gap
    return -(1 / phi + count) * np.log1p(_odds(lam, pi, phi) * gap)


def nodes(steepness: Array, number: int = 64) -> tuple[Array, Array]:
    """Return 1 - u at nodes u of [0, 1], and weights, for functions that fall off like u^steepness.

    Gauss-Legendre in `log(1 + steepness (1 - u))`, which suits a steep fall and also the long tail
    of gamma cells; 64 nodes give 1e-12, 32 give 1e-8.
    """
    node, weight = np.polynomial.legendre.leggauss(number)
    steep = np.maximum(steepness, 1.0)[:, None]
    span = np.log1p(steep)
    stretched = span * (1 - node) / 2
    gap = np.minimum(np.expm1(stretched) / steep, _LARGEST_GAP)
    return gap, weight / 2 * span * np.exp(stretched) / steep


def _odds(lam: Array, pi: Array, phi: float) -> Array:
    return phi * (1 - pi) * lam / (1 + phi * pi * lam)
