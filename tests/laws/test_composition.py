"""Changes in a row: one mechanism after another, whatever keys each depends on."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given

import maskmeter as mm
import oracle
from maskmeter.mechanism import factor
from worlds import successions

SPACE = mm.KeySpace([mm.Key("lad", "abc"), mm.Key("sex", "fm"), mm.Key("age", [1, 2, 3])])
PEOPLE = 400_000


def probabilities(mechanism):
    """Return P[true, released] of all cells."""
    cells = mechanism.space.codes(np.arange(mechanism.space.size))
    size = len(cells)
    true, released = np.repeat(np.arange(size), size), np.tile(np.arange(size), size)
    return mechanism.prob(released=cells[released], true=cells[true]).reshape(size, size)


def in_a_row(worlds):
    """Return a function from a true cell to the chances of all cells after several changes."""

    @cache
    def misclassify(true):
        chances = {true: Fraction(1)}
        for world in worlds:
            after = defaultdict(Fraction)
            for cell, chance in chances.items():
                for released, moved in world.misclassify(cell).items():
                    after[released] += chance * moved
            chances = after
        return dict(chances)

    return misclassify


@given(successions(changes=3))
def test_changes_in_a_row_are_the_product_of_their_matrices(worlds):
    space = worlds[0].space
    first, second, third = (world.errors.on(space) for world in worlds)
    found = first.then(second).then(third)

    wanted = probabilities(first) @ probabilities(second) @ probabilities(third)
    assert probabilities(found) == pytest.approx(wanted, abs=1e-14)
    assert probabilities(first.then(second.then(third))) == pytest.approx(wanted, abs=1e-14)
    changed = [c for one in found.factors for c in one.columns]
    assert len(set(changed)) == len(changed)
    assert not {c for one in found.factors for c in one.by} & set(changed)


@given(successions())
def test_exact_risk_after_two_changes_is_that_of_the_definition(worlds):
    first, second = worlds
    misclassify = in_a_row(worlds)
    wanted = [
        oracle.identification_risk(
            cell, first.units, misclassify=misclassify, include=first.include
        )
        for cell in first.cells
    ]
    sample = first.sample
    release = mm.Release(sample, sample, second.errors.on(sample))
    found = mm.exact_risk(release, first.population, misclassification=first.errors)

    assert found.by_unique == pytest.approx([risk or 0 for risk in wanted], abs=1e-12)


ERROR = {"sex": mm.stay_or_move(2, stay=0.9), "age": mm.stay_or_move(3, stay=0.8)}
CHANGES = {
    "an error on sex, then a swap within sex": (
        {"sex": ERROR["sex"]},
        {"lad": mm.by("sex", {"f": mm.stay_or_move(3, stay=0.2)}, otherwise=np.eye(3))},
        ["lad x sex"],
    ),
    "an error on age, then PRAM of age and sex": (
        {"age": ERROR["age"]},
        {("age", "sex"): mm.stay_or_move(6, stay=0.7)},
        ["sex x age"],
    ),
    "a swap of lad within sex, then PRAM of sex": (
        {"lad": mm.by("sex", {"f": mm.stay_or_move(3, stay=0.2)}, otherwise=np.eye(3))},
        {"sex": ERROR["sex"]},
        ["lad x sex"],
    ),
    "a swap of lad and sex together, then PRAM of lad": (
        {("lad", "sex"): mm.stay_or_move(6, stay=0.7)},
        {"lad": mm.stay_or_move(3, stay=0.9)},
        ["lad x sex"],
    ),
    "changes of other keys": ({"age": ERROR["age"]}, {"sex": ERROR["sex"]}, ["age", "sex"]),
    "a key twice": (
        {"age": ERROR["age"]},
        {"age": mm.by("sex", {"f": ERROR["age"]}, otherwise=np.eye(3))},
        ["age"],
    ),
}


@pytest.mark.parametrize("design", CHANGES)
def test_only_keys_that_depend_on_one_another_share_a_matrix(design):
    first, second, names = CHANGES[design]
    one, other = (mm.Misclassification(part).on(SPACE) for part in (first, second))
    both = one.then(other)

    assert [part.name for part in both.factors] == names
    assert probabilities(both) == pytest.approx(probabilities(one) @ probabilities(other))


def test_steps_that_depend_on_one_another_make_one_release():
    rng = np.random.default_rng(1)
    sample = mm.Microdata(SPACE, rng.integers(0, [3, 2, 3], (300, 3)), fraction=0.1)
    swap, pram = mm.Swap("lad", rate=0.4, within=("sex",)), mm.Pram("sex", stay=0.8)
    for steps in ([swap, pram], [pram, swap]):
        release = mm.protect(sample, steps, rng=1)

        assert [one.name for one in release.mechanism.factors] == ["lad x sex"]
        assert (
            release.mechanism.prob(true=sample.codes, released=release.released.codes) > 0
        ).all()


def test_a_matrix_too_large_for_memory_is_refused(monkeypatch):
    monkeypatch.setattr(factor, "_LARGEST", 30)
    first, second, _ = CHANGES["a swap of lad within sex, then PRAM of sex"]
    one, other = (mm.Misclassification(part).on(SPACE) for part in (first, second))

    with pytest.raises(mm.MaskmeterError, match=r"'lad x sex' depend on one another.*coarser keys"):
        one.then(other)


def test_categories_that_a_space_lacks_keep_the_matrix_of_all_others():
    fewer = mm.KeySpace([mm.Key("lad", "abc"), mm.Key("sex", "fm"), mm.Key("age", [1, 2])])
    swap = mm.Misclassification({"lad": mm.by("age", {1: np.eye(3)}, otherwise=np.eye(3)[::-1])})
    error = mm.Misclassification({"sex": ERROR["sex"]})
    crossed = swap.on(fewer).then(mm.Misclassification({"lad": np.eye(3)}).on(fewer))

    for one in (swap.on(fewer), crossed, error.on(fewer).then(swap.on(fewer))):
        there = one.on(SPACE)
        assert there.prob(true=[[0, 0, 2]], released=[[2, 0, 2]])[0] in (1.0, 0.9)
        assert there.prob(true=[[0, 0, 0]], released=[[2, 0, 0]]).tolist() == [0.0]
    partial = mm.Misclassification({"lad": mm.by("age", {1: np.eye(3), 2: np.eye(3)})}).on(fewer)
    with pytest.raises(mm.MaskmeterError, match=r"differs by age.*otherwise=MATRIX"):
        partial.on(SPACE)
    with pytest.raises(mm.MaskmeterError, match="does not have all 3 categories of 'age'"):
        mm.Misclassification({"age": np.eye(2)}).on(fewer).on(SPACE)


def test_an_intruder_who_knows_some_keys_sees_what_happens_to_records_one_by_one():
    """Errors and protection are composed on all keys before unknown keys are averaged out.

    400,000 people are recorded with error in sex, which depends on age, and then moved in lad by
    the recorded sex. The share of those of each lad and age who are released in each lad has a
    standard error of at most 0.5 / sqrt(people); six of them alarm falsely in one of 10^7 runs. Who
    averaged over sex before composing would be off by up to 0.07, which is 14 standard errors.
    """
    rng = np.random.default_rng(5)
    lad = rng.choice(3, PEOPLE, p=[0.6, 0.3, 0.1])
    age = rng.choice(3, PEOPLE, p=[0.3, 0.4, 0.3])
    sex = (rng.random(PEOPLE) < np.array([0.9, 0.5, 0.1])[age]).astype(int)
    true = np.column_stack([lad, sex, age])
    wrong = mm.by("age", {1: mm.stay_or_move(2, stay=0.6)}, otherwise=mm.stay_or_move(2, stay=0.95))
    moves = mm.by(
        "sex", {"f": mm.stay_or_move(3, stay=0.2)}, otherwise=mm.stay_or_move(3, stay=0.9)
    )
    errors = mm.Misclassification({"sex": wrong}).on(SPACE)
    protection = mm.Misclassification({"lad": moves}).on(SPACE)
    recorded = errors.draw(true, rng=1)
    released = protection.draw(recorded, rng=2)

    names = ["lad", "age"]
    sample = mm.Microdata(SPACE, recorded[::40], fraction=0.025)
    release = mm.Release(sample, sample.with_codes(released[::40]), protection)
    view = mm.View.of(release, names, counts=mm.KeyTable.of(SPACE, true), errors=errors)
    seen = view.mechanism
    apart = errors.marginal(names, true=true).then(protection.marginal(names, true=true))
    furthest = {"composed first": 0.0, "averaged first": 0.0}
    for cell in seen.space.codes(np.arange(9)):
        of_cell = (lad == cell[0]) & (age == cell[1])
        for there in range(3):
            share = float((released[of_cell, 0] == there).mean())
            error = 0.5 / np.sqrt(of_cell.sum())
            for name, one in (("composed first", seen), ("averaged first", apart)):
                told = one.prob(true=[cell], released=[[there, cell[1]]])[0]
                furthest[name] = max(furthest[name], abs(told - share) / error)

    assert furthest["composed first"] < 6
    assert furthest["averaged first"] > 14
