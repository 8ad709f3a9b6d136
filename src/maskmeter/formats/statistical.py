"""What SPSS, Stata and SAS have in common: numbers with labels, and missing values of several kinds."""

from __future__ import annotations

import errno
import math
import os
import re
from collections.abc import Callable, Hashable, Sequence
from datetime import date, time
from pathlib import Path
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.bounds import most_unpacked
from maskmeter.errors import FileError
from maskmeter.formats.codebook import Codebook, Variable
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.format import Header, ReadRows
from maskmeter.formats.numbers import EXACT, number_in, plain, whole
from maskmeter.formats.replacement import Replacement
from maskmeter.plurals import counted, plural

_NAME = re.compile(r"[\w.$#@]+")
_TAG = re.compile(r"\.[A-Za-z_]")


Reader: TypeAlias = "Callable[..., tuple[dict[str, list[Any]], Any]]"  # path, dialect, options


def rows_by(read: Reader) -> ReadRows:
    """Return how some columns of a file are read, by the reader of its format."""

    def rows(path: Path, header: Header, names: Sequence[str]) -> pl.LazyFrame:
        columns, meta = read(path, header.dialect, usecols=list(names))
        return frame_of(columns, meta.readstat_variable_types).select(names).lazy()

    return rows


def count_records(read: Reader, path: Path, dialect: Dialect) -> int:
    """Return how many records a file holds; one that does not say so is read to its end."""
    _, meta = read(path, dialect, metadataonly=True)
    if meta.number_rows is not None:
        return int(meta.number_rows)
    first, _ = read(path, dialect, usecols=meta.column_names[:1])
    return len(next(iter(first.values())))


def frame_of(columns: dict[str, list[Any]], kinds: dict[str, str]) -> pl.DataFrame:
    """Return what the reader gave as a frame: whole numbers as such, empty text as missing.

    These formats cannot tell an empty text from a missing one. Numbers beside extended missing
    values (.a to .z) become ordered texts, in the order of the numbers and then of the letters.
    """
    return pl.DataFrame(
        [
            _text(name, values) if kinds[name] == "string" else numbers(name, values)
            for name, values in columns.items()
        ]
    )


def _text(name: str, values: list[Any]) -> pl.Series:
    column = pl.Series(name, values, dtype=pl.String)
    return column.set(column == "", None)


def numbers(name: str, values: list[Any]) -> pl.Series:
    """Return a column of numbers, in which letters stand for extended missing values.

    >>> numbers("k", [2.0, None, "a", 1.0]).to_list()
    ['2', None, '.a', '1']
    """
    if any(isinstance(value, date | time) for value in values):
        return pl.Series(name, [None if isinstance(value, str) else value for value in values])
    if not any(isinstance(value, str) for value in values):
        return whole(pl.Series(name, values, dtype=pl.Float64))
    texts = {value: f".{value}" if isinstance(value, str) else plain(value) for value in values}
    letters = sorted(value for value in texts if isinstance(value, str))
    numbers = sorted(value for value in texts if isinstance(value, float | int))
    ordered = [str(texts[value]) for value in (*numbers, *letters)]
    listed = [None if value is None else str(texts[value]) for value in values]
    return pl.Series(name, listed, dtype=pl.Enum(ordered))


def header_of(meta: Any, dialect: Dialect, codebook: Codebook | None = None) -> Header:
    """Return what the reader found of the columns; what cannot be a name may be part of a record."""
    names = tuple(meta.column_names)
    listed = all(_NAME.fullmatch(name) for name in names)
    return Header(names, codebook or codebook_of(meta), dialect, listed=listed)


def codebook_of(meta: Any) -> Codebook:
    """Return what the reader found beside the values; every column must have a name."""
    if None in meta.column_names:
        raise ValueError("the name of a column cannot be read")
    return Codebook(
        tuple(_variable(meta, name) for name in meta.column_names),
        file_label=meta.file_label or "",
        notes=tuple(meta.notes or ()),
    )


def _variable(meta: Any, name: str) -> Variable:
    labels = meta.variable_value_labels.get(name, {})
    text = meta.readstat_variable_types[name] == "string"

    def shown(value: object) -> Hashable:
        if text:
            return str(value)
        return f".{value}" if isinstance(value, str) else plain(value)

    ranges = meta.missing_ranges.get(name, ())
    measure = meta.variable_measure.get(name) or ""
    return Variable(
        name,
        label=meta.column_names_to_labels.get(name) or "",
        values=tuple((shown(value), label) for value, label in labels.items()),
        missing=tuple((plain(one["lo"]), plain(one["hi"])) for one in ranges),  # type: ignore[misc]
        format=meta.original_variable_types.get(name) or "",
        width=meta.variable_storage_width.get(name) or 0,
        shown_width=meta.variable_display_width.get(name) or 0,
        measure="" if measure == "unknown" else measure,
    )


def is_tag(text: object) -> bool:
    """Return True for the text of an extended missing value.

    >>> is_tag(".a"), is_tag("1")
    (True, False)
    """
    return isinstance(text, str) and _TAG.fullmatch(text) is not None


def is_tagged(kind: object) -> bool:
    """Return True for the type of a column of numbers beside extended missing values.

    >>> is_tagged(pl.Enum(["1", ".a"])), is_tagged(pl.Enum(["1", "2"]))
    (True, False)
    """
    texts = list(kind.categories) if isinstance(kind, pl.Enum | nw.Enum) else []
    tags = [text for text in texts if is_tag(text)]
    return bool(tags) and all(number_in(text) is not None for text in texts if text not in tags)


def labelled_codes(frame: pl.DataFrame, codebook: Codebook) -> tuple[pl.DataFrame, Codebook]:
    """Return ordered texts as codes 1, 2, ... with the texts as their labels.

    Columns with extended missing values are not ordered texts but numbers, and stay as they are.
    """
    columns, variables = [], []
    for column in frame.iter_columns():
        variable = codebook[column.name]
        if isinstance(column.dtype, pl.Enum) and not variable.tagged:
            pairs = tuple(enumerate(column.dtype.categories.to_list(), start=1))
            variable = Variable(column.name, variable.label, pairs, measure="ordinal")
            column = (column.to_physical().cast(pl.Int64) + 1).rename(column.name)  # noqa: PLW2901 - the same column
        elif column.dtype.is_decimal():
            column = column.cast(pl.Float64)  # noqa: PLW2901 - the same column
        elif isinstance(column.dtype, pl.Categorical):
            column = column.cast(pl.String)  # noqa: PLW2901 - the same column
        columns.append(column)
        variables.append(variable)
    return pl.DataFrame(columns), Codebook(tuple(variables), codebook.file_label, codebook.notes)


def write_copy(
    source: Path,
    target: Path,
    header: Header,
    replacements: Sequence[Replacement],
    rewritten: Callable[[bytes, dict[int, Replacement]], bytes | None],
) -> bool:
    """Write what `rewritten` makes of a file and its new columns, by their position.

    A category that no record of the file has, as all of a recoded column, cannot be copied.
    """
    if any((one.sources < 0).any() for one in replacements):
        return False
    moves = {header.names.index(one.column): one for one in replacements}
    content = rewritten(source.read_bytes(), moves)
    if content is not None:
        target.write_bytes(content)
    return content is not None


def check_claim(path: Path, meta: Any, *, packed: bool = False) -> None:
    """Refuse a file that says it has more records than it has room for: the reader would believe it.

    A value takes a byte at least, unless the file is `packed`.
    """
    size = path.stat().st_size
    room = (most_unpacked(size) if packed else size) // max(1, meta.number_columns)
    if (meta.number_rows or 0) > room:
        raise FileError(
            f"Cannot read {path.name!r}: it says that it has {counted(meta.number_rows, 'record')}, but"
            f" has room for {room:,} at most. It was cut short or damaged: copy it again."
        )


def check_length(path: Path, records: int, beyond: bytes) -> None:
    """Refuse a file with bytes that no record accounts for: they may be records that nobody read.

    The end of a line is none: some programs add it to every file.
    """
    if beyond not in {b"", b"\n", b"\r\n"}:
        raise FileError(
            f"Cannot read {path.name!r}: its length does not fit its number of records"
            f" ({records:,}). It has {counted(len(beyond), 'byte')} more, which may be uncounted"
            " records. Save the file again in the program that made it."
        )


def check_written(columns: dict[str, list[Any]], frame: pl.DataFrame) -> None:
    """Refuse what was read back of a file just written, when it is not all there.

    The writer does not notice a disk that is full.
    """
    if len(next(iter(columns.values()), [])) != len(frame) or list(columns) != frame.columns:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "not all was written")


def check_names(
    frame: pl.DataFrame, kind: str, rule: re.Pattern[str], *, longest: int, in_bytes: bool = False
) -> None:
    """Refuse names of columns that the writer would refuse with words of its own."""
    bad = [
        name
        for name in frame.columns
        if not rule.fullmatch(name) or len(name.encode() if in_bytes else name) > longest
    ]
    if bad:
        size = f"{longest} {'bytes' if in_bytes else 'characters'}"
        raise FileError(
            f"{kind} does not allow the column name {bad[0]!r}: a name begins with a letter, contains"
            f" letters, digits and underscores, has at most {size} and is not a reserved word."
            f" Rename {len(bad)} of {counted(len(frame.columns), 'column')}."
        )


def check_numbers(frame: pl.DataFrame, kind: str, largest: float = math.inf) -> None:
    """Refuse numbers that the format would change or its writer would refuse: it has doubles only."""
    for column in frame.iter_columns():
        if not column.dtype.is_numeric() or column.dtype.is_decimal():
            continue
        bound = EXACT - 1 if column.dtype.is_integer() else largest
        outside = int((column.cast(pl.Float64).fill_nan(0).abs() > bound).sum())
        if outside:
            raise FileError(
                f"{kind} cannot store {counted(outside, 'number')} of column {column.name!r}:"
                f" {plural(outside, 'it is', 'they are')} too large. Convert the column to text."
            )


def refuse_nested(frame: pl.DataFrame, kind: str) -> None:
    """Refuse columns that hold neither text, numbers, booleans, dates nor times."""
    for name, dtype in frame.schema.items():
        if dtype.is_nested() or dtype in {pl.Object, pl.Binary, pl.Duration}:
            raise FileError(
                f"{kind} cannot store column {name!r}, which holds {type(dtype).__name__}."
            )
