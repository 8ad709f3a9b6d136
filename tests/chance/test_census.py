"""The synthetic census looks like the paper's, and the risk measures agree on it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import maskmeter as mm

SIZES = {"lad": 11, "sex": 2, "age": 24, "marital": 6, "ethnicity": 17, "activity": 10}


def samples(census, population, seeds):
    for seed in seeds:
        drawn = mm.bernoulli_sample(census, fraction=0.01, rng=seed)
        yield mm.read(drawn, keys=population.space, fraction=0.01)


def test_the_census_has_the_papers_keys_and_size(census):
    assert len(census) == 1_468_255
    assert {name: len(kind.categories) for name, kind in census.schema.items()} == SIZES


def test_the_same_seed_gives_the_same_census():
    first, same, other = (mm.synthetic_census(size=2000, rng=seed) for seed in (1, 1, 2))

    assert first.equals(same)
    assert not first.equals(other)


@pytest.mark.parametrize("rng", range(3))
def test_sample_uniques_and_risk_are_like_the_papers(rng):
    """2,831 uniques and tau* = 358 there; the spread over samples is 40 and 10."""
    census = mm.synthetic_census(rng=rng)
    population = mm.count(census, keys=census.columns)
    british = (census["ethnicity"] == "White British").mean()
    risks = [mm.exact_risk(one, population) for one in samples(census, population, range(10))]

    assert 0.86 <= british <= 0.88
    assert 2500 <= np.mean([risk.uniques for risk in risks]) <= 3200
    assert 330 <= np.mean([risk.total for risk in risks]) <= 400


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("marital", "age"),
        ("marital", "sex"),
        ("activity", "age"),
        ("activity", "sex"),
        ("age", "ethnicity"),
        ("lad", "ethnicity"),
        ("activity", "lad"),
    ],
)
def test_keys_depend_on_each_other_as_in_a_real_census(census, first, second):
    """Chi-squared per degree of freedom is 1 without dependence; real tables are far above."""
    table = mm.count(census, keys=[first, second]).dense()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    chi2 = ((table - expected) ** 2 / expected)[expected > 0].sum()
    degrees = (table.shape[0] - 1) * (table.shape[1] - 1)

    assert chi2 / degrees > 20


def test_children_are_single_and_do_not_work(census):
    children = census.filter(pl.col("age").is_in(["0-2", "5-7", "15"]))

    assert (children["marital"] == "Single").all()
    assert (children["activity"] == "Under 16").all()


def average_of(census, population, *, seeds, told):
    """Return the average of tau and of tau*_CC when stay is 0.9 and the assessor is `told`."""
    size = SIZES["lad"]
    right = mm.Misclassification({"lad": mm.stay_or_move(size, stay=0.9)})
    told_errors = mm.Misclassification({"lad": mm.stay_or_move(size, stay=told)})
    totals = []
    for seed, sample in zip(seeds, samples(census, population, seeds), strict=True):
        moved = sample.with_codes(right.on(sample).draw(sample.codes, rng=seed))
        tau = mm.exact_risk(moved, population, misclassification=told_errors)
        known = mm.correctly_classified_risk(mm.Release(sample, moved, right), population)
        totals.append((tau.total, known.total))
    return np.mean(totals, axis=0)


def test_tau_is_the_mean_correctly_classified_risk(census, population):
    """Twenty draws, within 3 %: one standard error is about 1 %. The seeds are fixed."""
    tau, known = average_of(census, population, seeds=range(20), told=0.9)

    assert abs(tau / known - 1) < 0.03


def test_tau_with_the_wrong_matrix_differs_from_it(census, population):
    tau, known = average_of(census, population, seeds=range(20), told=0.8)

    assert abs(tau / known - 1) > 0.03


@pytest.mark.full
def test_tau_is_the_mean_correctly_classified_risk_over_many_draws(census, population, seed):
    """400 draws: one standard error is about 0.25 %, so 1.5 % has a false-alarm rate of 2e-9."""
    seeds = range(seed, seed + 400)
    tau, known = average_of(census, population, seeds=seeds, told=0.9)
    wrong, _ = average_of(census, population, seeds=seeds, told=0.88)

    assert abs(tau / known - 1) < 0.015
    assert abs(wrong / known - 1) > 0.015
