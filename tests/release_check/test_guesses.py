"""Guesses of changed values agree with what their definition says, record by record."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter.release_check.guesses import (
    guess_by_group,
    guess_by_order,
    stand_out,
    told_by_method,
)

FILES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.booleans()), min_size=1, max_size=40
)


def commonest(others, everybody):
    """Return the commonest value; of equally common ones that of more records, then the smaller."""
    if not others:
        return -1
    counts, overall = Counter(others), Counter(everybody)
    return min(counts, key=lambda value: (-counts[value], -overall[value], value))


@given(FILES)
def test_the_guess_by_group_is_the_commonest_value_among_the_others(file):
    groups, values, _ = map(np.array, zip(*file, strict=True))
    rows = np.arange(len(file))
    expected = [
        commonest([v for j, v in enumerate(values) if j != i and groups[j] == groups[i]], values)
        for i in rows
    ]

    assert guess_by_group(groups, values, rows).tolist() == expected


@given(FILES, st.integers(1, 4))
def test_the_guess_by_order_is_the_commonest_value_among_the_neighbours(file, reach):
    values = np.array([value for _, value, _ in file])
    rows = np.arange(len(file))
    expected = [
        commonest([*values[max(i - reach, 0) : i], *values[i + 1 : i + reach + 1]], values)
        for i in rows
    ]

    assert guess_by_order(values, rows, reach=reach).tolist() == expected


@given(FILES)
def test_records_stand_out_where_over_nine_tenths_of_their_group_are_changed(file):
    others, released, changed = map(np.array, zip(*file, strict=True))
    sizes = Counter(zip(released, others, strict=True))
    groups = [(r, o if sizes[r, o] >= 6 else "few") for r, o in zip(released, others, strict=True)]
    expected = []
    for i, group in enumerate(groups):
        rest = [changed[j] for j, one in enumerate(groups) if one == group and j != i]
        expected.append(bool(changed[i] and rest and sum(rest) > 0.9 * len(rest)))

    rows = np.flatnonzero(changed)
    found = stand_out(released, others, rows, chance=np.full(len(rows), 0.1))
    assert found.seen.tolist() == [
        one for one, moved in zip(expected, changed, strict=True) if moved
    ]


@pytest.mark.parametrize(("chance", "explained"), [(0.1, 0), (0.85, 20), (1.0, 20)])
def test_a_method_explains_a_group_whose_members_it_changes_nearly_always(chance, explained):
    """All 20 records of a group are changed: 0.85^20 is one draw in 26, 0.1^20 is none."""
    rows, groups = np.arange(20), np.repeat([0, 1], [20, 60])
    found = stand_out(np.zeros(80, int), groups, rows, chance=np.full(20, chance))

    assert found.seen.sum() == 20
    assert found.explained.sum() == explained


def test_the_method_alone_tells_the_likeliest_source_of_a_move():
    space = mm.KeySpace([mm.Key("lad", ["a", "b", "c"])])
    moves = [[0.8, 0.2, 0.0], [0.0, 0.0, 1.0], [0.3, 0.3, 0.4]]
    true = np.array([[0], [2], [1], *[[0]] * 9, *[[1]] * 4, *[[2]] * 9])
    released = np.concatenate([[[1], [0], [2]], true[3:]])  # 10 in a, 5 in b, 10 in c
    told = told_by_method(
        mm.Misclassification({"lad": moves}).on(space),
        true=true,
        released=released,
        rows=np.arange(3),
        key=0,
    )

    assert told.guess.tolist() == [2, 2, 1]  # 10 x .2 against 10 x .3; the only source; 5 x 1
    # Nobody stays in b; of 10 x .8 + 10 x .3 released in a, the 10 x .8 stayed; 5 + 4 for c.
    assert told.chance.tolist() == pytest.approx([1, 3 / 11, 5 / 9])


def test_the_method_tells_by_the_counts_of_the_stratum():
    """Men are in b or c and women in a: who knows that a man was changed does not guess a."""
    space = mm.KeySpace([mm.Key("lad", ["a", "b", "c"]), mm.Key("sex", ["f", "m"])])
    equal = np.full((3, 3), 1 / 3)
    moves = mm.by("sex", {"f": np.eye(3), "m": equal})
    true = np.array([[0, 0]] * 50 + [[1, 1]] * 6 + [[2, 1]] * 4)
    released = true.copy()
    released[[55, 56], 0] = released[[56, 55], 0]
    told = told_by_method(
        mm.Misclassification({"lad": moves}).on(space),
        true=true,
        released=released,
        rows=np.array([55, 56]),
        key=0,
    )

    assert told.guess.tolist() == [1, 2]


@pytest.mark.parametrize("guess", [guess_by_group, None])
def test_no_changed_record_needs_no_guess(guess):
    nobody = np.array([], dtype=np.int64)
    values = np.array([0, 1])
    found = guess_by_order(values, nobody) if guess is None else guess(values, values, nobody)

    assert found.tolist() == []
