"""A small survey in a start directory, and the workbench on it."""

from __future__ import annotations

import polars as pl

import maskmeter as mm
from maskmeter.app import changes
from maskmeter.app.settings import Setting
from maskmeter.app.workbench import Workbench

KEYS = ["lad", "sex", "age", "ethnicity"]
SEED = 2**127 + 2010


def write_survey(folder, *, size=40_000, sort=False):
    """Write a survey of 5 % with a town that its district tells, a number and a date of birth."""
    people = mm.bernoulli_sample(mm.synthetic_census(size=size), fraction=0.05, rng=1)
    people = people.sort("lad") if sort else people
    count = len(people)
    people = people.with_columns(
        town=pl.col("lad").cast(pl.String).str.slice(0, 2),
        pid=pl.Series(range(1000, 1000 + count)),
        income=pl.Series([(7919 * row) % 50_021 for row in range(count)]),
    )
    path = folder / "survey.csv"
    people.write_csv(path)
    return path


def opened(folder, **options):
    """Return a workbench with the survey open, four keys and a fraction."""
    bench = Workbench(folder, **{"seed": SEED, **options})
    bench.open("survey.csv")
    bench.apply(lambda plan: changes.with_keys(plan, KEYS, bench.file))
    bench.apply(lambda plan: changes.with_fraction(plan, 0.05))
    return bench


def swap(rate):
    """Return the setting that swaps districts."""
    return Setting("swap", ("lad",), rate=rate)
