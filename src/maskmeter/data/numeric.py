"""Columns of numbers: weights, and text that stands for numbers."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.errors import ColumnNotFoundError, InputError, WeightError
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.format import Header
from maskmeter.formats.numbers import decimal_mark, numbers_in
from maskmeter.plurals import counted, plural

_MOST = 1e15  # units of a population; sums of more lose whole units


def named_weights(
    frame: nw.DataFrame[Any],
    column: str,
    header: Header,
    times: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return a column of weights; what is wrong with it is said under its name.

    Each row is one record, or `times` records.
    """
    weights = _numbers(frame, column, header)
    try:
        check_weights(weights, len(frame), times=times)
    except WeightError as error:
        raise WeightError(f"Column {column!r} cannot hold weights. {error}") from None
    return weights


def check_weights(
    weights: NDArray[np.float64], records: int, *, times: NDArray[np.int64] | None = None
) -> None:
    """Refuse weights that are not positive numbers, or do not stand for a population.

    Each weight is that of one record, or of `times` records.
    """
    if weights.shape != (records,):
        raise WeightError(f"`weights` must hold one number per record, {records:,} in all.")
    wrong = ~(np.isfinite(weights) & (weights > 0))
    bad = int(wrong.sum() if times is None else times[wrong].sum())
    records = records if times is None else int(times.sum())
    if bad:
        raise WeightError(
            f"{bad:,} of {counted(records, 'weight')} {plural(bad, 'is', 'are')} missing, not positive or"
            f" not {plural(bad, 'a number', 'numbers')}."
            " Every record needs a weight above 0."
        )
    units = 1 if times is None else times
    if weights.max(initial=0) > _MOST or (weights * units).sum() > _MOST:  # the sum may overflow
        raise WeightError(
            f"The weights stand for over {_MOST:.0e} population units, more than any population has."
            " A weight must be the number of population units that a record represents."
        )
    if ((weights - 1) * units).sum() < 0:
        raise WeightError(
            "The weights sum to less than the number of records. A weight must be the number of"
            " population units that a record represents."
        )


def _numbers(frame: nw.DataFrame[Any], name: str, header: Header) -> NDArray[np.float64]:
    """Return a column of numbers; what is missing or not a number is NaN."""
    if not isinstance(name, str):
        raise WeightError(f"`weights` must be the name of a column, not a {type(name).__name__}.")
    if name not in frame.columns:
        raise ColumnNotFoundError(name, header.names, listed=False, named=header.named)
    column = frame[name]
    if column.dtype == nw.String:
        return parsed(column, header.dialect)
    if not column.dtype.is_numeric():
        kind = type(column.dtype).__name__
        raise WeightError(f"Column {name!r} cannot hold weights: it holds {kind}, not numbers.")
    return np.asarray(column.cast(nw.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64)


def parsed(column: nw.Series[Any], dialect: Dialect) -> NDArray[np.float64]:
    """Return the numbers that texts stand for; what is missing or not a number is NaN."""
    text = pl.Series(column.to_list(), dtype=pl.String).str.strip_chars()
    mark = _decimal(text, column.name, dialect)
    if mark == ",":
        points = int(text.str.contains(".", literal=True).sum())
        if points:
            raise InputError(
                f"{counted(points, 'value')} of {column.name!r} {plural(points, 'has', 'have')} a point, but the decimal mark is a"
                ' comma (decimal=","). Remove points between thousands from the file.'
            )
    return numbers_in(text, marks=mark).fill_null(np.nan).to_numpy()


def _decimal(text: pl.Series, name: str, dialect: Dialect) -> str:
    """Return the decimal mark of numbers; where a comma may also part thousands, it is asked for."""
    if dialect.decimal is not None:
        return dialect.decimal
    mark = decimal_mark(text)
    if mark is None:
        raise InputError(
            f"Cannot tell whether commas in {name!r} separate thousands or are decimal marks. Give"
            ' decimal="," if they are decimal marks; otherwise remove them from the file.'
        )
    return mark
