"""Laws of the counts that a matrix tells: n of F people with a category were sampled."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter.errors import RateWarning
from maskmeter.mechanism import Mechanism
from maskmeter.risk.told_counts import (
    by_category,
    dispersion,
    gamma_mean,
    told_by_model,
    told_by_population,
)
from maskmeter.risk.view import View
from worlds import files

SPACE = mm.KeySpace([mm.Key("lad", "abc"), mm.Key("sex", "fm"), mm.Key("age", range(3))])
# Population counts by lad, sex and age; women of two districts and all men are alike.
UNITS = np.array([[[4, 3, 5], [2, 6, 4]], [[7, 2, 9], [3, 8, 5]], [[1, 6, 2], [9, 2, 3]]])
PEOPLE = np.repeat(np.argwhere(UNITS > 0), UNITS[UNITS > 0], axis=0)
POPULATION = mm.KeyTable.of(SPACE, PEOPLE)
PI = 0.25


def drawn(seed=1, pi=PI):
    rng = np.random.default_rng(seed)
    return mm.Microdata(SPACE, PEOPLE[rng.random(len(PEOPLE)) < pi], fraction=pi)


def quietly(action):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RateWarning)
        return action()


def swapped(sample, seed=1, **options):
    return quietly(lambda: mm.Swap("lad", 0.5, within=("sex",), **options).apply(sample, rng=seed))


def test_given_the_counts_each_person_of_a_category_is_sampled_with_the_chance_n_over_f():
    """By enumeration of all samples of six people of two categories, in fractions."""
    category, pi = [0, 0, 0, 0, 1, 1], Fraction(1, 5)
    chance, included = {}, {}
    for who in product([0, 1], repeat=6):
        p = prod(pi if one else 1 - pi for one in who)
        counts = tuple(sum(w for w, c in zip(who, category, strict=True) if c == k) for k in (0, 1))
        chance[counts] = chance.get(counts, 0) + p
        for person in (0, 5):
            key = (person, counts)
            included[key] = included.get(key, 0) + p * who[person]

    for counts, p in chance.items():
        assert included[0, counts] / p == Fraction(counts[0], 4)
        assert included[5, counts] / p == Fraction(counts[1], 2)


@pytest.mark.parametrize("description", ["balanced", "nominal", "realised"])
def test_exact_and_informed_risk_of_a_swap_are_those_by_hand(description):
    sample = drawn()
    release = swapped(sample, description=description)
    P = release.mechanism.factors[0]
    n = np.zeros((3, 2))
    np.add.at(n, (sample.codes[:, 0], sample.codes[:, 1]), 1)
    F = UNITS.sum(axis=2)
    risk = mm.exact_risk(release, POPULATION)
    informed = mm.exact_risk(release, POPULATION, intruder="informed")

    assert risk.uniques > 3
    for at, record in enumerate(risk.records):
        lad, sex, age = release.released.codes[record].astype(int)
        stratum = P.stratum(release.released.codes[record : record + 1])[0]
        x = n[:, sex] / F[:, sex] * P.P[stratum, :, lad]
        odds = x / (1 - x)
        total = (UNITS[:, sex, age] * odds).sum()
        assert risk.by_unique[at] == pytest.approx(odds[lad] / total)
        assert informed.by_unique[at] == pytest.approx(odds.max() / total)


def test_the_printed_form_is_left_as_it_is():
    """With inclusion="recorded", and in the approximations, the fraction counts for all."""
    release = swapped(drawn())
    plain = Mechanism(SPACE, tuple(replace(one, fitted=False) for one in release.mechanism.factors))
    by_fraction = replace(release, mechanism=plain)

    for intruder in ("exact-match", "informed"):
        told, untold, printed = (
            mm.exact_risk(one, POPULATION, intruder=intruder, inclusion=by).by_unique
            for one, by in ((release, "true"), (by_fraction, "true"), (release, "recorded"))
        )
        assert printed == pytest.approx(untold, rel=1e-12)
        assert told != pytest.approx(untold, rel=1e-3)
    for formula in ("2.5", "2.7"):
        found = [
            mm.approximate_risk(one, POPULATION, formula=formula).by_unique
            for one in (release, by_fraction)
        ]
        assert np.array_equal(*found)


def test_counts_that_are_as_the_fraction_has_them_tell_nothing():
    """Every fourth of each category of a population four times as large."""
    population = mm.KeyTable.of(SPACE, np.repeat(PEOPLE, 4, axis=0))
    release = swapped(mm.Microdata(SPACE, PEOPLE, fraction=0.25))
    true, recorded = (
        mm.exact_risk(release, population, inclusion=one).by_unique for one in ("true", "recorded")
    )

    assert len(true) > 0
    assert true == pytest.approx(recorded)


def test_in_a_large_file_the_counts_tell_next_to_nothing():
    rng = np.random.default_rng(3)
    spread = {}
    for size in (200, 20_000):
        people = np.repeat(PEOPLE, size // 20, axis=0)
        sample = mm.Microdata(SPACE, people[rng.random(len(people)) < 0.2], fraction=0.2)
        mechanism = swapped(sample).mechanism
        counts = mm.KeyTable.of(SPACE, people)
        pi = np.full(len(counts), 0.2)
        (scale,) = told_by_population(mechanism, counts, pi, sample=sample).scale
        spread[size] = np.abs(scale[np.unique(mechanism.factors[0].stratum(people))] - 1).max()

    assert spread[200] > 0.1
    assert spread[20_000] < 0.05  # the least of twelve categories has 2,400 records


def test_nobody_of_a_category_that_no_record_of_the_stratum_has_is_a_suspect():
    codes = np.array([[0, 0, 0], [1, 0, 1], [1, 0, 2], [0, 0, 2], [2, 1, 0], [1, 1, 1]])
    sample = mm.Microdata(SPACE, codes, fraction=0.1)
    uniques = View.of(swapped(sample), counts=POPULATION).uniques
    cells = uniques.counts.codes
    sources = uniques.inclusion.sources
    absent = (cells[:, :2] == [2, 0]).all(axis=1) | (cells[:, :2] == [0, 1]).all(axis=1)

    assert (sources[absent] == 0).all()
    assert (sources[~absent] > 0).all()
    assert np.isfinite(mm.exact_risk(swapped(sample), POPULATION, intruder="informed").total)


def fitted(release):
    return [one.fitted for one in release.mechanism.factors]


def test_only_a_factor_that_was_fitted_to_the_counts_tells_them():
    sample = mm.Microdata(SPACE, np.repeat(PEOPLE, 3, axis=0), fraction=0.1)
    swap = mm.Swap("lad", 0.3, within=("sex",))

    def after(*steps):
        return quietly(lambda: mm.protect(sample, list(steps), rng=1))

    assert fitted(after(swap)) == fitted(after(mm.Pram("lad", 0.8))) == [True]
    assert fitted(after(mm.Pram("lad", 0.8, invariant=False))) == [False]
    assert fitted(after(mm.Subsample(0.5), swap)) == [True]
    assert fitted(after(swap, mm.Pram("age", 0.9))) == [True, True]
    # Changed again, by changing strata, and with records left out the counts are no longer told.
    assert fitted(after(swap, mm.Pram("lad", 0.9))) == [False]
    assert fitted(after(swap, mm.Pram("sex", 0.9))) == [False]
    assert fitted(after(swap, mm.Subsample(0.5))) == [False]
    by_hand = mm.Misclassification({"lad": after(swap).mechanism.factors[0].P[0]}).on(sample)
    assert not by_hand.factors[0].fitted


def test_who_does_not_know_the_control_key_is_told_nothing():
    sample = mm.Microdata(SPACE, np.repeat(PEOPLE, 3, axis=0), fraction=0.1)
    release = swapped(sample)

    assert [one.fitted for one in View.of(release, ["lad", "age"]).mechanism.factors] == [False]
    assert [one.fitted for one in View.of(release, ["lad", "sex"]).mechanism.factors] == [True]


def test_two_swapped_keys_are_fitted_to_the_counts_of_both():
    sample = drawn(2)
    steps = [mm.Swap("lad", 0.3), mm.Swap("age", 0.3)]
    release = quietly(lambda: mm.protect(sample, steps, rng=1))
    view = View.of(release, counts=POPULATION)
    units, sources = POPULATION.counts, view.uniques.inclusion.sources

    for factor in view.mechanism.factors:
        expected = by_category(factor, POPULATION.codes, units * sources)
        assert expected == pytest.approx(by_category(factor, sample.codes), rel=1e-6)


@given(files(), st.sampled_from([0.1, 0.5, 1.0]), st.integers(0, 99))
def test_the_risk_never_exceeds_one_over_the_population_count(data, rate, seed):
    population = mm.KeyTable.of(data.space, np.repeat(data.codes, 3, axis=0))
    release = quietly(lambda: mm.Swap("lad", rate, within=("sex",)).apply(data, rng=seed))
    risk = mm.exact_risk(release, population)
    people = population.lookup(release.released.codes[risk.records])

    assert (risk.by_unique * people <= 1 + 1e-9).all()
    assert (risk.by_unique >= 0).all()


def test_a_model_with_the_counts_in_it_tells_nothing_new():
    sample = drawn(4, pi=0.5)
    release = swapped(sample)

    def estimates(terms):
        model = mm.fit_loglinear(sample, terms)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mm.MaskmeterWarning)
            found = [
                mm.estimate_risk(release, model, inclusion=one, interval="none").by_unique
                for one in ("true", "recorded")
            ]
        return model, found

    _, (true, recorded) = estimates("lad:sex")
    assert true == pytest.approx(recorded, rel=1e-6)
    model, (true, recorded) = estimates("independence")
    assert true != pytest.approx(recorded, rel=1e-3)
    told = told_by_model(release.mechanism, model.population, sample)
    n = np.bincount(sample.codes[:, 0] * 2 + sample.codes[:, 1], minlength=6).reshape(3, 2)
    lam = np.outer(n.sum(axis=1), n.sum(axis=0)) / n.sum() / 0.5
    cells = np.array([[lad, sex, 0] for lad in range(3) for sex in range(2)])
    moved = lam * (1 + (phi := dispersion(n, 0.5 * lam)) * n) / (1 + phi * 0.5 * lam)
    by_hand = (n / (n + 0.5 * moved)).ravel()
    assert told.given(cells, np.full(6, 0.5)) == pytest.approx(by_hand)


@pytest.mark.parametrize("phi", [0.0, 0.1, 0.5])
def test_the_dispersion_of_drawn_counts_is_found_again(phi):
    """Gamma means around fitted ones in 600 by 8 cells; rows and columns are free here."""
    rng = np.random.default_rng(1)
    mu = rng.uniform(5, 50, (600, 8))
    means = mu * rng.gamma(1 / phi, phi, mu.shape) if phi else mu

    assert dispersion(rng.poisson(means).astype(float), mu) == pytest.approx(
        phi, rel=0.25, abs=0.02
    )


def test_counts_that_a_model_misses_by_far_tell_of_the_model_and_not_of_the_sample():
    """A share of n / F that is 1 / 5 by the model goes back to the fraction."""
    mu = np.full((4, 5), 40.0)
    near, far = np.tile([35.0, 38, 40, 42, 45], (4, 1)), np.tile([5.0, 20, 40, 60, 75], (4, 1))
    far[1::2] = far[1::2, ::-1]
    near[1::2] = near[1::2, ::-1]

    assert dispersion(near, mu) == 0
    assert np.array_equal(gamma_mean(near, mu, dispersion(near, mu)), mu)
    assert np.abs(gamma_mean(far, mu, dispersion(far, mu)) / far - 1).max() < 0.5
