"""How sure an estimated number of correct matches is: approximate 95 % intervals.

Three things are uncertain: how many population units share the cell of a sample unique even if the
model were true (v1), the fitted parameters (v2), and the choice of the model, which is seen in how
far apart the estimates of several models lie and in the criterion they were chosen by (vB).
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.loglinear import CellModel, FileModel, LogLinear, ShrunkLogLinear
from maskmeter.loglinear.expectations import (
    chance_of_uniqueness,
    error_coefficients,
    expected_inverse,
    expected_inverse_square,
)
from maskmeter.loglinear.fit import restricted
from maskmeter.loglinear.observed import margin_of
from maskmeter.loglinear.scaling import margin_places
from maskmeter.loglinear.search import search_models
from maskmeter.loglinear.terms import Term
from maskmeter.streams import generator
from maskmeter.types import Array

ModelT = TypeVar("ModelT", bound=CellModel)

Z = 1.96
_MOST_SWEEPS, _SETTLED = 50, 1e-4
_ALWAYS = 0.015  # of tau2: an error that no variance shows
_TRUSTED = 0.04  # of tau2: the standard error of B2 at which half of it counts
_UNHELD = 0.1  # of tau2, for the records that were moved: error of a truth that is estimated
_MISPLACED = (
    0.2  # of tau2, for the records that were moved: too much risk where the truth is not held
)
_WEIGHTED = 0.06  # of tau2: error of a model of weights, the more these differ
_TINY = 1e-12


def standard_error(model: LogLinear) -> float:
    """Return the standard error of tau2 under a searched model, `sqrt(v1 + v2 + vB/4)`."""
    return sqrt(_known_variance(model, _variance_of_a_search) + model.goodness.b2_variance / 4)


def _variance_of_a_search(model: LogLinear) -> float:
    return chance_variance(model) + _design_effect(model) * fit_variance(model)


# Candidates of one file share its model. A model is not kept alive by what is known of it.
_VARIANCES: WeakKeyDictionary[CellModel, float] = WeakKeyDictionary()


def _known_variance(model: ModelT, measure: Callable[[ModelT], float]) -> float:
    """Return v1 + v2 of a model, worked out once."""
    if model not in _VARIANCES:
        _VARIANCES[model] = measure(model)
    return _VARIANCES[model]


def shrunk_margins(
    model: ShrunkLogLinear, *, moved: float = 0.0, truth_held: bool = True
) -> tuple[float, float]:
    """Return how far an approximate 95 % interval for tau2 goes down and up from the estimate.

    `S = 1.96 sqrt(v1 + v2 + vB/16 + (0.015 tau2)^2)` on both sides. Where B2 is positive it often
    exaggerates: the lower end falls by `w B2`, `w = 1/(1 + vB/(0.04 tau2)^2)`. Where it is negative
    the model spreads people too thinly over cells in which there are none. Their own risk is then
    understated, by about as much as B2 says if it is more than noise: the upper end rises by
    `u B2`, `u = z2^4/(1 + z2^4)`. Records that were moved into such cells count for too much: the
    lower end falls by the share `moved` of that. Where the truth is not held, what was moved is
    itself estimated: the lower end falls by B2 and by `0.2 moved tau2`, for the model puts people
    into cells that the errors alone fill, and `(0.1 moved tau2)^2` is added in S; where weights differ, `(0.06 tau2)^2 (1 - 1/d)`, with d their design effect.
    """
    tau2, good = model.tau2, model.goodness
    if not good.b2_variance and (truth_held or not moved):  # everybody is in the file
        return 0.0, 0.0
    always = _ALWAYS**2 + (0.0 if truth_held else (_UNHELD * moved) ** 2)
    always += _WEIGHTED**2 * (1 - 1 / _design_effect(model))
    variance = _known_variance(model, _variance_of_shrunk)
    half = Z * sqrt(variance + good.b2_variance / 16 + always * tau2**2)
    trust = (_TRUSTED * tau2) ** 2
    over, under, told = max(good.b2, 0.0), max(-good.b2, 0.0), 0.0
    if good.b2_variance:
        over *= trust / (trust + good.b2_variance)
        told = under * good.z2**4 / (1 + good.z2**4)
    down = over + (moved * told if truth_held else under + _MISPLACED * moved * tau2)
    return down + half, told + half


def _variance_of_shrunk(model: ShrunkLogLinear) -> float:
    return chance_variance(model) + shrunk_variance(model)


def shrunk_variance(model: ShrunkLogLinear) -> float:
    """Return v2, the variance of tau2 that the posterior of the terms brings.

    `sum over terms and their cells of v (sum over the uniques in the cell of h2 - e^(-nu))^2`
    """
    codes, space = model.observed.uniques, model.data.space
    lam, pi = model.at(codes)
    slope = expected_inverse(lam, pi=pi) - chance_of_uniqueness(lam, pi=pi)
    terms = model.shrunk if model.unsampled_shrunk is None else model.unsampled_shrunk
    return sum(
        float((term.variance * margin_of(slope, codes, term.keys, space=space) ** 2).sum())
        for term in terms
    )


def _design_effect(model: CellModel) -> float:
    """Return by how much unequal weights raise the variance of a fit to the units they stand for.

    `n sum of (w - 1)^2 / (sum of (w - 1))^2`; 1 without such units.
    """
    rest = model.observed.unsampled
    if rest is None or not rest.total:
        return 1.0
    return max(model.observed.size * rest.scale / rest.total, 1.0)


def chance_variance(model: CellModel) -> float:
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
    places = [margin_places(tuple(map(keys.index, term)), at, mu.shape) for term in terms]
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


def bootstrap_errors(model: FileModel, *, replications: int, seed: int) -> Array:
    """Return the errors of the whole estimate, a search included, on samples from the nearest model.

    Each replication draws the records of a sample from the model, fits or searches anew, and
    compares the estimate of tau2 with the sum of 1/F over that sample's uniques, whose unsampled
    units are Poisson.
    """
    errors = np.empty(replications)
    for run in range(replications):
        rng = generator(seed, f"bootstrap {run}")
        # Weights have a stream of their own: equal ones draw what a fraction draws.
        weights = generator(seed, f"bootstrap weights {run}")
        found = _estimated_anew(model, drawn_sample(model.nearest, rng, weights=weights))
        lam, pi = model.nearest.at(found.nearest.observed.uniques)
        unseen = rng.poisson((1 - pi) * lam)
        errors[run] = found.tau2 - float((1 / (1 + unseen)).sum())
    return errors


def _estimated_anew(model: FileModel, sample: Microdata) -> FileModel:
    """Return the model of another sample, found in the same way."""
    if isinstance(model, ShrunkLogLinear):
        return ShrunkLogLinear.of(sample)
    return search_models(
        sample,
        method="forward" if model.method == "forward" else "score-path",
        enough=model.enough,
        most_terms=model.most_terms,
    )


def drawn_sample(
    model: CellModel, rng: np.random.Generator, *, weights: np.random.Generator | None = None
) -> Microdata:
    """Return a sample that the model might have given, of one record at least.

    With weights a record gets what its cell's unsampled units come to for each record, times what
    a record of the file has of that. A fitted table of weights stands for the population: units
    drawn from it are kept in proportion to their inclusion probabilities.
    """
    data, means, space = model.data, model.means, model.data.space
    largest = 1.0
    if model.observed.pseudo:
        largest = float(data.inclusion(model.observed.codes).max())
    number = max(int(rng.poisson(means.total * largest)), 1)
    codes = means.draw(number, seed=int(rng.integers(2**63)))
    if model.observed.pseudo:
        kept = rng.random(number) * largest < data.inclusion(codes)
        codes = codes[kept] if kept.any() else codes[:1]
    if model.unsampled is None:
        fraction = data.fraction if data.fraction is not None else float(data.inclusion(codes)[0])
        return Microdata(space, codes, fraction=fraction)
    own = (np.asarray(data.weights) - 1).clip(0) / _unsampled_each(model, data.codes)
    shares = None if data.times is None else data.times / len(data)
    rest = _unsampled_each(model, codes) * (weights or rng).choice(own, len(codes), p=shares)
    return Microdata(space, codes, weights=1 + rest)


def _unsampled_each(model: CellModel, codes: Codes) -> Array:
    """Return how many unsampled units there are for a record of each cell; never 0."""
    _, pi = model.at(codes)
    return np.maximum((1 - pi) / np.maximum(pi, _TINY), _TINY)
