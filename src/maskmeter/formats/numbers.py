"""Numbers that are written as text, and whole numbers that are stored as others."""

from __future__ import annotations

import re

import polars as pl

EXACT = 2**53  # whole numbers up to here are doubles too
_MARKS = ".,"  # decimal marks


def _number(marks: str) -> str:
    return rf"[+-]?(?:\d+(?:[{marks}]\d*)?|[{marks}]\d+)(?:[eE][+-]?\d+)?"


def _pattern(marks: str) -> str:
    return rf"^\s*{_number(marks)}\s*$"


NUMBER = _number(_MARKS)  # a regular expression without groups
_is_number = re.compile(_pattern(_MARKS)).match


def number_in(text: str | None) -> float | None:
    """Return the number that a text stands for, None if it is not a number.

    A comma is a decimal mark, as a point is.

    >>> number_in("2,5"), number_in(" 007 "), number_in(".a"), number_in("nan")
    (2.5, 7.0, None, None)
    """
    return None if text is None or not _is_number(text) else float(text.replace(",", "."))


def numbers_in(texts: pl.Series, *, marks: str = _MARKS) -> pl.Series:
    """Return the numbers that texts stand for, null where a text is not a number.

    `marks` are the decimal marks that numbers may have.

    >>> numbers_in(pl.Series(["2,5", "x", None])).to_list()
    [2.5, None, None]
    """
    numbers = texts.set(~texts.str.contains(_pattern(marks)), None).str.strip_chars()
    return numbers.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)


def decimal_mark(texts: pl.Series) -> str | None:
    """Return the decimal mark of numbers, None where commas may also separate thousands.

    >>> decimal_mark(pl.Series(["1,5", "20"])), decimal_mark(pl.Series(["1,500", "20"]))
    (',', None)
    """
    commas = texts.filter(texts.str.contains(",", literal=True))
    if not len(commas) or texts.str.contains(".", literal=True).any():
        return "."
    return None if commas.str.contains(r"^[+-]?\d{1,3}(,\d{3})+$").all() else ","


def plain(value: object) -> object:
    """Return a whole number as an integer, and anything else as it is.

    >>> plain(2.0), plain(2.5), plain("x")
    (2, 2.5, 'x')
    """
    fits = isinstance(value, float) and value.is_integer() and abs(value) < EXACT
    return int(value) if fits else value  # type: ignore[call-overload]


def whole(column: pl.Series) -> pl.Series:
    """Return a column of numbers as integers when all of them are whole.

    >>> whole(pl.Series([1.0, 2.0, None])).to_list()
    [1, 2, None]
    """
    present = column.drop_nulls()
    if not len(present) or not (present == present.round()).all():
        return column
    if not present.abs().max() < EXACT:  # type: ignore[operator] # not infinite either
        return column
    return column.cast(pl.Int64)
