"""SAS: .sas7bdat is read, .xpt is read and written."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.errors import FileError
from maskmeter.formats.codebook import Codebook, Longest
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.format import Feature, Format, Header
from maskmeter.formats.numbers import number_in
from maskmeter.formats.statistical import (
    check_claim,
    check_names,
    check_numbers,
    check_written,
    codebook_of,
    header_of,
    labelled_codes,
    refuse_nested,
    rows_by,
)

NAME = "SAS transport"
_LARGEST = 7.2e75
_NAMES = re.compile(r"(?!_(N|ERROR|NUMERIC|CHARACTER|ALL)_$)[A-Za-z_][A-Za-z0-9_]*")
_LINE = 80  # a transport file is made of lines of 80 bytes
_PIECE = _LINE << 16
_DATA_SET = re.compile(rb"HEADER RECORD\*{7}MEMB(ER|V8) ")  # one begins


def read_header(path: Path, dialect: Dialect) -> Header:
    """Return the columns; labels of values stand in another file of SAS."""
    if path.suffix.lower() == ".xpt":
        if path.stat().st_size % _LINE:
            raise FileError(f"Cannot read {path.name!r}: it was cut short. Copy it again.")
        held = _data_sets(path)
        if held > 1:
            raise FileError(
                f"Cannot read {path.name!r}: it holds {held:,} data sets. Save the one that you"
                " want in a file of its own."
            )
    _, meta = _read(path, dialect, metadataonly=True)
    check_claim(path, meta, packed=True)
    codebook = codebook_of(meta)
    plain = tuple(replace(one, format="", shown_width=0, measure="") for one in codebook.variables)
    return header_of(meta, dialect, replace(codebook, variables=plain))


def _data_sets(path: Path) -> int:
    """Return how many data sets a transport file holds, read in pieces of whole lines."""
    with path.open("rb") as file:
        return sum(len(_DATA_SET.findall(piece)) for piece in iter(lambda: file.read(_PIECE), b""))


def _read(path: Path, dialect: Dialect, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    """Return the values, dates as such."""
    import pyreadstat

    options |= {"output_format": "dict", "encoding": dialect.codec}
    if path.suffix.lower() == ".xpt":
        return pyreadstat.read_xport(path, **options)
    return pyreadstat.read_sas7bdat(path, user_missing=True, **options)


def write(given: nw.DataFrame[Any], path: Path, codebook: Codebook) -> None:
    """Write a transport file of version 8, with the labels of columns."""
    import pyreadstat

    frame = given.to_polars()
    check_names(frame, NAME, _NAMES, longest=32)
    check_numbers(frame, NAME, _LARGEST)
    refuse_nested(frame, NAME)
    ordered = [
        column.cast(pl.String)
        if isinstance(column.dtype, pl.Enum) and not codebook[column.name].tagged
        else column
        for column in frame.iter_columns()
    ]
    frame, codebook = labelled_codes(pl.DataFrame(ordered), codebook)
    frame = pl.DataFrame([_stored(column) for column in frame.iter_columns()])
    pyreadstat.write_xport(
        frame,
        path,
        file_label=codebook.file_label,
        column_labels={
            one.name: one.label for one in map(codebook.__getitem__, frame.columns) if one.label
        },
    )
    check_written(pyreadstat.read_xport(path, output_format="dict")[0], frame)


def _stored(column: pl.Series) -> pl.Series:
    """Return a column as SAS stores it: doubles, text, and dates."""
    if isinstance(column.dtype, pl.Enum):  # numbers beside extended missing values
        return pl.Series(column.name, [number_in(text) for text in column], dtype=pl.Float64)
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64).fill_nan(None)
    return column


FORMAT = Format(
    NAME,
    (".sas7bdat", ".xpt"),
    header=read_header,
    rows=rows_by(_read),
    write=write,
    keeps=frozenset({Feature.VARIABLE_LABELS, Feature.FILE_LABEL}),
    longest=Longest(columns=256, values=0, file=40, in_bytes=True),
    read_only={
        ".sas7bdat": "maskmeter reads SAS data sets but does not write them. Write .xpt, which SAS"
        " reads, or .sav, .dta, .parquet or .csv."
    },
    advice="it is not a complete SAS file, or its text is not in the encoding that it names.",
)
