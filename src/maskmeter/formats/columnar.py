"""Parquet and Arrow IPC (also known as Feather), and the order that their categories declare."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl
from polars.exceptions import PanicException

from maskmeter.bounds import most_entries, swollen
from maskmeter.errors import FileError
from maskmeter.formats.arrow_bytes import check_sizes
from maskmeter.formats.codebook import Codebook
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.format import Feature, Format, Header
from maskmeter.plurals import counted, plural

_FEW = 5_000_000  # records that any file may have: all may be alike
_KNOWN_NOTES = {"ARROW:schema", "pandas"}  # types, which are kept, and which column was an index


def _parquet_header(path: Path, _dialect: Dialect) -> Header:
    """Return the columns; the file's footer is read at once, so a cut-off file fails here."""
    frame = pl.scan_parquet(path, glob=False)
    names = _names(frame, path)
    _check_records(frame, path)
    notes = set(pl.read_parquet_metadata(path)) - _KNOWN_NOTES
    left_out = f"{counted(len(notes), 'entry', 'entries')} of the Parquet metadata"
    left_out += f" {plural(len(notes), 'is', 'are')} not copied."
    return Header(names, Codebook(left_out=(left_out,) if notes else ()))


def _names(frame: pl.LazyFrame, path: Path) -> tuple[str, ...]:
    """Return the names of the columns, which must all be of types that can be written again."""
    names = tuple(frame.collect_schema().names())
    try:
        nw.from_native(frame).collect_schema()
    except (Exception, PanicException):  # noqa: BLE001 - engines refuse types in their own ways
        raise FileError(
            f"Cannot read {path.name!r}: a column has a type that maskmeter does not support."
        ) from None
    return names


def _check_records(frame: pl.LazyFrame, path: Path) -> None:
    """Refuse a file with more records than its size can hold, as its metadata count them."""
    (counts,) = pl.collect_all([frame.select(pl.len())])  # no row is read
    records = counts.item()
    if records > most_entries(path.stat().st_size, few=_FEW):
        raise swollen(path, counted(records, "record"), "Give a file with varied records.")


def _parquet_rows(path: Path, _header: Header, names: Sequence[str]) -> pl.LazyFrame:
    return in_declared_order(
        pl.scan_parquet(path, glob=False).select(pl.selectors.by_name(*names)), path, "parquet"
    )


def _write_parquet(frame: nw.DataFrame[Any], path: Path, _codebook: Codebook) -> None:
    in_polars(frame).write_parquet(path)


def _arrow_header(path: Path, _dialect: Dialect) -> Header:
    """Return the columns; the file's footer is read at once, so a cut-off file fails here."""
    check_sizes(path)
    frame = pl.scan_ipc(path, glob=False)
    names = _names(frame, path)
    _check_records(frame, path)
    return Header(names)


def _arrow_rows(path: Path, _header: Header, names: Sequence[str]) -> pl.LazyFrame:
    return in_declared_order(
        pl.scan_ipc(path, glob=False).select(pl.selectors.by_name(*names)), path, "feather"
    )


def _write_arrow(frame: nw.DataFrame[Any], path: Path, _codebook: Codebook) -> None:
    """Write a frame of any kind; Arrow writes the memory of a column, so that is made anew."""
    rebuild_frame(in_polars(frame)).write_ipc(path)


PARQUET = Format(
    "Parquet",
    (".parquet", ".pq"),
    header=_parquet_header,
    rows=_parquet_rows,
    write=_write_parquet,
    advice="it is not a complete Parquet file.",
    keeps=frozenset({Feature.EXTENDED_MISSING}),
)
ARROW = Format(
    "Arrow",
    (".arrow", ".feather"),
    header=_arrow_header,
    rows=_arrow_rows,
    write=_write_arrow,
    advice="it is not a complete Arrow file (Feather of version 2).",
    keeps=frozenset({Feature.EXTENDED_MISSING}),
)


def declared(column: nw.Series[Any]) -> list[Hashable]:
    """Return the categories in their declared order, or nothing when the column declares none."""
    if isinstance(column.dtype, nw.Enum):
        return list(column.dtype.categories)
    native = column.to_native()
    if getattr(getattr(native, "type", None), "ordered", False):  # an Arrow dictionary
        return _categories(native)
    return []


def in_polars(frame: nw.DataFrame[Any]) -> pl.DataFrame:
    """Return the columns of a frame of any kind in Polars, with the order that they declare.

    The index of a pandas frame is left out: it may tell how the records stood before a shuffle.
    """
    made = frame.to_polars()
    named = [name for name, kind in made.schema.items() if isinstance(kind, pl.Categorical)]
    orders = {name: declared(frame[name]) for name in named}
    return made.with_columns(
        pl.col(name).cast(pl.String).cast(pl.Enum(order))  # type: ignore[arg-type] # texts, or it would not be Categorical
        for name, order in orders.items()
        if order
    )


def in_declared_order(frame: pl.LazyFrame, path: Path, module: str) -> pl.LazyFrame:
    """Return a frame in which ordered categories have the order that the file declares.

    The reader knows the order of its own kind only (an Enum); PyArrow, where it is installed, knows
    those of pandas and R. `module` is the one of its modules that reads this format.
    """
    kinds = frame.collect_schema()
    names = [name for name, kind in kinds.items() if isinstance(kind, pl.Categorical)]
    if not names:
        return frame
    try:
        read: Callable[..., Any] = import_module(f"pyarrow.{module}").read_table
    except ModuleNotFoundError:
        return frame
    table = read(path, columns=names, memory_map=True)
    ordered = [name for name in names if table.schema.field(name).type.ordered]
    orders = {name: _categories(table.column(name)) for name in ordered}
    return frame.with_columns(
        pl.col(name).cast(pl.String).cast(pl.Enum(order)) for name, order in orders.items()
    )


def _categories(column: Any) -> list[Any]:
    return column.unify_dictionaries().chunk(0).dictionary.to_pylist()  # type: ignore[no-any-return]


def rebuild_values(column: nw.Series[Any]) -> nw.Series[Any]:
    """Return a few values that were selected from a column, without the values beside them.

    Polars selects texts by reference: those of all records stay, in their order. Categories that
    declare no order often stand in the order of the records that first had them.
    """
    native = column.to_native()
    if isinstance(native, pl.Series):
        referred = native.dtype in {pl.String, pl.Binary}
        made = pl.Series(native.name, native.to_list(), dtype=native.dtype) if referred else native
    elif column.implementation.is_pyarrow():
        listed = getattr(native.type, "ordered", True) is False  # a dictionary without an order
        values = native.cast(native.type.value_type) if listed else native
        made = values.dictionary_encode().cast(native.type) if listed else native
    elif column.dtype == nw.Categorical:
        made = native.cat.reorder_categories(native.cat.categories.sort_values())
    else:
        return column
    return nw.from_native(made, series_only=True).alias(column.name)


def rebuild_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the same records without anything that no record holds.

    Columns keep what stands below a missing value, such as one that was suppressed, and texts of
    records that were left out. Parquet has the values alone, of every type.

    >>> people = pl.DataFrame({"age": [17, 64]}).select(pl.when(age=17).then("age"))
    >>> rebuild_frame(people).equals(people)
    True
    """
    values = BytesIO()
    frame.write_parquet(values, compression="uncompressed", statistics=False)
    values.seek(0)
    return pl.read_parquet(values)
