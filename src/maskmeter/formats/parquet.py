"""Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

    import narwhals.stable.v2 as nw

ENDINGS = (".parquet", ".pq")
ADVICE = "it is not a complete Parquet file."


def scan(path: Path) -> pl.LazyFrame:
    """Return a lazy frame; the file's footer is read at once, so a cut-off file fails here."""
    frame = pl.scan_parquet(path, glob=False)
    frame.collect_schema()
    return frame


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    """Return what a lazy frame over a Parquet file holds."""
    return frame.collect(engine="streaming")


def write(frame: nw.DataFrame[Any], path: Path) -> None:
    """Write a frame of any kind."""
    frame.write_parquet(path)
