"""Risk with known population counts: equations (2.2) to (2.9) and the appendix."""

import warnings
from itertools import product

import numpy as np

import maskmeter as mm
import oracle
from chance.test_census import average_of
from chance.test_estimates import DESIGNS
from chance.test_shared import matches
from checks.worlds_of import census, census_samples, gathered
from laws.test_exact_risk import shared_by_definition
from maskmeter.mechanism import Inclusion, rivals
from worlds import worlds


def enumeration(sampled_by="recorded", examples=400):
    """Return how far (2.4) is from a count of every pattern of who matches."""

    def deviations(world):
        risk = mm.exact_risk(
            world.sample, world.population, misclassification=world.errors, inclusion=sampled_by
        )
        told = {"misclassify": world.misclassify, "include": world.include}
        for cell, found in zip(world.cells, risk.by_unique, strict=True):
            wanted = oracle.identification_risk(cell, world.units, **told, sampled_by=sampled_by)
            yield abs(found - (wanted or 0.0))

    found = gathered(deviations, worlds(), examples=examples)
    return {"largest": max(found), "cells": len(found)}


def shared():
    """Return how far R(m) is from a count of every pattern, for each number of records and intruder."""

    def deviations(world):
        for found, wanted in shared_by_definition(world, "true"):
            yield np.abs(np.subtract(found, wanted)).max()

    found = gathered(deviations, worlds(), examples=200)
    return {"largest": max(found), "cells": len(found)}


def shared_counted():
    """Return how far R(m), and (2.4) at most 1/m, are from matches counted in shared cells."""
    found = {}
    for fraction in (0.05, 0.5):
        counted, right, wrong = matches(fraction, 2010).sum(axis=1)
        percent = f"{100 * fraction:.0f}"
        found |= {f"right{percent}": right / counted, f"wrong{percent}": wrong / counted}
    return {name: 100 * (one - 1) for name, one in found.items()}


def _release(world):
    original = mm.Microdata(world.space, np.array(world.units))
    drawn = world.errors.on(original).draw(original.codes, rng=1)
    return mm.Release(original, original.with_codes(drawn), world.errors)


def in_sample():
    """Return how far (2.4) and (2.2) are off for a target who is known to be in the sample."""

    def deviations(world):
        release = _release(world)
        exact = mm.in_sample_risk(release, formula="2.4")
        gouweleeuw = mm.in_sample_risk(release, formula="2.2")
        for position, record in enumerate(exact.records):
            cell = tuple(int(code) for code in release.released.codes[record])
            wanted = oracle.identification_risk(
                cell, world.units, misclassify=world.misclassify, include=lambda _: 1
            )
            arrive = [float(world.misclassify(unit)[cell]) for unit in world.units]
            own = [a for a, unit in zip(arrive, world.units, strict=True) if unit == cell]
            printed = sum(own) / sum(arrive) if sum(own) else 0.0
            yield (
                abs(exact.by_unique[position] - (wanted or 0.0)),
                abs(gouweleeuw.by_unique[position] - printed),
            )

    found = np.array(gathered(deviations, worlds(), examples=200))
    return {"exact": found[:, 0].max(), "printed": found[:, 1].max(), "cells": len(found)}


def _printed(F, stay, released, pi):
    """Return (2.5), (2.6), (2.6) with F~_j for F_j, and (2.7) as printed, for one cell."""
    if stay == 0:
        return 0.0, 0.0, 0.0, 0.0
    w = stay / (1 - pi * stay)
    return (
        stay / released,
        (1 - (released - F * stay) / (F * w)) / F,
        (1 - (released - released * stay) / (released * w)) / released,
        w / (F * pi * stay * w + released),
    )


def approximations():
    """Return how far (2.5) to (2.7) are from the printed equations, where these divide by no 0."""

    def deviations(world):
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mm.MaskmeterWarning)
            for formula in ("2.5", "2.6", "2.6 released", "2.7"):
                risk = mm.approximate_risk(
                    world.sample, world.population, formula=formula, misclassification=world.errors
                )
                found.append(risk.by_unique)
        for position, cell in enumerate(world.cells):
            F = world.units.count(cell)
            stay, pi = float(world.misclassify(cell)[cell]), float(world.include(cell))
            if F == 0 or stay * pi == 1:
                continue
            released = float(sum(world.misclassify(unit)[cell] for unit in world.units))
            for values, wanted in zip(found, _printed(F, stay, released, pi), strict=True):
                yield abs(values[position] - wanted) / max(abs(wanted), 1)

    found = gathered(deviations, worlds(), examples=400)
    return {"largest": max(found), "values": len(found)}


def bound():
    """Return the largest risk times F_j, and how far it is from 1 when nothing is misclassified."""

    def products(world):
        risk = mm.exact_risk(world.sample, world.population, misclassification=world.errors)
        own = world.population.lookup(world.sample.codes)
        bare = mm.Microdata(world.space, world.population.codes, fraction=0.3)
        ideal = mm.exact_risk(bare, world.population).by_unique * world.population.counts
        yield (risk.by_unique * own).max(), np.abs(ideal - 1).max()

    found = np.array(gathered(products, worlds(most_units=12), examples=400))
    return {"largest": found[:, 0].max(), "off": found[:, 1].max()}


def structure():
    """Return how far sums over true cells are from those of the whole K x K matrix."""
    worst = 0.0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        space = mm.KeySpace(mm.Key(f"key{c}", range(n)) for c, n in enumerate((3, 2, 3, 2)))

        def matrix(*keys, rng=rng, space=space):
            size = int(np.prod([space.sizes[c] for c in keys]))
            return rng.dirichlet(np.full(size, 0.7), size)

        varying = mm.by("key1", {code: matrix(3, 0) for code in range(2)})
        errors = mm.Misclassification({("key3", "key0"): varying, "key2": matrix(2)})
        every = space.codes(np.arange(space.size))
        population = mm.KeyTable.of(space, every[rng.integers(0, space.size, 60)])
        mechanism, pi = errors.on(space), rng.choice([0.01, 0.3, 0.85], space.size)
        pairs = np.array(list(product(range(space.size), repeat=2)))
        P = mechanism.prob(true=every[pairs[:, 0]], released=every[pairs[:, 1]])
        P = P.reshape(space.size, -1)
        np.fill_diagonal(P, 0)
        wanted = population.lookup(every) @ (P / (1 - pi * P))
        found = rivals(mechanism, population, every, pi=Inclusion(pi)).weighted
        worst = max(worst, float((np.abs(found - wanted) / np.maximum(wanted, 1e-9)).max()))
    return {"largest": worst}


def tau_and_cc():
    """Return how far tau is from tau*_CC over twenty draws, by the right matrix and by a wrong one."""
    people, population = census()
    tau, known = average_of(people, population, seeds=range(20), told=0.9)
    wrong, _ = average_of(people, population, seeds=range(20), told=0.8)
    return {"right": 100 * abs(tau / known - 1), "wrong": 100 * abs(wrong / known - 1)}


def designs():
    """Return how far tau*_CC, (2.5) and (2.7) are from tau after the paper's eight designs."""
    _, population = census()
    totals = {name: [] for name in DESIGNS}
    for seed, sample in enumerate(census_samples(range(10))):
        for name, step in DESIGNS.items():
            release = step.apply(sample, rng=seed)
            measures = (
                mm.exact_risk(release, population),
                mm.correctly_classified_risk(release, population),
                mm.approximate_risk(release, population, formula="2.5"),
                mm.approximate_risk(release, population, formula="2.7"),
            )
            totals[name].append([one.total for one in measures])
    mean = np.array([np.mean(rows, axis=0) for rows in totals.values()])
    gap = np.abs(mean[:, 1:] / mean[:, :1] - 1) * 100
    return {"cc": gap[:, 0].max(), "two_five": gap[:, 1].max(), "two_seven": gap[:, 2].max()}


def scenarios():
    """Return how far the risk with an averaged matrix is from tau*_CC, and that with a blunt one."""
    _, population = census()
    old = dict.fromkeys(population.space["age"].categories[14:], 0.9)
    by_group = {"White British": 0.0}
    aimed = {
        "ethnicity": [mm.Swap("lad", rate=mm.by("ethnicity", by_group, otherwise=1.0))],
        "age": [mm.Swap("lad", rate=mm.by("age", old, otherwise=0.0))],
        "both": [
            mm.Swap("lad", rate=mm.by("ethnicity", by_group, otherwise=0.8)),
            mm.Pram("marital", stay=mm.by("ethnicity", {"White British": 0.95}, otherwise=0.3)),
        ],
    }
    found = {}
    for name, steps in aimed.items():
        unknown = "age" if name == "age" else "ethnicity"
        names = [key for key in population.space.names if key != unknown]
        truth, totals = population.project(names), []
        for seed, sample in enumerate(census_samples(range(10))):
            seen = mm.protect(sample, steps, rng=seed).project(names)
            P = {"lad": mm.stay_or_move(11, stay=0.5), "marital": mm.stay_or_move(6, stay=0.9)}
            blunt = mm.Release(
                seen.original, seen.released, P if name == "both" else {"lad": P["lad"]}
            )
            right = mm.correctly_classified_risk(seen, truth).total
            totals.append([*(mm.exact_risk(one, truth).total for one in (seen, blunt)), right])
        tau, wrong, right = np.mean(totals, axis=0)
        found[name] = 100 * (tau / right - 1)
        found[f"{name}_wrong"] = 100 * abs(wrong / right - 1)
    return found


def linkage():
    """Return how far m p / (m p + u (1 - p)) is from M_jj / F~_j."""
    _, population = census()
    (sample,) = census_samples([4])
    found = mm.linkage_probability(mm.Swap("lad", rate=0.2).apply(sample, rng=1), population)
    some = found.by_unique > 0
    m, u, p = found.m[some], found.u[some], found.p[some]
    ratio = m * p / (m * p + u * (1 - p)) / found.by_unique[some]
    return {"largest": np.abs(ratio - 1).max()}


def intruder():
    """Return an intruder's trial beside (2.4), and beside a matrix with a fifth less staying."""
    _, population = census()
    (sample,) = census_samples([4])
    release = mm.Pram("lad", stay=0.8).apply(sample, rng=2010)
    right = mm.linkage_trial(release, population, rng=2010)
    off = mm.Misclassification({"lad": mm.stay_or_move(11, stay=0.64)})
    wrong = mm.linkage_trial(release, population, assumed=off, rng=2010)
    return {**claimed(right), "wrong": 100 * wrong.expected}


def claimed(trial):
    """Return the figures of an intruder's trial, in percent."""
    return {
        "claims": trial.claims,
        "share": 100 * trial.share,
        "expected": 100 * trial.expected,
        "low": 100 * trial.interval[0],
        "high": 100 * trial.interval[1],
    }
