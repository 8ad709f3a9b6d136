"""How time and memory grow with records, cells and keys: one point in each fresh process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import maskmeter as mm
from samples import KEY_SIZES, linked_keys
from timing import Values, best

RECORDS = 15_000  # where cells or keys grow
DENSE = 50_000_000  # cells up to which the default model applies
# Six keys each, whose sizes are as alike as their product allows.
CELLS = {
    10**4: (4, 5, 5, 4, 5, 5),
    10**5: (5, 5, 10, 10, 5, 8),
    10**6: (10, 10, 10, 10, 10, 10),
    10**7: (10, 10, 20, 25, 20, 10),
    10**8: (20, 25, 20, 25, 20, 20),
    10**10: (50, 40, 50, 40, 50, 50),
    10**12: (100, 100, 100, 100, 100, 100),
    10**15: (400, 250, 400, 250, 400, 250),
}


@dataclass(frozen=True, slots=True)
class Axis:
    """What grows, on which file, at which sizes, and the work that is timed at each."""

    title: str
    file: str
    sizes: tuple[int, ...]
    works: tuple[str, ...]


ESTIMATES = ("score path and estimate", "default estimate")
AXES = {
    "records": Axis(
        "records",
        "people of the synthetic census, with six keys and 538,560 cells",
        (10**4, 10**5, 10**6, 10**7),
        ("count", "PRAM", "swap", "default estimate"),
    ),
    "cells": Axis(
        "cells of six keys",
        f"{RECORDS:,} records whose keys have more and more categories",
        tuple(CELLS),
        ESTIMATES,
    ),
    "keys": Axis(
        "keys",
        f"{RECORDS:,} records whose keys have 2, 5, 3, 8, 4, 2, ... categories",
        (3, 6, 12, 20, 30, 40),
        ESTIMATES,
    ),
}


def sizes_of(axis: str, size: int) -> tuple[int, ...]:
    """Return the number of categories of each key, where cells or keys grow."""
    return CELLS[size] if axis == "cells" else KEY_SIZES[:size]


def points() -> list[tuple[str, str, int]]:
    """Return every axis, work and size to measure: the default model only where it applies."""
    return [
        (name, work, size)
        for name, axis in AXES.items()
        for work in axis.works
        for size in axis.sizes
        if name == "records" or work != "default estimate" or prod(sizes_of(name, size)) <= DENSE
    ]


def point(axis: str, work: str, size: int) -> Values:
    """Return the time of one point; the memory is that of the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        return _with_records(work, size) if axis == "records" else _with_keys(work, axis, size)


def _with_records(work: str, size: int) -> Values:
    """Return the time for a census of so many people, which another process makes."""
    make = "import maskmeter as mm, sys; mm.synthetic_census(size=int(sys.argv[2])).write_parquet(sys.argv[1])"
    keys = ["lad", "sex", "age", "marital", "ethnicity", "activity"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "census.parquet"
        subprocess.run([sys.executable, "-c", make, path, str(size)], check=True)  # noqa: S603 - our own code
        if work == "count":
            return {"seconds": _best(lambda: mm.count(path, keys=keys))}
        data = mm.read(path, keys=keys, fraction=0.01)
        actions: dict[str, Callable[[], object]] = {
            "PRAM": lambda: mm.Pram("lad", stay=0.8).apply(data, rng=1),
            "swap": lambda: mm.Swap("lad", rate=0.2).apply(data, rng=1),
            "default estimate": lambda: mm.estimate_risk(data),
        }
        return {"seconds": _best(actions[work])}


def _with_keys(work: str, axis: str, size: int) -> Values:
    """Return the time of an estimate from 15,000 records whose keys depend on each other."""
    data = linked_keys(sizes_of(axis, size), RECORDS)
    model: Any = "shrunk" if work == "default estimate" else "score-path"
    return {"seconds": _best(lambda: mm.estimate_risk(data, model))}


def _best(action: Callable[[], object]) -> float:
    """Return the best of three times, or the first where it is long."""
    first = best(action, times=1)
    return first if first > 5 else min(first, best(action, times=2))
