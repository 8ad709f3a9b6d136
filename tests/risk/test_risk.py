"""The approximations, the measures that need the truth, and the three views of a result."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

import maskmeter as mm
from maskmeter.mechanism import Rivals
from maskmeter.risk import formulas
from maskmeter.risk import population as counted_cells
from worlds import worlds

SPACE = mm.KeySpace([mm.Key("lad", "abc"), mm.Key("sex", "fm")])
POPULATION = mm.KeyTable.of(
    SPACE,
    np.repeat([[0, 0], [0, 1], [1, 0], [1, 1], [2, 1]], [3, 1, 2, 5, 4], axis=0),
)
ERRORS = mm.Misclassification({"lad": mm.stay_or_move(3, stay=0.8)})
ORIGINAL = mm.Microdata(SPACE, np.array([[0, 0], [1, 0], [1, 1], [1, 1], [0, 1]]), fraction=0.25)
MOVED = ORIGINAL.with_codes(np.array([[0, 0], [2, 0], [1, 1], [1, 1], [2, 1]]))
RELEASE = mm.Release(ORIGINAL, MOVED, ERRORS)
PI = 0.25


def by_hand(formula):
    """The printed equations, in plain Python, for the uniques (0, 0), (2, 0) and (2, 1)."""
    F = {"f": [3, 2, 0], "m": [1, 5, 4]}
    values = []
    for j, sex in ((0, "f"), (2, "f"), (2, "m")):
        own, stay = F[sex][j], 0.8
        M = [stay if k == j else 0.1 for k in range(3)]
        released = sum(f * m for f, m in zip(F[sex], M, strict=True))
        if own == 0:
            values.append(0.0)
        elif formula == "2.4":
            below = sum(f * m / (1 - PI * m) for f, m in zip(F[sex], M, strict=True))
            values.append(stay / (1 - PI * stay) / below)
        elif formula == "2.5":
            values.append(stay / released)
        elif formula == "2.6":
            small = (released - own * stay) / (own * stay / (1 - PI * stay))
            values.append((1 - small) / own)
        elif formula == "2.6 released":
            small = (released - released * stay) / (released * stay / (1 - PI * stay))
            values.append((1 - small) / released)
        else:
            below = own * PI * stay**2 / (1 - PI * stay) + released
            values.append(stay / (1 - PI * stay) / below)
    return values


def test_exact_risk_of_a_release_is_the_printed_equation():
    risk = mm.exact_risk(RELEASE, POPULATION)

    assert risk.records.tolist() == [0, 1, 4]
    assert risk.by_unique == pytest.approx(by_hand("2.4"), rel=1e-14)
    assert risk.without_target == 1


@pytest.mark.parametrize("formula", ["2.5", "2.6", "2.6 released", "2.7"])
def test_approximations_are_the_printed_equations(formula):
    risk = mm.approximate_risk(RELEASE, POPULATION, formula=formula)

    assert risk.by_unique == pytest.approx(by_hand(formula), rel=1e-14)
    assert f"({formula})" in risk.measure


def test_a_sample_recorded_with_error_has_the_risk_of_a_release_of_the_same_values():
    recorded = mm.exact_risk(MOVED, POPULATION, misclassification=ERRORS)

    assert recorded.by_unique.tolist() == mm.exact_risk(RELEASE, POPULATION).by_unique.tolist()


def test_correctly_classified_risk_counts_unchanged_uniques_only():
    risk = mm.correctly_classified_risk(RELEASE, POPULATION)

    assert risk.by_unique.tolist() == pytest.approx([1 / 3, 0, 0])
    assert mm.correctly_classified_risk(ORIGINAL, POPULATION).total == pytest.approx(
        mm.exact_risk(ORIGINAL, POPULATION).total
    )


def test_in_sample_risk_is_the_measure_of_gouweleeuw():
    risk = mm.in_sample_risk(RELEASE, formula="2.2")

    # Original counts f: (0, f) 1, (1, f) 1, (1, m) 2, (0, m) 1.
    assert risk.by_unique == pytest.approx([0.8 / (0.8 + 0.1), 0, 0], rel=1e-14)
    assert mm.in_sample_risk(ORIGINAL).by_unique.tolist() == [1, 1, 1]


def test_realised_counts_keep_the_sample_and_draw_everybody_else():
    everyone_stays = mm.Release(ORIGINAL, ORIGINAL, ERRORS)
    runs = [
        mm.approximate_risk(everyone_stays, POPULATION, released_counts="realised", rng=seed)
        for seed in range(2000)
    ]
    counts = np.array([0.8 / run.by_unique for run in runs])  # uniques (0, f), (1, f), (0, m)
    # One unit each is in the sample and stays; of the others 0.8 stay and 0.1 come from each cell.
    expected = [1 + 2 * 0.8 + 1 * 0.1, 1 + 1 * 0.8 + 2 * 0.1, 1 + 0.1 * (3 + 4)]
    error = counts.std(axis=0) / math.sqrt(len(runs))

    assert np.all(counts == counts.round(9))
    assert np.all(counts.round(9) >= 1)
    assert np.all(np.abs(counts.mean(axis=0) - expected) < 6 * error)  # false alarm 6e-9
    assert not np.all(np.abs(counts.mean(axis=0) - np.array(expected) * 1.1) < 6 * error)


def test_realised_counts_without_misclassification_are_the_population_counts():
    risk = mm.approximate_risk(ORIGINAL, POPULATION, released_counts="realised", rng=1)

    assert risk.by_unique.tolist() == mm.exact_risk(ORIGINAL, POPULATION).by_unique.tolist()


@pytest.mark.parametrize("formula", ["2.6", "2.6 released"])
def test_negative_values_of_2_6_are_kept_counted_and_warned_about(formula):
    errors = mm.Misclassification({"lad": mm.stay_or_move(3, stay=0.1)})
    said = rf"2 of 3 values of approximation \({formula}\) are negative"
    with pytest.warns(mm.MaskmeterWarning, match=said):
        risk = mm.approximate_risk(MOVED, POPULATION, formula=formula, misclassification=errors)

    assert risk.negative == 2
    assert risk.total < 0
    assert "2 values are negative" in risk.summary()
    assert risk.distribution()["count"].sum() == 3


def test_a_full_move_leaves_no_risk_by_any_equation():
    errors = mm.Misclassification({"lad": mm.stay_or_move(3, stay=0.0)})
    for formula in ("2.5", "2.6", "2.6 released", "2.7"):
        risk = mm.approximate_risk(MOVED, POPULATION, formula=formula, misclassification=errors)
        assert risk.by_unique.tolist() == [0, 0, 0]
    assert mm.exact_risk(MOVED, POPULATION, misclassification=errors).total == 0


@given(worlds(most_units=10))
def test_approximation_2_7_is_exact_as_the_fraction_tends_to_zero(world):
    sample = mm.Microdata(world.space, world.sample.codes, fraction=1e-12)
    exact = mm.exact_risk(sample, world.population, misclassification=world.errors)
    for formula in ("2.5", "2.7"):
        near = mm.approximate_risk(
            sample, world.population, formula=formula, misclassification=world.errors
        )
        assert near.by_unique == pytest.approx(exact.by_unique, rel=1e-9)


def test_certain_rivals_leave_risk_only_to_certain_targets():
    one = np.ones(3)
    rivals = Rivals(weighted=0 * one, certain=np.array([2.0, 2.0, 0.0]), likeliest=0 * one)
    stay = np.array([1.0, 0.5, 1.0])
    world = {"stay": stay, "population": one, "rivals": rivals, "pi": one}

    assert formulas.match_probability(**world).tolist() == [1 / 3, 0, 1]
    assert formulas.likeliest_probability(**world).tolist() == [1 / 3, 1 / 2, 1]


def test_a_population_smaller_than_the_sample_warns():
    other = mm.KeyTable.of(SPACE, np.array([[0, 0], [1, 1], [2, 0]]))
    with pytest.warns(mm.MaskmeterWarning, match="In 3 cells the population has fewer units"):
        mm.exact_risk(ORIGINAL, other)


def test_a_result_answers_per_record_and_for_the_whole_file():
    risk = mm.exact_risk(RELEASE, POPULATION)

    assert risk.uniques == 3
    assert risk.total == pytest.approx(sum(by_hand("2.4")))
    assert risk.share == pytest.approx(risk.total / 3)
    assert np.isnan(risk.by_record).tolist() == [False, False, True, True, False]
    assert risk.by_record[risk.records].tolist() == risk.by_unique.tolist()


def test_the_summary_states_results_and_assumptions_and_no_record():
    text = mm.exact_risk(RELEASE, POPULATION).summary()

    assert text.startswith("Exact risk (2.4): 0.5 expected correct matches among 3 sample uniques")
    assert "1 of the uniques is in a cell that nobody in the population belongs to" in text
    assert "Assumed: misclassification matrix known; population counts known" in text


def test_a_file_without_uniques_has_no_risk():
    twins = mm.Microdata(SPACE, np.array([[1, 1], [1, 1]]), fraction=0.5)
    for misclassification in (None, ERRORS):
        risk = mm.exact_risk(twins, POPULATION, misclassification=misclassification)
        assert (risk.total, risk.share, risk.uniques) == (0.0, 0.0, 0)
        assert np.isnan(risk.by_record).all()
        assert len(risk.to_frame()) == 0


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
def test_the_frame_of_a_result_is_of_the_users_kind_with_released_values(kind):
    people = kind({"lad": ["a", "b", "b"], "age": [1, 2, 2]})
    keys = [mm.Key("lad", "abc"), mm.Key("age", [1, 2])]
    sample = mm.read(people, keys=keys, fraction=0.5)
    moved = sample.with_codes(np.array([[2, 0], [1, 1], [1, 1]]))
    population = mm.KeyTable.of(sample.space, np.array([[0, 0], [1, 1], [1, 1], [2, 0]]))
    frame = mm.exact_risk(mm.Release(sample, moved, ERRORS), population).to_frame()

    assert isinstance(frame, type(people))
    plain = frame.to_pydict() if kind is pa.table else {c: list(frame[c]) for c in frame.columns}
    assert list(plain) == ["record", "lad", "age", "risk"]
    assert (plain["record"], plain["lad"], plain["age"]) == ([0], ["c"], [1])
    own, rival = 0.8 / (1 - 0.5 * 0.8), 0.1 / (1 - 0.5 * 0.1)
    assert plain["risk"] == [pytest.approx(own / (own + rival))]


def test_a_key_named_like_a_column_of_the_result_is_rejected():
    sample = mm.Microdata(mm.KeySpace([mm.Key("risk", "ab")]), np.array([[0]]), fraction=0.5)
    population = mm.KeyTable.of(sample.space, np.array([[0], [1]]))

    with pytest.raises(mm.MaskmeterError, match="'risk'"):
        mm.exact_risk(sample, population).to_frame()


def test_the_plot_draws_bins_and_contains_no_record():
    risk = mm.exact_risk(RELEASE, POPULATION)
    spec = risk.plot().to_dict()
    (data,) = spec["datasets"].values()

    assert sum(row["count"] for row in data) == risk.uniques
    assert set(data[0]) == {"low", "high", "count"}
    assert "0.5 expected correct matches" in spec["description"]


def test_risks_that_would_fill_one_bar_are_drawn_as_a_falling_curve():
    space = mm.KeySpace([mm.Key("place", range(500))])
    everyone = np.repeat(np.arange(500), np.arange(500) + 40)[:, None]
    sample = mm.Microdata(space, np.arange(500)[:, None], fraction=0.01)
    risk = mm.exact_risk(sample, mm.KeyTable.of(space, everyone))
    spec = risk.plot(subtitle="All below a twentieth").to_dict()
    (data,) = spec["datasets"].values()

    assert (risk.distribution()["count"] > 0).sum() == 1
    assert 100 < len(data) <= 200
    assert (data[0], data[-1]) == ({"rank": 1, "risk": 1 / 40}, {"rank": 500, "risk": 1 / 539})
    assert all(a["risk"] > b["risk"] for a, b in pairwise(data))
    assert spec["title"]["subtitle"] == "All below a twentieth"
    few = replace(risk, by_unique=np.array([0.3]), records=np.array([0]))
    assert few.ranked().to_dicts() == [{"rank": 1, "risk": 0.3}]
    none = replace(risk, by_unique=np.array([]), records=np.array([], dtype=np.int64))
    assert set(none.plot().to_dict()["layer"][0]["encoding"]) >= {"x", "y", "y2"}


class TestRealisedCounts:
    """Three uniques: (0, f) has a target and stays, (2, f) has none, (2, m) has one."""

    def realised(self, formula, rng=1):
        return mm.approximate_risk(
            RELEASE, POPULATION, formula=formula, released_counts="realised", rng=rng
        )

    @pytest.mark.parametrize("formula", ["2.5", "2.6 released"])
    def test_formulas_of_released_counts_alone_count_uniques_without_a_target(self, formula):
        risk = self.realised(formula)

        assert risk.without_target == 1
        assert risk.by_unique[1] > 0
        assert "it is included" in risk.summary()

    @pytest.mark.filterwarnings("ignore::maskmeter.errors.NegativeRiskWarning")
    @pytest.mark.parametrize("formula", ["2.6", "2.7"])
    def test_2_6_and_2_7_do_not(self, formula):
        risk = self.realised(formula)

        assert risk.by_unique[1] == 0
        assert "no target, no risk" in risk.summary()

    def test_a_population_drawn_in_parts_is_the_population_drawn_whole(self, monkeypatch):
        whole = [self.realised("2.5", rng).by_unique.tolist() for rng in range(20)]
        monkeypatch.setattr(counted_cells, "_UNITS_AT_ONCE", 3)

        assert [self.realised("2.5", rng).by_unique.tolist() for rng in range(20)] == whole

    def test_a_file_without_uniques_has_none(self):
        twins = mm.Microdata(SPACE, np.array([[1, 1], [1, 1]]), fraction=0.5)
        release = mm.Release(twins, twins, ERRORS)

        risk = mm.approximate_risk(release, POPULATION, released_counts="realised", rng=1)

        assert risk.uniques == 0


def test_inclusion_is_that_of_the_true_cell_or_of_the_recorded_one():
    pi = {"a": 0.5, "b": 0.25, "c": 0.125}
    original = mm.Microdata(SPACE, ORIGINAL.codes, fraction=mm.by("lad", pi))
    release = mm.Release(original, original.with_codes(MOVED.codes), ERRORS)
    recorded = mm.exact_risk(release, POPULATION, inclusion="recorded")

    # The last unique was moved from a to c among men, F = (1, 5, 4).
    own = 0.8 / (1 - 0.125 * 0.8)
    rival = 0.1 / (1 - 0.125 * 0.1)
    assert recorded.by_unique[2] == pytest.approx(own / (4 * own + 6 * rival), rel=1e-14)

    def odds(x):
        return x / (1 - x)

    true = mm.exact_risk(release, POPULATION)
    own, of_a, of_b = odds(0.125 * 0.8), odds(0.5 * 0.1), odds(0.25 * 0.1)
    wanted = own / (4 * own + of_a + 5 * of_b)
    assert true.by_unique[2] == pytest.approx(wanted, rel=1e-14)
    with pytest.raises(mm.MaskmeterError, match="`inclusion` must be one of 'true', 'recorded'"):
        mm.exact_risk(release, POPULATION, inclusion="released")
    with pytest.raises(mm.MaskmeterError, match="one of 'exact-match', 'informed'"):
        mm.exact_risk(release, POPULATION, intruder="clever")


def test_a_released_file_need_not_repeat_how_it_was_sampled():
    released = mm.Microdata(SPACE, MOVED.codes)
    release = mm.Release(ORIGINAL, released, ERRORS)

    assert mm.exact_risk(release, POPULATION).total == mm.exact_risk(RELEASE, POPULATION).total


def test_without_misclassification_it_does_not_matter_how_the_sample_was_drawn():
    plain = mm.Microdata(SPACE, ORIGINAL.codes)
    risk = mm.exact_risk(plain, POPULATION)

    assert risk.by_unique.tolist() == mm.exact_risk(ORIGINAL, POPULATION).by_unique.tolist()
    assert "nothing misclassified" in risk.summary()
