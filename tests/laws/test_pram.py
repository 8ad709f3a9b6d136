"""Laws of PRAM: margins, forbidden moves, and the matrix that was used."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import maskmeter as mm
from maskmeter.errors import RateWarning
from maskmeter.perturb import matrices
from worlds import FILE_SPACE as SPACE
from worlds import files

SIZE = 5
shares = arrays(float, SIZE, elements=st.sampled_from([0, 1, 2, 10, 1000.0])).filter(
    lambda p: (p > 0).sum() >= 2
)
squares = arrays(float, (SIZE, SIZE), elements=st.sampled_from([0, 1, 5, 20.0])).map(
    lambda P: (P + np.eye(SIZE)) / (P + np.eye(SIZE)).sum(axis=1, keepdims=True)
)
blends = st.floats(0, 1)


@given(squares, shares, blends)
def test_two_stage_matrices_leave_the_margins_for_every_blend(P, counts, blend):
    p = counts / counts.sum()
    R = matrices.blended(matrices.two_stage(P, p), blend=blend)

    assert p @ R == pytest.approx(p, abs=1e-12)
    assert R.sum(axis=1) == pytest.approx(np.ones(SIZE), abs=1e-12)
    assert np.all(R >= 0)


@given(squares, shares, blends, arrays(bool, (SIZE, SIZE)))
def test_reversible_matrices_leave_the_margins_and_forbidden_moves_alone(P, counts, blend, open_):
    p = counts / counts.sum()
    allowed = open_ | np.eye(SIZE, dtype=bool)
    R = matrices.blended(matrices.reversible(P, p, allowed), blend=blend)

    assert p @ R == pytest.approx(p, abs=1e-12)
    assert R.sum(axis=1) == pytest.approx(np.ones(SIZE), abs=1e-12)
    assert np.all(R >= 0)
    assert np.all(R[~allowed] == 0)


@given(squares, shares, st.floats(0, 1))
def test_the_solved_blend_gives_the_share_asked_for_or_the_nearest(P, counts, stay):
    p = counts / counts.sum()
    R = matrices.two_stage(P, p)
    blend = matrices.solve_blend(R, p, stay=stay)
    star = matrices.blended(R, blend=blend)
    reached = float(p @ star.diagonal())
    if np.all(R.diagonal()[p > 0] > 1 - 1e-12):
        return  # a matrix that moves nobody has nothing to blend

    assert np.all(star[p > 0] >= 0)
    if reached != pytest.approx(stay, abs=1e-12):
        assert reached > stay  # as few as possible stay: some category has none left to give
        assert star.diagonal()[p > 0].min() == pytest.approx(0, abs=1e-12)


@given(files(), st.sampled_from([0.5, 0.8, 0.95]), st.integers(0, 99))
def test_the_matrix_of_a_release_leaves_the_margins_of_every_stratum(data, stay, seed):
    present = [
        age for age in range(3) if len(np.unique(data.codes[data.codes[:, 3] == age, 0])) > 1
    ]
    varying = mm.by("age", dict.fromkeys(present, stay), otherwise=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RateWarning)
        release = mm.Pram("lad", stay=varying).apply(data, rng=seed)
    factor = release.mechanism.factors[0]
    stratum = factor.stratum(data.codes)
    for s in range(len(factor.P)):
        p = np.bincount(data.codes[stratum == s, 0], minlength=4) / max(1, (stratum == s).sum())
        assert p @ factor.P[s] == pytest.approx(p, abs=1e-12)
    assert np.array_equal(release.released.codes[:, 1:], data.codes[:, 1:])


@given(files(), st.integers(0, 99))
def test_a_crossed_key_makes_no_new_combination(data, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RateWarning)
        release = mm.Pram(("lad", "ward"), stay=0.5).apply(data, rng=seed)
    before = {tuple(row) for row in data.codes[:, :2].tolist()}
    after = {tuple(row) for row in release.released.codes[:, :2].tolist()}

    assert after <= before
    assert np.array_equal(release.released.codes[:, 2:], data.codes[:, 2:])


FORBIDDEN = [(0, 1), (2, ...)]


@given(files(), st.booleans(), st.integers(0, 99))
def test_forbidden_moves_never_happen(data, leave_margins, seed):
    step = mm.Pram("lad", stay=0.3, invariant=leave_margins, forbidden=FORBIDDEN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RateWarning)
        release = step.apply(data, rng=seed)
    true, now = data.codes[:, 0], release.released.codes[:, 0]
    P = release.mechanism.factors[0].P[0]

    assert not ((true == 0) & (now == 1)).any()
    assert np.all(now[true == 2] == 2)
    assert P[0, 1] == 0
    assert P[2].tolist() == [0, 0, 1, 0]


def even_file(records=4000):
    rng = np.random.default_rng(5)
    lad = rng.choice(4, records, p=[0.4, 0.3, 0.2, 0.1])
    rest = [rng.integers(0, n, records) for n in (2, 2, 3)]
    return mm.Microdata(SPACE, np.column_stack([lad, *rest]), fraction=0.1)


DATA = even_file()
P_LAD = np.bincount(DATA.codes[:, 0]) / len(DATA)


def used(step):
    return step.apply(DATA, rng=1).mechanism.factors[0].P[0]


def test_the_expected_share_unchanged_is_what_was_asked_for():
    for stay in (0.3, 0.8, 0.95):
        release = mm.Pram("lad", stay=stay).apply(DATA, rng=1)
        P = release.mechanism.factors[0].P[0]
        assert P_LAD @ P.diagonal() == pytest.approx(stay, abs=1e-12)
        assert release.rates["expected"].to_list() == pytest.approx([1 - stay])
        assert release.rates["achieved"].to_list() == pytest.approx([release.changed.mean()])


def test_a_blend_is_the_papers_alpha():
    start = mm.stay_or_move(4, stay=0.8)
    joint = P_LAD[:, None] * start
    Q = (joint / joint.sum(axis=0)).T  # Q[released, true]
    R = start @ Q

    assert used(mm.Pram("lad", stay=0.8, blend=0.55)) == pytest.approx(0.55 * R + 0.45 * np.eye(4))


def test_a_share_out_of_reach_warns_and_gives_the_nearest():
    data = mm.Microdata(
        SPACE, np.column_stack([np.repeat([0, 1], [90, 10]), *np.zeros((3, 100), int)])
    )
    with pytest.warns(RateWarning, match=r"leave 80.0% unchanged where 10.0% was asked for"):
        release = mm.Pram("lad", stay=0.1).apply(data, rng=1)

    assert release.rates["expected"].to_list() == pytest.approx([0.2])


def test_a_matrix_may_be_given_and_is_used_as_it_is_when_margins_need_not_stay():
    matrix = np.array([[0.7, 0.3, 0, 0], [0, 1, 0, 0], [0.1, 0, 0.9, 0], [0, 0, 0.5, 0.5]])

    assert used(mm.Pram("lad", matrix=matrix, invariant=False)) == pytest.approx(matrix)
    star = used(mm.Pram("lad", matrix=matrix))
    assert P_LAD @ star == pytest.approx(P_LAD, abs=1e-12)
    assert P_LAD @ star.diagonal() == pytest.approx(P_LAD @ matrix.diagonal())


def test_a_labelled_matrix_is_matched_by_label():
    labels = [3, 2, 1, 0]
    matrix = pd.DataFrame(np.eye(4), index=labels, columns=labels)
    matrix.loc[3] = [0.5, 0, 0, 0.5]  # 3 goes to 0

    assert used(mm.Pram("lad", matrix=matrix, invariant=False))[3].tolist() == [0.5, 0, 0, 0.5]


def test_several_keys_are_redrawn_each_on_its_own():
    release = mm.Pram(["lad", "age"], stay=0.8).apply(DATA, rng=1)
    alone = mm.Pram("lad", stay=0.8, label="pram lad, age").apply(DATA, rng=1)
    lad, age = (release.original.codes[:, c] != release.released.codes[:, c] for c in (0, 3))

    assert [factor.name for factor in release.mechanism.factors] == ["lad", "age"]
    assert np.array_equal(release.released.codes[:, 0], alone.released.codes[:, 0])
    assert (lad & age).mean() == pytest.approx(lad.mean() * age.mean(), abs=0.02)
    assert release.rates["stratum"].to_list() == ["lad: all records", "age: all records"]


def test_an_edit_rule_of_a_crossed_key_is_kept():
    """Nobody may move into (district 3, ward 1)."""
    step = mm.Pram(("lad", "ward"), stay=0.5, forbidden=[(..., (3, 1))])
    release = step.apply(DATA, rng=1)
    before, after = ((d.codes[:, 0] == 3) & (d.codes[:, 1] == 1) for d in (DATA, release.released))

    assert before.any()
    assert not (after & ~before).any()
    assert release.changed.mean() == pytest.approx(0.5, abs=0.05)


def test_steps_are_values():
    assert mm.Pram("lad", 0.8) == mm.Pram("lad", stay=0.8)
    assert len({mm.Pram("lad", 0.8), mm.Pram("lad", 0.8), mm.Pram("lad", 0.7)}) == 2
    assert (
        repr(mm.Pram("lad", 0.8, blend=0.5)) == "Pram('lad', stay=0.8, blend=0.5, label='pram lad')"
    )
    assert repr(mm.Pram(["lad", ("sex", "age")], matrix=np.eye(2))) == (
        "Pram(['lad', ('sex', 'age')], matrix=..., label='pram lad, sex x age')"
    )


@given(files(), st.sampled_from([0.0, 0.1, 0.5, 0.9]), st.sampled_from(["lad", ("lad", "ward")]))
def test_matrices_have_valid_rows_for_categories_without_records(data, stay, key):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RateWarning)
        release = mm.Pram(key, stay).apply(data, rng=1)
    factor = release.mechanism.factors[0]
    absent = np.bincount(factor.code(data.codes), minlength=factor.size) == 0

    assert np.all(factor.P >= 0)
    assert factor.P[0].sum(axis=1) == pytest.approx(np.ones(factor.size), abs=1e-12)
    assert np.all(factor.P[0].diagonal()[absent] == 1)


@given(shares, st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_asking_for_more_change_never_gives_less(counts, stays):
    data = mm.Microdata(
        mm.KeySpace([mm.Key("k", range(SIZE))]),
        np.repeat(np.arange(SIZE), counts.astype(int))[:, None],
    )
    expected = []
    for stay in sorted(stays):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RateWarning)
            expected.append(mm.Pram("k", stay).apply(data, rng=1).rates["expected"][0])

    assert expected[0] >= expected[1] - 0.002  # as near as a share counts as reached


def test_everybody_moves_where_that_is_possible():
    data = mm.Microdata(mm.KeySpace([mm.Key("k", "ab")]), (np.arange(100) % 2)[:, None])
    release = mm.Pram("k", stay=0).apply(data, rng=1)

    assert release.changed.all()
    assert release.mechanism.factors[0].P[0].tolist() == [[0, 1], [1, 0]]


def test_a_matrix_that_leaves_the_margins_is_used_as_it_is():
    data = mm.Microdata(
        mm.KeySpace([mm.Key("k", range(4))]), np.repeat(np.arange(4), [40, 30, 20, 10])[:, None]
    )
    first = [0.4 / 3, 1 - 0.4 / 3 - 0.1, 0.1, 0]
    matrix = np.array([[0.9, 0.1, 0, 0], first, [0, 0.15, 0.75, 0.1], [0, 0, 0.2, 0.8]])
    release = mm.Pram("k", matrix=matrix).apply(data, rng=1)

    assert release.mechanism.factors[0].P[0] == pytest.approx(matrix)
    cycle = np.roll(np.eye(4), 1, axis=1)
    even = mm.Microdata(data.space, (np.arange(40) % 4)[:, None])
    assert mm.Pram("k", matrix=cycle).apply(even, rng=1).changed.all()


def test_counting_and_drawing_in_parts_gives_the_same_file():
    step = mm.Pram(["lad", ("sex", "age")], mm.by("ward", {0: 0.9}, otherwise=0.6))
    mechanism = step.mechanism(mm.KeyTable.of(SPACE, DATA.codes))
    parts = [
        mechanism.draw(DATA.codes[start : start + 700], rng=3, label=step.label, start=start)
        for start in range(0, len(DATA), 700)
    ]

    assert np.array_equal(np.vstack(parts), step.apply(DATA, rng=3).released.codes)


def test_forbidding_one_move_leaves_the_others_to_reach_the_share_asked_for():
    """One category holds 80 %: at most 40 % can change, and nearly all of that without a -> b."""
    counts = np.array([1600, 200, 100, 60, 20, 10, 8, 2])
    data = mm.Microdata(
        mm.KeySpace([mm.Key("k", range(8))]), np.repeat(np.arange(8), counts)[:, None]
    )
    release = mm.Pram("k", stay=0.7, forbidden=[(0, 1)]).apply(data, rng=1)
    P = release.mechanism.factors[0].P[0]

    assert release.rates["expected"].to_list() == pytest.approx([0.3], abs=1e-6)
    assert P[0, 1] == 0
    assert counts @ P == pytest.approx(counts, rel=1e-6)
    with pytest.warns(RateWarning, match="unchanged where 30.0% was asked for"):
        release = mm.Pram("k", stay=0.3, forbidden=[(0, 1)]).apply(data, rng=1)
    assert release.rates["expected"][0] > 0.3
