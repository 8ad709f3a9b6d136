"""Exact risk against the definition, and the laws it must obey."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import maskmeter as mm
import oracle
from maskmeter.errors import without_warnings
from maskmeter.mechanism import grid, moved_in, pairs, rivals
from maskmeter.mechanism.rivals import largest_move
from worlds import worlds

WAYS = ["as it likes", "in tiny blocks of pairs", "target by target", "along the axes"]


@contextmanager
def working(how):
    """Let sums over true cells be made in one way only, whatever it costs."""
    with pytest.MonkeyPatch.context() as patch:
        if how == "in tiny blocks of pairs":
            patch.setattr(pairs, "_PAIRS_AT_ONCE", 3)
        if how == "target by target":
            patch.setattr(pairs, "_MANY_SOURCES", 0)
            patch.setattr(pairs, "_SOURCES_AT_ONCE", 3)
        if how != "as it likes":
            cost = -1.0 if how == "along the axes" else np.inf
            patch.setattr(grid.Grid, "cost", staticmethod(lambda *_: cost))
        yield


@pytest.mark.parametrize("how", WAYS)
@settings(max_examples=400)
@given(world=worlds())
def test_exact_risk_equals_enumeration_of_the_definition(world, how):
    if how == "along the axes":  # which is never chosen when the series would not end
        mechanism = world.errors.on(world.space)
        assume(mechanism.factors and max(world.pi) * largest_move(mechanism) <= 0.9)
    with working(how):
        risk = mm.exact_risk(world.sample, world.population, misclassification=world.errors)

    for cell, found in zip(world.cells, risk.by_unique, strict=True):
        wanted = oracle.identification_risk(
            cell, world.units, misclassify=world.misclassify, include=world.include
        )
        assert found == pytest.approx(wanted or 0.0, abs=1e-12, rel=1e-12)


@settings(max_examples=100)
@given(worlds())
def test_in_sample_risk_equals_the_definition_on_the_sample_itself(world):
    """B known to be in the sample: everybody is sampled and the sample is the population."""
    original = mm.Microdata(world.space, np.array(world.units))
    drawn = world.errors.on(original).draw(original.codes, rng=1)
    release = mm.Release(original, original.with_codes(drawn), world.errors)
    risk = mm.in_sample_risk(release, formula="2.4")

    for record, found in zip(risk.records, risk.by_unique, strict=True):
        cell = tuple(int(code) for code in drawn[record])
        wanted = oracle.identification_risk(
            cell, world.units, misclassify=world.misclassify, include=lambda _: 1
        )
        assert found == pytest.approx(wanted or 0.0, abs=1e-12, rel=1e-12)


@given(worlds(most_units=12))
def test_risk_never_exceeds_one_over_the_population_count(world):
    risk = mm.exact_risk(world.sample, world.population, misclassification=world.errors)
    own = world.population.lookup(world.sample.codes)

    assert np.all(risk.by_unique[own > 0] <= 1 / own[own > 0] * (1 + 1e-12))
    assert np.all(risk.by_unique >= 0)


@given(worlds(most_units=12))
def test_without_misclassification_risk_is_one_over_the_population_count(world):
    sample = mm.Microdata(world.space, world.population.codes, fraction=0.3)
    risk = mm.exact_risk(sample, world.population)

    assert risk.by_unique == pytest.approx(1 / world.population.counts, rel=1e-15)


@settings(max_examples=200)
@given(worlds())
def test_2_6_with_released_counts_depends_on_the_cell_by_stay_and_released_count_alone(world):
    """In fractions, from the definition of F~_j: (1/F~)(1 - [1 - M](1 - pi M)/M)."""
    with without_warnings():
        risk = mm.approximate_risk(
            world.sample,
            world.population,
            formula="2.6 released",
            misclassification=world.errors,
        )

    for cell, found in zip(world.cells, risk.by_unique, strict=True):
        stay = world.misclassify(cell)[cell]
        released = sum(world.misclassify(unit)[cell] for unit in world.units)
        wanted = 0.0
        if cell in world.units and stay:
            left = (1 - stay) * (1 - world.include(cell) * stay) / stay
            wanted = float((1 - left) / released)
        assert found == pytest.approx(wanted, abs=1e-12, rel=1e-12)


@given(worlds())
def test_a_cell_without_a_target_has_no_risk_and_is_counted(world):
    risk = mm.exact_risk(world.sample, world.population, misclassification=world.errors)
    empty = world.population.lookup(world.sample.codes) == 0

    assert np.all(risk.by_unique[empty] == 0)
    assert risk.without_target == empty.sum()


@given(worlds(), st.randoms(use_true_random=False))
def test_order_of_categories_keys_and_records_does_not_matter(world, random):
    risk = mm.exact_risk(world.sample, world.population, misclassification=world.errors)

    keys = [mm.Key(key.name, random.sample(key.categories, key.size)) for key in world.space.keys]
    random.shuffle(keys)
    space = mm.KeySpace(keys)
    frame = world.sample.to_frame()
    order = random.sample(range(len(frame)), len(frame))
    sample = mm.read(frame[order], keys=space, fraction=world.sample.fraction)
    # Arrays follow the categories; the mechanism on the old space carries their labels.
    errors = world.errors.on(world.space).on(space)
    same = mm.exact_risk(sample, world.population, misclassification=errors)

    assert same.by_unique == pytest.approx(risk.by_unique[order], rel=1e-12)


@given(worlds())
def test_populations_that_share_no_released_cell_do_not_affect_each_other(world):
    """A new key that keeps two copies of a population apart leaves every risk as it was."""
    copies = mm.KeySpace([*world.space.keys, mm.Key("copy", ["a", "b"])])
    codes = np.vstack([np.column_stack([world.units, [c] * len(world.units)]) for c in (0, 1)])
    cells = np.column_stack([world.cells, [0] * len(world.cells)])
    sample = mm.Microdata(copies, cells, fraction=world.sample.fraction)
    risk = mm.exact_risk(world.sample, world.population, misclassification=world.errors)

    twice = mm.exact_risk(sample, mm.KeyTable.of(copies, codes), misclassification=world.errors)

    assert twice.by_unique == pytest.approx(risk.by_unique, rel=1e-12)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("seed", range(30))
def test_sums_over_true_cells_equal_those_of_the_full_matrix(seed, how):
    """Crossed keys, matrices that depend on two keys, and a K x K array to check them with."""
    rng = np.random.default_rng(seed)
    space = mm.KeySpace(
        mm.Key(f"key{c}", range(size)) for c, size in enumerate(rng.integers(2, 4, 5))
    )

    def matrix(*keys):
        size = int(np.prod([space.sizes[c] for c in keys]))
        return rng.dirichlet(np.full(size, 0.7), size)

    cells = list(product(range(space.sizes[1]), range(space.sizes[4])))
    varying = mm.by(("key1", "key4"), {cell: matrix(3, 0) for cell in cells})
    errors = mm.Misclassification({("key3", "key0"): varying, "key2": matrix(2)})
    every = space.codes(np.arange(space.size))
    population = mm.KeyTable.of(space, every[rng.integers(0, space.size, 60)])
    mechanism, pi = errors.on(space), rng.choice([0.01, 0.3, 0.85], space.size)
    true, released = np.divmod(np.arange(space.size**2), space.size)
    P = mechanism.prob(true=every[true], released=every[released]).reshape(space.size, -1)
    np.fill_diagonal(P, 0)
    with working(how):
        found = rivals(mechanism, population, every, pi=pi)
        moved = moved_in(mechanism, population, every)

    F = population.lookup(every)
    assert found.weighted == pytest.approx(F @ (P / (1 - pi * P)), rel=1e-12, abs=1e-12)
    assert moved == pytest.approx(F @ P, rel=1e-12, abs=1e-12)
