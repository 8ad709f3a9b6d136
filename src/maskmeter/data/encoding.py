"""Columns as categories: the keys of a frame, and the code of each of its rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from maskmeter.data.frames import Missing, careful, key_names
from maskmeter.data.keys import Codes, Key, KeySpace
from maskmeter.data.matching import Labels, matched
from maskmeter.data.missing import MissingCodes
from maskmeter.data.ordering import sorted_values
from maskmeter.errors import (
    CategoryError,
    InputError,
    MaskmeterError,
    MatchError,
    MissingValuesError,
)
from maskmeter.formats.codebook import EMPTY, Codebook
from maskmeter.formats.columnar import declared
from maskmeter.plurals import counted, plural

NA_OF_R = -(2**31)  # what becomes of a missing integer where a data frame of R is converted


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """A column as categories and the code of each record; None is a missing value."""

    categories: tuple[Hashable, ...]
    codes: NDArray[np.integer]

    @property
    def used(self) -> int:
        """Number of categories that records have."""
        return int(np.count_nonzero(np.bincount(self.codes)))


def encode(
    frame: nw.DataFrame[Any],
    keys: Sequence[str | Key],
    *,
    missing: Missing,
    rows: NDArray[np.int64] | None = None,
    by_value: Collection[str] = (),
    absent: MissingCodes = MissingCodes(),  # noqa: B008 - it is frozen
    codebook: Codebook = EMPTY,
) -> tuple[KeySpace, Codes]:
    """Return the key space of a frame and the codes of its rows.

    `rows` says how many records each row stands for, when that is not one. Categories of the keys
    in `by_value` are sorted by value, whatever order their columns declare. Values in `absent` are
    missing. A given key whose values have another type comes back in the words of the frame, by
    value or by the labels of its `codebook`.
    """
    if keys and not len(frame):
        raise InputError("The file or data frame has no records.")
    weight = np.ones(len(frame), dtype=np.int64) if rows is None else rows
    pairs = []
    for key in keys:
        (name,) = key_names([key])
        column = _present(frame[name], absent, missing=missing, rows=weight)
        order = [] if name in by_value else declared(frame[name])
        listed = absent.among(name, order)
        order = [value for value in order if value not in listed]
        pairs.append(_encoded(column, key, order=order, labels=_labels(codebook, name)))
    space = KeySpace(key for key, _ in pairs)
    codes = np.empty((len(frame), len(pairs)), dtype=space.code_type, order="F")
    for position, (_, found) in enumerate(pairs):
        codes[:, position] = found
    return space, codes


def encode_column(frame: nw.DataFrame[Any], name: str) -> Column:
    """Return the categories of a column, in declared order if it has one, and each record's code."""
    try:
        space, codes = encode(frame, [name], missing="category")
    except MaskmeterError:  # one category, or types that do not sort
        return _encode_values(name, frame[name].to_list())
    return Column(space.keys[0].categories, codes[:, 0])


def _encode_values(name: str, values: list[Any]) -> Column:
    if not all(isinstance(value, Hashable) for value in values):
        raise InputError(f"Column {name!r} must hold text, numbers, dates or booleans, not lists.")
    categories = list(dict.fromkeys(values))
    try:
        present = sorted_values(value for value in categories if value is not None)
        categories = [*present, None] if None in categories else present
    except TypeError:  # numbers and texts in one column, say
        categories.sort(key=str)
    place = {value: code for code, value in enumerate(categories)}
    return Column(tuple(categories), np.array([place[value] for value in values], dtype=np.int64))


class _Present(NamedTuple):
    """The values of a column that are there, its rows without any, and the distinct values."""

    values: nw.Series[Any]
    absent: NDArray[np.bool_]
    observed: list[Any]


def _present(
    column: nw.Series[Any], codes: MissingCodes, *, missing: Missing, rows: NDArray[np.int64]
) -> _Present:
    """Return what a column holds; `codes` stand for missing values, which may be refused."""
    name = column.name
    if column.dtype.is_float():
        column = column.fill_nan(None)
    absent = column.is_null().to_numpy() | codes.rows(column)
    if absent.any() and missing == "refuse":
        lacking, records = int(rows[absent].sum()), int(rows.sum())
        raise MissingValuesError(name, missing=lacking, records=records)
    present = column.filter((~absent).tolist()) if absent.any() else column
    distinct = careful(present.unique, _nested(name))
    observed = careful(distinct.to_list, _nested(name))
    if NA_OF_R in observed:
        raise InputError(
            f"Column {name!r} holds {NA_OF_R}, which stands for a missing integer of R. Save the data"
            " frame with saveRDS and read that file, or say that it means missing:"
            f' missing_codes={{"{name}": [{NA_OF_R}]}}.'
        )
    if column.dtype.is_temporal() and len(set(observed)) < len(distinct):
        raise CategoryError(
            f"Column {name!r} holds times finer than a microsecond. Round them first."
        )
    return _Present(present, absent, observed)


def _encoded(
    column: _Present, key: str | Key, *, order: Sequence[Hashable], labels: Labels
) -> tuple[Key, NDArray[np.integer]]:
    """Return one key and the codes of its column; categories may have a declared order."""
    absent = column.absent
    if isinstance(key, str):
        categories = list(order) or _sorted(column.observed, key, _nested(key))
        categories = [*categories, None] if absent.any() else categories
        key = Key(key, categories, labels=map(labels.get, categories) if labels else ())
    codes = np.empty(len(absent), dtype=np.int64)
    key, codes[~absent] = _codes(column.values, column.observed, key, labels)
    if absent.any():
        codes[absent] = _missing_code(key)
    return key, codes.astype(np.min_scalar_type(key.size))  # there is one for each record


def _nested(name: str) -> str:
    return f"Column {name!r} cannot be a key: it must hold text, numbers, dates or booleans."


def _labels(codebook: Codebook, name: str) -> Labels:
    """Return the value labels of a column; none once its values are no longer those of the file."""
    return {} if name in codebook.recoded else codebook[name].value_labels


def _missing_code(key: Key) -> int:
    code = key.position(None)
    if code < 0:
        raise CategoryError(
            f"Some records have no value for {key.name!r}, and nobody in the population lacks one:"
            " leave that key out, or fill its gaps. If the population has gaps too, count it with"
            ' missing="category".'
        )
    return code


def _codes(
    column: nw.Series[Any], observed: list[Hashable], key: Key, labels: Labels
) -> tuple[Key, NDArray[np.int64]]:
    """Return a key and the code of each value of a column that has no missing values."""
    known = [key.position(value) for value in observed]
    lost = known.count(-1)
    if lost and lost == len(known):
        key, known = _matched(observed, key, labels)
    elif lost:
        raise _unknown(lost, len(observed), key)
    return key, _looked_up(column, observed, known)


def _matched(observed: list[Hashable], key: Key, labels: Labels) -> tuple[Key, list[int]]:
    """Return a key in the words of a column that holds none of its categories, and their codes."""
    try:
        return matched(observed, key, labels)
    except MatchError as error:
        if error.kinds[0] == error.kinds[1]:
            raise _unknown(len(observed), len(observed), key) from None
        raise


def _unknown(lost: int, values: int, key: Key) -> CategoryError:
    return CategoryError(
        f"{lost:,} of the {counted(values, 'distinct value')} of {key.name!r}"
        f" {plural(lost, 'is', 'are')} not among its {key.size} categories. Recode"
        f" {plural(lost, 'it', 'them')}, or give all categories that occur in either file."
    )


def _looked_up(
    column: nw.Series[Any], observed: list[Hashable], known: list[int]
) -> NDArray[np.int64]:
    """Return the code of each value of a column."""
    try:
        return column.replace_strict(observed, known, return_dtype=nw.Int64).to_numpy()
    except Exception:  # noqa: BLE001 - some engines cannot match some types: do it value by value
        table = dict(zip(observed, known, strict=True))
        return careful(lambda: np.array([table[value] for value in column.to_list()]))


def _sorted(values: list[Any], name: str, nested: str) -> list[Hashable]:
    distinct = careful(lambda: list(dict.fromkeys(values)), nested)  # 0.0 and -0.0 are one value
    try:
        return sorted_values(distinct)
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        raise CategoryError(
            f"Values of {name!r} have types that cannot be sorted together ({kinds}). Convert them to text."
        ) from None
