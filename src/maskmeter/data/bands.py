"""Bands: numbers put into intervals by their lower bounds."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.checks import is_number, shown
from maskmeter.data.frames import new_categories
from maskmeter.data.keys import Key, KeySpace
from maskmeter.data.missing import MissingCodes
from maskmeter.data.numeric import parsed
from maskmeter.errors import CategoryError, InputError, ManyCategoriesWarning
from maskmeter.formats.codebook import Codebook
from maskmeter.formats.format import Header
from maskmeter.formats.numbers import number_in, numbers_in, plain
from maskmeter.formats.statistical import is_tagged
from maskmeter.plurals import counted, plural

_CODE = re.compile(r"[+-]?0\d")

Bands: TypeAlias = "Mapping[str, Sequence[float]]"


def check_bands(bands: Bands | None, keys: Sequence[str]) -> dict[str, list[float]]:
    """Return the lower bounds of each key that is to be put into bands.

    >>> check_bands({"age": [0, 16, 65]}, ["sex", "age"])
    {'age': [0, 16, 65]}
    """
    if bands is None:
        return {}
    if not isinstance(bands, dict):
        raise InputError(
            f"`bands` must be a dictionary of lower bounds, such as {{'age': [0, 16, 65]}}, not"
            f" {shown(bands)}."
        )
    for name in bands:
        if name not in keys:
            raise InputError(
                f"`bands` names {shown(name)}, which is not one of the keys. Name a key."
            )
    return {name: check_bounds(name, bounds) for name, bounds in bands.items()}


def check_bounds(name: str, bounds: object) -> list[float]:
    """Return the lower bounds of the bands of a key, which must rise."""
    listed = list(bounds) if isinstance(bounds, list | tuple | range | np.ndarray) else []
    fit = all(is_number(bound) and math.isfinite(bound) for bound in listed)
    if len(listed) < 2 or not fit or any(a >= b for a, b in pairwise(listed)):
        raise InputError(
            f"`bands` of {name!r} must list at least two lower bounds, from low to high."
        )
    return [plain(float(bound)) for bound in listed]  # type: ignore[misc]


def band_texts(bounds: Sequence[float]) -> list[str]:
    """Return what the bands are called; the last one is open.

    The bounds alone decide, so that two files with the same bounds have the same bands.

    >>> band_texts([0, 16, 17, 65])
    ['0-15', '16', '17-64', '65+']
    >>> band_texts([0, 2.5, 5])
    ['0 to under 2.5', '2.5 to under 5', '5+']
    """
    whole, texts = all(isinstance(bound, int) for bound in bounds), []
    for low, high in pairwise(bounds):
        if not whole:
            texts.append(f"{low} to under {high}")
        elif low == high - 1:
            texts.append(f"{low}")
        else:  # a dash would be taken for a sign
            texts.append(f"{low}{'-' if low >= 0 else ' to '}{high - 1}")
    return [*texts, f"{bounds[-1]}+"]


def banded(
    frame: nw.DataFrame[Any],
    bands: dict[str, list[float]],
    header: Header,
    rows: NDArray[np.int64] | None = None,
    absent: MissingCodes = MissingCodes(),  # noqa: B008 - it is frozen
) -> nw.DataFrame[Any]:
    """Return a frame in which some columns of numbers hold the bands these fall in, in order.

    Values that the file declares missing are missing, and so are those in `absent`. `rows` says how many records each row stands
    for, when that is not one.
    """
    weight = np.ones(len(frame), dtype=np.int64) if rows is None else rows
    for name, bounds in bands.items():
        numbers = _numbers(_without(frame[name], absent.rows(frame[name])), header)
        for low, high in header.codebook[name].missing:
            if not isinstance(low, str) and not isinstance(high, str):
                numbers = np.where((numbers >= low) & (numbers <= high), np.nan, numbers)
        present = ~np.isnan(numbers)
        infinite = int(weight[np.isinf(numbers)].sum())
        if infinite:
            raise CategoryError(
                f"{counted(infinite, 'value')} of {name!r} {plural(infinite, 'is', 'are')} infinite"
                " and in no band. Recode infinite values first."
            )
        below = int(weight[present & (numbers < bounds[0])].sum())
        if below:
            raise CategoryError(
                f"{below:,} of {counted(int(weight.sum()), 'record')} {plural(below, 'has', 'have')} a value"
                f" of {name!r} below the first"
                f" bound, {bounds[0]}. Lower the bound, or declare these codes missing."
            )
        texts = band_texts(bounds)
        place = np.searchsorted(bounds, np.where(present, numbers, bounds[0]), side="right") - 1
        made = new_categories(name, [*texts, None], like=frame)
        frame = frame.with_columns(made[np.where(present, place, len(texts))])
    return frame


def _without(column: nw.Series[Any], rows: NDArray[np.bool_]) -> nw.Series[Any]:
    """Return a column without the values of some rows."""
    if not rows.any():
        return column
    kept = [None if gone else value for value, gone in zip(column.to_list(), rows, strict=True)]
    made = pl.Series(column.name, kept, strict=False)
    return nw.from_native(made, series_only=True)


def _numbers(column: nw.Series[Any], header: Header) -> NDArray[np.float64]:
    """Return the numbers of a column, NaN where missing; text must stand for numbers."""
    name, absent = column.name, int(column.is_null().sum())
    if column.dtype.is_numeric():
        return np.asarray(column.cast(nw.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64)
    if is_tagged(column.dtype):
        return numbers_in(column.cast(nw.String).to_polars()).fill_null(np.nan).to_numpy()
    if column.dtype == nw.String:
        parsed_numbers = parsed(column, header.dialect)
        wrong = int(np.isnan(parsed_numbers).sum()) - absent
        if not wrong:
            return parsed_numbers
        raise CategoryError(
            f"{counted(wrong, 'value')} of {name!r} {plural(wrong, 'is not a number', 'are not numbers')}."
            " Only numbers can be put into bands."
        )
    kind = type(column.dtype).__name__
    raise CategoryError(f"Column {name!r} cannot be put into bands: it holds {kind}, not numbers.")


def _of_numbers(categories: Sequence[object]) -> bool:
    """Return True for texts that are numbers; "007" is a code.

    >>> _of_numbers(["1,5", "20", None]), _of_numbers(["007", "120"]), _of_numbers(["E09", "1"])
    (True, False, False)
    """
    texts = [str(one).strip() for one in categories if one is not None]
    return all(number_in(text) is not None and not _CODE.match(text) for text in texts)


MANY = 120  # single years of age are fewer


def warn_if_many(
    frame: nw.DataFrame[Any], keys: Sequence[str | Key], space: KeySpace, codebook: Codebook
) -> None:
    """Warn of a key of numbers with so many values that it is no category; labelled codes are."""
    for key in keys:
        if not isinstance(key, str) or codebook[key].values:
            continue
        size, kind = space[key].size, frame[key].dtype
        text = kind == nw.String  # as all is in a CSV
        if size > MANY and (kind.is_numeric() or (text and _of_numbers(space[key].categories))):
            told = ManyCategoriesWarning(
                f"Key {key!r} has {size:,} distinct numbers, so nearly every record may be unique."
                f" Put them into bands, such as bands={{{key!r}: [0, 16, 65]}}.",
                key,
            )
            warnings.warn(told, stacklevel=3)
