"""Exact risk against the definition, and the laws it must obey."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import maskmeter as mm
import oracle
from maskmeter.errors import without_warnings
from maskmeter.mechanism import Inclusion, grid, moved_in, pairs, rivals
from maskmeter.mechanism.rivals import largest_move
from maskmeter.risk.shared import shared_risks
from maskmeter.risk.view import View
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


@pytest.mark.parametrize("sampled_by", ["true", "recorded"])
@pytest.mark.parametrize("how", WAYS)
@settings(max_examples=200)
@given(world=worlds())
def test_exact_and_informed_risk_equal_enumeration_of_the_definition(world, how, sampled_by):
    if how == "along the axes":  # which is never chosen when the series would not end
        mechanism = world.errors.on(world.space)
        assume(mechanism.factors and max(world.pi) * largest_move(mechanism) <= 0.9)
    options = {"misclassification": world.errors, "inclusion": sampled_by}
    with working(how):
        risk = mm.exact_risk(world.sample, world.population, **options)
        informed = mm.exact_risk(world.sample, world.population, intruder="informed", **options)

    definition = {"misclassify": world.misclassify, "include": world.include}
    for cell, found, best in zip(world.cells, risk.by_unique, informed.by_unique, strict=True):
        told = definition | {"sampled_by": sampled_by}
        wanted = oracle.identification_risk(cell, world.units, **told)
        assert found == pytest.approx(wanted or 0.0, abs=1e-12, rel=1e-12)
        wanted = oracle.informed_risk(cell, world.units, **told)
        assert best == pytest.approx(wanted, abs=1e-12, rel=1e-12)


def shared_by_definition(world, sampled_by, how="as it likes"):
    """Yield R(m) of every cell and number of records that may be there, beside its definition.

    Both intruders: what is found, and what the enumeration says.
    """
    options = {"counts": world.population, "errors": world.errors, "sampled_by": sampled_by}
    uniques = View.of(world.sample, **options).uniques
    assume(uniques.mechanism.factors)
    told = {"misclassify": world.misclassify, "include": world.include, "sampled_by": sampled_by}
    for records in range(1, len(world.units) + 1):
        held, here = np.full(len(world.cells), float(records)), told | {"records": records}
        with working(how):
            matched, informed = (
                np.concatenate(list(shared_risks(uniques, held, informed=one)))
                for one in (False, True)
            )
        for cell, *found in zip(world.cells, matched, informed, strict=True):
            if sum(oracle.among(cell, world.units, **here)):
                risk = oracle.identification_risk(cell, world.units, **here) or 0.0
                yield found, [risk, oracle.informed_risk(cell, world.units, **here)]
            else:
                assert 0 <= found[0] <= found[1] <= 1 / records


@pytest.mark.parametrize(
    ("how", "sampled_by"),
    [
        (WAYS[0], "true"),
        pytest.param(WAYS[0], "recorded", marks=pytest.mark.slow),
        *(pytest.param(how, "true", marks=pytest.mark.slow) for how in WAYS[1:3]),
    ],
)
@settings(max_examples=200)
@given(world=worlds())
def test_risk_of_records_that_share_a_cell_equals_enumeration(world, how, sampled_by):
    for found, wanted in shared_by_definition(world, sampled_by, how):
        assert found == pytest.approx(wanted, abs=1e-12)


@settings(max_examples=300)
@given(worlds(most_units=12), st.integers(2, 8))
def test_more_records_in_a_cell_never_raise_the_risk_of_the_likeliest_person(world, records):
    """Which is why few shared cells need be gone through for the largest risk."""
    uniques = View.of(world.sample, counts=world.population, errors=world.errors).uniques
    assume(uniques.mechanism.factors)
    before, after = (
        np.concatenate(list(shared_risks(uniques, np.full(len(uniques.cells), m), informed=True)))
        for m in (records - 1.0, float(records))
    )

    assert np.all(after <= before + 1e-12)


@settings(max_examples=200)
@given(worlds(), st.data())
def test_the_largest_risk_of_a_record_counts_those_that_share_a_cell(world, data):
    """Each cell holds one to four records, if the population could leave so many there."""
    told = {"misclassify": world.misclassify, "include": world.include}
    held, wanted = [], []
    for cell in world.cells:
        records = data.draw(st.integers(1, 4))
        here = told | {"records": records}
        if sum(oracle.among(cell, world.units, **here)):
            held += [cell] * records
            matched = oracle.identification_risk(cell, world.units, **here) or 0.0
            wanted.append((matched, oracle.informed_risk(cell, world.units, **here)))
    assume(held)
    sample = mm.Microdata(world.space, np.array(held), fraction=world.sample.fraction)
    errors = {"misclassification": world.errors}
    found = [
        mm.exact_risk(sample, world.population, intruder=one, **errors).largest
        for one in ("exact-match", "informed")
    ]

    assert found == pytest.approx(np.max(wanted, axis=0), abs=1e-12)


@settings(max_examples=300)
@given(worlds(most_units=12))
def test_an_informed_intruder_is_never_worse_off_than_one_who_matches_exactly(world):
    errors = {"misclassification": world.errors}
    risk = mm.exact_risk(world.sample, world.population, **errors)
    informed = mm.exact_risk(world.sample, world.population, intruder="informed", **errors)

    assert np.all(informed.by_unique >= risk.by_unique * (1 - 1e-12))
    assert np.all(informed.by_unique <= 1 + 1e-12)
    assert informed.largest == informed.by_unique.max(initial=0.0)  # no cell is shared here


@settings(max_examples=300)
@given(worlds(most_units=12), st.sampled_from([0.05, 0.6]))
def test_with_one_misclassified_key_it_never_pays_to_ignore_it(world, fraction):
    """Whoever ignores the key names one of all people with the other keys; pi is the same for all."""
    assume(world.matrices and len(world.sizes) > 1)
    key = next(iter(world.matrices))
    world = replace(world, matrices={key: world.matrices[key]})
    others = [c for c in range(len(world.sizes)) if c != key]
    sample = mm.Microdata(world.space, np.array(world.cells), fraction=fraction)
    informed = mm.exact_risk(
        sample, world.population, misclassification=world.errors, intruder="informed"
    )
    people = world.population.project([world.names[c] for c in others])
    alike = people.lookup(np.array(world.cells)[:, others])
    reached = informed.by_unique > 0  # nobody can be released in the others

    assert np.all(informed.by_unique[reached] * alike[reached] >= 1 - 1e-12)


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
            cell,
            world.units,
            misclassify=world.misclassify,
            include=lambda _: 1,
            sampled_by="true",
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
    stay = P.diagonal().copy()
    np.fill_diagonal(P, 0)
    of_source = pi[population.cells]
    with working(how):
        recorded = rivals(mechanism, population, every, pi=Inclusion(pi), likeliest=True)
        true = rivals(mechanism, population, every, pi=Inclusion(pi, of_source), likeliest=True)
        moved = moved_in(mechanism, population, every)

    F = population.lookup(every)
    for found, weight in (
        (recorded, P / (1 - pi * P)),
        (true, pi[:, None] * P / (1 - pi[:, None] * P) / pi),
    ):
        assert found.weighted == pytest.approx(F @ weight, rel=1e-12, abs=1e-12)
        wanted = np.where(F[:, None] > 0, weight, 0).max(axis=0)
        own = np.where(F > 0, stay / (1 - pi * stay), 0)  # it may be among them or not
        largest = np.maximum(found.likeliest, own)
        assert largest == pytest.approx(np.maximum(wanted, own), rel=1e-12, abs=1e-12)
    assert moved == pytest.approx(F @ P, rel=1e-12, abs=1e-12)
