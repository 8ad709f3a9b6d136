"""Excel: .xlsx, the table on the first sheet that is shown."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from io import BytesIO
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.errors import DuplicateColumnError, FileError
from maskmeter.formats.codebook import Codebook
from maskmeter.formats.csv_detection import FIRST_ROWS, looks_like_names
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.excel_bounds import (
    MOST_COLUMNS,
    MOST_ROWS,
    check_archive,
    check_cells,
)
from maskmeter.formats.format import Feature, Format, Header
from maskmeter.formats.numbers import whole
from maskmeter.formats.replacement import Replacement, Rows
from maskmeter.formats.statistical import refuse_nested
from maskmeter.plurals import counted

NAME = "Excel"

_GENERAL = "General"
_PROTECTED = bytes.fromhex("d0cf11e0")  # an encrypted workbook, or one of Excel before 2007
_LONGEST, _DIGITS = 32_767, 10**15


def read_header(path: Path, _dialect: Dialect) -> Header:
    """Return the names in the first row of the first sheet that is shown."""
    with path.open("rb") as file:
        if file.read(4) == _PROTECTED:
            raise FileError(
                f"Cannot read {path.name!r}: it has a password, or was saved by Excel 2003 or"
                " earlier. Save it as an .xlsx workbook without a password."
            )
    names, rows, left_out = _table(path)
    texts = [["" if value is None else str(value) for value, _ in row] for row in rows[:FIRST_ROWS]]
    named = looks_like_names(names, texts)
    return Header(tuple(names), Codebook(left_out=left_out), named=named, listed=False)


def read_rows(path: Path, header: Header, names: Sequence[str]) -> pl.LazyFrame:
    """Return some columns of the table on the first sheet that is shown."""
    _, rows, _ = _table(path)
    places = [header.names.index(name) for name in names]
    columns = [
        _column(name, [row[at][0] for row in rows]) for name, at in zip(names, places, strict=True)
    ]
    return pl.LazyFrame(columns)


def rewrite(
    source: Path,
    target: Path,
    *,
    header: Header,
    replacements: Sequence[Replacement],
    rows: Rows | None,
    drop: Sequence[str],
) -> bool:
    """Write the table of a workbook again: other cells keep their values, types and formats."""
    _, table, _ = _table(source)
    kept = table if rows is None else [list(table[row]) for row in rows.tolist()]
    for one in replacements:
        column = header.names.index(one.column)
        cells = [
            table[donor][column] if donor >= 0 else (text or None, _GENERAL)
            for donor, text in zip(one.donors.tolist(), one.texts, strict=True)
        ]
        for row, code in zip(kept, one.codes.tolist(), strict=True):
            row[column] = cells[code]
    places = [at for at, name in enumerate(header.names) if name not in drop]
    written = ([row[at] for at in places] for row in kept)
    _save(target, [header.names[at] for at in places], written)
    return True


def write(given: nw.DataFrame[Any], path: Path, _codebook: Codebook) -> None:
    """Write a frame as the only sheet of a workbook."""
    frame = given.to_polars()
    refuse_nested(frame, NAME)
    _check_fits(frame)
    _save(path, frame.columns, ([(value, "") for value in row] for row in frame.iter_rows()))


def _check_fits(frame: pl.DataFrame) -> None:
    """Refuse what Excel would cut off without a word."""
    if len(frame) >= MOST_ROWS or len(frame.columns) > MOST_COLUMNS:
        raise FileError(
            f"Excel stores at most {MOST_ROWS - 1:,} records and {MOST_COLUMNS:,} columns; this file"
            f" has {len(frame):,} and {len(frame.columns):,}. Write .csv or .parquet."
        )
    for column in frame.iter_columns():
        _check_cells(column)
        text = column.dtype == pl.String and (column.str.len_chars().max() or 0) > _LONGEST  # type: ignore[operator]
        digits = column.dtype.is_integer() and (column.abs().max() or 0) >= _DIGITS  # type: ignore[operator]
        if text or digits:
            limit = f"{_LONGEST:,} characters in a text" if text else "15 digits of a number"
            raise FileError(
                f"Excel stores at most {limit}; column {column.name!r} has longer ones."
                " Write .csv or .parquet."
            )


def _check_cells(column: pl.Series) -> None:
    """Refuse what no cell can hold."""
    zoned = isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is not None
    controls = (
        column.dtype == pl.String and column.str.contains(r"[\x00-\x08\x0b\x0c\x0e-\x1f]").any()
    )
    infinite = column.dtype.is_float() and column.is_infinite().any()
    if zoned or controls or infinite:
        held = (
            "times with time zones"
            if zoned
            else "infinite numbers"
            if infinite
            else "control characters"
        )
        raise FileError(f"Excel cannot store {held}; remove them from column {column.name!r}.")


def _table(path: Path) -> tuple[list[str], list[list[tuple[Any, str]]], tuple[str, ...]]:
    """Return the header, the cells (value and number format) below it, and what is not read."""
    from openpyxl import load_workbook

    check_archive(path)
    content = path.read_bytes()  # a workbook that is refused half-way would keep its file open
    values = load_workbook(BytesIO(content), read_only=True, data_only=True)
    formulas = load_workbook(BytesIO(content), read_only=True, data_only=False)
    shown = [n for n, one in enumerate(values.worksheets) if one.sheet_state == "visible"]
    if not shown:
        raise FileError(f"Cannot read {path.name!r}: all its sheets are hidden. Unhide one.")
    sheet, written = values.worksheets[shown[0]], formulas.worksheets[shown[0]]
    for one in (sheet, written):
        one.reset_dimensions()  # the file may give a false size: rows beyond it would not be read
    pairs = check_cells(zip(sheet.iter_rows(), written.iter_rows(), strict=True), path)
    first, _ = next(pairs, ((), ()))
    header = _header(first, path.name)
    with warnings.catch_warnings(record=True) as told:  # they quote cells
        warnings.simplefilter("always")
        rows, computed = _cells(pairs, len(header), path.name)
    dates = sum("outside the limits for dates" in str(one.message) for one in told) // 2
    others = len(values.sheetnames) - 1
    left_out = []
    if others:
        left_out.append(
            "Only the first visible sheet is read and written;"
            f" {counted(others, 'other sheet is', 'other sheets are')} not copied."
        )
    if computed:
        left_out.append(
            f"{counted(computed, 'formula is replaced by its value', 'formulas are replaced by their values')}."
        )
    if dates:
        left_out.append(
            f"{counted(dates, 'date is', 'dates are')} outside Excel's range and written as errors."
        )
    return header, rows, tuple(left_out)


def _header(cells: Iterable[Any], name: str) -> list[str]:
    header = [cell.value for cell in cells]
    while header and header[-1] is None:
        header.pop()
    if not header or not all(isinstance(one, str) and one.strip() for one in header):
        raise FileError(
            f"Cannot read {name!r}: the first row of its first visible sheet must name every column in text,"
            " and the table must begin in column A."
        )
    if len(set(header)) < len(header):
        raise DuplicateColumnError(None)  # what may be a record is not shown
    return header


def _cells(
    pairs: Iterator[tuple[Any, Any]], columns: int, name: str
) -> tuple[list[list[tuple[Any, str]]], int]:
    """Return values with their number formats, without blank rows at the end, and count formulas."""
    rows: list[list[tuple[Any, str]]] = []
    blank, computed, unknown = 0, 0, 0
    for cells, written in pairs:
        if not cells:
            blank += 1
            continue
        formulas = [position for position, cell in enumerate(written) if cell.data_type == "f"]
        computed += len(formulas)
        unknown += sum(cells[position].value is None for position in formulas)
        row = [(cell.value, getattr(cell, "number_format", _GENERAL)) for cell in cells]
        if any(value is not None for value, _ in row[columns:]):
            raise FileError(
                f"Cannot read {name!r}: some cells lie to the right of the columns that its first"
                " row names. Name these columns or delete the cells."
            )
        if all(value is None for value, _ in row):
            blank += 1  # there may be a million at the end, so they are made when a record follows
            continue
        rows += ([(None, _GENERAL)] * columns for _ in range(blank))
        rows.append(row[:columns] + [(None, _GENERAL)] * (columns - len(row)))
        blank = 0
    if unknown:
        raise FileError(
            f"Cannot read {name!r}: {counted(unknown, 'formula has no stored value', 'formulas have no stored values')}."
            " Open and save the workbook in Excel first."
        )
    return rows, computed


def _column(name: str, values: list[Any]) -> pl.Series:
    """Return a column of the type of its cells; cells of several types are read as text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return whole(pl.Series(name, values, dtype=pl.Float64))
    if len(kinds) == 1 and kinds <= {str, bool, date, datetime, time}:
        column = pl.Series(name, values)
        return column.set(column == "", None) if column.dtype == pl.String else column
    return pl.Series(name, [None if value is None else str(value) for value in values])


def _save(path: Path, header: list[str], rows: Iterable[list[tuple[Any, str]]]) -> None:
    """Write a workbook of one sheet; text that begins with = stays text."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")

    def cell(value: Any, shown: str) -> Any:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return None
        made = WriteOnlyCell(sheet, value)
        if isinstance(value, str):
            made.data_type = "s"
        if shown:
            made.number_format = shown
        return made

    whole = BytesIO()  # on a full disk an archive would fail again when it is tidied away
    try:
        sheet.append([cell(name, "") for name in header])
        for row in rows:
            sheet.append([cell(value, shown) for value, shown in row])
        book.save(whole)
    finally:
        _tidy(sheet)
    path.write_bytes(whole.getbuffer())


def _tidy(sheet: Any) -> None:
    """Remove the copy of the records that the writer leaves in the temporary directory if it fails."""
    writer = sheet._writer  # noqa: SLF001 - there is no other way to it
    if writer is None or not Path(writer.out).exists():
        return
    for part in (sheet._rows, writer):  # noqa: SLF001 - as above
        with suppress(Exception):  # on a full disk, say
            part.close()
    writer.cleanup()


FORMAT = Format(
    NAME,
    (".xlsx",),
    header=read_header,
    rows=read_rows,
    write=write,
    rewrite=rewrite,
    keeps=frozenset({Feature.EXTENDED_MISSING}),
    advice="it is not a complete .xlsx workbook.",
)
