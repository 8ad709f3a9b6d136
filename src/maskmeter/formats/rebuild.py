"""Values in memory of their own: what is selected from a column may still lie among all its values."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl


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
