"""How well risk is estimated from 1 % samples of the synthetic census, against the truth.

Bounds are on mean absolute relative errors over 40 samples, which were 3 to 4 % (the paper's form:
3 to 6 %) with a standard error of about 0.5 points. `make test` uses ten samples, with a fixed seed
(20 for the coverage of intervals), and the long study 40 (200).
"""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

import maskmeter as mm
from maskmeter.studies.paper.tables import designs

NUMBER = 40 if os.environ.get("MASKMETER_FULL") else 10


LABELS = ("RS", "RP", "TS", "TP")
DESIGNS = {
    label + rate.rstrip("%"): step
    for rate, methods in designs().items()
    for label, step in zip(LABELS, methods.values(), strict=True)
}


@pytest.fixture(scope="module")
def samples(census, population, seed):
    def drawn(number):
        for run in range(number):
            people = mm.bernoulli_sample(census, fraction=0.01, rng=1000 * seed + run)
            yield mm.read(people, keys=population.space, fraction=0.01)

    return drawn


def misses(found):
    """Mean absolute relative error of pairs of estimate and truth."""
    estimate, truth = np.array(found).T
    return np.abs(estimate / truth - 1).mean()


def estimated(*args, **options):
    with warnings.catch_warnings():  # a weak fit now and then is part of the study
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        return mm.estimate_risk(*args, **options)


def test_the_default_method_recovers_tau_before_and_after_every_design(samples, population):
    found = {name: [] for name in ("nothing", *DESIGNS)}
    for run, sample in enumerate(samples(NUMBER)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mm.MaskmeterWarning)
            model = mm.shrink_loglinear(sample)
        truth = mm.exact_risk(sample, population).total
        found["nothing"].append((estimated(sample, model).total, truth))
        for name, step in DESIGNS.items():
            release = step.apply(sample, rng=run)
            truth = mm.exact_risk(release, population).total
            found[name].append((estimated(release, model, interval="none").total, truth))
    errors = {name: misses(pairs) for name, pairs in found.items()}

    assert max(errors.values()) < 0.06, errors
    # The check can fail: estimates that are a tenth too large do not pass.
    assert misses([(1.1 * one, truth) for one, truth in found["nothing"]]) > 0.06


@pytest.mark.slow
def test_the_papers_search_recovers_tau(samples, population):
    found = []
    for sample in samples(NUMBER):
        model = mm.search_loglinear(sample, method="forward")
        truth = mm.exact_risk(sample, population).total
        found.append((estimated(sample, model).total, truth))

    assert misses(found) < 0.06


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n == "RS20" else pytest.mark.full) for n in DESIGNS],
)
def test_the_papers_method_recovers_tau_after_every_design(samples, population, name):
    found = []
    for run, sample in enumerate(samples(NUMBER)):
        release = DESIGNS[name].apply(sample, rng=run)
        model = mm.search_loglinear(release, method="forward", counts="released")
        risk = estimated(release, model, method="paper", interval="none")
        found.append((risk.total, mm.exact_risk(release, population).total))

    assert misses(found) < 0.08


def test_intervals_cover_the_truth(samples, population):
    """At least 92 % of the samples, with a half-width below 15 % of tau2.

    A true coverage of 97 % fails with 200 samples once in 7,000 runs, one of 85 % passes once in
    400; with the 20 samples of `make test` the seed is fixed.
    """
    number = 200 if NUMBER > 10 else 20
    covered, widths = [], []
    for sample in samples(number):
        risk = estimated(sample)
        low, high = risk.interval
        covered.append(low <= mm.exact_risk(sample, population).total <= high)
        widths.append((high - low) / 2 / risk.tau2)

    assert np.sum(covered) >= int(0.92 * number)
    assert np.mean(widths) < 0.15
    assert np.mean(widths) > 0.02  # an interval that holds everything would not do
