"""Designed matrices: least change, bounds, margins, forbidden moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter.errors import PerturbationError
from maskmeter.perturb.matrices import least_cost

SPACE = mm.KeySpace([mm.Key("age", [10, 20, 30, 40]), mm.Key("sex", "fm")])


def file(*counts):
    codes = np.repeat(np.arange(4), counts)
    return mm.Microdata(SPACE, np.column_stack([codes, np.arange(len(codes)) % 2]))


@given(st.lists(st.integers(1, 30), min_size=4, max_size=4), st.sampled_from([0.5, 0.7, 0.9]))
def test_designs_leave_the_margins_and_keep_to_the_bounds(counts, bound):
    largest = max(counts) / sum(counts)
    data = file(*counts)
    if largest * (1 - bound) > 1 - largest + 1e-9:
        with pytest.raises(PerturbationError, match="No invariant matrix"):
            mm.design_pram(data, "age", stay_at_most=bound)
        return
    design = mm.design_pram(data, "age", stay_at_most=bound)

    assert design.shares @ design.P == pytest.approx(design.shares, abs=1e-9)
    assert design.P.sum(axis=1) == pytest.approx(np.ones(4))
    assert np.all(design.P.diagonal() <= bound + 1e-9)
    assert design.expected_change >= 1 - bound - 1e-9
    assert np.all(design.P >= 0)


def test_a_design_changes_as_few_records_as_the_bound_allows():
    """With equal shares, each category loses exactly what the bound requires."""
    design = mm.design_pram(file(10, 10, 10, 10), "age", stay_at_most=0.8)

    assert design.expected_change == pytest.approx(0.2)


def test_the_distance_cost_moves_people_to_neighbouring_categories():
    design = mm.design_pram(file(10, 10, 10, 10), "age", stay_at_most=0.8, cost="distance")
    far = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) > 1

    assert np.all(design.P[far] == 0)


def test_forbidden_moves_have_probability_zero():
    design = mm.design_pram(
        file(10, 20, 30, 40),
        "age",
        stay_at_most={10: 0.9, 20: 0.9, 40: 0.9},
        forbidden=[(10, 20), (..., 30)],
    )

    assert design.P[0, 1] == 0
    assert design.P[:, 2].tolist() == [0, 0, 1, 0]
    assert np.all(design.P.diagonal()[[0, 1, 3]] <= 0.9 + 1e-9)


def test_bounds_may_be_given_for_some_categories():
    design = mm.design_pram(file(10, 10, 10, 10), "age", stay_at_most={20: 0.5})

    assert design.P[1, 1] <= 0.5 + 1e-9
    assert design.expected_change == pytest.approx(0.25)


def test_pram_uses_the_designed_matrix_unchanged():
    data = file(100, 200, 300, 400)
    design = mm.design_pram(data, "age", stay_at_most=0.8)
    release = design.pram(label="designed").apply(data, rng=1)

    assert release.mechanism.factors[0].P[0] == pytest.approx(design.P)
    assert release.changed.mean() == pytest.approx(design.expected_change, abs=0.05)
    assert design.to_frame().columns == ["category", "share", "stay"]


def test_a_matrix_can_be_designed_for_crossed_keys():
    data = file(10, 10, 10, 10)
    design = mm.design_pram(data, ("age", "sex"), stay_at_most=0.8)
    release = design.pram().apply(data, rng=1)

    assert design.P.shape == (8, 8)
    assert release.mechanism.factors[0].size == 8


def test_the_error_counts_categories_without_an_allowed_move():
    with pytest.raises(PerturbationError, match=r"1 of 4 categories has none.*40.0%"):
        mm.design_pram(file(10, 20, 30, 40), "age", stay_at_most=0.9, forbidden=[(40, ...)])


def test_rare_categories_respect_their_bounds():
    """The bound holds even for a category with one record in fourteen million."""
    counts = np.array([9_000_000, 5_000_000, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89])
    P = least_cost(
        counts / counts.sum(),
        cost=1 - np.eye(12),
        allowed=np.ones((12, 12), dtype=bool),
        stay_at_most=np.full(12, 0.9),
    )

    assert P is not None
    assert np.all(P.diagonal() <= 0.9 + 1e-7)
    assert counts @ P == pytest.approx(counts, rel=1e-7)
    # The largest loses a tenth and gains as many, nearly all from the second largest.
    assert counts @ (1 - P.diagonal()) == pytest.approx(2 * 0.1 * counts[0], rel=1e-4)


def test_a_design_for_one_file_preserves_the_margins_of_another():
    design = mm.design_pram(file(10, 20, 30, 40), "age", stay_at_most=0.7)
    other = file(70, 20, 10, 30)
    P = design.pram().apply(other, rng=1).mechanism.factors[0].P[0]
    p = np.array([70, 20, 10, 30]) / 130

    assert p @ P == pytest.approx(p, abs=1e-12)


def test_a_design_shows_no_shares():
    assert repr(mm.design_pram(file(10, 10, 10, 10), "age", stay_at_most=0.8)) == (
        "PramDesign(age, expected change 20.0%)"
    )
