"""The risk of households against matches that are counted with the truth."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from math import factorial, prod

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp

import maskmeter as mm
from conftest import FALSE_ALARM
from maskmeter.errors import without_warnings

KEYS = ["lad", "sex", "age", "ethnicity"]
HOMES, FRACTION, RATE, DRAWS = 20_000, 0.05, 0.2, 20


def street(size=HOMES, seed=5):
    """A population of households: members share the district, and mostly the ethnic group."""
    rng = np.random.default_rng(seed)
    members = rng.choice(6, size, p=[0.3, 0.34, 0.16, 0.13, 0.05, 0.02]) + 1
    hid = np.repeat(np.arange(size), members)
    place = np.arange(len(hid)) - np.repeat(np.cumsum(members) - members, members)
    lad = rng.choice(11, size, p=rng.dirichlet(np.full(11, 6.0)))[hid]
    group = rng.choice(8, size, p=[0.8, 0.06, 0.04, 0.03, 0.03, 0.02, 0.01, 0.01])[hid]
    ethnicity = np.where(rng.random(len(hid)) < 0.05, rng.integers(0, 8, len(hid)), group)
    adult = np.clip(rng.integers(4, 16, size)[hid] + rng.integers(-1, 2, len(hid)), 0, 17)
    age = np.where(place < 2, adult, rng.integers(0, 4, len(hid)))
    sex = rng.integers(0, 2, len(hid))
    return pl.DataFrame({"hid": hid, "lad": lad, "sex": sex, "age": age, "ethnicity": ethnicity})


def joint_keys(people, hid):
    """Return the sorted cells of each household, by plain Python."""
    found = defaultdict(list)
    for home, cell in zip(hid.to_list(), people.tolist(), strict=True):
        found[home].append(tuple(cell))
    return {home: tuple(sorted(cells)) for home, cells in found.items()}


def chance(released, true, P):
    """Return the chance that a true household is released with these cells; only lad moves."""
    ways = sum(
        prod(
            P[one[0], other[0]] if one[1:] == other[1:] else 0.0
            for one, other in zip(true, order, strict=True)
        )
        for order in permutations(released)
    )
    return ways / prod(factorial(released.count(cell)) for cell in set(released))


def counted(release, population, hid):
    """Return the households that both intruders get right, counted with the truth.

    Who matches exactly names one of the households with the very cells; who is informed one of the
    likeliest. Both are right as often as that is the true household.
    """
    P = release.mechanism.factors[0].P[0]
    seen, true = (joint_keys(one.codes, hid) for one in (release.released, release.truth))
    alike, by_others = defaultdict(int), defaultdict(set)
    for key in population.values():
        alike[key] += 1
        by_others[tuple(sorted(cell[1:] for cell in key))].add(key)
    times = defaultdict(int)
    for key in seen.values():
        times[key] += 1
    exact = informed = 0.0
    for home, key in seen.items():
        if times[key] > 1:
            continue
        exact += (true[home] == key) / alike.get(key, 1)
        others = by_others[tuple(sorted(cell[1:] for cell in key))]
        odds = {one: FRACTION * chance(key, one, P) for one in sorted(others)}
        likeliest = max(odds, key=odds.get)
        informed += (true[home] == likeliest) / alike[likeliest]
    return exact, informed


def studied(seed):
    """Return by sample: exact and counted risk of both intruders, wrong ones, and the bounds."""
    people = street()
    table, persons = mm.count_households(people, keys=KEYS), mm.count(people, keys=KEYS)
    codes = people.select(KEYS).to_numpy()  # all are whole numbers from 0 on
    population, found = joint_keys(codes, people["hid"]), []
    for draw in range(DRAWS):
        drawn = np.flatnonzero(np.random.default_rng([seed, draw]).random(HOMES) < FRACTION)
        part = people.filter(pl.col("hid").is_in(drawn))
        sample = mm.read(part, keys=table.space, fraction=FRACTION)
        release = mm.Swap("lad", rate=RATE).apply(sample, rng=seed + draw)
        blunt = {"lad": mm.stay_or_move(11, stay=0.4)}
        wrong = mm.Release(release.original, release.released, blunt)
        with without_warnings():
            risks = [
                mm.household_risk(one, table, intruder=who).total
                for one in (release, wrong)
                for who in ("exact-match", "informed")
            ]
            members = mm.exact_risk(release, persons, intruder="informed").total
            bounds = mm.household_risk(release, intruder="informed")
        right = counted(release, population, part["hid"])
        found.append((*risks, *right, members, bounds.at_least, bounds.at_most))
    return np.array(found).T


@pytest.fixture(scope="module")
def study(seed):
    return studied(seed)


def agrees(total, right):
    """Return whether expected and counted matches may be the same on average."""
    return ttest_1samp(total - right, 0.0).pvalue > FALSE_ALARM


def test_joint_matches_are_as_many_as_the_exact_risk_of_households_expects(study):
    """False-alarm rate 2e-8 for each intruder, by a t test over twenty samples. Power half: a matrix
    by which 40 % stay in place of 80 % is rejected."""
    exact, informed, exact_wrong, informed_wrong, right, right_informed, *_ = study

    assert agrees(exact, right)
    assert agrees(informed, right_informed)
    assert not agrees(exact_wrong, right)
    assert not agrees(informed_wrong, right_informed)


def test_members_one_by_one_are_far_below_the_households_that_are_matched(study):
    """In every sample members are less than a quarter of it, and the bounds hold."""
    exact, informed, *_, members, least, most = study

    assert np.all(least <= informed)
    assert np.all(informed <= most)
    assert np.all(members < 0.25 * informed)
    assert np.all(least < 0.25 * exact)
