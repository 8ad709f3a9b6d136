"""Laws of swapping: who may be paired, and what stays exactly as it was."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter.errors import RateWarning
from maskmeter.perturb import matrices
from maskmeter.perturb.pairing import pair
from maskmeter.streams import generator
from worlds import FILE_SIZES as SIZES
from worlds import FILE_SPACE as SPACE
from worlds import files


def swapped(data, step, seed):
    """Return the release, whether or not as many could be paired as were asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RateWarning)
        return step.apply(data, rng=seed)


def counts(data, *names):
    return mm.KeyTable.of(data.space, data.codes).project(names)


rates = st.sampled_from([0.0, 0.1, 0.5, 1.0])


@given(files(), rates, st.sampled_from([(), ("sex",), ("sex", "age")]), st.integers(0, 99))
def test_margins_are_exact_within_each_stratum_and_in_total(data, rate, within, seed):
    release = swapped(data, mm.Swap("lad", rate, within=within), seed)

    assert counts(release.released, "lad", *within) == counts(data, "lad", *within)
    assert counts(release.released, "lad") == counts(data, "lad")


@given(files(), rates, st.integers(0, 99))
def test_only_the_named_key_changes(data, rate, seed):
    release = swapped(data, mm.Swap("lad", rate, within=("sex",)), seed)

    assert np.array_equal(release.released.codes[:, 1:], data.codes[:, 1:])


@given(files(), rates, st.integers(0, 99))
def test_moves_come_in_pairs_between_different_categories(data, rate, seed):
    """Each category gives as many as it takes, and nobody is moved to where they were."""
    release = swapped(data, mm.Swap("lad", rate, within=("age",)), seed)
    moved = release.changed
    achieved = release.rates["achieved"] * release.rates["records"]

    assert moved.sum() == pytest.approx(
        achieved.sum()
    )  # a pair of one category would change nobody
    assert moved.sum() % 2 == 0
    for age in range(SIZES["age"]):
        here = moved & (data.codes[:, 3] == age)
        before, after = data.codes[here, 0], release.released.codes[here, 0]
        assert np.array_equal(np.bincount(before, minlength=4), np.bincount(after, minlength=4))


@given(files(), st.integers(0, 99))
def test_keys_that_move_together_keep_their_combinations(data, seed):
    release = swapped(data, mm.Swap(("lad", "ward"), 0.5, within=("sex",)), seed)

    assert counts(release.released, "lad", "ward", "sex") == counts(data, "lad", "ward", "sex")
    assert np.array_equal(release.released.codes[:, 2:], data.codes[:, 2:])


@given(files(), rates, st.sampled_from([(), ("sex",), ("sex", "age")]), st.integers(0, 99))
def test_balanced_and_realised_matrices_leave_the_counts_of_every_stratum(data, rate, within, seed):
    for description in ("balanced", "realised"):
        release = swapped(data, mm.Swap("lad", rate, within=within, description=description), seed)
        mechanism = release.mechanism
        occupied = mm.KeyTable.of(SPACE, data.codes)
        stays = mechanism.stay(SPACE.codes(np.arange(SPACE.size)))
        assert np.all((stays >= 0) & (stays <= 1))
        factor = mechanism.factors[0]
        stratum = factor.stratum(occupied.codes)
        for s in range(len(factor.P)):
            here = stratum == s
            n = np.bincount(occupied.codes[here, 0], weights=occupied.counts[here], minlength=4)
            assert n @ factor.P[s] == pytest.approx(n, abs=1e-9)


@given(files(), st.integers(0, 99))
def test_the_realised_matrix_counts_the_actual_moves(data, seed):
    release = swapped(data, mm.Swap("lad", 0.5, description="realised"), seed)
    P = release.mechanism.factors[0].P[0]
    true, now = data.codes[:, 0].astype(int), release.released.codes[:, 0]
    moves = np.bincount(true * 4 + now, minlength=16).reshape(4, 4)

    assert moves.sum(axis=1)[:, None] * P == pytest.approx(moves)


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=20), min_size=1, max_size=6),
    st.integers(0, 99),
)
def test_pairing_ends_with_everybody_in_one_pair_of_two_categories(strata, seed):
    category, stratum = [], []
    for number, categories in enumerate(strata):
        counts = np.bincount(categories, minlength=4)
        counts[counts.argmax()] = min(counts.max(), counts.sum() - counts.max())
        counts[np.flatnonzero(counts)[:1]] -= counts.sum() % 2
        largest = counts.argmax()
        counts[largest] = min(counts[largest], counts.sum() - counts[largest])
        counts[largest] -= counts.sum() % 2
        category += np.repeat(np.arange(4), counts).tolist()
        stratum += [number] * int(counts.sum())
    category, stratum = np.array(category, dtype=int), np.array(stratum, dtype=int)
    pairs = pair(category, stratum, rng=generator(seed, "pair"))

    assert sorted(pairs.ravel().tolist()) == list(range(len(category)))
    assert np.all(category[pairs[:, 0]] != category[pairs[:, 1]])
    assert np.all(stratum[pairs[:, 0]] == stratum[pairs[:, 1]])


@given(st.lists(st.integers(0, 40), min_size=2, max_size=8))
def test_symmetric_flows_add_up_to_what_each_category_moves(moved):
    moved = np.array(moved, dtype=float)
    largest = moved.argmax()
    moved[largest] = min(moved[largest], moved.sum() - moved[largest])
    found = matrices.symmetric_flows(moved)

    assert found.sum(axis=1) == pytest.approx(moved, abs=1e-9)
    assert np.array_equal(found, found.T)
    assert np.all(found >= 0)
    assert np.all(found.diagonal() == 0)


def test_a_full_swap_has_diagonals_of_exactly_zero():
    data = mm.Microdata(SPACE, np.column_stack([np.arange(40) % 4, *np.zeros((3, 40), int)]))
    for description in ("balanced", "nominal", "realised"):
        release = mm.Swap("lad", 1.0, description=description).apply(data, rng=1)
        assert release.mechanism.factors[0].P[0].diagonal().tolist() == [0, 0, 0, 0]
        assert release.changed.all()


def test_the_nominal_matrix_is_the_papers():
    data = mm.Microdata(
        SPACE,
        np.column_stack([np.repeat([0, 1, 2, 3], [40, 30, 20, 10]), *np.zeros((3, 100), int)]),
    )
    release = mm.Swap("lad", 0.2, description="nominal").apply(data, rng=1)
    P = release.mechanism.factors[0].P[0]

    assert P[0] == pytest.approx([0.8, 0.2 * 30 / 60, 0.2 * 20 / 60, 0.2 * 10 / 60])
    assert P[3] == pytest.approx([0.2 * 40 / 90, 0.2 * 30 / 90, 0.2 * 20 / 90, 0.8])


def test_pairs_stay_within_each_group_that_has_its_own_rate():
    rng = np.random.default_rng(1)
    data = mm.Microdata(SPACE, np.column_stack([rng.integers(0, n, 400) for n in SIZES.values()]))
    aimed = mm.Swap("lad", mm.by("age", {0: 0.0, 1: 0.25}, otherwise=1.0))
    release = aimed.apply(data, rng=2)

    assert counts(release.released, "lad", "age") == counts(data, "lad", "age")
    assert not release.changed[data.codes[:, 3] == 0].any()
    assert release.rates["stratum"].to_list() == ["age: 0", "age: 1", "age: other"]
    assert release.rates["asked"].to_list() == [0.0, 0.25, 1.0]
    assert release.rates["achieved"].to_list() == pytest.approx([0.0, 0.25, 1.0], abs=0.02)


def test_a_dominant_category_is_paired_as_far_as_possible_with_a_warning():
    codes = np.column_stack([np.repeat([0, 1], [90, 10]), *np.zeros((3, 100), int)])
    data = mm.Microdata(SPACE, codes)
    with pytest.warns(
        RateWarning, match=r"20 records were swapped where 100 were asked for. In 1 of 1 stratum"
    ):
        release = mm.Swap("lad", 1.0).apply(data, rng=1)

    assert release.changed.sum() == 20
    assert release.rates["achieved"].to_list() == [0.2]
    P = release.mechanism.factors[0].P[0]
    assert P[:2, :2] == pytest.approx(np.array([[8 / 9, 1 / 9], [1, 0]]))


def test_small_strata_lose_no_swaps_to_rounding():
    """1,000 strata of ten records at 5 %: rounding down would swap nobody."""
    space = mm.KeySpace([mm.Key("lad", range(5)), mm.Key("cell", range(1000))])
    codes = np.column_stack([np.tile(np.arange(5), 2000), np.repeat(np.arange(1000), 10)])
    data = mm.Microdata(space, codes)
    release = swapped(data, mm.Swap("lad", 0.05, within=("cell",)), 3)

    assert 400 < release.changed.sum() < 600


def test_the_same_seed_gives_the_same_swap_and_another_does_not():
    rng = np.random.default_rng(1)
    data = mm.Microdata(SPACE, np.column_stack([rng.integers(0, n, 400) for n in SIZES.values()]))
    first, same, other = (mm.Swap("lad", 0.3).apply(data, rng=seed) for seed in (1, 1, 2))

    assert first.released == same.released
    assert first.released != other.released


def test_steps_are_values():
    assert mm.Swap("lad", 0.2) == mm.Swap("lad", rate=0.2)
    assert len({mm.Swap("lad", 0.2), mm.Swap("lad", 0.2), mm.Swap("lad", 0.3)}) == 2
    assert repr(mm.Swap(("lad", "ward"), 0.2, within=["sex"])) == (
        "Swap(('lad', 'ward'), rate=0.2, within=('sex',), label='swap lad x ward')"
    )


def test_a_frame_goes_in_and_the_same_kind_comes_out():
    people = pl.DataFrame({"x": range(40), "lad": ["a", "b", "c", "d"] * 10})
    release = mm.Swap("lad", 0.5).apply(mm.read(people, keys=["lad"]), rng=1)
    frame = release.released.to_frame()

    assert frame.columns == ["x", "lad"]
    assert frame["x"].to_list() == list(range(40))
    assert (frame["lad"] != people["lad"]).sum() == 20


def test_strata_too_small_for_the_rate_warn():
    """1,000 strata of 8, 1 and 1 records: few of the 2,000 asked for can be paired."""
    space = mm.KeySpace([mm.Key("lad", range(3)), mm.Key("cell", range(1000))])
    codes = np.column_stack(
        [np.tile(np.repeat([0, 1, 2], [8, 1, 1]), 1000), np.repeat(np.arange(1000), 10)]
    )
    with pytest.warns(RateWarning, match="records were swapped where 2,000 were asked for"):
        mm.Swap("lad", 0.2, within=("cell",)).apply(mm.Microdata(space, codes), rng=1)


def test_a_category_of_exactly_half_the_records_is_paired_quickly():
    """Every pair must hold it: looking for partners at random would take the square of the records."""
    space = mm.KeySpace([mm.Key("sex", "fm")])
    data = mm.Microdata(space, (np.arange(200_000) % 2)[:, None])
    release = mm.Swap("sex", 1.0).apply(data, rng=1)

    assert release.changed.all()


def test_matrices_of_many_categories_and_strata_are_made_quickly():
    rng = np.random.default_rng(2)
    space = mm.KeySpace([mm.Key("a", range(100)), mm.Key("b", range(100))])
    data = mm.Microdata(space, rng.integers(0, 100, (3000, 2)))
    release = swapped(data, mm.Swap("a", 0.2, within=("b",)), 1)

    assert release.changed.mean() == pytest.approx(0.2, abs=0.03)


@pytest.mark.slow
def test_keys_that_determine_each_other_are_swapped_quickly():
    rng = np.random.default_rng(2)
    space = mm.KeySpace([mm.Key("region", range(10)), mm.Key("lad", range(370))])
    lad = rng.integers(0, 370, 20_000)
    data = mm.Microdata(space, np.column_stack([lad // 37, lad]))
    for step in (mm.Swap(("region", "lad"), 0.2), mm.Pram(("region", "lad"), 0.8)):
        after = step.apply(data, rng=1).released.codes.astype(int)
        assert np.array_equal(after[:, 0], after[:, 1] // 37)


def test_the_nominal_matrix_of_a_swap_that_fell_short_warns():
    data = mm.Microdata(
        SPACE, np.column_stack([np.repeat([0, 1], [900, 100]), *np.zeros((3, 1000), int)])
    )
    with pytest.warns(RateWarning, match="nominal matrix describes the rate that was asked for"):
        release = mm.Swap("lad", 0.5, description="nominal").apply(data, rng=1)

    assert release.rates["expected"].to_list() == pytest.approx([0.5])
    assert release.rates["achieved"].to_list() == pytest.approx([0.1])
