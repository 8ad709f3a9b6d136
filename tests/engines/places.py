"""The same records in every place that maskmeter works on: frames, files, relations, data frames."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from maskmeter.errors import without_warnings

KEYS = ["lad", "age", "sex"]

# The main environment has no pyspark: make test runs these tests again in .venv-spark.
SPARK = (
    pytest.mark.spark,
    pytest.mark.skipif(not find_spec("pyspark"), reason="needs pyspark: make test runs it apart"),
)
WITHOUT_SPARK = ["shuffled frame", "polars files", "duckdb files", "duckdb relation"]
PLACES = [
    *WITHOUT_SPARK,
    pytest.param("spark files", marks=SPARK),
    pytest.param("spark frame", marks=SPARK),
]


@dataclass(frozen=True)
class Place:
    """A place for records. `session` is of Spark, where that is needed; `folder` is new."""

    name: str
    folder: Path
    session: Any = None

    def put(self, frame, *, parts=3, shuffled=True):
        """Return what stands for the records of a frame here, and how mm.read is told."""
        rows = frame.sample(fraction=1, shuffle=True, seed=5) if shuffled else frame
        engine, _, kind = self.name.partition(" ")
        if kind == "files":
            return write_parts(rows, self.folder, parts), {"engine": engine}
        if kind == "relation":
            duckdb = pytest.importorskip("duckdb")
            return duckdb.connect().from_arrow(rows.to_arrow()), {}
        if self.name == "spark frame":
            path = self.folder / f"{len(list(self.folder.iterdir()))}.parquet"
            rows.write_parquet(path)
            return self.session.read.parquet(str(path)).repartition(parts).cache(), {}
        return rows, {}

    def read(self, frame, *, parts=3, shuffled=True, **options):
        """Return the records of a frame, read from here."""
        given, told = self.put(frame, parts=parts, shuffled=shuffled)
        with without_warnings():
            return mm.read(given, **({"keys": KEYS, "id": "person"} | told | options))

    def count(self, frame, **options):
        """Return the counts of a frame's records, counted here."""
        given, told = self.put(frame)
        return mm.count(given, **({"keys": KEYS} | told | options))


def write_parts(frame, folder, parts):
    """Return a new folder with the rows of a frame in several Parquet files."""
    made = folder / f"in [{len(list(folder.iterdir()))}]"  # programs may take it for a pattern
    made.mkdir()
    size = -(-max(len(frame), 1) // parts)
    for part in range(parts):
        frame[part * size : (part + 1) * size].write_parquet(made / f"{part:02}.parquet")
    return made


def people(records=400, seed=1):
    """Return records with three keys, weights, a column that may travel with one, and another."""
    draws = np.random.default_rng(seed)
    lad = draws.integers(0, 5, records)
    return pl.DataFrame(
        {
            "person": draws.permutation(records) * 7919 - 1000,
            "lad": [f"lad {one}" for one in lad],
            "income": draws.normal(size=records).round(3),
            "age": draws.integers(0, 9, records) * 10,
            "sex": draws.choice(["f", "m"], records, p=[0.3, 0.7]),
            "ward": [f"ward {one}-{other}" for one, other in zip(lad, draws.integers(0, 20, records), strict=True)],
            "weight": draws.choice([10.0, 20.5, 31.25], records),
        }
    )  # fmt: skip


def protect(sample, steps):
    """Return the release of records after some steps, with a fixed seed and no warnings."""
    with without_warnings():
        return mm.protect(sample, steps, rng=2010)


def sorted_rows(frame, by="person"):
    """Return a frame in the order of its ids, with declared categories as text."""
    listed = pl.selectors.by_dtype(pl.Enum, pl.Categorical)
    return frame.sort(by).with_columns(listed.cast(pl.String))


def assert_same(found, expected, by="person"):
    """Assert that two frames hold the same records with the same types, in any order."""
    one, other = sorted_rows(found, by), sorted_rows(expected, by)
    assert one.schema == other.schema
    assert one.equals(other)
