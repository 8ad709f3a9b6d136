"""A Poisson population seen through a sample: expected 1/F and what the goodness of fit needs.

`lam` is the population mean of a cell, `pi` its inclusion probability; F given one sampled unit is
1 + Poisson(nu), nu = (1 - pi) lam, and mu = pi lam is the sample mean.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from maskmeter.types import Array

# Bounds of nu between which a power series of so many terms leaves less than the last digit.
_SERIES = ((0.0, 0.01, 8), (0.01, 1.0, 20))


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


def error_coefficients(lam: Array, *, pi: Array) -> tuple[tuple[Array, Array], ...]:
    """Return a and b mu, for h1 and for h2: a = -lam e^(-mu) h', b = lam e^(-mu) h'' / (2 pi).

    `a1 = nu e^(-lam)`, `b1 mu = nu^2 e^(-lam) / 2`, `a2 = e^(-mu) (h2 - e^(-nu))`,
    `b2 mu = e^(-mu) (h2 - e^(-nu) (1 + nu/2))`
    """
    nu = (1 - pi) * lam
    kept, unique = np.exp(-pi * lam), np.exp(-nu)
    first, second = _gaps(nu, unique)
    a1 = nu * kept * unique
    return (a1, nu * a1 / 2), (kept * first, kept * second)


def _gaps(nu: Array, unique: Array) -> tuple[Array, Array]:
    """Return h2 - e^(-nu) and h2 - e^(-nu) (1 + nu/2), where `unique` is e^(-nu).

    Their terms nearly cancel while nu is small: then they are power series,
    `sum of (-1)^(j+1) j / (j+1)! nu^j` and `sum of (-1)^(j+1) j (1-j) / (2 (j+1)!) nu^j`.
    """
    first = (1 - unique) / np.maximum(nu, _SERIES[0][1]) - unique
    second = first - unique * nu / 2
    for low, high, terms in _SERIES:
        at = np.flatnonzero((nu >= low) & (nu < high))
        x = nu[at]
        one, two = np.zeros(len(at)), np.zeros(len(at))
        for j in range(terms, 0, -1):  # Horner's scheme
            coefficient = (-1) ** (j + 1) * j / factorial(j + 1)
            one += coefficient
            one *= x
            two += coefficient * (1 - j) / 2
            two *= x
        first[at], second[at] = one, two
    return first, second
