"""Small strata: what the counts of a category tell, against matches counted with the truth."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import maskmeter as mm
from conftest import FALSE_ALARM
from maskmeter.errors import without_warnings
from maskmeter.risk.known import likeliest_people
from maskmeter.risk.view import View

Z = norm.isf(FALSE_ALARM / 2)
DRAWS = 400


def country(size=20_000):
    """A population of 8 regions of unequal size, where work depends on age and region."""
    rng = np.random.default_rng(7)
    region = rng.choice(8, size, p=rng.dirichlet(np.full(8, 1.5)))
    age = rng.choice(12, size, p=rng.dirichlet(np.full(12, 8.0)))
    lean = rng.dirichlet(np.full(9, 0.6), (8, 12))
    work = (rng.random((size, 1)) > lean[region, age].cumsum(axis=1)).sum(axis=1)
    origin = rng.choice(20, size, p=np.sort(rng.dirichlet(np.full(20, 0.3))))
    return pl.DataFrame({"region": region, "age": age, "work": work, "origin": origin})


def counted(view):
    """Return how many people of the likeliest cells are the right ones, on average."""
    uniques = view.uniques
    place, _ = likeliest_people(uniques, np.ones(len(uniques.counts), dtype=bool))
    true = view.sight.recorded.codes[view.sight.uniques]
    named = (uniques.counts.codes[place] == true).all(axis=1) & (place >= 0)
    return float((named / uniques.counts.counts[place]).sum())


def studied(step, *, fraction, seed, draws=DRAWS):
    """Return tau by both forms and (2.9), then the informed risk by both and what it gets right."""
    people = country()
    population = mm.count(people, keys=people.columns)
    found = []
    for draw in range(draws):
        drawn = mm.bernoulli_sample(people, fraction=fraction, rng=seed + draw)
        sample = mm.read(drawn, keys=population.space, fraction=fraction)
        with without_warnings():
            release = step.apply(sample, rng=seed + draw)
            row = [
                mm.exact_risk(release, population, intruder=one, inclusion=by).total
                for one in ("exact-match", "informed")
                for by in ("true", "recorded")
            ]
        by_fraction = View.of(release, counts=population, sampled_by="recorded")
        view = View.of(release, counts=population)
        known = mm.correctly_classified_risk(release, population).total
        found.append((*row, known, counted(view), counted(by_fraction)))
    return np.array(found).T


def far(found, wanted):
    """Return the mean difference in standard errors."""
    gap = found - wanted
    return abs(gap.mean()) / (gap.std(ddof=1) / np.sqrt(len(gap)))


LARGE = dict.fromkeys(
    [3, 9, 10, 11], 0.5
)  # ages of 18 records or more, of several regions for sure
DESIGNS = {
    "balanced swap": mm.Swap("region", 0.2, within=("age",)),
    "realised swap": mm.Swap("region", 0.2, within=("age",), description="realised"),
    "PRAM": mm.Pram("region", mm.by("age", LARGE, otherwise=1.0)),
}


@pytest.mark.parametrize(
    "design",
    [pytest.param(one, marks=[] if one == "PRAM" else pytest.mark.slow) for one in DESIGNS],
)
def test_tau_in_small_strata_is_the_mean_correctly_classified_risk(design, seed):
    """1 % samples, groups of about 15 records in 8 regions. The false-alarm rate is FALSE_ALARM for
    each figure. Power half: with the fraction in place of n / F tau is 1 to 3 % too low, and is
    rejected at the same rate."""
    tau, printed, informed, _, known, right, _ = studied(
        DESIGNS[design], fraction=0.01, seed=seed, draws=2 * DRAWS
    )

    assert far(tau, known) < Z
    assert far(informed, right) < Z
    assert far(printed, known) > Z
    assert abs(tau.mean() / known.mean() - 1) < 0.01


@pytest.mark.slow
def test_a_best_intruder_gains_by_the_counts(seed):
    """Right matches of the one who uses them, against one who does not."""
    *_, right, without = studied(DESIGNS["balanced swap"], fraction=0.01, seed=seed)

    assert right.mean() > without.mean()


@pytest.mark.full
def test_many_small_strata_of_a_large_sample_stay_within_one_percent(seed):
    """10 % samples in 108 strata: what is left, about half a percent, is the dependence between the
    moves of a swap, and the bounds are six standard errors away. Power half: as above."""
    step = mm.Swap("region", 0.3, within=("age", "work"))
    tau, printed, informed, _, known, right, _ = studied(step, fraction=0.1, seed=seed)

    assert abs(tau.mean() / known.mean() - 1) < 0.01
    assert abs(informed.mean() / right.mean() - 1) < 0.015
    assert far(printed, known) > Z
    assert printed.mean() / known.mean() < 0.98
