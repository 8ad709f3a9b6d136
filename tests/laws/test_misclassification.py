"""Laws of the three verbs: prob, stay, draw."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter.streams import AliasTable
from worlds import rows, worlds


def all_cells(space):
    return space.codes(np.arange(space.size))


def all_probabilities(mechanism):
    cells = all_cells(mechanism.space)
    size = len(cells)
    true, released = np.repeat(np.arange(size), size), np.tile(np.arange(size), size)
    return mechanism.prob(released=cells[released], true=cells[true]).reshape(size, size)


@given(worlds())
def test_prob_is_the_product_of_the_keys_probabilities(world):
    found = all_probabilities(world.errors.on(world.space))
    true = map(tuple, all_cells(world.space).tolist())
    wanted = [[float(p) for p in world.misclassify(cell).values()] for cell in true]

    assert found == pytest.approx(np.array(wanted), abs=1e-15)
    assert found.sum(axis=1) == pytest.approx(np.ones(len(found)))


@given(worlds().filter(lambda world: not world.stratum_keys))
def test_prob_without_strata_is_the_kronecker_product(world):
    factors = [
        np.array(world.matrices[c][0], dtype=float) if c in world.matrices else np.eye(size)
        for c, size in enumerate(world.sizes)
    ]

    assert all_probabilities(world.errors.on(world.space)) == pytest.approx(
        reduce(np.kron, factors)
    )


@given(worlds())
def test_stay_is_the_diagonal(world):
    mechanism = world.errors.on(world.space)

    assert np.array_equal(
        mechanism.stay(all_cells(world.space)), all_probabilities(mechanism).diagonal()
    )


@given(worlds(), st.integers(0, 2**32))
def test_draw_never_makes_an_impossible_move(world, seed):
    mechanism = world.errors.on(world.space)
    true = np.repeat(all_cells(world.space), 20, axis=0)
    drawn = mechanism.draw(true, rng=seed)

    assert np.all(mechanism.prob(released=drawn, true=true) > 0)


@given(worlds(), st.integers(0, 100), st.integers(0, 100))
def test_drawing_in_parts_gives_the_same_file(world, first, second):
    mechanism = world.errors.on(world.space)
    true = np.resize(all_cells(world.space), (200, len(world.sizes)))
    one, two = sorted((first, second))
    parts = [
        mechanism.draw(true[start:stop], rng=7, start=start)
        for start, stop in ((0, one), (one, two), (two, 200))
    ]

    assert np.array_equal(np.vstack(parts), mechanism.draw(true, rng=7))


@given(rows(5))
def test_alias_tables_reproduce_their_probabilities_exactly(row):
    probabilities = np.array(row, dtype=float)
    table = AliasTable.of(probabilities[None])
    back = table.keep / 5
    np.add.at(back, table.other, (1 - table.keep) / 5)

    assert back == pytest.approx(probabilities, abs=1e-15)
    assert np.all(table.keep[probabilities == 0] == 0)
    assert np.all(probabilities[table.other] > 0)


def test_a_column_of_probability_zero_is_not_drawn_even_by_a_uniform_of_zero():
    table = AliasTable.of(np.array([[0.0, 1.0, 0.0]]))
    uniforms = np.array([0.0, 1 / 3, 2 / 3])

    assert table.draw(np.zeros(3, dtype=np.int64), uniforms).tolist() == [1, 1, 1]


def test_crossed_keys_move_together():
    space = mm.KeySpace([mm.Key("region", "ns"), mm.Key("sex", "fm"), mm.Key("town", "ab")])
    swap_both = np.eye(4)[::-1]  # (n, a) <-> (s, b), (n, b) <-> (s, a)
    mechanism = mm.Misclassification({("region", "town"): swap_both}).on(space)

    assert mechanism.draw(np.array([[0, 1, 0]]), rng=1).tolist() == [[1, 1, 1]]
    assert mechanism.prob(released=[[1, 1, 1]], true=[[0, 1, 0]]).tolist() == [1.0]
    assert mechanism.prob(released=[[1, 0, 1]], true=[[0, 1, 0]]).tolist() == [0.0]


def test_crossed_keys_keep_their_meaning_when_categories_are_reordered():
    space = mm.KeySpace([mm.Key("region", "ns"), mm.Key("town", "ab")])
    other = mm.KeySpace([mm.Key("town", "ba"), mm.Key("region", "sn")])
    P = np.array([[0.7, 0.1, 0.2, 0], [0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 0.25, 0.75]])
    here = mm.Misclassification({("region", "town"): P}).on(space)
    there = here.on(other)

    assert here.prob(true=[[0, 0]], released=[[0, 1]]).tolist() == [0.1]  # (n, a) -> (n, b)
    assert there.prob(true=[[1, 1]], released=[[0, 1]]).tolist() == [0.1]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_labelled_frames_are_matched_by_label(kind):
    labels = ["b", "a"]
    table = pl.DataFrame({"true": labels, "b": [0.9, 0.3], "a": [0.1, 0.7]})
    frames = {
        "polars": table,
        "pandas": table.to_pandas().set_index("true"),
        "pyarrow": table.to_arrow(),
    }
    space = mm.KeySpace([mm.Key("sex", ["a", "b"])])
    mechanism = mm.Misclassification({"sex": frames[kind]}).on(space)

    assert mechanism.prob(true=[[1]], released=[[0]]).tolist() == [0.1]
    assert mechanism.prob(true=[[0]], released=[[1]]).tolist() == [0.3]


def test_labels_that_are_text_match_categories_that_are_numbers():
    table = pl.DataFrame({"true": [2, 1], "1": [0.1, 1.0], "2": [0.9, 0.0]})
    space = mm.KeySpace([mm.Key("year", [1, 2])])

    mechanism = mm.Misclassification({"year": table}).on(space)

    assert mechanism.prob(true=[[1]], released=[[0]]).tolist() == [0.1]


def test_labels_of_a_pandas_frame_may_be_numbers():
    labelled = pd.DataFrame([[1.0, 0.0], [0.1, 0.9]], index=[2, 1], columns=[2, 1])
    space = mm.KeySpace([mm.Key("year", [1, 2])])

    mechanism = mm.Misclassification({"year": labelled}).on(space)

    assert mechanism.prob(true=[[0]], released=[[1]]).tolist() == [0.1]


def test_a_matrix_may_depend_on_several_keys():
    space = mm.KeySpace([mm.Key("lad", "xy"), mm.Key("sex", "fm"), mm.Key("age", [1, 2])])
    swap = [[0, 1], [1, 0]]
    by_both = mm.by(("sex", "age"), {("f", 2): swap}, otherwise=np.eye(2))
    mechanism = mm.Misclassification({"lad": by_both}).on(space)

    assert mechanism.stay(np.array([[0, 0, 1], [0, 1, 1], [0, 0, 0]])).tolist() == [0, 1, 1]


def test_twenty_five_keys_of_ten_categories_are_counted_drawn_and_assessed():
    """K = 10^25 cells do not fit in 64 bits."""
    rng = np.random.default_rng(3)
    space = mm.KeySpace(mm.Key(f"key{c}", range(10)) for c in range(25))
    codes = rng.integers(0, 10, (500, 25))
    codes[250:] = codes[:250]
    codes[400:, 24] = 9 - codes[400:, 24]
    population = mm.KeyTable.of(space, codes)
    counts = {tuple(row): 0 for row in codes.tolist()}
    for row in codes.tolist():
        counts[tuple(row)] += 1
    errors = mm.Misclassification({"key24": mm.stay_or_move(10, stay=0.9)})
    sample = mm.Microdata(space, codes[150:200], fraction=0.1)  # each has one neighbour in key24
    drawn = errors.on(space).draw(sample.codes, rng=1)
    risk = mm.exact_risk(sample, population, misclassification=errors)

    assert space.size == 10**25
    assert np.array_equal(space.codes(space.number(codes)), codes)
    assert population.lookup(codes).tolist() == [counts[tuple(row)] for row in codes.tolist()]
    assert np.array_equal(drawn[:, :24], codes[150:200, :24])
    own, neighbour = 0.9 / (1 - 0.1 * 0.9), (0.1 / 9) / (1 - 0.1 * 0.1 / 9)
    assert risk.by_unique == pytest.approx(np.full(50, own / (own + neighbour)), rel=1e-12)
