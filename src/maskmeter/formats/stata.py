"""Stata: .dta."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.formats import stata_bytes
from maskmeter.formats.codebook import Codebook, Longest, Variable
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.format import Feature, Format, Header
from maskmeter.formats.numbers import whole
from maskmeter.formats.replacement import Replacement, Rows
from maskmeter.formats.statistical import (
    check_claim,
    check_length,
    check_names,
    check_numbers,
    check_written,
    count_records,
    header_of,
    is_tag,
    labelled_codes,
    refuse_nested,
    rows_by,
    write_copy,
)

NAME = "Stata"
_DAY = 86_400_000  # milliseconds
_LARGEST = 2_147_483_620  # of a Stata long; what is above are its missing values
_SMALLEST = -2_147_483_647
_LARGEST_DOUBLE = 8.98e307
_NAMES = re.compile(
    r"(?!(_all|_b|byte|_coef|_cons|double|float|if|in|int|long|_n|_N|_pi|_pred|_rc|_skip|str\d+|strL"
    r"|using|with)$)[^\W\d]\w*"
)


def read_header(path: Path, dialect: Dialect) -> Header:
    """Return the columns of a file, which must not hold more than its records."""
    _, meta = _read(path, dialect, metadataonly=True)
    check_claim(path, meta)
    records = count_records(_read, path, dialect)
    check_length(path, records, stata_bytes.beyond(path.read_bytes(), records))
    return header_of(meta, dialect)


def _read(path: Path, dialect: Dialect, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    """Return the values as they are stored; see `frame_of` for extended missing values."""
    import pyreadstat

    return pyreadstat.read_dta(
        path,
        output_format="dict",  # a data frame would turn "." beside ".a" into a number
        user_missing=True,
        disable_datetime_conversion=True,
        encoding=dialect.codec,
        **options,
    )


def rewrite(
    source: Path,
    target: Path,
    *,
    header: Header,
    replacements: Sequence[Replacement],
    rows: Rows | None,
    drop: Sequence[str],
) -> bool:
    """Write a copy of a file in which only some columns differ; False when that cannot be."""
    records = count_records(_read, source, header.dialect)
    if drop or (rows is not None and len(rows) != records):
        return False
    return write_copy(
        source,
        target,
        header,
        replacements,
        lambda old, moves: stata_bytes.rewritten(old, records, moves, rows),
    )


def write(given: nw.DataFrame[Any], path: Path, codebook: Codebook) -> None:
    """Write a frame with the labels of its codebook."""
    import pyreadstat

    frame = given.to_polars()
    check_names(frame, NAME, _NAMES, longest=32)
    check_numbers(frame, NAME, _LARGEST_DOUBLE)
    refuse_nested(frame, NAME)
    frame, codebook = labelled_codes(frame, codebook)
    variables = [codebook[name] for name in frame.columns]
    labels = {one.name: _labels(one) for one in variables if _labels(one)}
    tags = {one.name: _tags(one, frame[one.name]) for one in variables}
    frame = pl.DataFrame([_stored(column, tags[column.name]) for column in frame.iter_columns()])
    pyreadstat.write_dta(
        frame,
        path,
        file_label=codebook.file_label,
        column_labels={one.name: one.label for one in variables if one.label},
        version=14,  # read by every Stata since 2015
        variable_value_labels=labels,  # type: ignore[arg-type] # letters stand for extended missing values
        missing_user_values={name: letters for name, letters in tags.items() if letters},
        variable_format={one.name: one.format for one in variables if one.format},
    )
    check_written(pyreadstat.read_dta(path, output_format="dict")[0], frame)


def _tags(variable: Variable, column: pl.Series) -> list[str]:
    """Return the letters of the extended missing values that a column or its labels have."""
    held = column.unique().to_list() if variable.tagged else []
    return sorted({text[1:] for text in [*held, *variable.value_labels] if is_tag(text)})


def _labels(variable: Variable) -> dict[int | str, str]:
    """Return the value labels that Stata can hold: those of whole numbers and of .a to .z."""
    labels: dict[int | str, str] = {}
    for value, label in variable.values:
        if is_tag(value):
            labels[str(value)[1:]] = label
            continue
        if isinstance(value, int) and _SMALLEST <= value <= _LARGEST:
            labels[value] = label
    return labels


def _stored(column: pl.Series, tags: list[str]) -> pl.Series:
    """Return a column as Stata stores it: longs where all fit, else doubles; no text is missing."""
    name = column.name
    if tags:
        values = column.to_list()
        texts = [str(value) for value in values if value is not None and not is_tag(value)]
        kind = int if all(float(text).is_integer() for text in texts) else float
        listed = [
            None if one is None else one[1:] if is_tag(one) else kind(float(one)) for one in values
        ]
        return pl.Series(name, listed, dtype=pl.Object)
    if column.dtype == pl.String:
        return column.fill_null("")
    if column.dtype.is_float():
        column = whole(column.cast(pl.Float64).fill_nan(None))
    if column.dtype == pl.Boolean:
        return column.cast(pl.Int32)
    if column.dtype.is_integer():
        smallest, largest = column.min(), column.max()
        fits = smallest is None or (smallest >= _SMALLEST and largest <= _LARGEST)  # type: ignore[operator]
        return column.cast(pl.Int32 if fits else pl.Float64)
    return column


FORMAT = Format(
    NAME,
    (".dta",),
    header=read_header,
    rows=rows_by(_read),
    write=write,
    rewrite=rewrite,
    keeps=frozenset(
        {
            Feature.EXTENDED_MISSING,
            Feature.TIME_FORMATS,
            Feature.FILE_LABEL,
            Feature.VARIABLE_LABELS,
            Feature.VALUE_LABELS,
        }
    ),
    rebuilt="The Stata file was rebuilt: it stores whole numbers as long and others as double, and"
    " loses notes, characteristics, names of value labels and the sort order.",
    zero=date(1960, 1, 1),
    dates={"%td": _DAY, "%d": _DAY, "%tc": 1},
    times=("%tw", "%tm", "%tq", "%th", "%tC"),  # %tC counts leap seconds, which others do not know
    longest=Longest(columns=80, values=32_000, file=80),
    advice="it is not a complete Stata file, or its text is not in the encoding of its Stata version.",
)
