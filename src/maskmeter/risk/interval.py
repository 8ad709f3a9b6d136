"""How sure an estimated number of correct matches is: approximate 95 % intervals.

Three things are uncertain: how many population units share the cell of a sample unique even if the
model were true (v1), the fitted parameters (v2), and the choice of the model, which is seen in how
far apart the estimates of several models lie and in the criterion they were chosen by (vB).
"""

from __future__ import annotations

from functools import partial
from math import factorial, sqrt

import numpy as np

from maskmeter.data.microdata import Microdata
from maskmeter.errors import without_warnings
from maskmeter.loglinear import LogLinear, LogLinearSearch, search_loglinear
from maskmeter.loglinear.averaging import Method
from maskmeter.loglinear.fit import restricted
from maskmeter.loglinear.poisson import error_coefficients, expected_inverse
from maskmeter.loglinear.terms import Term
from maskmeter.streams import generator
from maskmeter.types import Array

Z = 1.96
_SMALL = 50.0  # nu up to which 1/F^2 is summed as a series
_MOST_SWEEPS, _SETTLED = 50, 1e-4


def standard_error(model: LogLinear) -> float:
    """Return the standard error of tau2 under a model, `sqrt(v1 + v2 + vB/4)`."""
    return sqrt(chance_variance(model) + fit_variance(model) + model.goodness.b2_variance / 4)


def chance_variance(model: LogLinear) -> float:
    """Return v1, the variance of the sum of 1/F over the sample uniques when the means are known."""
    lam, pi = model.at(model.observed.uniques)
    square = expected_inverse_square((1 - pi) * lam)
    return float((square - expected_inverse(lam, pi=pi) ** 2).sum())


def expected_inverse_square(nu: Array) -> Array:
    """Return E(1/F^2 given f = 1) = e^(-nu)/nu (Ei(nu) - gamma - log nu).

    As the sum over k of the Poisson probability of k over (k + 1)^2; asymptotic for large nu.

    >>> expected_inverse_square(np.array([0.0])).tolist()
    [1.0]
    """
    small = np.minimum(nu, _SMALL)
    term, total = np.exp(-small), np.zeros_like(nu)
    for k in range(160):
        total += term / (k + 1) ** 2
        term *= small / (k + 1)
    large = np.maximum(nu, _SMALL)
    series = sum(factorial(k) / large**k for k in range(25))
    tail = series / large**2 - (np.euler_gamma + np.log(large)) * np.exp(-large) / large
    return np.where(nu <= _SMALL, total, tail)


def fit_variance(model: LogLinear) -> float:
    """Return v2, the variance of tau2 that the fitted parameters bring (delta method).

    The squared length, with weights mu, of the projection of `e^(-mu) h2' lam` on the model: over
    the components less over the separators, for conditional expectations given these commute.
    """
    cells = model.all_cells()
    mu = cells.pi * cells.lam
    slope = error_coefficients(cells.lam, pi=cells.pi)[1][0]
    tree, means = model.means.tree, model.means
    total = 0.0
    for sign, parts in ((1, tree.components), (-1, tree.separators[1:])):
        for keys in parts:
            sums, weight = cells.margin(keys, mu * slope), cells.margin(keys, mu)
            terms = restricted(means.generators, keys) if sign > 0 else (keys,)
            total += sign * _projected(sums, weight, keys, terms)
    return max(total, 0.0)


def _projected(sums: Array, mu: Array, keys: Term, terms: tuple[Term, ...]) -> float:
    """Return the squared length of sums/mu after projection on functions of some terms."""
    mean = np.divide(sums, mu, out=np.zeros_like(mu), where=mu > 0)
    whole = float((mu * mean**2).sum())
    if keys in terms:
        return whole
    at = np.nonzero(mu)
    rest, weight = mean[at], mu[at]
    margins = []
    for term in terms:
        columns = [at[keys.index(key)] for key in term]
        sizes = [mu.shape[keys.index(key)] for key in term]
        place = np.ravel_multi_index(columns, sizes)
        margins.append((place, np.bincount(place, weights=weight)))
    left = whole
    for _ in range(_MOST_SWEEPS):  # backfitting
        for place, held in margins:
            sum_of_rest = np.bincount(place, weights=weight * rest)
            rest -= np.divide(sum_of_rest, held, out=np.zeros_like(held), where=held > 0)[place]
        before, left = left, float((weight * rest**2).sum())
        if before - left <= _SETTLED * whole:
            break
    return whole - left


def bootstrap_errors(search: LogLinearSearch, *, replications: int, seed: int) -> Array:
    """Return the errors of the whole estimate, search included, on samples from the nearest model.

    Each replication draws the records of a sample from the model, searches anew, and compares the
    estimate of tau2 with the sum of 1/F over that sample's uniques, whose unsampled units are
    Poisson.
    """
    method: Method = "forward" if search.method == "forward" else "score"
    again = partial(
        search_loglinear, method=method, enough=search.enough, most_terms=search.most_terms
    )
    errors = np.empty(replications)
    for run in range(replications):
        rng = generator(seed, f"bootstrap {run}")
        drawn = _drawn_sample(search.nearest, rng)
        with without_warnings():  # they would be about a sample that nobody has
            found = again(drawn)
        cells = found.nearest.observed.uniques
        lam, pi = search.nearest.at(cells)
        unseen = rng.poisson((1 - pi) * lam)
        errors[run] = found.tau2 - float((1 / (1 + unseen)).sum())
    return errors


def _drawn_sample(model: LogLinear, rng: np.random.Generator) -> Microdata:
    """Return a sample that the model might have given, of one record at least.

    A fitted table of weights stands for the population: units drawn from it are kept in proportion
    to their inclusion probabilities.
    """
    data, total = model.data, model.observed.total
    largest = float(data.inclusion(model.observed.codes).max()) if data.weights is not None else 1.0
    number = max(int(rng.poisson(total * largest)), 1)
    codes = model.means.draw(number, seed=int(rng.integers(2**63)))
    if data.weights is not None:
        kept = rng.random(number) * largest < data.inclusion(codes)
        codes = codes[kept] if kept.any() else codes[:1]
    fraction = data.fraction if data.fraction is not None else float(data.inclusion(codes)[0])
    return Microdata(data.space, codes, fraction=fraction)
