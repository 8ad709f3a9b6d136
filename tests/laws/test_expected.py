"""Expected risk given a sample or a release, against sums over every possible population."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import nbinom, poisson

import maskmeter as mm
from maskmeter.mechanism import Grid
from maskmeter.risk import gathered
from maskmeter.risk.expected import (
    Expected,
    Sources,
    expected_originals,
    informed_given_release,
    match_given_release,
    risk_given_sample,
)
from maskmeter.risk.gathered import Gathered, without_gathered

SPACE = mm.KeySpace([mm.Key("lad", "abc")])
CELLS = np.arange(3)[:, None]
MOST = 30  # unsampled units of a cell that are gone through: means are far below


def odds(M, pi):
    return pi * M / (1 - pi * M)


def match_probability(F, o, j):
    """Eq. (2.4) by odds, for each row of F; 0 without a target."""
    if o[j] == 0:
        return np.zeros(len(F))
    return np.where(F[:, j] > 0, o[j] / np.where(F[:, j] > 0, F @ o, 1), 0)


def likeliest_probability(F, o):
    """The chance of the likeliest person, for each row of F."""
    total = F @ o
    return np.where(F > 0, o, 0).max(axis=1) / np.where(total > 0, total, 1)


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
    chance = np.prod(
        [unsampled(lam[k], pi[k], f[k], phi)[UNSAMPLED[:, k]] for k in range(3)], axis=0
    )
    o, F = odds(P[:, j], pi), f + UNSAMPLED
    return chance @ match_probability(F, o, j), chance @ likeliest_probability(F, o)


def sources(P, f, lam, pi, recorded=None):
    grid = Grid.of(mm.Misclassification({"lad": P}).on(SPACE), CELLS)
    tables = (grid.fill(CELLS, one) for one in (f, lam, pi))
    return Sources(grid, *tables, recorded)


def risks(given_sources, phi):
    ((targets, cells, own),) = given_sources.blocks()
    assert targets.tolist() == [0, 1, 2]
    return risk_given_sample(cells, own, phi=phi)


rows = st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any)
matrices = st.lists(rows, min_size=3, max_size=3).map(
    lambda raw: np.array(raw, dtype=float) / np.sum(raw, axis=1, keepdims=True)
)
counts = st.lists(st.integers(0, 3), min_size=3, max_size=3).map(np.array)
means = st.lists(st.sampled_from([0.01, 0.5, 2.0, 4.0]), min_size=3, max_size=3).map(np.array)
fractions = st.lists(st.sampled_from([0.01, 0.3, 0.8]), min_size=3, max_size=3).map(np.array)


@settings(max_examples=60)
@given(matrices, counts, means, fractions, st.sampled_from([0.0, 0.02, 0.1]))
def test_risk_given_the_sample_is_the_mean_over_all_populations(P, f, lam, pi, phi):
    found = risks(sources(P, f, lam, pi), phi)

    for j in range(3):
        exact, informed = by_enumeration(f, (P, lam, pi), phi, j)
        assert found.exact_match[j] == pytest.approx(exact, rel=1e-6, abs=1e-9)
        assert found.informed[j] == pytest.approx(informed, rel=1e-6, abs=1e-9)


@settings(max_examples=40)
@given(matrices, counts, means, fractions)
def test_sampling_by_recorded_cells_takes_the_fraction_of_the_target(P, f, lam, pi):
    found = risks(sources(P, f, lam, pi, recorded=pi), 0.0)

    for j in range(3):
        chance = [unsampled(lam[k], pi[k], f[k], 0.0)[UNSAMPLED[:, k]] for k in range(3)]
        o, F = odds(P[:, j], pi[j]), f + UNSAMPLED
        wanted = np.prod(chance, axis=0) @ match_probability(F, o, j)
        assert found.exact_match[j] == pytest.approx(wanted, rel=1e-6, abs=1e-9)


def test_rates_that_differ_a_million_fold_and_large_cells_keep_the_precision():
    P = np.array([[1 - 2e-6, 1e-6, 1e-6], [0.3, 0.7, 0.0], [1e-5, 0.0, 1 - 1e-5]])
    f, lam, pi = np.zeros(3), np.array([0.5, 2.0, 4.0]), np.full(3, 0.01)
    found = risks(sources(P, f, lam, pi), 0.0)
    for j in range(3):
        exact, informed = by_enumeration(f, (P, lam, pi), 0.0, j)
        assert found.exact_match[j] == pytest.approx(exact, rel=1e-5)
        assert found.informed[j] == pytest.approx(informed, rel=1e-5)

    large = np.array([5000.0, 200.0, 3e5])
    found = risks(sources(P, f, large, pi), 0.0)
    draws = np.random.default_rng(1).poisson(0.99 * large, size=(20_000, 3))
    wanted = likeliest_probability(draws, odds(P[:, 0], pi)).mean()
    assert found.informed[0] == pytest.approx(wanted, rel=1e-3)


def test_without_misclassification_expected_risk_is_the_expected_inverse():
    f, lam, pi = np.array([1, 2, 0]), np.array([0.5, 30.0, 2.0]), np.full(3, 0.1)
    found = risks(sources(np.eye(3), f, lam, pi), 0.0).exact_match
    nu = 0.9 * lam

    assert found[0] == pytest.approx((1 - np.exp(-nu[0])) / nu[0], rel=1e-7)
    assert found[1] == pytest.approx((1 - (1 - np.exp(-nu[1])) / nu[1]) / nu[1], rel=1e-7)
    k = np.arange(1, 60)
    assert found[2] == pytest.approx((poisson.pmf(k, nu[2]) / k).sum(), rel=1e-7)


def test_a_cell_that_keeps_none_of_its_own_has_informed_risk_only():
    P = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    found = risks(sources(P, np.ones(3), np.ones(3), np.full(3, 0.1)), 0.0)

    assert found.exact_match[:2].tolist() == [0, 0]
    assert found.exact_match[2] > 0
    # Everybody of cell 0 is released in cell 1 and the other way round.
    assert found.informed == pytest.approx(found.exact_match[2])


@given(matrices, counts, means, fractions)
@example(  # moments of what is left that rounding has cut
    P=np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.75, 0.25]]),
    f=np.zeros(3, dtype=int),
    lam=np.array([0.01, 0.01, 0.5]),
    pi=np.array([0.01, 0.01, 0.8]),
)
def test_gathered_sources_bound_the_informed_risk(P, f, lam, pi):
    """One source is listed, the others are gathered in two points: exact for Poisson cells."""
    here = sources(0.5 * P + 0.5 * np.eye(3), f, lam, pi)
    wanted = risks(here, 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathered, "LISTED", 1)
        ((_, cells, own),) = Gathered.of(here, phi=0.0).blocks(phi=0.0)
    found = risk_given_sample(cells, own, phi=0.0)
    least = risk_given_sample(without_gathered(cells), own, phi=0.0).informed

    # Sampled units enter by a series in pi that is cut after four terms.
    assert found.exact_match == pytest.approx(wanted.exact_match, rel=0.03, abs=1e-6)
    assert np.all(found.informed >= wanted.informed * 0.97 - 1e-6)
    assert np.all(least <= wanted.informed * 1.03 + 1e-6)


def test_the_likeliest_sources_of_several_keys_are_listed():
    rng = np.random.default_rng(5)
    space = mm.KeySpace([mm.Key("a", range(4)), mm.Key("b", range(5)), mm.Key("c", range(3))])
    errors = {name: rng.dirichlet(np.ones(n), n) for name, n in zip("abc", (4, 5, 3), strict=True)}
    cells = space.codes(np.arange(space.size))
    grid = Grid.of(mm.Misclassification(errors).on(space), cells)
    row, chance = grid.likeliest_rows(np.arange(60), 7)
    every = grid.chances(np.arange(60))

    assert np.sort(chance, axis=1) == pytest.approx(np.sort(every, axis=1)[:, -7:])
    assert np.take_along_axis(every, row, axis=1) == pytest.approx(chance)


def release_by_enumeration(P, m, lam, pi, j):
    """Released: m records in cell j; each comes from k by Bayes' rule, the others are Poisson."""
    x = pi * P[:, j]
    q = lam * x / (lam * x).sum()
    chance = np.prod([poisson.pmf(UNSAMPLED[:, k], lam[k] * (1 - x[k])) for k in range(3)], axis=0)
    share = np.zeros(2)
    for origins in product(range(3), repeat=m):
        f = np.bincount(origins, minlength=3)
        F = f + UNSAMPLED
        # One of m records that came from cell j, matched with one of the F_j people there.
        exact = f[j] / m * np.where(F[:, j] > 0, 1 / np.maximum(F[:, j], 1), 0)
        risk = chance @ exact, chance @ likeliest_probability(F, x / (1 - x))
        share += q[list(origins)].prod() * np.array(risk)
    return Expected(*share)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("pi", [np.full(3, 0.1), np.array([0.1, 0.3, 0.02])])
def test_risk_given_the_release_is_the_mean_over_all_originals(m, pi):
    P = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.4, 0.5]])
    lam = np.array([2.0, 0.5, 3.0])
    here = sources(P, np.zeros(3), lam, pi)
    ((_, cells, _),) = here.blocks()
    found = match_given_release(here, np.full(3, float(m)))
    informed = informed_given_release(cells)

    for j in range(3):
        wanted = release_by_enumeration(P, m, lam, pi, j)
        assert found[j] == pytest.approx(wanted.exact_match, rel=1e-7)
        if m == 1:
            assert informed[j] == pytest.approx(wanted.informed, rel=1e-6)


@pytest.mark.parametrize("phi", [0.05, 0.4, 2.0])
def test_a_unique_of_gamma_cells_has_its_risk_given_the_release_in_closed_form(phi):
    """Against a sum over all counts of three cells, each unit released in j by itself."""
    P = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.4, 0.5]])
    lam, pi, units = np.array([2.0, 0.5, 3.0]), np.array([0.1, 0.3, 0.02]), np.arange(800)
    found = match_given_release(sources(P, np.zeros(3), lam, pi), np.ones(3), phi=phi)
    for j in range(3):
        x = pi * P[:, j]
        chance = nbinom.pmf(units[:, None], 1 / phi, 1 / (1 + phi * lam))
        none = (chance * (1 - x) ** units[:, None]).sum(axis=0)
        one = (chance * units[:, None] * x * (1 - x) ** np.maximum(units[:, None] - 1, 0)).sum(
            axis=0
        )
        right = (chance[1:, j] * x[j] * (1 - x[j]) ** (units[1:] - 1)).sum()
        others = np.array([np.prod(np.delete(none, k)) for k in range(3)])

        assert found[j] == pytest.approx(right * others[j] / (one @ others), rel=1e-7)


def test_expected_originals_add_up_to_the_released_records():
    P = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.4, 0.5]])
    grid = Grid.of(mm.Misclassification({"lad": P}).on(SPACE), CELLS[1:2])
    mu, released = (
        grid.fill(CELLS, np.array([0.2, 0.05, 0.3])),
        grid.fill(CELLS[1:2], np.array([2.0])),
    )

    assert expected_originals(grid, released, mu).sum() == pytest.approx(2)
