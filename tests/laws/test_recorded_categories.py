"""Recorded categories that nobody truly has: only errors make them."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings

import maskmeter as mm
import oracle
from maskmeter.errors import without_warnings
from worlds import successions, worlds


def recorded_cells(world):
    """Return every cell of categories that people have or, by the definition, may be recorded with."""
    held = [set() for _ in world.sizes]
    for unit in world.units:
        for c, code in enumerate(unit):
            held[c].add(code)
        for released, chance in world.misclassify(unit).items():
            for c, code in enumerate(released):
                held[c] |= {code} if chance else set()
    return list(product(*map(sorted, held)))


def recorded(world, cells):
    """Return a sample with one record in each of some cells."""
    name = world.names[world.pi_key]
    fraction = mm.by(name, {f"{name}-{code}": float(p) for code, p in enumerate(world.pi)})
    return mm.Microdata(world.space, np.array(cells), fraction=fraction)


def targets(world, cells):
    return sum(cell in world.units for cell in cells)


@pytest.mark.parametrize("sampled_by", ["true", "recorded"])
@settings(max_examples=100)
@given(world=worlds())
def test_exact_and_informed_risk_there_equal_enumeration_of_the_definition(world, sampled_by):
    cells = recorded_cells(world)
    assume(len(cells) > len(world.cells))  # some category is nobody's
    sample = recorded(world, cells)
    options = {"misclassification": world.errors, "inclusion": sampled_by}
    risk = mm.exact_risk(sample, world.population, **options)
    informed = mm.exact_risk(sample, world.population, intruder="informed", **options)

    told = {"misclassify": world.misclassify, "include": world.include, "sampled_by": sampled_by}
    for cell, found, best in zip(cells, risk.by_unique, informed.by_unique, strict=True):
        wanted = oracle.identification_risk(cell, world.units, **told)
        assert found == pytest.approx(wanted or 0.0, abs=1e-12, rel=1e-12)
        wanted = oracle.informed_risk(cell, world.units, **told)
        assert best == pytest.approx(wanted, abs=1e-12, rel=1e-12)
    assert risk.without_target == len(cells) - targets(world, cells)


@settings(max_examples=60)
@given(successions())
def test_the_risk_after_errors_and_protection_is_that_of_the_definition(worlds):
    first, second = worlds
    cells = recorded_cells(first)
    assume(len(cells) > len(first.cells))

    @cache
    def misclassify(true):
        chances = defaultdict(Fraction)
        for middle, chance in first.misclassify(true).items():
            for released, moved in second.misclassify(middle).items():
                chances[released] += chance * moved
        return dict(chances)

    sample = recorded(first, cells)
    release = mm.Release(sample, sample, second.errors.on(sample))
    told = {"misclassify": misclassify, "include": first.include}
    options = {"misclassification": first.errors}
    risk = mm.exact_risk(release, first.population, **options)
    informed = mm.exact_risk(release, first.population, intruder="informed", **options)

    for cell, found, best in zip(cells, risk.by_unique, informed.by_unique, strict=True):
        wanted = oracle.identification_risk(cell, first.units, **told)
        assert found == pytest.approx(wanted or 0.0, abs=1e-12, rel=1e-12)
        wanted = oracle.informed_risk(cell, first.units, **told)
        assert best == pytest.approx(wanted, abs=1e-12, rel=1e-12)


@pytest.mark.parametrize("formula", ["2.5", "2.6", "2.7"])
@settings(max_examples=50)
@given(world=worlds())
def test_approximations_change_nothing_elsewhere_and_are_zero_there(world, formula):
    cells = recorded_cells(world)
    assume(len(cells) > len(world.cells))
    options = {"misclassification": world.errors, "formula": formula}
    with without_warnings():
        risk = mm.approximate_risk(recorded(world, cells), world.population, **options)
        known = mm.approximate_risk(recorded(world, world.cells), world.population, **options)

    found = dict(zip(cells, risk.by_unique, strict=True))
    assert [found[cell] for cell in world.cells] == pytest.approx(known.by_unique.tolist())
    assert all(risk == 0 for cell, risk in found.items() if cell not in world.units)


@settings(max_examples=60)
@given(worlds())
def test_a_category_that_errors_cannot_make_is_refused(world):
    possible = set(recorded_cells(world))
    every = list(product(*map(range, world.sizes)))
    assume(len(every) > len(possible))
    with pytest.raises(mm.MaskmeterError) as refused:
        mm.exact_risk(recorded(world, every), world.population, misclassification=world.errors)
    lacking = [
        c for c in range(len(world.sizes)) if len({cell[c] for cell in possible}) < world.sizes[c]
    ]

    assert f"categories of '{world.names[lacking[0]]}'" in str(refused.value)
    ruled_out = "the recording errors rule out that anybody was recorded so" in str(refused.value)
    assert ruled_out == (lacking[0] in world.matrices)


@given(worlds())
def test_without_errors_every_category_that_nobody_has_is_refused(world):
    cells = recorded_cells(world)
    assume(len(cells) > len(world.cells))

    with pytest.raises(mm.MaskmeterError, match="Count the population that the sample was drawn"):
        mm.exact_risk(recorded(world, cells), world.population)
