"""Poisson functions against 60-digit arithmetic, and what the statistics say about models."""

from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np
import pytest

import maskmeter as mm
from maskmeter.loglinear.goodness import goodness_of_fit
from maskmeter.loglinear.poisson import (
    chance_of_uniqueness,
    expected_inverse,
    first_order,
    second_order,
)

LAMBDAS = np.concatenate([10.0 ** np.arange(-12, 7), [0.3, 0.99, 1.01, 1.5, 3, 30, 300]])


@pytest.mark.parametrize("pi", [0.001, 0.01, 0.5, 0.99])
def test_functions_agree_with_sixty_digits(pi):
    getcontext().prec = 60
    lam, share = LAMBDAS, np.full(len(LAMBDAS), pi)
    found = (
        chance_of_uniqueness(lam, pi=share),
        expected_inverse(lam, pi=share),
        *first_order(lam, pi=share),
        *second_order(lam, pi=share),
    )
    p = Decimal(pi)
    for position, one in enumerate(map(Decimal, lam.tolist())):
        nu, mu = (1 - p) * one, p * one
        h2 = (1 - (-nu).exp()) / nu
        wanted = (
            (-nu).exp(),
            h2,
            nu * (-one).exp(),
            (-mu).exp() * h2 - (-one).exp(),
            (1 - p) * nu * (-one).exp() / (2 * p),
            ((-mu).exp() * h2 - (-one).exp() * (1 + nu / 2)) / mu,
        )
        for ours, exact in zip(found, wanted, strict=True):
            assert float(ours[position]) == pytest.approx(float(exact), rel=2e-12, abs=1e-300)


def test_at_zero_everybody_is_unique():
    zero, pi = np.zeros(1), np.full(1, 0.1)

    assert expected_inverse(zero, pi=pi).tolist() == [1.0]
    assert [part.tolist() for part in (*first_order(zero, pi=pi), *second_order(zero, pi=pi))] == [
        [0.0]
    ] * 4


def test_statistics_are_the_sums_over_all_cells_by_hand():
    space = mm.KeySpace([mm.Key("a", range(3)), mm.Key("b", range(4))])
    rng = np.random.default_rng(1)
    f, lam, pi = rng.integers(0, 4, 12), rng.gamma(2, 20, 12), np.full(12, 0.05)
    occupied = space.codes(np.flatnonzero(f))

    def means(codes):
        at = space.number(codes)
        return lam[at], pi[at]

    found = goodness_of_fit(space, occupied, f[f > 0], means)
    mu = pi * lam
    for a, b, total, z, robust in zip(
        first_order(lam, pi=pi),
        second_order(lam, pi=pi),
        (found.b1, found.b2),
        (found.z1, found.z2),
        (found.z1_robust, found.z2_robust),
        strict=True,
    ):
        t = a * (f - mu) + b * ((f - mu) ** 2 - f)
        assert total == pytest.approx(t.sum())
        assert z == pytest.approx(t.sum() / np.sqrt((a**2 * mu + 2 * b**2 * mu**2).sum()))
        assert robust == pytest.approx(t.sum() / np.sqrt(12 / 11 * ((t - t.mean()) ** 2).sum()))


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
