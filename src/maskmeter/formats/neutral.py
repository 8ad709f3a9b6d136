"""What is left of one format's columns when another is to hold them: real dates, and no formats."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from types import ModuleType
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.formats.codebook import Codebook

DAY = 86_400_000  # milliseconds


def neutral(
    frame: nw.DataFrame[Any], codebook: Codebook, family: ModuleType | None
) -> tuple[nw.DataFrame[Any], Codebook]:
    """Return a frame with the dates that its numbers stand for, and a codebook without formats."""
    variables = tuple(replace(one, format="", shown_width=0) for one in codebook.variables)
    unformatted = replace(codebook, variables=variables)
    if not variables:
        return frame, unformatted
    dates, columns = getattr(family, "DATES", {}), []
    for column in frame.to_polars().iter_columns():
        unit = unit_of(codebook[column.name].format, dates)
        dated = unit and column.dtype.is_numeric()
        made = _dated(column, family.ZERO, unit) if dated else column  # type: ignore[union-attr]
        columns.append(_occurring(made) if codebook[column.name].tagged else made)
    return nw.from_native(pl.DataFrame(columns), eager_only=True), unformatted


def _occurring(column: pl.Series) -> pl.Series:
    """Return ordered texts whose order lists those that occur: nobody declared the others."""
    if not isinstance(column.dtype, pl.Enum):
        return column
    held = set(column.unique().to_list())
    return column.cast(pl.Enum([one for one in column.dtype.categories.to_list() if one in held]))


def unit_of(shown: str, dates: dict[str, int]) -> int:
    """Return the milliseconds that a number of this display format counts, 0 if it is no date.

    >>> unit_of("DATE11", {"DATE": 1000}), unit_of("F8.2", {"DATE": 1000})
    (1000, 0)
    """
    kind = shown.replace("%-", "%")  # Stata's sign for text that stands to the left
    fitting = [prefix for prefix in dates if kind.startswith(prefix)]
    return dates[max(fitting, key=len)] if fitting else 0


def _dated(column: pl.Series, zero: date, unit: int) -> pl.Series:
    """Return numbers as dates, or as dates with times where they are not whole days."""
    days = (zero - date(1970, 1, 1)).days
    passed = (column.cast(pl.Float64) * unit).round() + days * DAY
    if ((passed % DAY).drop_nulls() == 0).all():
        return (passed / DAY).cast(pl.Int32).cast(pl.Date)
    return passed.cast(pl.Int64).cast(pl.Datetime("ms"))
