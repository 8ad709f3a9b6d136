"""SPSS: .sav and .zsav."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.errors import FileError
from maskmeter.formats import spss_bytes
from maskmeter.formats.codebook import Codebook, Longest, Variable
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.format import Feature, Format, Header
from maskmeter.formats.numbers import number_in, whole
from maskmeter.formats.replacement import Replacement, Rows
from maskmeter.formats.spss_dictionary import check_dictionary
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

NAME = "SPSS"
LONGEST = Longest(columns=256, values=120, file=64, in_bytes=True)
_NAMES = re.compile(
    r"(?!(all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with)$)[^\W\d_][\w.$#@]*", re.IGNORECASE
)


def read_header(path: Path, dialect: Dialect) -> Header:
    """Return the columns of a file, which must not hold more than its records."""
    check_dictionary(path, dialect.codec)
    _, meta = _read(path, dialect, metadataonly=True)
    check_claim(path, meta, packed=path.suffix.lower() == ".zsav")
    records = count_records(_read, path, dialect)
    check_length(path, records, spss_bytes.beyond(path.read_bytes(), records))
    return header_of(meta, dialect)


def _read(path: Path, dialect: Dialect, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    """Return the values as they are stored; codes declared missing are values like others."""
    import pyreadstat

    return pyreadstat.read_sav(
        path,
        output_format="dict",
        user_missing=True,
        disable_datetime_conversion=True,  # a date is the number that is stored, with its format
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
    widths = [variable.width for variable in header.codebook.variables]
    return write_copy(
        source,
        target,
        header,
        replacements,
        lambda old, moves: spss_bytes.rewritten(old, records, widths, moves, rows),
    )


def write(given: nw.DataFrame[Any], path: Path, codebook: Codebook) -> None:
    """Write a frame with the labels of its codebook."""
    import pyreadstat

    frame = given.to_polars()
    check_names(frame, NAME, _NAMES, longest=64, in_bytes=True)
    check_numbers(frame, NAME)
    refuse_nested(frame, NAME)
    frame, codebook = labelled_codes(frame, codebook)
    if LONGEST.excess(codebook):  # two categories could get the same label
        raise FileError(
            f"{NAME} cannot store categories of over {LONGEST.values} bytes. Shorten them."
        )
    frame = pl.DataFrame([_stored(column, codebook) for column in frame.iter_columns()])
    variables = [codebook[name] for name in frame.columns]
    zipped = path.suffix.lower() == ".zsav"
    pyreadstat.write_sav(
        frame,
        path,
        file_label=codebook.file_label,
        column_labels={one.name: one.label for one in variables if one.label},
        compress=zipped,
        row_compress=not zipped,
        note=list(codebook.notes) or None,
        variable_value_labels={one.name: _labels(one) for one in variables if _labels(one)},
        missing_ranges={
            one.name: [{"lo": low, "hi": high} for low, high in one.missing]  # type: ignore[misc]
            for one in variables
            if one.missing
        },
        variable_display_width={one.name: one.shown_width for one in variables if one.shown_width},
        variable_measure={one.name: one.measure for one in variables if one.measure},
        variable_format={one.name: one.format for one in variables if one.format},
    )
    check_written(pyreadstat.read_sav(path, output_format="dict")[0], frame)


def _labels(variable: Variable) -> dict[int | float, str]:
    """Return the value labels that SPSS can hold: all but those of extended missing values."""
    return {value: label for value, label in variable.values if not is_tag(value)}  # type: ignore[misc]


def _stored(column: pl.Series, codebook: Codebook) -> pl.Series:
    """Return a column as SPSS stores it: doubles, and texts of the width they had."""
    variable = codebook[column.name]
    if variable.tagged:
        numbers = [number_in(text) for text in column.to_list()]
        return pl.Series(column.name, numbers, dtype=pl.Float64)
    if column.dtype == pl.Boolean:
        return column.cast(pl.Int64)
    if column.dtype.is_float():
        return whole(column.cast(pl.Float64).fill_nan(None))
    if column.dtype.is_integer():
        return (
            column.cast(pl.Float64)
            if column.dtype in {pl.Int128, pl.UInt64}
            else column.cast(pl.Int64)
        )
    if column.dtype == pl.String and variable.width > 1 and len(column):
        # The writer makes a column as wide as its longest text; spaces at the end are not kept.
        first = column[0] or ""
        padding = " " * max(0, variable.width - len(first.encode()))
        return pl.concat([pl.Series(column.name, [first + padding]), column[1:]])
    return column


FORMAT = Format(
    NAME,
    (".sav", ".zsav"),
    header=read_header,
    rows=rows_by(_read),
    write=write,
    rewrite=rewrite,
    keeps=frozenset(Feature) - {Feature.EXTENDED_MISSING},
    rebuilt="The SPSS file was rebuilt in UTF-8 and loses alignment, roles, variable attributes,"
    " multiple response sets and the weight variable.",
    zero=date(1582, 10, 14),
    dates=dict.fromkeys(
        ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR", "YMDHMS"), 1000
    ),
    times=("TIME", "DTIME", "MTIME", "WKDAY", "MONTH"),
    longest=LONGEST,
    advice="it is not a complete SPSS file, or its text is not in the encoding that it names.",
)
