"""What a sample tells of population counts: expectations of 1/F, and what the goodness of fit needs.

`lam` is the population mean of a cell and `pi` its inclusion probability, so that mu = pi lam is
the sample mean. F is the population count and f the sample count. The units not in the sample are
Poisson with mean nu = (1 - pi) lam. Where true means vary around the fitted ones (Poisson-gamma),
`phi` is their squared coefficient of variation: given f, the units not in the sample are then
Poisson with a gamma mean of shape 1/phi + f.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial

import numpy as np
from numpy.polynomial.polynomial import polyval

from maskmeter.types import Array

_AT_ONCE = 1 << 14  # cells, with 64 nodes each
_LARGEST_GAP = np.nextafter(1.0, 0.0)  # u > 0, for its logarithm
_INVERSE_FACTORIALS = np.array([1 / factorial(k + 3) for k in range(16)])  # 1e-17 of them is left


def chance_of_uniqueness(lam: Array, *, pi: Array, phi: float = 0.0) -> Array:
    """Return h1 = Pr(F = 1 given f = 1): `exp(-nu)`, or `(1 + q)^-(1/phi + 1)` with phi.

    >>> chance_of_uniqueness(np.array([0.0]), pi=np.array([0.1])).tolist()
    [1.0]
    """
    return np.exp(log_generating(1.0, lam=lam, pi=pi, phi=phi, count=1.0))


def expected_inverse(lam: Array, *, pi: Array, phi: float = 0.0) -> Array:
    """Return h2 = E(1/F given f = 1): `(1 - exp(-nu))/nu`, or `phi/q (1 - (1 + q)^(-1/phi))`.

    >>> expected_inverse(np.array([0.0, 2.0]), pi=np.array([0.5, 0.5])).round(4).tolist()
    [1.0, 0.6321]
    """
    # expm1 keeps 15 digits where 1 - exp(-nu) would keep none: nu is tiny in rare cells.
    if phi == 0:
        q = (1 - pi) * lam
        whole = -np.expm1(-q)
    else:
        q = _odds(lam, pi, phi)
        whole = -np.expm1(-np.log1p(q) / phi) * phi
    return np.divide(whole, q, out=np.ones_like(q), where=q > 0)


def expected_inverse_of(count: Array, lam: Array, *, pi: Array, phi: float = 0.0) -> Array:
    """Return E(1/F given f = count), the risk of a record that shares its cell with others.

    `integral over u in [0, 1] of u^(count - 1) E(u^(F - f))`; for Poisson cells it is
    `1F1(1; count + 1; -nu) / count`.

    >>> expected_inverse_of(np.array([3.0]), np.array([0.0]), pi=np.array([0.1])).round(4).tolist()
    [0.3333]
    """
    found = expected_inverse(lam, pi=pi, phi=phi)
    several = np.flatnonzero(count != 1)
    for block in _blocks(len(several)):
        at = several[block]
        m, mean, share = count[at, None], lam[at, None], pi[at, None]
        gap, weight = nodes((m + (1 - share) * mean)[:, 0])
        logs = (m - 1) * np.log1p(-gap)
        logs += log_generating(gap, lam=mean, pi=share, phi=phi, count=m)
        found[at] = (np.exp(logs) * weight).sum(axis=1)
    return found


def expected_inverse_square(lam: Array, *, pi: Array) -> Array:
    """Return E(1/F^2 given f = 1) in a Poisson cell, `e^(-nu)/nu (Ei(nu) - gamma - log nu)`.

    As `integral over u in [0, 1] of e^(-nu (1 - u)) h2(nu u)`, which is smooth for every nu.

    >>> expected_inverse_square(np.array([0.0]), pi=np.array([0.1])).round(9).tolist()
    [1.0]
    """
    nu = (1 - pi) * lam
    found = np.empty(len(nu))
    for at in _blocks(len(nu)):
        gap, weight = nodes(nu[at])
        mean = nu[at, None]
        inverse = expected_inverse(mean * (1 - gap), pi=np.zeros(1))
        found[at] = (np.exp(-mean * gap) * inverse * weight).sum(axis=1)
    return found


def error_coefficients(lam: Array, *, pi: Array) -> tuple[tuple[Array, Array], ...]:
    """Return a and b mu, for h1 and for h2: a = -lam e^(-mu) h', b = lam e^(-mu) h'' / (2 pi).

    `a1 = nu e^(-lam)`, `b1 mu = nu^2 e^(-lam) / 2`, `a2 = e^(-mu) Pr(N > 1)/nu` and
    `b2 mu = e^(-mu) Pr(N > 2)/nu`, where N is Poisson with mean nu.
    """
    nu = (1 - pi) * lam
    kept, none = np.exp(-pi * lam), np.exp(-nu)
    # Pr(N > 2)/nu = e^(-nu) nu^2 (1/3! + nu/4! + ...): 1 - Pr(N <= 2) would cancel for small nu.
    series = none * nu**2 * polyval(np.minimum(nu, 1.0), _INVERSE_FACTORIALS)
    direct = (1 - none) / np.maximum(nu, 1.0) - none * (1 + nu / 2)
    above_two = np.where(nu < 1, series, direct)
    above_one = above_two + none * nu / 2
    a1 = nu * kept * none
    return (a1, nu * a1 / 2), (kept * above_one, kept * above_two)


def log_generating(
    gap: Array | float, *, lam: Array, pi: Array, phi: float, count: Array | float
) -> Array:
    """Return log E(u^(F - f) given f = count) at u = 1 - gap, for the units not in the sample.

    `-nu gap`, or with phi `-(1/phi + count) log(1 + q gap)`
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
    """Return q = phi nu / (1 + phi mu)."""
    return phi * (1 - pi) * lam / (1 + phi * pi * lam)


def _blocks(cells: int) -> Iterator[slice]:
    """Yield the cells that are worked on at once, part after part."""
    return (slice(start, start + _AT_ONCE) for start in range(0, cells, _AT_ONCE))
