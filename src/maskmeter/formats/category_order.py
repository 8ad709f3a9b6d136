"""The order of categories that other programs declare, in frames and in Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from importlib import import_module
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl


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
