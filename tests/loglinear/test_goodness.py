"""Poisson functions against 60-digit arithmetic, and what the statistics say about models."""

from __future__ import annotations

from decimal import Decimal, getcontext
from math import factorial

import numpy as np
import pytest
from scipy.stats import nbinom

import maskmeter as mm
from maskmeter.loglinear import cell_sums
from maskmeter.loglinear.expectations import (
    chance_of_uniqueness,
    error_coefficients,
    expected_inverse,
    expected_inverse_of,
    expected_inverse_square,
)

LAMBDAS = np.concatenate([10.0 ** np.arange(-12, 7), [0.009, 0.011, 0.3, 0.99, 1.01, 1.5, 3, 30]])


@pytest.mark.parametrize("pi", [0.001, 0.01, 0.5, 0.99])
def test_poisson_functions_agree_with_sixty_digits(pi):
    getcontext().prec = 60
    lam, share = LAMBDAS, np.full(len(LAMBDAS), pi)
    found = (
        chance_of_uniqueness(lam, pi=share),
        expected_inverse(lam, pi=share),
        *(part for pair in error_coefficients(lam, pi=share) for part in pair),
    )
    p = Decimal(pi)
    for position, one in enumerate(map(Decimal, lam.tolist())):
        nu, mu = (1 - p) * one, p * one
        h2 = (1 - (-nu).exp()) / nu
        wanted = (
            (-nu).exp(),
            h2,
            nu * (-one).exp(),
            mu * (1 - p) * nu * (-one).exp() / (2 * p),
            (-mu).exp() * h2 - (-one).exp(),
            (-mu).exp() * h2 - (-one).exp() * (1 + nu / 2),
        )
        for ours, exact in zip(found, wanted, strict=True):
            assert float(ours[position]) == pytest.approx(float(exact), rel=2e-12, abs=1e-300)


def poisson_mean(function, nu):
    """Mean of a function of a Poisson number, summed in 60 digits."""
    getcontext().prec = 60
    nu = Decimal(nu)
    term, total = (-nu).exp(), Decimal(0)
    for k in range(int(nu) + 40 * int(float(nu) ** 0.5 + 2)):
        total += term * function(k)
        term *= nu / (k + 1)
    return float(total)


@pytest.mark.parametrize("nu", [0, 1e-12, 1e-9, 1e-3, 0.5, 1, 7, 40, 49.9, 50.1, 200, 3000])
def test_expected_inverses_agree_with_summed_series(nu):
    count = np.array([1.0, 2, 3, 8, 50, 1000])
    lam, pi = np.full(len(count), nu), np.zeros(len(count))
    wanted = [poisson_mean(lambda k, m=int(m): 1 / Decimal(m + k), nu) for m in count]
    square = poisson_mean(lambda k: 1 / Decimal(1 + k) ** 2, nu)

    assert expected_inverse_of(count, lam, pi=pi) == pytest.approx(wanted, rel=1e-12)
    assert expected_inverse_square(lam[:1], pi=pi[:1]) == pytest.approx([square], rel=1e-12)


@pytest.mark.parametrize("nu", [1e4, 1e5, 1e6])
def test_expected_inverses_of_large_cells_follow_the_recurrence(nu):
    """I(m + 1) = (1 - m I(m)) / nu, by parts: safe while nu is far above m."""
    wanted = [1 / nu]
    for m in range(1, 5):
        wanted.append((1 - m * wanted[-1]) / nu)
    count = np.arange(1.0, 6)
    found = expected_inverse_of(count, np.full(5, nu), pi=np.zeros(5))

    assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("nu", [60, 700, 1e4, 1e5, 1e6])
def test_expected_inverse_squares_of_large_cells_follow_the_asymptotic_series(nu):
    """`e^(-nu)/nu (Ei(nu) - gamma - log nu)` is `sum of k! / nu^(k + 2)` but for e^(-nu)."""
    wanted = sum(factorial(k) / nu ** (k + 2) for k in range(30))
    found = expected_inverse_square(np.array([float(nu)]), pi=np.zeros(1))

    assert found == pytest.approx([wanted], rel=1e-12)


@pytest.mark.parametrize("phi", [1e-6, 0.01, 0.5, 3.0, 50.0])
def test_gamma_cells_agree_with_negative_binomial_sums(phi):
    lam, pi = np.array([1e-6, 0.3, 4.0, 60.0]), np.full(4, 0.05)
    ones = np.ones(4)
    size = 1 / phi + 1
    chance = (1 / phi / lam + pi) / (1 / phi / lam + 1)
    k = np.arange(200_000)[:, None]
    pmf = nbinom.pmf(k, size, chance)
    h1 = chance_of_uniqueness(lam, pi=pi, phi=phi)
    h2 = expected_inverse(lam, pi=pi, phi=phi)

    assert h1 == pytest.approx(pmf[0], rel=1e-9)
    assert h2 == pytest.approx((pmf / (1 + k)).sum(axis=0), rel=1e-7)
    assert expected_inverse_of(ones, lam, pi=pi, phi=phi) == pytest.approx(h2, rel=1e-9)


def test_gamma_cells_tend_to_poisson_cells():
    lam, pi = np.array([0.01, 1.0, 100.0]), np.full(3, 0.1)

    assert expected_inverse(lam, pi=pi, phi=1e-9) == pytest.approx(
        expected_inverse(lam, pi=pi), rel=1e-6
    )
    assert chance_of_uniqueness(lam, pi=pi, phi=0) == pytest.approx(np.exp(-0.9 * lam))


def test_at_zero_everybody_is_unique():
    zero, pi = np.zeros(1), np.full(1, 0.1)

    assert expected_inverse(zero, pi=pi).tolist() == [1.0]
    assert expected_inverse(zero, pi=pi, phi=0.5).tolist() == [1.0]
    assert [part.tolist() for pair in error_coefficients(zero, pi=pi) for part in pair] == [
        [0.0]
    ] * 4


STRATA = mm.by("a", {0: 0.05, 1: 0.2, 2: 0.5})
# How a sample was drawn, whether it has weights, and what these are for.
SAMPLED = [
    (0.05, False, "unsampled"),
    (STRATA, False, "unsampled"),
    (0.05, True, "unsampled"),
    (None, True, "unsampled"),
    (None, True, "pseudo"),
    (STRATA, True, "pseudo"),
]


def fitted_sample(fraction, weighted, weighting):
    """A small sample and a model of it."""
    space = mm.KeySpace([mm.Key("a", range(3)), mm.Key("b", range(4)), mm.Key("c", range(2))])
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, size, 60) for size in space.sizes])
    weights = rng.uniform(2, 30, 60) if weighted else None
    sample = mm.Microdata(space, codes, fraction=fraction, weights=weights)
    return sample, mm.fit_loglinear(sample, ["a:b"], weighting=weighting)


def by_hand(sample, model):
    """B, v and z of both measures, from the definitions, cell by cell."""
    lam, pi = model.at(sample.space.codes(np.arange(sample.space.size)))
    f = np.bincount(sample.space.number(sample.codes), minlength=sample.space.size)
    mu, nu = pi * lam, (1 - pi) * lam
    h2 = (1 - np.exp(-nu)) / nu
    a = (nu * np.exp(-lam), np.exp(-mu) * h2 - np.exp(-lam))
    b = (
        (1 - pi) * nu * np.exp(-lam) / (2 * pi),
        (np.exp(-mu) * h2 - np.exp(-lam) * (1 + nu / 2)) / mu,
    )
    for a_i, b_i in zip(a, b, strict=True):
        t = a_i * (f - mu) + b_i * ((f - mu) ** 2 - f)
        v = (a_i**2 * mu + 2 * b_i**2 * mu**2).sum()
        robust = len(f) / (len(f) - 1) * ((t - t.mean()) ** 2).sum()
        phi = (b_i * ((f - mu) ** 2 - f)).sum() / (b_i * mu**2).sum()
        yield t.sum(), v, robust, phi


def test_weights_give_each_cell_its_unsampled_units():
    """A saturated model of the records and of w - 1 holds the sums of each cell themselves."""
    sample, _ = fitted_sample(None, weighted=True, weighting="unsampled")
    model = mm.fit_loglinear(sample, ["a:b:c"])
    cells, place = np.unique(sample.codes, axis=0, return_inverse=True)
    f, rest = np.bincount(place), np.bincount(place, sample.weights - 1)
    lam, pi = model.at(cells)

    assert lam == pytest.approx(f + rest)
    assert pi == pytest.approx(f / (f + rest))
    assert (1 - pi) * lam == pytest.approx(rest)


@pytest.mark.parametrize(("fraction", "weighted", "weighting"), SAMPLED)
def test_statistics_are_the_sums_over_all_cells_by_hand(fraction, weighted, weighting):
    sample, model = fitted_sample(fraction, weighted, weighting)
    found, (one, two) = model.goodness, by_hand(sample, model)

    assert (found.b1, found.b2, found.b2_variance) == pytest.approx((one[0], two[0], two[1]))
    assert (found.z1, found.z2) == pytest.approx((one[0] / one[1] ** 0.5, two[0] / two[1] ** 0.5))
    assert found.z1_robust == pytest.approx(one[0] / one[2] ** 0.5)
    assert found.z2_robust == pytest.approx(two[0] / two[2] ** 0.5)
    assert found.overdispersion == pytest.approx(max(two[3], 0))


def test_drawn_statistics_agree_with_exact_ones_within_their_standard_error(monkeypatch, seed):
    """Six standard errors of z2; the robust one and the variance to a few percent."""
    (sample,) = samples(0.5, 1, seed)
    exact = mm.fit_loglinear(sample, ["key0:key1"]).goodness
    monkeypatch.setattr(cell_sums, "MOST_CELLS", 1)
    drawn = mm.fit_loglinear(sample, ["key0:key1"]).goodness

    assert exact.draws == 0
    assert drawn.draws == cell_sums.DRAWS
    assert 0 < drawn.error < 0.2
    assert abs(drawn.z2 - exact.z2) < 6 * drawn.error
    assert drawn.b2_variance == pytest.approx(exact.b2_variance, rel=0.05)
    assert drawn.z2_robust == pytest.approx(exact.z2_robust, rel=0.05, abs=0.2)
    assert drawn.overdispersion == pytest.approx(exact.overdispersion, rel=0.1)


def test_the_standard_error_of_z2_includes_the_noise_of_its_variance(monkeypatch, seed):
    """Nine fits, 6 standard errors each (normal: a false alarm in 10^8); B2's noise alone is too small.

    Without the noise of its variance the error of a z2 far from 0 is understated several times.
    """
    apart = []
    for strength in (0.2, 0.5, 0.8):
        (sample,) = samples(strength, 1, seed)
        for terms in (["key0:key1"], "independence", ["key0:key1", "key2:key3"]):
            exact = mm.fit_loglinear(sample, terms).goodness
            with monkeypatch.context() as patched:
                patched.setattr(cell_sums, "MOST_CELLS", 1)
                drawn = mm.fit_loglinear(sample, terms).goodness
            apart.append((drawn.z2 - exact.z2) / drawn.error)

    assert np.abs(apart).max() < 6
    assert np.sqrt(np.mean(np.square(apart))) > 0.2  # nor is it overstated


SIZES = (20, 10, 10, 6)
SPACE = mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate(SIZES))


def log_linear_population(strength):
    """Means of a population with two interactions, over 12,000 cells."""
    rng = np.random.default_rng(7)
    logs = np.zeros(SIZES)
    for axis, size in enumerate(SIZES):
        shape = [size if other == axis else 1 for other in range(4)]
        logs = logs + rng.normal(0, 0.8, size).reshape(shape)
    for one, other in ((0, 1), (2, 3)):
        shape = [SIZES[axis] if axis in (one, other) else 1 for axis in range(4)]
        logs = logs + strength * rng.normal(0, 1, SIZES[one] * SIZES[other]).reshape(shape)
    means = np.exp(logs)
    return (means / means.sum() * 1_400_000).ravel()


def samples(strength, number, seed):
    rng = np.random.default_rng(seed)
    means = log_linear_population(strength)
    for _ in range(number):
        counts = rng.binomial(rng.poisson(means), 0.01)
        yield mm.Microdata(
            SPACE, SPACE.codes(np.repeat(np.arange(SPACE.size), counts)), fraction=0.01
        )


def test_z_is_standard_normal_when_the_model_holds(seed):
    """200 samples: mean within 0.5 of 0 (7 standard errors) and standard deviation in 0.8 to 1.2
    (4 standard errors below 0.9 to 1.1, where it lies)."""
    found = []
    for sample in samples(0.5, 200, seed):
        model = mm.fit_loglinear(sample, ["key0:key1", "key2:key3"])
        assert model.parameters < 0.02 * len(sample)
        found.append((model.goodness.z1, model.goodness.z2))
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0)

    assert np.all(np.abs(mean) < 0.5)
    assert np.all((spread > 0.8) & (spread < 1.2))


def test_independence_is_rejected_when_keys_interact(seed):
    for sample in samples(1.0, 3, seed):
        assert mm.fit_loglinear(sample, "independence").goodness.z2 > 5
