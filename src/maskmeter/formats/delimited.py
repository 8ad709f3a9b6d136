"""CSV: every column is read as text, so that what is written back can be the same byte for byte."""

from __future__ import annotations

import csv
import re
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import polars as pl

from maskmeter._checks import check_distinct
from maskmeter.errors import FileError
from maskmeter.formats.atomic import whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import narwhals.stable.v2 as nw

ENDINGS = (".csv",)
ADVICE = (
    "it is not comma-separated text in UTF-8 with the same number of fields in every row,"
    " or it was cut short."
)

_CHUNK = 1 << 24
_FIELD = re.compile(rb'("(?:[^"]|"")*"|[^,]*),')


def scan(path: Path) -> pl.LazyFrame:
    """Return a lazy frame of text columns; an empty field is a missing value."""
    header = _header(path)
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        message = (
            f"Cannot read {path.name!r}: its first row has one field that holds semicolons, tabs or"
            " bars. Save the file with commas."
        )
        raise FileError(message)
    check_distinct(header)
    _refuse_short_rows(path, fields=len(header))
    frame = pl.scan_csv(
        path,
        infer_schema=False,
        null_values="",
        glob=False,
        with_column_names=lambda _: header,  # the reader leaves doubled quotes in names
    )
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
    with path.open("rb") as raw:
        beginning = raw.read(_CHUNK)
    if b"\r" in beginning and b"\n" not in beginning:
        message = f"Cannot read {path.name!r}: its lines end with CR alone. Save it with LF."
        raise FileError(message)
    with path.open(newline="", encoding="utf-8-sig") as file:
        return next(csv.reader(file), [])


def _refuse_short_rows(path: Path, *, fields: int) -> None:
    """Refuse a file with rows that stop short: the reader would fill them with missing values.

    The last row of a file that was cut off is one. Rows with too many fields the reader refuses.
    """
    commas, lines, quoted, last, tail = 0, 0, False, b"\n", b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            last, tail = chunk[-1:], (tail + chunk)[-4:]
            if quoted or b'"' in chunk:
                chunk, quoted = _outside_quotes(chunk, quoted=quoted)
            commas += chunk.count(b",")
            lines += chunk.count(b"\n")
    lines += last != b"\n"
    if last == b"\n" and tail.replace(b"\r", b"").endswith(b"\n\n"):
        message = f"Cannot read {path.name!r}: it ends with a blank line. Remove it."
        raise FileError(message)
    if commas < (fields - 1) * lines:
        message = (
            f"Cannot read {path.name!r}: some of its {lines - 1:,} rows are blank or have fewer than"
            f" {fields} fields. If only the last one has, the file was cut short: copy it again."
        )
        raise FileError(message)


def _outside_quotes(chunk: bytes, *, quoted: bool) -> tuple[bytes, bool]:
    """Return the bytes that are not inside quotes, and whether the chunk ends inside them."""
    text = np.frombuffer(chunk, dtype=np.uint8)
    inside = np.bitwise_xor.accumulate(text == ord('"')) ^ quoted
    return text[~inside].tobytes(), bool(inside[-1])


def write(frame: nw.DataFrame[Any], path: Path) -> None:
    """Write a frame of any kind."""
    frame.write_csv(path)


def rewrite(source: Path, path: Path, changes: dict[str, dict[int, str]]) -> None:
    """Write a copy of a CSV in which only some fields are changed: column, row, new text."""
    header = _header(source)
    by_row: dict[int, list[tuple[int, str]]] = {}
    for name, texts in changes.items():
        for row, text in texts.items():
            by_row.setdefault(row, []).append((header.index(name), text))
    with source.open("rb") as old, whole(path) as unfinished, unfinished.open("wb") as new:
        for number, record in enumerate(_records(old), start=-1):  # the header is row -1
            new.write(_changed(record, by_row[number]) if number in by_row else record)


def _records(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the records of a CSV with their line ends; quoted fields may span lines."""
    record = b""
    for line in file:
        record += line
        if record.count(b'"') % 2 == 0:
            yield record
            record = b""
    if record:
        yield record


def _changed(record: bytes, changes: list[tuple[int, str]]) -> bytes:
    """Return a record with some fields replaced, quoted where they were or need to be."""
    body = record.rstrip(b"\r\n")
    fields = _FIELD.findall(body + b",")
    for column, text in changes:
        raw = text.encode()
        if fields[column].startswith(b'"') or any(mark in raw for mark in b',"\r\n'):
            raw = b'"' + raw.replace(b'"', b'""') + b'"'
        fields[column] = raw
    return b",".join(fields) + record[len(body) :]
