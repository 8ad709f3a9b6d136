"""Delimited text: every column is read as text, so that what is written back can be the same byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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
from maskmeter.formats.format import Feature, Format, Header
from maskmeter.formats.replacement import Replacement, Rows

_Split: TypeAlias = "Callable[[bytes, int], tuple[list[bytes], bytes, bytes]]"

NAME = "CSV"
_TABBED = (".tsv", ".tab")
_SHOWN = 1 << 20  # bytes that are looked at for the delimiter and for names


def read_header(path: Path, dialect: Dialect) -> Header:
    """Return the names in the first row and how the text is written, after checking all of it."""
    encoding = encoding_of(path, dialect)
    source = _held(path, encoding)
    beginning = _whole_lines(_beginning(source))
    if b"\r" in beginning and b"\n" not in beginning:
        raise FileError(
            f"Cannot read {path.name!r}: its lines end with CR only. Save it with LF line ends."
        )
    text = beginning.decode("utf-8-sig", errors="replace")  # all bytes are checked below
    given = dialect.delimiter or ("\t" if path.suffix.lower() in _TABBED else None)
    delimiter = given or delimiter_of(text, path.name)
    header, *rows = first_rows(text, delimiter)
    with _reopened(source) as file:
        check_rows(file, path.name, fields=len(header), delimiter=delimiter)
    if len(set(header)) < len(header):
        raise DuplicateColumnError(None)  # what may be a record is not shown
    found = Dialect(encoding=encoding, delimiter=delimiter, decimal=dialect.decimal)
    named = looks_like_names(header, rows)
    return Header(tuple(header), dialect=found, named=named, listed=False)


def read_rows(path: Path, header: Header, names: Sequence[str]) -> pl.LazyFrame:
    """Return a lazy frame of text columns; an empty field is a missing value."""
    return pl.scan_csv(
        _held(path, header.dialect.encoding),
        separator=header.dialect.delimiter or ",",
        infer_schema=False,
        null_values="",
        glob=False,
        with_column_names=lambda _: list(header.names),  # the reader leaves doubled quotes in names
    ).select(pl.selectors.by_name(*names))


def _held(path: Path, encoding: str | None) -> Path | BytesIO:
    """Return a file, or its text in UTF-8 in memory when it is in another encoding."""
    return path if encoding is None else BytesIO(utf8(path, encoding))


def _beginning(source: Path | BytesIO) -> bytes:
    with _reopened(source) as file:
        return file.read(_SHOWN)


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
    if path.suffix.lower() in _TABBED:
        frame.to_polars().write_csv(path, separator="\t")
    else:
        frame.write_csv(path)


def rewrite(
    source: Path,
    target: Path,
    *,
    header: Header,
    replacements: Sequence[Replacement],
    rows: Rows | None,
    drop: Sequence[str],
) -> bool:
    """Write a copy of a file in which only some fields are changed or left out; this always can be."""
    dialect = header.dialect
    split = _splitter((dialect.delimiter or ",").encode())
    held = _held(source, dialect.encoding)
    replaced = {header.names.index(one.column): one for one in replacements}
    with _reopened(held) as old:
        fields = _category_fields(_records(old), split, replaced, alone=len(header.names) == 1)
    codes = {column: one.codes.tolist() for column, one in replaced.items()}
    dropped = sorted((header.names.index(name) for name in drop), reverse=True)
    needed = max((*replaced, *dropped), default=-1) + 1

    def written(record: bytes, row: int | None) -> bytes:
        if not needed:
            return _encoded(record, dialect.encoding)
        parts, mark, end = split(record, needed)
        if row is not None:
            for column, code in codes.items():
                parts[column] = fields[column][code[row]]
        for column in dropped:
            del parts[column]
        return _encoded(mark.join(parts) + end, dialect.encoding)

    with _reopened(held) as old, target.open("wb") as new:
        records = _records(old)
        new.write(written(next(records), None))
        for row, record in enumerate(_kept(records, rows)):
            new.write(written(record, row))
    return True


def _kept(records: Iterator[bytes], rows: Rows | None) -> Iterator[bytes]:
    """Yield the records to keep, in the order of `rows`; each ends its line, whichever is last."""
    if rows is None:
        yield from records
        return
    held = list(records)
    end = next((b"\r\n" for one in held[:1] if one.endswith(b"\r\n")), b"\n")
    for row in rows.tolist():
        yield held[row] if held[row].endswith(b"\n") else held[row] + end


def _category_fields(
    records: Iterator[bytes], split: _Split, replaced: dict[int, Replacement], *, alone: bool
) -> dict[int, list[bytes]]:
    """Return the field of every category of some columns, as a record of the file has it."""
    wanted: dict[int, list[tuple[int, int]]] = {}
    fields: dict[int, list[bytes]] = {}
    for column, one in replaced.items():
        fields[column] = [_quoted(text, alone=alone) for text in one.texts]
        for code, donor in enumerate(one.donors.tolist()):
            if donor >= 0:
                wanted.setdefault(donor, []).append((column, code))
    last = max(wanted, default=-1)
    for row, record in enumerate(islice(records, 1, last + 2)):  # the header comes first
        for column, code in wanted.get(row, ()):
            fields[column][code] = split(record, column + 1)[0][column]
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
    """Return what parts a record into its fields as they stand, the delimiter and the line end.

    So many fields as are needed are parted; those behind them may stay together.
    """
    mark = re.escape(delimiter)
    field = re.compile(rb'("(?:[^"]|"")*"|[^%s]*)%s' % (mark, mark))

    def split(record: bytes, needed: int) -> tuple[list[bytes], bytes, bytes]:
        parts = record.split(delimiter, needed)
        if len(parts) > needed and not any(b'"' in part for part in parts[:needed]):
            return parts, delimiter, b""  # the line end is in the rest
        body = record.rstrip(b"\r\n")
        quoted = b'"' in body
        parts = field.findall(body + delimiter) if quoted else body.split(delimiter)
        return parts, delimiter, record[len(body) :]

    return split


FORMAT = Format(
    NAME,
    (".csv", *_TABBED, ".txt"),
    header=read_header,
    rows=read_rows,
    write=write,
    rewrite=rewrite,
    same_layout=lambda source, target: (source in _TABBED) == (target in _TABBED),
    keeps=frozenset({Feature.EXTENDED_MISSING}),  # as the text ".a"
    advice="its rows differ in their number of fields. Put quotation marks around fields that contain"
    " the delimiter.",
    # Every column is read, also those nobody asked for: otherwise a row with too many fields, whose
    # values may stand in the wrong columns, would pass unnoticed.
    optimizations=pl.QueryOptFlags(projection_pushdown=False),
)
