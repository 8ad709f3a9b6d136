"""A Poisson population seen through a sample: expected 1/F and what the goodness of fit needs.

`lam` is the population mean of a cell, `pi` its inclusion probability; F given one sampled unit is
1 + Poisson(nu), nu = (1 - pi) lam, and mu = pi lam is the sample mean.
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Differences of nearly equal terms are summed as power series while nu is small: up to each bound
# that many terms leave less than the last digit.
_SERIES = ((0.01, 7), (1.0, 20))


def chance_of_uniqueness(lam: Array, *, pi: Array) -> Array:
    """Return h1 = Pr(F = 1 given f = 1) = exp(-nu).

    >>> chance_of_uniqueness(np.array([0.0]), pi=np.array([0.1])).tolist()
    [1.0]
    """
    return np.exp(-(1 - pi) * lam)


def expected_inverse(lam: Array, *, pi: Array) -> Array:
    """Return h2 = E(1/F given f = 1) = (1 - exp(-nu)) / nu.

    >>> expected_inverse(np.array([0.0, 2.0]), pi=np.array([0.5, 0.5])).round(4).tolist()
    [1.0, 0.6321]
    """
    nu = (1 - pi) * lam
    # expm1 keeps 15 digits where 1 - exp(-nu) would keep none: nu is tiny in rare cells.
    return np.divide(-np.expm1(-nu), nu, out=np.ones_like(nu), where=nu > 0)


def first_order(lam: Array, *, pi: Array) -> tuple[Array, Array]:
    """Return a1 and a2, -lam e^(-mu) h'(lam) for h1 and h2.

    `a1 = (1 - pi) lam e^(-lam)`, `a2 = e^(-mu) (h2 - e^(-nu))`
    """
    nu, mu = (1 - pi) * lam, pi * lam
    gap = _series_or(nu, lambda j: (-1) ** (j + 1) * j / factorial(j + 1), _first_gap)
    return nu * np.exp(-lam), np.exp(-mu) * gap


def second_order(lam: Array, *, pi: Array) -> tuple[Array, Array]:
    """Return b1 and b2, lam e^(-mu) h''(lam) / (2 pi) for h1 and h2.

    `b1 = (1 - pi)^2 lam e^(-lam) / (2 pi)`, `b2 = e^(-mu) (h2 - e^(-nu) (1 + nu/2)) / mu`
    """
    nu, mu = (1 - pi) * lam, pi * lam
    gap = _series_or(
        nu, lambda j: (-1) ** (j + 1) * j * (1 - j) / (2 * factorial(j + 1)), _second_gap
    )
    b2 = np.divide(np.exp(-mu) * gap, mu, out=np.zeros_like(mu), where=mu > 0)
    return (1 - pi) * nu * np.exp(-lam) / (2 * pi), b2


def _first_gap(nu: Array) -> Array:
    return -np.expm1(-nu) / nu - np.exp(-nu)


def _second_gap(nu: Array) -> Array:
    return -np.expm1(-nu) / nu - np.exp(-nu) * (1 + nu / 2)


def _series_or(
    nu: Array, coefficient: Callable[[int], float], direct: Callable[[Array], Array]
) -> Array:
    """Return a difference of nearly equal terms: a power series of small nu, else as it is written."""
    found = np.empty_like(nu)
    low = -1.0
    for high, terms in _SERIES:
        at = np.flatnonzero((nu > low) & (nu <= high))
        power, total = nu[at], np.zeros(len(at))
        for j in range(terms, 0, -1):  # Horner's scheme
            total += coefficient(j)
            total *= power
        found[at] = total
        low = high
    at = np.flatnonzero(nu > low)
    found[at] = direct(nu[at])
    return found
