"""Columns of a released file as groups of records, and what they say of themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from maskmeter.data.column_roles import names_identifier, names_person, names_somebody
from maskmeter.formats.numbers import decimal_mark, numbers_in
from maskmeter.types import Integers

QUANTILES = 20  # groups of a numeric column
NEAR_UNIQUE = 0.95  # share of distinct values
_PARSED = 0.95  # share of texts that are numbers or dates
_FEW = 20  # records, too few to tell an identifier by its values
_MANY = 0.05  # share of distinct values from which on a name makes an identifier

_MONTH = r"(?:[A-Za-z\u00c0-\u024f]{3,9}\.?)"
_DATE = (  # 1980-12-31, 31.12.1980, 12/31/80, 31 Dec 1980, 31DEC1980, Dec 31, 1980
    r"^\s*(\d{4}[./-]\d{1,2}[./-]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{2}(\d{2})?"
    rf"|\d{{1,2}}\.?[ -]?{_MONTH}[ -]?\d{{4}}|{_MONTH} \d{{1,2}},? \d{{4}})([^\d].*)?$"
)
_PADDED = r"^\s*0\d"  # a code, not a number


@dataclass(frozen=True, eq=False)
class KeptColumn:
    """A column of the released file."""

    name: str
    groups: Integers  # of records with the same value; missing is a value
    bands: Integers  # the same, with numbers in 20 groups of about as many records
    distinct: int  # values, without missing
    present: int  # records that have one
    numeric: bool
    dates: bool

    @property
    def near_unique(self) -> bool:
        """Whether nearly every record has its own value."""
        return self.present >= _FEW and self.distinct > NEAR_UNIQUE * self.present

    @property
    def names_records(self) -> bool:
        """Whether the column is named like an identifier, or like names or addresses of people.

        Codes of regions may be called ids as well: a few records for each value, or a name that only
        people and households have, make an identifier.
        """
        if self.distinct < _FEW:
            return False
        certain = names_somebody(self.name) or names_person(self.name)
        many = self.distinct > _MANY * max(self.present, 1)
        return certain or (names_identifier(self.name) and many)


def kept_column(series: pl.Series) -> KeptColumn | None:
    """Return a column in groups; None for lists and other values that make no groups.

    >>> kept_column(pl.Series("ward", ["a", None, "b", "a"])).groups.tolist()
    [1, 0, 2, 1]
    """
    kind = series.dtype
    if kind.is_nested() or kind in (pl.Object, pl.Null, pl.Binary):
        return None
    numbers = _numbers(series)
    dates = are_dates(series) if numbers is None else _are_written_together(numbers)
    groups = _groups(series.cast(pl.String) if kind in (pl.Categorical, pl.Enum) else series)
    distinct = int(groups.max(initial=-1)) + 1 - int(bool(series.null_count()))
    ordered = numbers is not None or kind.is_temporal()
    bands = groups
    if ordered and distinct > QUANTILES:
        bands = _quantiles(groups if numbers is None else _groups(numbers))
    present = len(series) - series.null_count()
    return KeptColumn(series.name, groups, bands, distinct, present, numbers is not None, dates)


def _groups(values: pl.Series) -> Integers:
    """Return the rank of each record's value among the values; missing is one, the first."""
    ranks = values.rank("dense").fill_null(0).to_numpy()
    _, groups = np.unique(ranks, return_inverse=True)
    return groups.astype(np.int64)


def _numbers(series: pl.Series) -> pl.Series | None:
    """Return the numbers in a column, also in one of texts; None where it has others."""
    if series.dtype.is_numeric():
        return series
    if series.dtype != pl.String:
        return None
    if series.str.contains(_PADDED).any():
        return None
    parsed = numbers_in(series, marks=decimal_mark(series) or ".")
    present = len(series) - series.null_count()
    missing = parsed.null_count() - series.null_count()
    return parsed if present and missing <= (1 - _PARSED) * present else None


def are_dates(series: pl.Series) -> bool:
    """Return True for dates to the day, also as texts; those of months are all of the first.

    >>> are_dates(pl.Series(["2001-02-28", "1999-12-01"])), are_dates(pl.Series(["2001", "1999"]))
    (True, False)
    """
    if series.dtype in (pl.Date, pl.Datetime):
        return series.drop_nulls().dt.day().n_unique() > 1
    if series.dtype != pl.String:
        return False
    present = len(series) - series.null_count()
    return bool(present) and int(series.str.contains(_DATE).sum() or 0) >= _PARSED * present


def _are_written_together(numbers: pl.Series) -> bool:
    """Return True for numbers such as 19801231: a year, a month and a day."""
    held = numbers.drop_nulls()
    if held.n_unique() < _FEW:
        return False
    month, day = held // 100 % 100, held % 100
    fits = held.is_between(18_000_101, 21_001_231) & month.is_between(1, 12) & day.is_between(1, 31)
    return int(fits.sum()) >= _PARSED * len(held)


def _quantiles(groups: Integers) -> Integers:
    """Return which twentieth of the records each value is in; equal values are in the same."""
    sizes = np.bincount(groups)
    middle = np.cumsum(sizes) - sizes / 2
    return (middle * QUANTILES / len(groups)).astype(np.int64)[groups]
