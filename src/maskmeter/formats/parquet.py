"""Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.formats.category_order import in_declared_order, in_polars
from maskmeter.formats.codebook import Codebook
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.scanned import Scanned
from maskmeter.plurals import counted, plural

NAME = "Parquet"
ENDINGS = (".parquet", ".pq")
KEEPS = frozenset({"extended missing values"})
_KNOWN_NOTES = {"ARROW:schema", "pandas"}  # types, which are kept, and which column was an index
ADVICE = "it is not a complete Parquet file."


def scan(path: Path, _dialect: Dialect) -> Scanned:
    """Return a lazy frame; the file's footer is read at once, so a cut-off file fails here."""
    frame = pl.scan_parquet(path, glob=False)
    frame.collect_schema()
    notes = set(pl.read_parquet_metadata(path)) - _KNOWN_NOTES
    left_out = f"{counted(len(notes), 'entry', 'entries')} of the Parquet metadata"
    left_out += f" {plural(len(notes), 'is', 'are')} not copied."
    frame = in_declared_order(frame, path, "parquet")
    return Scanned(frame, Codebook(left_out=(left_out,) if notes else ()))


def write(frame: nw.DataFrame[Any], path: Path, _codebook: Codebook) -> None:
    """Write a frame of any kind."""
    in_polars(frame).write_parquet(path)
