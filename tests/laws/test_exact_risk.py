"""Exact risk against the definition, and the laws it must obey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import maskmeter as mm
import oracle
from maskmeter.misclassification import axes, moved_in, rivals
from maskmeter.misclassification.spread import largest_move
from worlds import worlds


@settings(max_examples=400)
@given(worlds())
def test_exact_risk_is_what_enumeration_of_the_definition_gives(world):
    chances = world.chances
    risk = mm.exact_risk(world.sample, world.population, misclassification=world.errors)

    for cell, found in zip(world.cells, risk.by_cell, strict=True):
        wanted = oracle.identification_risk(
            cell, world.units, misclassify=chances.get, include=world.include
        )
        assert found == pytest.approx(wanted or 0.0, abs=1e-12, rel=1e-12)


@settings(max_examples=100)
@given(worlds())
def test_known_to_be_in_the_sample_is_the_definition_on_the_sample_itself(world):
    """B known to be in the sample: everybody is sampled and the sample is the population."""
    chances = world.chances
    original = mm.Microdata(world.space, np.array(world.units))
    drawn = world.errors.on(original).draw(original.codes, rng=1)
    release = mm.Release(original, original.with_codes(drawn), world.errors)
    risk = mm.in_sample_risk(release, formula="2.4")

    for record, found in zip(risk.records, risk.by_cell, strict=True):
        cell = tuple(int(code) for code in drawn[record])
        wanted = oracle.identification_risk(
            cell, world.units, misclassify=chances.get, include=lambda _: 1
        )
        assert found == pytest.approx(wanted or 0.0, abs=1e-12, rel=1e-12)


@given(worlds(most_units=12))
def test_risk_never_exceeds_one_over_the_population_count(world):
    risk = mm.exact_risk(world.sample, world.population, misclassification=world.errors)
    own = world.population.lookup(world.sample.codes)

    assert np.all(risk.by_cell[own > 0] <= 1 / own[own > 0] * (1 + 1e-12))
    assert np.all(risk.by_cell >= 0)


@given(worlds(most_units=12))
def test_without_misclassification_risk_is_one_over_the_population_count(world):
    sample = mm.Microdata(world.space, world.population.codes, fraction=0.3)
    risk = mm.exact_risk(sample, world.population)

    assert risk.by_cell == pytest.approx(1 / world.population.counts, rel=1e-15)


@given(worlds())
def test_a_cell_without_a_target_has_no_risk_and_is_counted(world):
    risk = mm.exact_risk(world.sample, world.population, misclassification=world.errors)
    empty = world.population.lookup(world.sample.codes) == 0

    assert np.all(risk.by_cell[empty] == 0)
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

    assert same.by_cell == pytest.approx(risk.by_cell[order], rel=1e-12)


@given(worlds())
def test_populations_that_share_no_released_cell_do_not_touch_each_other(world):
    """A new key that keeps two copies of a population apart leaves every risk as it was."""
    copies = mm.KeySpace([*world.space.keys, mm.Key("copy", ["a", "b"])])
    codes = np.vstack([np.column_stack([world.units, [c] * len(world.units)]) for c in (0, 1)])
    cells = np.column_stack([world.cells, [0] * len(world.cells)])
    sample = mm.Microdata(copies, cells, fraction=world.sample.fraction)
    risk = mm.exact_risk(world.sample, world.population, misclassification=world.errors)

    twice = mm.exact_risk(sample, mm.KeyTable.of(copies, codes), misclassification=world.errors)

    assert twice.by_cell == pytest.approx(risk.by_cell, rel=1e-12)


@given(worlds(most_units=12), st.sampled_from([0.01, 0.3, 0.8]))
def test_working_along_the_axes_gives_what_pairs_give(world, pi):
    mechanism = world.errors.on(world.space)
    assume(mechanism.factors and pi * largest_move(mechanism) <= 0.9)
    cells, population = world.sample.codes, world.population
    chance = np.full(len(cells), pi)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(axes.Axes, "cost", staticmethod(lambda *_: np.inf))
        by_pairs = rivals(mechanism, population, cells, pi=chance)
        moved_by_pairs = moved_in(mechanism, population, cells)
        patch.setattr(axes.Axes, "cost", staticmethod(lambda *_: -1.0))
        by_axes = rivals(mechanism, population, cells, pi=chance)
        moved_by_axes = moved_in(mechanism, population, cells)

    assert by_axes.weighted == pytest.approx(by_pairs.weighted, rel=1e-12, abs=1e-12)
    assert moved_by_axes == pytest.approx(moved_by_pairs, rel=1e-12, abs=1e-12)
