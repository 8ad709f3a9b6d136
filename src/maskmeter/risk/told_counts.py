"""Inclusion probabilities given the counts that a matrix tells.

A swap keeps how many records of a stratum have each category, and its matrix is fitted to these
counts, as that of invariant PRAM is. Whoever knows the matrix knows them: of F people with a
category in a stratum n were sampled, so that each of them is in the sample with the chance n / F,
whatever the fraction was to be. With the fraction itself a category that chance put often into the
sample seems to take in more strangers than it does, and in small strata the risk comes out too low.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.data.varying import By
from maskmeter.loglinear.population import Population
from maskmeter.mechanism import Factor, Inclusion, Mechanism
from maskmeter.risk.formulas import ratio
from maskmeter.types import Array, Integers

_LARGEST = 1 << 20  # cells of a fitted margin that is looked at
_MOST, _HALVINGS = 1e6, 60  # of phi, and steps to find it
_SWEEPS = 20  # over several factors: what one is scaled to, the next shifts a little


@dataclass(frozen=True, eq=False)
class ToldCounts:
    """Factors whose counts are told, and by how much their categories were sampled more than meant.

    `scale` has a table for each factor, by its strata and categories.
    """

    factors: tuple[Factor, ...]
    scale: tuple[Array, ...]

    def given(self, codes: Codes, pi: Array) -> Array:
        """Return the inclusion probabilities of cells given the counts, at most 1."""
        for factor, scale in zip(self.factors, self.scale, strict=True):
            pi = pi * scale[factor.stratum(codes), factor.code(codes)]
        return np.minimum(pi, 1.0)


def scale_to_share(sampled: Array, people: Array, pi: Array) -> Array:
    """Return `(n / F) / pi`, 1 where nobody is.

    >>> scale_to_share(np.array([2.0, 0.0, 0.0]), np.array([50.0, 50.0, 0.0]), np.array(0.02)).tolist()
    [2.0, 0.0, 1.0]
    """
    share = np.minimum(ratio(sampled, people), 1.0)
    return np.where(people > 0, share / pi, 1.0)


def dispersion(counts: Array, means: Array) -> float:
    """Return phi, by how much counts differ from fitted means beyond chance: 0 if they do not.

    It solves `sum of (n - mu)^2 / (mu (1 + phi mu)) = df`, rows and columns of the table fitted.

    >>> dispersion(np.array([[9.0, 11.0], [11.0, 9.0]]), np.full((2, 2), 10.0))
    0.0
    >>> round(dispersion(np.array([[40.0, 160.0], [160.0, 40.0]]), np.full((2, 2), 100.0)), 2)
    1.43
    """
    held = means > 0
    mu, squares = means[held], (counts[held] - means[held]) ** 2
    free = int(held.sum() - held.any(axis=1).sum() - held.any(axis=0).sum()) + 1

    def excess(phi: float) -> float:
        return float((squares / (mu * (1 + phi * mu))).sum()) - free

    if free < 1 or excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while excess(high) > 0 and high < _MOST:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def gamma_mean(counts: Array, means: Array, phi: float) -> Array:
    """Return what to expect again of Poisson counts whose means vary by phi around fitted ones.

    >>> gamma_mean(np.array([30.0]), np.array([10.0]), 0.1).tolist()
    [20.0]
    """
    return means * (1 + phi * counts) / (1 + phi * means)


def by_category(factor: Factor, codes: Codes, units: Array | Integers | None = None) -> Array:
    """Return how many units there are by stratum and category of a factor, rows of one if not given."""
    place = factor.stratum(codes) * factor.size + factor.code(codes)
    shape = (len(factor.P), factor.size)
    found = np.bincount(place, units, minlength=prod(shape)).reshape(shape)
    return found.astype(np.float64)


def told_by_population(
    mechanism: Mechanism, population: KeyTable, pi: Array, *, sample: Microdata
) -> ToldCounts:
    """Return what the counts of a sample tell beside those of the population; `pi` is by its cells.

    Several factors are fitted in turn, each to its own counts.
    """
    factors = _told(mechanism)
    units = population.counts.astype(np.float64)
    counted = [by_category(one, sample.codes, sample.times) for one in factors]
    scale = [np.ones_like(one) for one in counted]
    for _ in range(_SWEEPS if len(factors) > 1 else 1):
        for at, factor in enumerate(factors):
            now = ToldCounts(factors, tuple(scale)).given(population.codes, pi)
            people = by_category(factor, population.codes, units)
            meant = by_category(factor, population.codes, units * now)
            mean = np.where(meant > 0, ratio(meant, people), 1.0)
            scale[at] = scale[at] * scale_to_share(counted[at], people, mean)
    return ToldCounts(factors, tuple(scale))


def told_by_model(mechanism: Mechanism, model: Population, sample: Microdata) -> ToldCounts:
    """Return what the counts of a sample tell beside a model: F is n and the unsampled to expect.

    Where the model misses the counts by more than chance would, they tell of the model: what is to
    be expected is then moved towards them. Factors whose margin is too large to look at are left
    out.
    """
    factors, scale = [], []
    for factor in _told(mechanism):
        keys = tuple(sorted(factor.needed | _sampled_by(sample)))
        sizes = [sample.space.sizes[key] for key in keys]
        if prod(sizes) > _LARGEST:
            continue
        codes = np.zeros((prod(sizes), len(sample.space.keys)), dtype=np.int64)
        codes[:, keys] = np.stack(np.unravel_index(np.arange(prod(sizes)), sizes), axis=1)
        people, pi = model.margin(keys, codes)
        sampled = by_category(factor, sample.codes, sample.times)
        expected = by_category(factor, codes, people)
        meant = by_category(factor, codes, people * pi)
        mean = np.where(expected > 0, ratio(meant, expected), 1.0)
        moved = gamma_mean(sampled, meant, dispersion(sampled, meant))
        unsampled = np.where(meant > 0, ratio(moved, meant) * (expected - meant), 0.0)
        factors.append(factor)
        scale.append(scale_to_share(sampled, sampled + unsampled, mean))
    return ToldCounts(tuple(factors), tuple(scale))


def given_counts(
    inclusion: Inclusion,
    mechanism: Mechanism,
    population: KeyTable,
    *,
    sample: Microdata,
    cells: Codes,
) -> Inclusion:
    """Return inclusion probabilities given the counts that matrices tell, the same where none does."""
    if not _told(mechanism):
        return inclusion
    pi = inclusion.sources
    if pi is None:
        pi = sample.inclusion(population.codes, space=population.space)
    told = told_by_population(mechanism, population, pi, sample=sample)
    targets = told.given(cells, inclusion.targets)
    return Inclusion(targets, told.given(population.codes, pi))


def told_keys(mechanism: Mechanism) -> frozenset[str]:
    """Return the keys of factors that tell the counts of their categories."""
    names = mechanism.space.names
    return frozenset(names[c] for factor in _told(mechanism) for c in factor.columns)


def _told(mechanism: Mechanism) -> tuple[Factor, ...]:
    return tuple(factor for factor in mechanism.factors if factor.fitted)


def _sampled_by(sample: Microdata) -> frozenset[int]:
    """Return the positions of the keys that the sampling fraction depends on."""
    fraction = sample.fraction
    names = fraction.keys if isinstance(fraction, By) else ()
    return frozenset(map(sample.space.index, names))
