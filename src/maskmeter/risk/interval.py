"""How sure an estimated number of correct matches is: approximate 95 % intervals.

Three things are uncertain: how many population units share the cell of a sample unique even if the
model were true (v1), the fitted parameters (v2), and the choice of the model, which is seen in how
far apart the estimates of several models lie and in the criterion they were chosen by (vB).
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np

from maskmeter.data.microdata import Microdata
from maskmeter.loglinear import LogLinear, LogLinearSearch
from maskmeter.loglinear.expectations import (
    error_coefficients,
    expected_inverse,
    expected_inverse_square,
)
from maskmeter.loglinear.fit import places_in, restricted
from maskmeter.loglinear.search import search_models
from maskmeter.loglinear.terms import Term
from maskmeter.streams import generator
from maskmeter.types import Array

Z = 1.96
_MOST_SWEEPS, _SETTLED = 50, 1e-4


@lru_cache(maxsize=8)  # candidates of one file share its model
def standard_error(model: LogLinear) -> float:
    """Return the standard error of tau2 under a model, `sqrt(v1 + v2 + vB/4)`."""
    return sqrt(chance_variance(model) + fit_variance(model) + model.goodness.b2_variance / 4)


def chance_variance(model: LogLinear) -> float:
    """Return v1, the variance of the sum of 1/F over the sample uniques when the means are known."""
    lam, pi = model.at(model.observed.uniques)
    by_cell = expected_inverse_square(lam, pi=pi) - expected_inverse(lam, pi=pi) ** 2
    return max(float(by_cell.sum()), 0.0)  # when everybody is sampled, rounding may go below 0


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
    places = [places_in(term, keys, at, mu.shape) for term in terms]
    margins = [(place, np.bincount(place, weights=weight)) for place in places]
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
    errors = np.empty(replications)
    for run in range(replications):
        rng = generator(seed, f"bootstrap {run}")
        found = search_models(
            _drawn_sample(search.nearest, rng),
            method="forward" if search.method == "forward" else "score",
            enough=search.enough,
            most_terms=search.most_terms,
        )
        lam, pi = search.nearest.at(found.nearest.observed.uniques)
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
