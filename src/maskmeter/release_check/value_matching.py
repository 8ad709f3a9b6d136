"""Values of one column in two files, matched by value whatever the format stores them as."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from maskmeter.formats.numbers import decimal_mark, numbers_in
from maskmeter.types import Array, Integers

_BLANK = ("", "NA", "NaN")  # texts that other programs write for a missing value
_FLAGS = ("true", "false")


class MatchedValues(NamedTuple):
    """The value of each row of two files as a code: equal values have equal codes, missing is -1."""

    one: Integers
    other: Integers
    size: int  # number of distinct values
    numbers: Array | None  # that the codes stand for, if all of them are numbers

    def agree(self, one: Integers, other: Integers) -> float:
        """Return the share of pairs of rows that have the same value."""
        return float((self.one[one] == self.other[other]).mean()) if len(one) else 0.0


def matched_values(one: pl.Series, other: pl.Series) -> MatchedValues | None:
    """Return the values of a column in two files, matched; None for lists and the like.

    1, 1.0 and the text "1" are one value, unless a file tells "1" from "01". NaN is missing. So is
    an empty text or "NA" where a column otherwise holds numbers, or where one of the files has none.

    >>> found = matched_values(pl.Series([1, 2, None]), pl.Series(["2.0", "NA", "1"]))
    >>> found.one.tolist(), found.other.tolist()
    ([0, 1, -1], [1, -1, 0])
    """
    if not all(map(_comparable, (one, other))):
        return None
    one, other = _flags_alike(_plain(one), _plain(other))
    if not (one.dtype.is_numeric() and other.dtype.is_numeric()):
        one, other = _without_blanks(_texts(one), _texts(other))
        pair = _as_numbers(one), _as_numbers(other)
        if all(_told_apart(*both) for both in zip((one, other), pair, strict=True)):
            whole = all(
                number.null_count() == text.null_count()
                for text, number in zip((one, other), pair, strict=True)
            )
            one, other = pair if whole else _joined((one, other), pair)
    elif not (one.dtype.is_integer() and other.dtype.is_integer()):
        one, other = one.cast(pl.Float64), other.cast(pl.Float64)
    else:
        one, other = one.cast(pl.Int64), other.cast(pl.Int64)
    every = pl.concat([one.alias(""), other.alias("")])
    codes = every.rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
    size = int(codes.max(initial=-1)) + 1
    numbers = None
    if every.dtype.is_numeric():
        numbers = np.zeros(size)
        numbers[codes[codes >= 0]] = every.drop_nulls().to_numpy()
    return MatchedValues(codes[: len(one)], codes[len(one) :], size, numbers)


def _comparable(series: pl.Series) -> bool:
    return not series.dtype.is_nested() and series.dtype not in (pl.Object, pl.Binary)


def _plain(series: pl.Series) -> pl.Series:
    """Return declared categories and times as text, and NaN as missing."""
    kind = series.dtype
    if kind in (pl.Datetime, pl.Date):
        dated = series.cast(pl.Datetime("us"))
        midnight = bool((dated.drop_nulls() == dated.drop_nulls().dt.truncate("1d")).all())
        return dated.dt.date().cast(pl.String) if midnight else dated.cast(pl.String)
    if kind.is_float():
        return series.fill_nan(None)
    if kind.is_integer() or kind in (pl.Boolean, pl.String):
        return series
    return series.cast(pl.Float64 if kind.is_decimal() else pl.String)


def _flags_alike(one: pl.Series, other: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return booleans as the other file writes them: TRUE, true or 1."""
    pair = []
    for own, others in ((one, other), (other, one)):
        if own.dtype == pl.Boolean:
            pair.append(own.cast(pl.String if others.dtype == pl.String else pl.Int64))
        elif others.dtype == pl.Boolean and own.dtype == pl.String:
            small = own.str.to_lowercase()
            pair.append(small if small.drop_nulls().is_in(list(_FLAGS)).all() else own)
        else:
            pair.append(own)
    return pair[0], pair[1]


def _texts(series: pl.Series) -> pl.Series:
    return series if series.dtype == pl.String else series.cast(pl.String)


def _without_blanks(one: pl.Series, other: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return texts with those set missing that stand for a missing value."""
    pair = [one, other]
    for blank in _BLANK:
        held = [bool((texts == blank).any()) for texts in pair]
        others = [texts.filter(~texts.is_in(list(_BLANK))) for texts in pair]
        numeric = all(_as_numbers(texts).null_count() == texts.null_count() for texts in others)
        if held[0] != held[1] or (held[0] and numeric):
            pair = [texts.set(texts == blank, None) for texts in pair]
    return pair[0], pair[1]


def _as_numbers(texts: pl.Series) -> pl.Series:
    return numbers_in(texts, marks=decimal_mark(texts) or ".")


def _told_apart(texts: pl.Series, numbers: pl.Series) -> bool:
    """Return True when texts that differ are different numbers."""
    held = numbers.is_not_null()
    return texts.filter(held).n_unique() == numbers.filter(held).n_unique()


def _joined(
    texts: tuple[pl.Series, pl.Series], numbers: tuple[pl.Series, pl.Series]
) -> tuple[pl.Series, pl.Series]:
    """Return texts in which numbers are written in one way."""
    first, second = (
        pl.select(pl.coalesce(number.cast(pl.String), text)).to_series()
        for text, number in zip(texts, numbers, strict=True)
    )
    return first, second
