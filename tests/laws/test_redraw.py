"""What a redraw keeps, whom it changes, and what it tells the best intruder: laws and enumeration."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter.errors import without_warnings
from maskmeter.perturb.rarity import RARE
from maskmeter.risk.margins import Exchanged
from worlds import files

BOUNDS = st.sampled_from([15.0, 25.0, 45.0, 80.0])


def redrawn(step, file, seed):
    """Return the release of a redraw, where the bound divides the records of the file."""
    with without_warnings():
        try:
            return step.apply(file, rng=seed)
        except mm.MaskmeterError:
            assume(False)  # noqa: FBT003 - hypothesis takes it so
            raise


def stratum(release):
    factor = release.mechanism.factors[0]
    return factor.stratum(release.original.codes) == RARE


@given(files(), BOUNDS, st.integers(0, 99), st.sampled_from([1.0, 0.5]))
def test_margins_stay_and_nobody_outside_the_stratum_changes(file, bound, seed, share):
    release = redrawn(mm.Redraw("lad", rarer_than=bound, share=share), file, seed)
    rare = stratum(release)
    before, after = file.codes, release.released.codes

    assert not release.changed[~rare].any()
    assert np.array_equal(before[:, 1:], after[:, 1:])  # other keys, by which records are rare
    assert np.array_equal(np.sort(before[rare, 0]), np.sort(after[rare, 0]))
    assert release.rare[0].records == rare.sum()
    groups = {tuple(row): set() for row in before[:, 1:]}
    for row, one in zip(before[:, 1:], rare, strict=True):
        groups[tuple(row)].add(bool(one))
    assert all(len(one) == 1 for one in groups.values())  # whole combinations, in or out


@given(files(), BOUNDS, st.integers(0, 99))
def test_keys_of_a_block_stay_together(file, bound, seed):
    release = redrawn(mm.Redraw(("lad", "ward"), rarer_than=bound), file, seed)
    rare = stratum(release)

    def pairs(codes):
        return sorted(map(tuple, codes[rare][:, :2].tolist()))

    assert pairs(file.codes) == pairs(release.released.codes)


@given(files(), BOUNDS, st.integers(0, 99))
def test_the_stratum_does_not_depend_on_the_key_and_is_known_of_every_cell(file, bound, seed):
    release = redrawn(mm.Redraw("lad", rarer_than=bound), file, seed)
    mechanism = release.mechanism
    every = file.space.codes(np.arange(file.space.size))
    rare = mechanism.factors[0].stratum(every).reshape(file.space.sizes)

    assert (rare == rare[:1]).all()  # whatever the value of lad
    true, released = np.divmod(np.arange(file.space.size**2), file.space.size)
    chance = mechanism.prob(true=every[true], released=every[released])
    assert chance.reshape(file.space.size, -1).sum(axis=1) == pytest.approx(1)
    with without_warnings():
        again = mm.Redraw("lad", rarer_than=bound).apply(release.released, rng=seed)
    assert np.array_equal(stratum(again), stratum(release))  # anybody could compute it


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_the_matrix_is_the_mean_over_all_permutations(share):
    """Six rare records, all or four of which exchange their values: every way is gone through."""
    margin = np.array([3, 2, 1])
    values = np.repeat(np.arange(3), margin)
    number = round(share * len(values))
    counts = np.zeros((3, 3))
    for chosen in permutations(range(len(values)), number):
        if list(chosen) != sorted(chosen):
            continue
        for order in permutations(chosen):
            moved = values.copy()
            moved[list(chosen)] = values[list(order)]
            np.add.at(counts, (values, moved), 1)
    space = mm.KeySpace([mm.Key("lad", "abc"), mm.Key("age", [1, 2])])
    codes = np.array([*([one, 0] for one in values), *([0, 1] for _ in range(60))])
    file = mm.Microdata(space, codes, fraction=0.1)
    step = mm.Redraw("lad", rarer_than=100, share=share)
    with without_warnings():
        P = step.apply(file, rng=1).mechanism.factors[0].P[RARE]

    assert pytest.approx(counts / counts.sum(axis=1, keepdims=True), abs=1e-12) == P


def best_matches(group, value, pi):
    """Return the right matches of the best intruder, the closed form and 1/G, over all samples.

    Whoever is sampled exchanges values at random, so a record tells its group and the file the
    values of all records. The intruder names the person in the group who is likeliest to be in the
    sample, given the number of records in each group and the counts of values.
    """
    patterns = np.array(list(product((0, 1), repeat=len(group))))
    weight = np.prod(np.where(patterns, pi, 1 - pi), axis=1)
    groups, values = (np.eye(one.max() + 1, dtype=int)[one] for one in (group, value))
    seen, outcome = np.unique(
        np.hstack([patterns @ groups, patterns @ values]), axis=0, return_inverse=True
    )
    outcome = outcome.reshape(-1)
    chance = np.bincount(outcome, weight)
    there = np.stack([np.bincount(outcome, weight * one) for one in patterns.T]) / chance
    F = groups.T @ values
    totals = np.zeros(3)
    for number, told in enumerate(seen):
        records, margin = told[: groups.shape[1]], told[groups.shape[1] :]
        held = records > 0
        if records.sum() < 2:  # nobody to exchange values with
            continue
        row, at = np.indices((held.sum(), len(margin)))
        exchanged = Exchanged(
            records[held] * 1.0, margin * 1.0, row.ravel(), at.ravel(), np.ones(row.size)
        )
        found = exchanged.risk(F[held].ravel() * 1.0)
        for place, one in enumerate(np.flatnonzero(held)):
            likeliest = there[group == one, number].max() / records[one]
            told_of = likeliest, found[place], 1 / F[one].sum()
            totals += chance[number] * records[one] * np.array(told_of)
    return totals


@pytest.mark.parametrize(
    ("people", "groups", "values", "pi"),
    [
        (8, 2, 2, 0.3),
        (10, 3, 2, 0.3),
        pytest.param(12, 4, 3, 0.3, marks=pytest.mark.full),
        (12, 3, 2, 0.5),
        pytest.param(12, 3, 3, 0.2, marks=pytest.mark.slow),
    ],
)
def test_the_margin_tells_the_best_intruder_what_the_closed_form_says(people, groups, values, pi):
    """Every sample of ten tiny populations. Power half: without the margin it is far too low."""
    rng = np.random.default_rng(people * 100 + values)
    found = np.array(
        [
            best_matches(rng.integers(0, groups, people), rng.integers(0, values, people), pi)
            for _ in range(10)
        ]
    )
    best, closed, plain = found.T

    assert closed == pytest.approx(best, rel=0.03)
    assert closed.mean() == pytest.approx(best.mean(), rel=0.01)
    assert plain.mean() < 0.9 * best.mean()


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_knowing_the_margin_never_helps_less_than_not_knowing_it(seed):
    rng = np.random.default_rng(seed)
    F = rng.poisson(2.0, (6, 4))
    F[:, 0] += 1
    sampled = rng.binomial(F, 0.4)
    held = sampled.sum(axis=1) > 0
    if not held.any():
        return
    row, value = np.indices((held.sum(), 4))
    exchanged = Exchanged(
        sampled[held].sum(axis=1) * 1.0,
        sampled.sum(axis=0) * 1.0,
        row.ravel(),
        value.ravel(),
        np.ones(row.size),
    )
    units = F[held].ravel() * 1.0

    assert np.all(exchanged.risk(units) >= exchanged.even().risk(units) * (1 - 1e-9))
    assert exchanged.even().risk(units) == pytest.approx(1 / F[held].sum(axis=1))
