"""The intruder who knows the method, and the redraw of rare records that follows from him."""

import numpy as np

import maskmeter as mm
import oracle
from chance.test_informed import DESIGNS, OTHERS, studied
from checks import known
from checks.worlds_of import census, census_samples, gathered
from laws.test_redraw import best_matches
from worlds import worlds


def enumeration():
    """Return how far the informed risk is from a count of every pattern, in both forms of inclusion."""

    def deviations(world):
        for sampled_by in ("true", "recorded"):
            options = {"misclassification": world.errors, "inclusion": sampled_by}
            risk = mm.exact_risk(world.sample, world.population, intruder="informed", **options)
            told = {"misclassify": world.misclassify, "include": world.include}
            for cell, found in zip(world.cells, risk.by_unique, strict=True):
                wanted = oracle.informed_risk(cell, world.units, **told, sampled_by=sampled_by)
                yield abs(found - wanted)

    found = gathered(deviations, worlds(), examples=200)
    return {"largest": max(found), "cells": len(found)}


def true_cells():
    """Return how far (2.4) is from a count of every pattern where inclusion goes by the true cell."""
    return known.enumeration(sampled_by="true", examples=200)


def margin():
    """Return how far the risk with a known margin is from the best intruder's, over all samples."""
    rng, found = np.random.default_rng(1), []
    for people, groups, values, pi in ((10, 3, 2, 0.3), (12, 4, 3, 0.3), (12, 3, 3, 0.2)):
        for _ in range(10):
            drawn = rng.integers(0, groups, people), rng.integers(0, values, people)
            found.append(best_matches(*drawn, pi))
    best, closed, plain = np.array(found).T
    return {
        "mean": 100 * (closed.mean() / best.mean() - 1),
        "largest": 100 * np.abs(closed / best - 1).max(),
        "without": 100 * (1 - plain.mean() / best.mean()),
        "worlds": len(found),
    }


def designs():
    """Return the informed risk beside the matches counted, after the paper's designs and a redraw."""
    people, _ = census()
    found = studied(people, DESIGNS, fraction=0.01, seed=2010, draws=10)
    means = {name: rows.mean(axis=0) for name, rows in found.items()}
    exact, right, estimate, matched = np.array(list(means.values())).T
    aimed = list(means).index("targeted swap 20%")
    random = list(means).index("random swap 20%")
    return {
        "counted": 100 * np.abs(exact / right - 1).max(),
        "estimated": 100 * np.abs(estimate / exact - 1).max(),
        "gain": matched[random] / matched[aimed],
        "informed_gain": exact[random] / exact[aimed],
    }


def populations():
    """Return how far the matches counted after a redraw are from the closed form elsewhere."""
    apart = {}
    for name, (people, fraction, steps) in OTHERS.items():
        found = studied(people(), steps, fraction=fraction, seed=2010, draws=10)["redraw"]
        exact, right, estimate, _ = found.mean(axis=0)
        apart[name] = 100 * (exact / right - 1)
        apart[f"{name}_estimate"] = 100 * (estimate / exact - 1)
    return apart


def redraw():
    """Return what a redraw below 120 costs and leaves, beside the paper's targeted swap of 20 %."""
    _, population = census()
    rows = []
    for number, sample in enumerate(census_samples(range(10))):
        for step in (DESIGNS["redraw 120"], DESIGNS["targeted swap 20%"]):
            release = step.apply(sample, rng=number)
            informed = mm.exact_risk(release, population, intruder="informed").total
            rows.append((100 * release.changed.mean(), informed))
    (few, left), (many, swapped) = np.array(rows).reshape(-1, 2, 2).mean(axis=0)
    return {"few": few, "left": left, "many": many, "swapped": swapped}


def trial():
    """Return what an informed intruder gets right beside the closed form, and one who is misled."""
    _, population = census()
    (sample,) = census_samples([4])
    release = mm.Redraw("lad", rarer_than=120).apply(sample, rng=2010)
    right = mm.linkage_trial(release, population, intruder="informed", rng=2010)
    nothing = mm.Misclassification({"lad": np.eye(11)})
    wrong = mm.linkage_trial(release, population, intruder="informed", assumed=nothing, rng=2010)
    more = {"wrong": 100 * wrong.expected, "wrong_share": 100 * wrong.share}
    return known.claimed(right) | more
