"""Risk from the sample alone: Poisson functions, fits, goodness of fit, expectation of (2.4)."""

import json
from decimal import Decimal, getcontext
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from scipy.stats import nbinom

import maskmeter as mm
from chance.test_shared import estimates
from checks.worlds_of import census_samples, gathered
from laws.test_expected import (
    by_enumeration,
    counts,
    fractions,
    matrices,
    means,
    release_by_enumeration,
    risks,
    sources,
)
from loglinear.test_fit import CELLS, design, full_sample, models, newton, words
from loglinear.test_goodness import (
    LAMBDAS,
    SAMPLED,
    by_hand,
    fitted_sample,
    poisson_mean,
    samples,
)
from loglinear.test_shrunk import swept_both_ways
from maskmeter.loglinear import cell_sums
from maskmeter.loglinear.expectations import (
    chance_of_uniqueness,
    error_coefficients,
    expected_inverse,
    expected_inverse_of,
    expected_inverse_square,
)
from maskmeter.risk.expected import match_given_release

PEER = Path(__file__).parents[2] / "tests" / "loglinear" / "sdcnway.json"


def poisson_functions():
    """Return how far h1, h2 and the coefficients a and b are from 60-digit arithmetic."""
    getcontext().prec = 60
    worst = 0.0
    for pi in (0.001, 0.01, 0.5, 0.99):
        share = np.full(len(LAMBDAS), pi)
        pairs = error_coefficients(LAMBDAS, pi=share)
        found = (
            chance_of_uniqueness(LAMBDAS, pi=share),
            expected_inverse(LAMBDAS, pi=share),
            *(part for pair in pairs for part in pair),
        )
        p = Decimal(pi)
        for position, lam in enumerate(map(Decimal, LAMBDAS.tolist())):
            nu, mu = (1 - p) * lam, p * lam
            h2, e = (1 - (-nu).exp()) / nu, (-lam).exp()
            wanted = (
                (-nu).exp(),
                h2,
                nu * e,
                (1 - p) * nu * e * mu / (2 * p),  # b times mu, as it enters B
                (-mu).exp() * h2 - e,
                (-mu).exp() * h2 - e * (1 + nu / 2),
            )
            for ours, exact in zip(found, map(float, wanted), strict=True):
                if exact > 1e-290:  # smaller ones have fewer digits to be right in
                    worst = max(worst, abs(float(ours[position]) / exact - 1))
    return {"largest": worst}


def expected_inverses():
    """Return how far E(1/F given f = m) and E(1/F^2 given f = 1) are from series in 60 digits."""
    count, worst = np.array([1.0, 2, 3, 8, 50, 1000]), 0.0
    for nu in (1e-9, 1e-3, 0.5, 7.0, 49.9, 50.1, 200.0, 3000.0):
        lam, pi = np.full(len(count), nu), np.zeros(len(count))
        wanted = [poisson_mean(lambda k, m=int(m): 1 / Decimal(m + k), nu) for m in count]
        square = poisson_mean(lambda k: 1 / Decimal(1 + k) ** 2, nu)
        found = expected_inverse_of(count, lam, pi=pi) / wanted
        ours = expected_inverse_square(lam[:1], pi=pi[:1]) / square
        worst = max(worst, np.abs(found - 1).max(), np.abs(ours - 1).max())
    return {"largest": worst}


def gamma_cells():
    """Return how far Poisson-gamma h1 and h2 are from sums over the negative binomial."""
    lam, pi, k = np.array([1e-6, 0.3, 4.0, 60.0]), np.full(4, 0.05), np.arange(200_000)[:, None]
    worst = np.zeros(2)
    for phi in (1e-6, 0.01, 0.5, 3.0, 50.0):
        pmf = nbinom.pmf(k, 1 / phi + 1, (1 / phi / lam + pi) / (1 / phi / lam + 1))
        h1 = chance_of_uniqueness(lam, pi=pi, phi=phi) / pmf[0]
        h2 = expected_inverse(lam, pi=pi, phi=phi) / (pmf / (1 + k)).sum(axis=0)
        worst = np.maximum(worst, [np.abs(h1 - 1).max(), np.abs(h2 - 1).max()])
    return {"h1": worst[0], "h2": worst[1]}


def fits():
    """Return how far fitted means are from a dense Newton solve with an explicit design matrix."""

    def deviations(generators, seed):
        sample, table = full_sample(seed)
        model = mm.fit_loglinear(sample, words(generators), tolerance=1e-13)
        yield np.abs(model.means.at(CELLS) / newton(table, design(generators)) - 1).max()

    found = gathered(deviations, models, st.integers(0, 1000), examples=60)
    return {"largest": max(found), "models": len(found)}


def goodness():
    """Return how far B and z are from sums over all cells by hand, with strata and weights."""
    worst = 0.0
    for how in SAMPLED:
        sample, model = fitted_sample(*how)
        good, (one, two) = model.goodness, by_hand(sample, model)
        pairs = (
            (good.b1, one[0]),
            (good.b2, two[0]),
            (good.z1, one[0] / one[1] ** 0.5),
            (good.z2, two[0] / two[1] ** 0.5),
            (good.z1_robust, one[0] / one[2] ** 0.5),
            (good.z2_robust, two[0] / two[2] ** 0.5),
        )
        worst = max(worst, *(abs(ours / hand - 1) for ours, hand in pairs))
    return {"largest": worst}


def shrunk():
    """Return how far passes through small tables are from passes through the whole table."""
    (sample,) = census_samples([4])
    fast, plain = swept_both_ways(sample.project(["lad", "age", "marital", "ethnicity"]))
    return {"largest": float(np.abs(fast / plain - 1).max())}


def z_statistics():
    """Return mean and spread of z when the model holds, and z2 when keys interact and it does not."""
    found = [
        (good.z1, good.z2)
        for good in (
            mm.fit_loglinear(sample, ["key0:key1", "key2:key3"]).goodness
            for sample in samples(0.5, 200, 2010)
        )
    ]
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
    wrong = [
        mm.fit_loglinear(sample, "independence").goodness.z2 for sample in samples(1.0, 3, 2010)
    ]
    return {
        "mean1": mean[0],
        "mean2": mean[1],
        "sd1": spread[0],
        "sd2": spread[1],
        "wrong": min(wrong),
    }


def expectation():
    """Return how far the integrals for the risk given the sample are from sums over populations."""

    def deviations(P, f, lam, pi, phi):
        found = risks(sources(P, f, lam, pi), phi)
        for j in range(3):
            pairs = zip(found, by_enumeration(f, (P, lam, pi), phi, j), strict=True)
            yield [abs(one[j] - wanted) for one, wanted in pairs]

    phis = st.sampled_from([0.0, 0.02, 0.1])
    found = np.array(gathered(deviations, matrices, counts, means, fractions, phis, examples=40))
    matched, informed = found.max(axis=0)
    return {"largest": matched, "informed": informed, "cells": len(found)}


def shared():
    """Return how far estimates of shared cells are off at most, with the factor and without."""
    found = {}
    for fraction in (0.05, 0.5):
        right, wrong = 100 * np.abs(list(estimates(fraction, 2010))).max(axis=0)
        found |= {f"right{100 * fraction:.0f}": right, f"wrong{100 * fraction:.0f}": wrong}
    return found


def drawn_goodness():
    """Return z2 by draws from the model beside the exact one, and how many standard errors apart."""
    (sample,) = samples(0.5, 1, 2010)
    exact = mm.fit_loglinear(sample, ["key0:key1"]).goodness
    most, cell_sums.MOST_CELLS = cell_sums.MOST_CELLS, 1  # as if the table were too large
    try:
        drawn = mm.fit_loglinear(sample, ["key0:key1"]).goodness
    finally:
        cell_sums.MOST_CELLS = most
    apart = abs(drawn.z2 - exact.z2) / drawn.error
    return {"exact": exact.z2, "drawn": drawn.z2, "error": drawn.error, "apart": apart}


def traced():
    """Return how far the risk given released counts alone is from a sum over all originals."""
    P = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.4, 0.5]])
    lam, worst = np.array([2.0, 0.5, 3.0]), 0.0
    for pi in (np.full(3, 0.1), np.array([0.1, 0.3, 0.02])):
        for m in (1, 2):
            here = sources(P, np.zeros(3), lam, pi)
            found = match_given_release(here, np.full(3, float(m)))[1]
            wanted = release_by_enumeration(P, m, lam, pi, 1).exact_match
            worst = max(worst, abs(found / wanted - 1))
    return {"largest": worst}


def peer(path):
    """Return how far tau1, tau2 and four z statistics are from those published with SDCNway."""
    published = json.loads(PEER.read_text(encoding="utf-8"))
    sample = mm.read(path, keys=published["keys"], weights=published["weight"])
    uniques = mm.KeyTable.of(sample.space, sample.codes).uniques().codes
    worst = {}
    for terms, name in (("independence", "main_effects"), ("all-two-way", "all_2way")):
        model = mm.fit_loglinear(sample, terms, weighting="pseudo", tolerance=1e-12)
        lam, pi = model.at(uniques)
        good = model.goodness
        found = {
            "tau1": chance_of_uniqueness(lam, pi=pi).sum(),
            "tau2": expected_inverse(lam, pi=pi).sum(),
            "B1_over_sqrt_V": good.z1,
            "B2_over_sqrt_V": good.z2,
            "B1_over_sqrt_Vr": good.z1_robust,
            "B2_over_sqrt_Vr": good.z2_robust,
        }
        worst[name] = max(abs(found[key] / published[name][key] - 1) for key in found)
    return worst
