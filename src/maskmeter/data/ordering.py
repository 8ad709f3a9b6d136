"""The order of categories: by value, and numbers and bands that are written as text by number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.formats.numbers import NUMBER, decimal_mark, numbers_in

_Written: TypeAlias = "tuple[str | None, str | None]"  # two bounds, None where the band is open

_TO = r"(?:[-\u2013\u2014]|to)\s*(?:(?:under|below|less than|<)\s*)?"  # dashes of three lengths, or words
_LOW, _HIGH = rf"(?P<low>{NUMBER})", rf"(?P<high>{NUMBER})"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE).fullmatch
    for form in (
        rf"{_LOW}\s*{_TO}{_HIGH}",  # 5-9, 5 to 9, 0 to under 2.5
        rf"{_LOW}\s*(?:\+|plus|(?:and|or)\s+(?:over|above|more|older|up|upwards))",  # 85+
        rf"(?:>=?|≥|over|above|more than|at least|from)\s*{_LOW}",  # >=85
        rf"(?:<=?|≤|under|below|less than|at most|up to)\s*{_HIGH}",  # <16
        rf"{_HIGH}\s*(?:and|or)\s+(?:under|below|less|fewer|younger)",  # 15 or younger
        rf"[\[(]\s*(?:-inf|{_LOW})\s*[,;]\s*(?:\+?inf|{_HIGH})\s*[\])]",  # [0,5) of R, (0, 5] of pandas
    )
)
_is_number = re.compile(NUMBER).fullmatch


def sorted_values(values: Iterable[Any]) -> list[Any]:
    """Return values in order: texts by the numbers they stand for, if all of them do.

    Bands stand in the order of their lower bounds, then of their upper bounds. Texts with the same
    bounds, such as "1" and "01", stand in the order of texts.

    >>> sorted_values(["10", "2", "007"]), sorted_values(["85+", "5-9", "10-14", "under 5"])
    (['2', '007', '10'], ['under 5', '5-9', '10-14', '85+'])
    >>> sorted_values(["10", "2", "unknown"]), sorted_values([10, 2])
    (['10', '2', 'unknown'], [2, 10])
    """
    ordered = sorted(values)
    found = _bounds(ordered)
    if found is None:
        return ordered
    low, high = found
    return [ordered[place] for place in np.lexsort((high, low))]  # stable: ties stay sorted as text


def merged_values(values: Sequence[Any], more: Iterable[Any]) -> list[Any]:
    """Return values in their order with others among them: in place if all are sorted, else behind.

    A missing value stays the last.

    >>> merged_values(["2", "10"], ["2", "999", "5"]), merged_values(["2", "10", None], ["unknown"])
    (['2', '5', '10', '999'], ['2', '10', 'unknown', None])
    """
    every = dict.fromkeys((*values, *more))
    known = [value for value in values if value is not None]
    ranked = sorted_values(value for value in every if value is not None)
    own = set(known)
    if [value for value in ranked if value in own] != known:
        ranked = [*known, *(value for value in ranked if value not in own)]
    return [*ranked, None] if None in every else ranked


def _bounds(values: Sequence[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the bounds that all texts stand for, None if some value stands for none."""
    lows, highs = [], []
    for value in values:
        written = _written(value.strip()) if isinstance(value, str) else None
        if written is None:
            return None
        lows.append(written[0])
        highs.append(written[1])
    texts = pl.Series([*lows, *highs], dtype=pl.String)
    mark = decimal_mark(texts)
    if mark is None:
        return None
    numbers = numbers_in(texts, marks=mark)
    if numbers.null_count() > texts.null_count():  # a comma beside points
        return None
    low = numbers[: len(lows)].fill_null(-np.inf).to_numpy()
    high = numbers[len(lows) :].fill_null(np.inf).to_numpy()
    return (low, high) if (low <= high).all() else None  # "10-1" is a code, not a band


def _written(text: str) -> _Written | None:
    """Return the bounds as they are written in a text, None if it is neither number nor band.

    >>> _written("5 to 9"), _written("85+"), _written("<16"), _written("(0, 5]"), _written("7")
    (('5', '9'), ('85', None), (None, '16'), ('0', '5'), ('7', '7'))
    >>> _written("5-9 or so")
    """
    if _is_number(text):
        return text, text
    for form in _FORMS:
        if found := form(text):
            bounds = found.groupdict()
            return bounds.get("low"), bounds.get("high")
    return None
