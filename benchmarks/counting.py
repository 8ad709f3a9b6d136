"""Measure how long it takes to make and to count a population."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import maskmeter as mm
from timing import Values, best, best_of_each


def census() -> Values:
    """Time of building the census (hold 5 s)."""
    return {"seconds": best(mm.synthetic_census, times=3)}


def counting() -> Values:
    """Time of counting a Parquet file of 14.7 million rows, against bare Polars (hold 1.2x).

    DuckDB counts the same file.
    """
    import duckdb
    import polars as pl

    make = (
        "import maskmeter as mm, polars as pl, sys;"
        "pl.concat([mm.synthetic_census()] * 10).write_parquet(sys.argv[1])"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "census.parquet"
        subprocess.run([sys.executable, "-c", make, path], check=True)  # noqa: S603 - our own code
        lazy = pl.scan_parquet(path)
        names = lazy.collect_schema().names()

        def plain() -> object:
            return lazy.group_by(names).len().collect(engine="streaming")

        def by_duckdb() -> object:
            listed = ", ".join(names)
            rows = duckdb.read_parquet(str(path))
            return rows.aggregate(f"{listed}, count(*)", listed).to_arrow_table()

        taken = best_of_each(
            {
                "seconds": lambda: mm.count(path, keys=names),
                "polars": plain,
                "duckdb": by_duckdb,
            },
            times=15,
        )
    return {**taken, "ratio": taken["seconds"] / taken["polars"]}
