"""Records that share a released cell: the arithmetic of their risk, exact and estimated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter.risk import expected, gathered
from maskmeter.risk.contenders import Contenders
from maskmeter.risk.expected import Cells
from maskmeter.risk.shared import shared_risk
from maskmeter.risk.shared_estimate import shared_factors


def contenders(odds, units):
    at = np.zeros(len(odds), dtype=np.int64)
    return Contenders(at, np.array(odds, dtype=float), np.array(units, dtype=float), 1)


def symmetric(odds, units, most):
    """e_0, e_1, ... in fractions; units may be parts of one, by the binomial series."""
    found = [Fraction(1)] + [Fraction(0)] * most
    for one, number in zip(map(Fraction, odds), map(Fraction, units), strict=True):
        series = [Fraction(1)]
        for r in range(1, most + 1):
            series.append(series[-1] * (number - r + 1) / r * one)
        found = [sum(found[r - i] * series[i] for i in range(r + 1)) for r in range(most + 1)]
    return found


def chance(odds, units, records, chosen):
    """o_B e_(m-1)(o without B) / e_m(o) in fractions."""
    others = [number - (kind == chosen) for kind, number in enumerate(units)]
    found = symmetric(odds, others, records)
    there = Fraction(odds[chosen]) * found[records - 1]
    return float(there / (found[records] + there))


@pytest.mark.parametrize("spread", [0.5, 3, 9])
@pytest.mark.parametrize("number", [3, 12, pytest.param(60, marks=pytest.mark.full)])
def test_the_chance_to_be_among_the_records_agrees_with_fractions(spread, number):
    """Odds that differ by up to 18 powers of ten, and any number of records."""
    rng = np.random.default_rng(int(10 * spread) + number)
    for _ in range(20):
        kinds = int(rng.integers(2, 6))
        odds = (10.0 ** rng.uniform(-spread, spread, kinds)).tolist()
        units = rng.integers(1, number, kinds).tolist()
        records, chosen = int(rng.integers(1, sum(units))), int(rng.integers(kinds))
        found = contenders(odds, units).chance_among(
            np.array([odds[chosen]]), np.array([float(records)])
        )
        assert found[0] == pytest.approx(chance(odds, units, records, chosen), abs=1e-13)


def test_cells_of_thousands_of_records_keep_their_digits():
    """All units together are as many as records: their chances sum to m."""
    rng = np.random.default_rng(1)
    odds, units = rng.uniform(0.01, 4, 20), rng.integers(1, 2000, 20)
    for records in (5, 700, 6000, int(units.sum()) - 1):
        held = np.full(20, float(records))
        each = Contenders(
            np.repeat(np.arange(20), 20), np.tile(odds, 20), np.tile(units, 20).astype(float), 20
        ).chance_among(odds, held)
        assert (units * each).sum() == pytest.approx(records, rel=1e-12)
        assert np.all((each > 0) & (each < 1 + 1e-12))
        assert np.all(np.diff(each[np.argsort(odds)]) >= -1e-12)


@settings(max_examples=200)
@given(st.data())
def test_polynomials_from_power_sums_agree_with_fractions(data):
    kinds = data.draw(st.integers(1, 4))
    several = {"min_size": kinds, "max_size": kinds}
    odds = data.draw(st.lists(st.sampled_from([0.01, 0.05, 0.25, 1.0, 3.0]), **several))
    units = data.draw(st.lists(st.sampled_from([0.25, 1.0, 2.5, 8.0, 60.75]), **several))
    records = data.draw(st.integers(2, 32))
    found, bound = contenders(odds, units).polynomials(np.array([float(records)]), np.ones(1))
    wanted = [float(one) for one in symmetric(odds, units, records)[-3:]]

    assert np.all(np.abs(found[:, 0] - wanted) <= 1e-13 * bound[:, 0])


@pytest.mark.parametrize("most", [0.05, 1.0, 9.0])
def test_the_approximation_for_large_cells_is_as_accurate_as_it_says(most):
    """Relative error times the square of the variance. Power half: without its last factor."""
    rng = np.random.default_rng(4)
    apart = []
    for _ in range(400):
        odds = most * rng.uniform(0, 1, 6) ** 3 + 1e-6
        units = 1 + rng.integers(0, 2000, 6) ** rng.uniform(0, 1, 6) // 1
        records = rng.integers(33, 400)
        if records >= units.sum():
            continue
        own, held = odds[rng.integers(6)], np.array([float(records)])
        here = contenders(odds, units)
        z = here._tilt(held)
        p = z * odds / (1 + z * odds)
        variance = (units * p * (1 - p)).sum()
        exact, about = here.chance_among(np.array([own]), held), z * own / (1 + z * own)
        better = here.chance_about(np.array([own]), held)
        apart.append(np.abs(np.append(better, about) / exact - 1) * variance**2)

    assert len(apart) > 200
    assert np.max(apart, axis=0)[0] <= 0.6 < np.max(apart, axis=0)[1]


def test_the_approximation_is_exact_where_all_odds_are_the_same():
    found = contenders([0.2, 0.2], [30.5, 70]).chance_about(np.array([0.2]), np.array([40.0]))

    assert found == pytest.approx(40 / 100.5, rel=1e-9)


def test_certain_units_take_their_records_and_the_others_compete_for_the_rest():
    def risk(x, units, chosen, records):
        of = np.zeros(len(x), dtype=np.int64)
        given_ = {"units": np.array(units, dtype=float), "chosen": np.array([chosen])}
        return float(shared_risk(of, np.array(x), **given_, records=np.array([float(records)]))[0])

    x, units = [1.0, 0.5, 0.2], [2, 3, 4]
    alone = chance([1.0, 0.25], [3, 4], 2, 0)  # two of the others are there
    assert risk(x, units, 1.0, 4) == 1 / 4
    assert risk(x, units, 0.5, 4) == pytest.approx(alone / 4, rel=1e-12)
    assert risk(x, units, 0.5, 2) == 0  # the certain ones are all there is
    assert risk(x, units, 0.2, 9) == 1 / 9  # everybody is there
    # Impossible data: (2.4), at most one in the number of records.
    assert risk(x, units, 1.0, 1) == 1 / 2
    assert risk([0.5], [2], 0.5, 3) == 1 / 3


def cells_of(x, count, lam, pi):
    rows = [np.array(one, dtype=float)[None] for one in (x, count, lam, pi)]
    return Cells(*rows), (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize("records", [2, 3, 7, 30, 40, 300])
def test_the_factor_is_the_ratio_of_the_exact_risks_where_nobody_is_unsampled(records):
    """Both intruders; the likeliest person is not in the own cell. Large cells as accurate as told."""
    x, count = [0.1, 0.3, 0.02, 0.02], [12, 9, 40, 800]
    cells, own = cells_of(x, count, np.zeros(4), np.full(4, 0.4))
    held = np.array([records])
    found = shared_factors(cells, own, records=held, informed=True)
    for factor, chosen in ((found.exact_match, 0.1), (found.informed, 0.3)):
        many, one = (
            shared_risk(
                np.zeros(4, dtype=np.int64),
                np.array(x),
                units=np.array(count, dtype=float),
                chosen=np.array([chosen]),
                records=np.array([float(m)]),
            )
            for m in (records, 1)
        )
        assert factor == pytest.approx(many / one, rel=1e-9 if records <= 32 else 1e-4)
    assert found.undefined == 0


def test_the_factor_is_1_for_single_records_and_without_misclassification():
    single, own = cells_of([0.1, 0.3], [1, 1], [20.5, 3.3], [0.2, 0.2])
    found = shared_factors(single, own, records=np.array([1]), informed=True)
    assert found.exact_match == found.informed == 1

    for m in (2, 5, 31, 33, 500):
        alone, own = cells_of([0.7, 0.0], [m, 9], [m * 1.37, 50.0], [0.7, 0.7])
        found = shared_factors(alone, own, records=np.array([m]), informed=True)
        assert found.exact_match == pytest.approx(1, rel=1e-8)
        assert found.informed == pytest.approx(1, rel=1e-8)


def test_the_factor_is_1_and_counted_where_so_many_records_are_not_to_be_expected():
    for m in (4, 50):
        cells, own = cells_of([0.5, 0.1], [1, 1], [0.2, 0.2], [0.7, 0.7])
        found = shared_factors(cells, own, records=np.array([m]), informed=False)
        assert found.exact_match == 1
        assert found.undefined == 1


def test_somebody_likelier_than_not_is_the_likeliest_person():
    """With nobody sampled in the own cell, and few to expect there, it is one of the next."""
    few, own = cells_of([0.4, 0.1, 0.05], [0, 3, 5], [0.2, 9, 9], [0.5, 0.5, 0.5])
    many, _ = cells_of([0.4, 0.1, 0.05], [0, 3, 5], [8, 9, 9], [0.5, 0.5, 0.5])
    held = np.array([2])
    found = shared_factors(few, own, records=held, informed=True)
    without, _ = cells_of([0.1, 0.05], [3, 5], [9, 9], [0.5, 0.5])
    assert found.informed == shared_factors(without, own, records=held, informed=True).informed
    assert found.exact_match < found.informed <= 1
    found = shared_factors(many, own, records=held, informed=True)
    assert found.informed == found.exact_match


def test_gathered_sources_give_shared_cells_the_same_risk(monkeypatch):
    town = mm.synthetic_census(size=30_000)
    keys = ["lad", "sex", "marital"]
    sample = mm.read(mm.bernoulli_sample(town, fraction=0.3, rng=1), keys=keys, fraction=0.3)
    noise = {"lad": mm.stay_or_move(11, stay=0.7), "marital": mm.stay_or_move(6, stay=0.9)}
    mechanism = mm.Misclassification(noise).on(sample)
    release = mm.Release(sample, sample.with_codes(mechanism.draw(sample.codes, rng=1)), mechanism)
    model = mm.fit_loglinear(sample, "all-two-way")
    wanted = mm.estimate_risk(release, model, interval="none").by_record
    monkeypatch.setattr(expected, "MOST_SOURCES", 10)
    monkeypatch.setattr(gathered, "LISTED", 16)
    found = mm.estimate_risk(release, model, interval="none").by_record

    assert found == pytest.approx(wanted, rel=0.01)
