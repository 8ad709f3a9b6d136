"""Delimited text: every column is read as text, so that what is written back can be the same byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.errors import DuplicateColumnError, FileError
from maskmeter.formats.codebook import Codebook
from maskmeter.formats.csv_detection import (
    delimiter_of,
    encoding_of,
    first_rows,
    looks_like_names,
    utf8,
)
from maskmeter.formats.csv_dialect import DELIMITERS, Dialect
from maskmeter.formats.csv_rows import check_rows
from maskmeter.formats.scanned import Change, Scanned, Source

_Split: TypeAlias = "Callable[[bytes], tuple[list[bytes], bytes, bytes]]"

NAME = "CSV"
ENDINGS = (".csv", ".tsv", ".tab", ".txt")
TABBED = (".tsv", ".tab")
KEEPS = frozenset({"extended missing values"})  # as the text ".a"
ADVICE = (
    "its rows differ in their number of fields. Put quotation marks around fields that contain the"
    " delimiter."
)

# Every column is read, also those nobody asked for: otherwise a row with too many fields, whose
# values may stand in the wrong columns, would pass unnoticed.
OPTIMIZATIONS = pl.QueryOptFlags(projection_pushdown=False)

_SHOWN = 1 << 20  # bytes that are looked at for the delimiter and for names


def scan(path: Path, dialect: Dialect) -> Scanned:
    """Return a lazy frame of text columns; an empty field is a missing value."""
    encoding = encoding_of(path, dialect)
    source: Path | BytesIO = path if encoding is None else BytesIO(utf8(path, encoding))
    beginning = _whole_lines(_beginning(source))
    if b"\r" in beginning and b"\n" not in beginning:
        raise FileError(
            f"Cannot read {path.name!r}: its lines end with CR only. Save it with LF line ends."
        )
    text = beginning.decode("utf-8-sig", errors="replace")  # all bytes are checked below
    given = dialect.delimiter or ("\t" if path.suffix.lower() in TABBED else None)
    delimiter = given or delimiter_of(text, path.name)
    header, *rows = first_rows(text, delimiter)
    with _reopened(source) as file:
        check_rows(file, path.name, fields=len(header), delimiter=delimiter)
    if len(set(header)) < len(header):
        raise DuplicateColumnError(None)  # what may be a record is not shown
    frame = pl.scan_csv(
        source if isinstance(source, BytesIO) else path,
        separator=delimiter,
        infer_schema=False,
        null_values="",
        glob=False,
        with_column_names=lambda _: header,  # the reader leaves doubled quotes in names
    )
    frame.collect_schema()
    found = Dialect(encoding=encoding, delimiter=delimiter, decimal=dialect.decimal)
    named = looks_like_names(header, rows)
    return Scanned(frame, dialect=found, named=named, listed=False)


def _beginning(source: Path | BytesIO) -> bytes:
    with _reopened(source) as raw:
        return raw.read(_SHOWN)


def _whole_lines(beginning: bytes) -> bytes:
    """Return the beginning of a file without the line in which it was cut off."""
    last = beginning.rfind(b"\n") + 1
    return beginning[:last] if len(beginning) == _SHOWN and last else beginning


def _reopened(source: Path | BytesIO) -> IO[bytes]:
    return BytesIO(source.getbuffer()) if isinstance(source, BytesIO) else source.open("rb")


def write(frame: nw.DataFrame[Any], path: Path, _codebook: Codebook) -> None:
    """Write a frame of any kind."""
    for name, kind in frame.schema.items():
        if kind.is_nested() or kind == nw.Binary:
            raise FileError(
                f"{NAME} cannot store column {name!r}, which holds {type(kind).__name__}."
            )
    if path.suffix.lower() in TABBED:
        frame.to_polars().write_csv(path, separator="\t")
    else:
        frame.write_csv(path)


def copies(_codebook: Codebook, source: str, target: str) -> bool:
    """Return True when only some fields need to change: the endings call for the same delimiter."""
    return (source in TABBED) == (target in TABBED)


def rewrite(source: Source, path: Path, changes: list[Change]) -> bool:
    """Write a copy of a file in which only some columns are changed; they always can be."""
    dialect = source.dialect or Dialect()
    split = _splitter((dialect.delimiter or ",").encode())
    held = source.path if dialect.encoding is None else BytesIO(utf8(source.path, dialect.encoding))
    with _reopened(held) as old:
        columns = [source.columns.index(change.column) for change in changes]
        changed = dict(zip(columns, changes, strict=True))
        alone = len(source.columns) == 1
        fields = _category_fields(_records(old), split, changed, alone=alone)
    codes = [change.codes.tolist() for change in changes]
    with _reopened(held) as old, path.open("wb") as new:
        records = _records(old)
        new.write(_encoded(next(records), dialect.encoding))  # the header
        for row, record in enumerate(records):
            kept = record
            if changes:
                parts, mark, end = split(record)
                for column, code in zip(columns, codes, strict=True):
                    parts[column] = fields[column][code[row]]
                kept = mark.join(parts) + end
            new.write(_encoded(kept, dialect.encoding))
    return True


def _category_fields(
    records: Iterator[bytes], split: _Split, changes: dict[int, Change], *, alone: bool
) -> dict[int, list[bytes]]:
    """Return the field of every category of some columns, as a record of the file has it."""
    wanted: dict[int, list[tuple[int, int]]] = {}
    fields: dict[int, list[bytes]] = {}
    for column, change in changes.items():
        fields[column] = [_quoted(text, alone=alone) for text in change.texts]
        for code, donor in enumerate(change.donors.tolist()):
            if donor >= 0:
                wanted.setdefault(donor, []).append((column, code))
    last = max(wanted, default=-1)
    for row, record in enumerate(islice(records, 1, last + 2)):  # the header comes first
        for column, code in wanted.get(row, ()):
            fields[column][code] = split(record)[0][column]
    return fields


def _quoted(text: str, *, alone: bool) -> bytes:
    """Return the field of a category that no record has, quoted if it needs to be.

    An empty field that is alone in its row would make a blank line.
    """
    needed = any(mark in text for mark in ('"', "\r", "\n", *DELIMITERS)) or (alone and not text)
    return b'"' + text.encode().replace(b'"', b'""') + b'"' if needed else text.encode()


def _encoded(record: bytes, encoding: str | None) -> bytes:
    """Return a record in the encoding of its file."""
    if encoding is None:
        return record
    try:
        return record.decode().encode(encoding)
    except UnicodeEncodeError:
        raise FileError(
            f"Some categories cannot be written in {encoding}, the encoding of the file that was"
            " read. Save that file in UTF-8 and read it again."
        ) from None


def _records(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the records of a file with their line ends; quoted fields may span lines."""
    record = b""
    for line in file:
        record += line
        if record.count(b'"') % 2 == 0:
            yield record
            record = b""
    if record:
        yield record


def _splitter(delimiter: bytes) -> _Split:
    """Return what parts a record into its fields as they stand, the delimiter and the line end."""
    mark = re.escape(delimiter)
    field = re.compile(rb'("(?:[^"]|"")*"|[^%s]*)%s' % (mark, mark))

    def split(record: bytes) -> tuple[list[bytes], bytes, bytes]:
        body = record.rstrip(b"\r\n")
        quoted = b'"' in body
        parts = field.findall(body + delimiter) if quoted else body.split(delimiter)
        return parts, delimiter, record[len(body) :]

    return split
