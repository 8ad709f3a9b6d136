"""The risk of households against the definition, and the laws it must obey."""

from __future__ import annotations

from itertools import permutations
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import maskmeter as mm
import oracle
from maskmeter.mechanism import joint
from worlds import household_worlds


@pytest.mark.parametrize("at_once", [joint._AT_ONCE, 5])
@settings(max_examples=200)
@given(world=household_worlds())
def test_household_risk_equals_enumeration_of_the_definition(world, at_once):
    released = world.released
    assume(released)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint, "_AT_ONCE", at_once)
        found = [
            mm.household_risk(
                world.file, world.households, intruder=one, misclassification=world.errors
            )
            for one in ("exact-match", "informed")
        ]

    together = oracle.together(world.misclassify)
    told = {"misclassify": together, "include": world.include_home}
    assert [one.uniques for one in found] == [len(released)] * 2
    for number, home in enumerate(released):
        exact, informed = (one.by_household[number] for one in found)
        wanted = oracle.household_risk(home, world.homes, **told)
        assert exact == pytest.approx(wanted or 0.0, abs=1e-12, rel=1e-12)
        wanted = oracle.informed_household_risk(home, world.homes, **told)
        assert informed == pytest.approx(wanted, abs=1e-12, rel=1e-12)


@settings(max_examples=100)
@given(household_worlds(most_homes=12))
def test_without_misclassification_the_risk_is_one_in_the_households_alike(world):
    homes = [tuple(sorted(home)) for home in world.homes]
    distinct = sorted(set(homes))
    table = world.households
    sample = mm.HouseholdTable.of(
        world.space,
        np.array([member for home in distinct for member in home]),
        place=np.repeat(np.arange(len(distinct)), [len(home) for home in distinct]),
    )
    alike = {home: homes.count(home) for home in distinct}

    assert table.total == len(homes)
    assert sorted(table.lookup(sample).tolist()) == sorted(alike.values())
    assert table.people == sum(map(len, homes)) == table.persons.total


@settings(max_examples=200)
@given(household_worlds(most_homes=8))
def test_an_informed_intruder_is_never_worse_off_and_no_risk_exceeds_one_in_those_alike(world):
    assume(world.released)
    errors = {"misclassification": world.errors}
    exact = mm.household_risk(world.file, world.households, **errors)
    informed = mm.household_risk(world.file, world.households, intruder="informed", **errors)
    homes = [tuple(sorted(home)) for home in world.homes]
    alike = np.array([homes.count(home) for home in world.released])

    assert np.all(informed.by_household >= exact.by_household * (1 - 1e-12))
    assert np.all(informed.by_household <= 1 + 1e-12)
    assert np.all(exact.by_household * alike <= 1 + 1e-12)
    assert exact.without_target == (alike == 0).sum()


@settings(max_examples=100)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3).filter(lambda times: sum(times) <= 6),
    st.integers(0, 2**32 - 1),
)
def test_assignments_are_the_permanent_over_the_factorials_of_repeated_cells(times, seed):
    members = sum(times)
    P = np.random.default_rng(seed).random((members, len(times)))
    cells = np.repeat(np.arange(len(times)), times)
    permanent = sum(
        prod(P[member, cells[place]] for member, place in enumerate(order))
        for order in permutations(range(members))
    )

    wanted = permanent / prod(map(factorial, times))
    assert joint.assignments(P, tuple(times)) == pytest.approx(wanted, rel=1e-12)
