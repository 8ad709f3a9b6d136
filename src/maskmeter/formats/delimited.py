"""CSV: every column is read as text, so that what is written back can be the same byte for byte."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import polars as pl

from maskmeter._checks import check_distinct
from maskmeter.errors import FileError

if TYPE_CHECKING:
    from pathlib import Path

ENDINGS = (".csv",)
ADVICE = (
    "it is not comma-separated text in UTF-8 with the same number of fields in every row,"
    " or it was cut short."
)

_TAIL = 1 << 20


def scan(path: Path) -> pl.LazyFrame:
    """Return a lazy frame of text columns; an empty field is a missing value."""
    header = _header(path)
    check_distinct(header)
    _refuse_cut_off(path, fields=len(header))
    frame = pl.scan_csv(path, infer_schema=False, null_values="", glob=False)
    frame.collect_schema()
    return frame


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    """Return what a lazy frame over a CSV holds."""
    # Every column is read, also those nobody asked for: otherwise a row with too many fields, whose
    # values may stand in the wrong columns, would pass unnoticed.
    whole_rows = pl.QueryOptFlags(projection_pushdown=False)
    return frame.collect(engine="streaming", optimizations=whole_rows)


def _header(path: Path) -> list[str]:
    """Return the names in the first row, before the reader can rename duplicates."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        return next(csv.reader(file), [])


def _refuse_cut_off(path: Path, *, fields: int) -> None:
    """Refuse a file whose last row stops short: the reader would fill it with missing values."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        tail = file.read()
    if tail.endswith((b"\n", b"\r")):
        return
    start = tail.rfind(b"\n")
    # An odd number of quotes means that the line break was inside a quoted field.
    while start > 0 and tail.count(b'"', start) % 2:
        start = tail.rfind(b"\n", 0, start)
    last = next(csv.reader([tail[start + 1 :].decode(errors="replace")]), [])
    if len(last) < fields:
        message = (
            f"Cannot read {path.name!r}: its last row has {len(last)} of {fields} fields."
            " The file was cut short; copy it again."
        )
        raise FileError(message)
