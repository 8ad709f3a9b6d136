"""Expected risk given a sample or a release, against sums over every possible population."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nbinom, poisson

import maskmeter as mm
from maskmeter.mechanism import Grid
from maskmeter.risk import expected
from maskmeter.risk.expected import (
    Sources,
    expected_originals,
    expected_risk_given_release,
    expected_risk_given_sample,
)

SPACE = mm.KeySpace([mm.Key("lad", "abc")])
CELLS = np.arange(3)[:, None]
MOST = 30  # unsampled units of a cell that are gone through: means are far below


def match_probability(F, M, pi, j):
    """Eq. (2.4) as printed, for each row of F; 0 without a target."""
    w = M / (1 - pi * M)
    if w[j] == 0:
        return np.zeros(len(F))
    return np.where(F[:, j] > 0, w[j] / np.where(F[:, j] > 0, F @ w, 1), 0)


def unsampled(lam, pi, f, phi):
    """Probabilities of 0, 1, ... unsampled units of a cell given f sampled ones."""
    k = np.arange(MOST)
    if phi == 0:
        return poisson.pmf(k, (1 - pi) * lam)
    beta = 1 / phi / lam
    return nbinom.pmf(k, 1 / phi + f, (beta + pi) / (beta + 1))


UNSAMPLED = np.array(list(product(range(MOST), repeat=3)))


def by_enumeration(f, world, phi, j):
    P, lam, pi = world
    chance = [unsampled(lam[k], pi[k], f[k], phi)[UNSAMPLED[:, k]] for k in range(3)]
    return np.prod(chance, axis=0) @ match_probability(f + UNSAMPLED, P[:, j], pi[j], j)


def sources(P, f, lam, pi):
    grid = Grid.of(mm.Misclassification({"lad": P}).on(SPACE), CELLS)
    return Sources(grid, grid.fill(CELLS, f), grid.fill(CELLS, lam), grid.fill(CELLS, pi))


rows = st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any)
matrices = st.lists(rows, min_size=3, max_size=3).map(
    lambda raw: np.array(raw, dtype=float) / np.sum(raw, axis=1, keepdims=True)
)
counts = st.lists(st.integers(0, 3), min_size=3, max_size=3).map(np.array)
means = st.lists(st.sampled_from([0.01, 0.5, 2.0, 4.0]), min_size=3, max_size=3).map(np.array)
fractions = st.lists(st.sampled_from([0.01, 0.3, 0.8]), min_size=3, max_size=3).map(np.array)


@settings(max_examples=40)
@given(matrices, counts, means, fractions, st.sampled_from([0.0, 0.02, 0.1]))
def test_risk_given_the_sample_is_the_mean_over_all_populations(P, f, lam, pi, phi):
    found = expected_risk_given_sample(sources(P, f, lam, pi), pi=pi, phi=phi)

    for j in range(3):
        # A power below 1 of u makes the integrand steep at 0, where few nodes are.
        assert found[j] == pytest.approx(
            by_enumeration(f, (P, lam, pi), phi, j), rel=2e-3, abs=1e-4
        )


def test_without_misclassification_expected_risk_is_the_expected_inverse():
    f, lam, pi = np.array([1, 2, 0]), np.array([0.5, 30.0, 2.0]), np.full(3, 0.1)
    found = expected_risk_given_sample(sources(np.eye(3), f, lam, pi), pi=pi, phi=0.0)
    nu = 0.9 * lam

    assert found[0] == pytest.approx((1 - np.exp(-nu[0])) / nu[0], rel=1e-7)
    assert found[1] == pytest.approx((1 - (1 - np.exp(-nu[1])) / nu[1]) / nu[1], rel=1e-7)
    k = np.arange(1, 60)
    assert found[2] == pytest.approx((poisson.pmf(k, nu[2]) / k).sum(), rel=1e-7)


def test_a_cell_that_keeps_none_of_its_own_has_no_risk():
    P = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    found = expected_risk_given_sample(
        sources(P, np.ones(3), np.ones(3), np.full(3, 0.1)), pi=np.full(3, 0.1), phi=0.0
    )

    assert found[:2].tolist() == [0, 0]
    assert found[2] > 0


@given(matrices, counts, means, fractions)
def test_two_points_approximate_all_sources(P, f, lam, pi):
    """With two other sources they are exact for Poisson cells."""
    here = sources(0.5 * P + 0.5 * np.eye(3), f, lam, pi)
    wanted = expected_risk_given_sample(here, pi=pi, phi=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected, "MOST_PAIRS", 0)
        found = expected_risk_given_sample(here, pi=pi, phi=0.0)

    # Sampled units enter by a series in pi that is cut after four terms.
    assert found == pytest.approx(wanted, rel=0.03, abs=1e-6)


def release_by_enumeration(P, m, lam, pi, j):
    """Released: m records in cell j and none elsewhere; each comes from k by Bayes' rule."""
    q = P[:, j] * pi * lam / (P[:, j] * pi * lam).sum()
    chance = [unsampled(lam[k], pi[k], 0, 0.0)[UNSAMPLED[:, k]] for k in range(3)]
    total = 0.0
    for origins in product(range(3), repeat=m):
        f = np.bincount(origins, minlength=3)
        risk = match_probability(f + UNSAMPLED, P[:, j], pi[j], j)
        total += q[list(origins)].prod() * (np.prod(chance, axis=0) @ risk)
    return total


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("pi", [np.full(3, 0.1), np.array([0.1, 0.3, 0.02])])
def test_risk_given_the_release_is_the_mean_over_all_originals(m, pi):
    P = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.4, 0.5]])
    lam = np.array([2.0, 0.5, 3.0])
    grid = Grid.of(mm.Misclassification({"lad": P}).on(SPACE), CELLS[1:2])
    mu, released = grid.fill(CELLS, pi * lam), np.array([float(m)])
    counts = grid.fill(CELLS[1:2], released)
    here = Sources(grid, counts, grid.fill(CELLS, lam), grid.fill(CELLS, pi))
    found = expected_risk_given_release(here, pi=pi[1:2])

    assert expected_originals(grid, counts, mu).sum() == pytest.approx(m)
    assert found[0] == pytest.approx(release_by_enumeration(P, m, lam, pi, 1), rel=1e-4)
