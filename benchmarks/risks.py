"""Measure exact and estimated risk."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import maskmeter as mm
from samples import paper_sized
from timing import Values, best


def _exact(keys: tuple[str, ...]) -> Values:

    sample, population = paper_sized()
    errors = mm.Misclassification(
        {name: mm.stay_or_move(population.space[name].size, stay=0.9) for name in keys}
    )

    def action() -> mm.Risk:
        return mm.exact_risk(sample, population, misclassification=errors)

    return {"seconds": best(action), "uniques": action().uniques}


def exact_one_key() -> Values:
    """Time of exact risk, one key misclassified (hold 50 ms)."""
    return _exact(("lad",))


def exact_six_keys() -> Values:
    """Time of exact risk, all six keys misclassified (hold 500 ms)."""
    return _exact(("lad", "sex", "age", "marital", "ethnicity", "activity"))


def exact_thirty_keys() -> Values:
    """Time of exact risk, 30 binary keys, N = 100,000, n = 2,000 (hold 5 s and 1 GB)."""
    import numpy as np

    theta, p = 0.05, 0.2
    codes: Any = (np.random.default_rng(1).random((100_000, 30)) < p).astype(np.uint8)
    space = mm.KeySpace(mm.Key(f"x{c}", (1, 2)) for c in range(30))
    population = mm.KeyTable.of(space, codes)
    P = [[1 - theta, theta], [(1 - p) * theta / p, 1 - (1 - p) * theta / p]]
    errors = mm.Misclassification(dict.fromkeys(space.names, P))
    sample = mm.Microdata(space, errors.on(space).draw(codes[:2000], rng=1), fraction=0.02)
    return {
        "seconds": best(
            lambda: mm.exact_risk(sample, population, misclassification=errors), times=2
        )
    }


def estimate() -> Values:
    """Time of an estimate after a swap, of its interval (hold 0.2 s), and memory (hold 400 MB)."""
    make = (
        "import maskmeter as mm, sys;"
        "mm.bernoulli_sample(mm.synthetic_census(), fraction=0.01, rng=1).write_csv(sys.argv[1])"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey.csv"
        subprocess.run([sys.executable, "-c", make, path], check=True)  # noqa: S603 - our own code
        keys = ["lad", "sex", "age", "marital", "ethnicity", "activity"]
        sample = mm.read(path, keys=keys, fraction=0.01)
        release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    model = mm.shrink_loglinear(release)
    bare = best(lambda: mm.estimate_risk(release, model, interval="none"))
    whole = best(lambda: mm.estimate_risk(release, model))
    return {"seconds": bare, "interval": max(whole - bare, 0.0)}


def informed() -> Values:
    """Time of the informed risk over that of exact matching (hold 1.5)."""
    sample, population = paper_sized()
    found = {}
    for name, keys in (("one", ("lad",)), ("six", population.space.names)):
        P = {key: mm.stay_or_move(population.space[key].size, stay=0.9) for key in keys}
        errors = mm.Misclassification(P)

        def exact(intruder: Any, errors: mm.Misclassification = errors) -> object:
            return mm.exact_risk(sample, population, intruder=intruder, misclassification=errors)

        found[name] = _ratio(exact)
    release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    found["estimated"] = _ratio(lambda one: mm.estimate_risk(release, intruder=one))
    return found


def _ratio(action: Callable[[Any], object]) -> float:
    """Return the time for an informed intruder over that for exact matching."""
    return best(lambda: action("informed")) / best(lambda: action("exact-match"))


def bootstrap() -> Values:
    """Time of an interval by 100 samples from the model (hold 60 s)."""
    sample, _ = paper_sized()
    model = mm.shrink_loglinear(sample)
    return {"seconds": best(lambda: mm.estimate_risk(sample, model, interval="bootstrap"), times=1)}


def sixteen_releases() -> Values:
    """Time of the paper's map of sixteen releases, three draws each (hold 30 s)."""
    from maskmeter.studies.paper.rerun import map_candidates

    sample, population = paper_sized()
    candidates = map_candidates(sample)
    axis = {"loss": ("lad", "ethnicity"), "measure": "raad", "associations": 0}
    options: Any = {**axis, "replications": 3, "rng": 1}
    exact = best(lambda: mm.compare(sample, candidates, population=population, **options), times=1)
    estimated = best(lambda: mm.compare(sample, candidates, **options), times=1)
    return {"seconds": exact, "estimated": estimated}


def find_redraw() -> Values:
    """Time to find a redraw at the paper's size, with one key and with two."""
    sample, _ = paper_sized()
    easy, hard = (mm.Target(max_share=share) for share in (0.06, 0.03))
    return {
        "seconds": best(lambda: mm.find_release(sample, target=easy, rng=1), times=1),
        "two": best(lambda: mm.find_release(sample, target=hard, rng=1), times=1),
    }


def release_check() -> Values:
    """Return how long the release check of a million records with 30 columns takes."""
    draws, records = np.random.default_rng(1), 1_000_000
    keys = {"lad": 50, "sex": 2, "age": 90, "ethnicity": 10, "marital": 5, "activity": 8}
    sizes = keys | {f"column {at}": (5, 50, 1_000, records)[at % 4] for at in range(24)}
    people = pl.DataFrame(
        {name: draws.integers(size, size=records) for name, size in sizes.items()}
    )
    release = mm.Swap("lad", rate=0.1).apply(mm.read(people, keys=[*keys], fraction=0.1), rng=1)
    start = time.perf_counter()
    mm.check_release(release)
    return {"seconds": time.perf_counter() - start}
