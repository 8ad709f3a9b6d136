"""Households: joint keys of all members together, and how many households have each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.checks import check_choice, locked
from maskmeter.data.bands import Bands, banded, check_bands, warn_if_many
from maskmeter.data.encoding import encode, encode_column
from maskmeter.data.frames import (
    POLARS,
    FrameKind,
    Keys,
    Missing,
    as_kind,
    check_grouped,
    decode,
    key_names,
    listed_keys,
)
from maskmeter.data.keys import CellNumbers, Codes, InCells, KeySpace, check_codes
from maskmeter.data.microdata import Microdata
from maskmeter.data.missing import Given, MissingCodes
from maskmeter.data.source import Source
from maskmeter.data.table import KeyTable, recoded_onto
from maskmeter.errors import InputError
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.plurals import counted
from maskmeter.types import Array, Integers

_JOINT, _COUNT = "joint_key", "count"


@dataclass(frozen=True, eq=False)
class HouseholdTable(InCells):
    """The joint keys of households, and how many households have each.

    The joint key of a household is the cells of all its members, in whatever order. `codes` has a
    row for each member of a joint key, the members of one together and in the order of their cells;
    `members` has the number of members of each joint key, and `counts` that of its households.
    """

    _unit = "households"

    space: KeySpace
    codes: Codes
    members: Integers
    counts: Integers
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        object.__setattr__(self, "codes", locked(self.codes, self.space.code_type))
        object.__setattr__(self, "members", locked(self.members))
        object.__setattr__(self, "counts", locked(self.counts))

    @classmethod
    def of(
        cls, space: KeySpace, codes: Codes, *, place: Integers, counts: Integers | None = None
    ) -> HouseholdTable:
        """Return the table of some people, whose households are numbered by `place` from 0 on.

        `counts` says how many households each stands for, when that is not one.

        >>> from maskmeter.data.keys import Key
        >>> space = KeySpace([Key("sex", ["f", "m"])])
        >>> couples = HouseholdTable.of(space, [[0], [1], [1], [0]], place=np.array([0, 0, 1, 1]))
        >>> couples.members.tolist(), couples.counts.tolist()
        ([2], [2])
        """
        codes = check_codes(codes, space)
        order, key = joint_keys(space.number(codes), place)
        stands_for = np.ones(len(key), dtype=np.int64) if counts is None else counts
        total = np.zeros(int(key.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(total, key, stands_for)
        first = np.unique(key, return_index=True)[1]  # a household of each joint key
        size = np.bincount(place, minlength=len(key))
        start = np.cumsum(size) - size
        rows = np.concatenate([order[:0], order[_ranges(start[first], size[first])]])
        return cls(space, codes[rows], size[first], total)

    def __len__(self) -> int:
        """Return the number of distinct joint keys."""
        return len(self.counts)

    def __repr__(self) -> str:
        """Return the size and the keys: no household is shown."""
        return (
            f"HouseholdTable({counted(self.total, 'household')} with"
            f" {counted(len(self), 'joint key')}, keys {', '.join(self.space.names)})"
        )

    def __eq__(self, other: object) -> bool:
        """Return True when both have the same keys, joint keys and counts."""
        if not isinstance(other, HouseholdTable):
            return NotImplemented
        return (
            self.space == other.space
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.members, other.members)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def total(self) -> int:
        """Number of households in the table."""
        return int(self.counts.sum())

    @property
    def people(self) -> int:
        """Number of people in these households."""
        return int((self.counts * self.members).sum())

    @property
    def place(self) -> Integers:
        """The joint key that each row of `codes` belongs to."""
        return np.repeat(np.arange(len(self)), self.members)

    @cached_property
    def persons(self) -> KeyTable:
        """How many people are in each cell."""
        counts = np.repeat(self.counts, self.members)
        return KeyTable.of(self.space, self.codes, counts=counts)

    def _cell_counts(self) -> NDArray[np.int64]:
        """Return the number of households with each joint key."""
        return self.counts

    def summary(self) -> str:
        """Return a short account that shows no household."""
        return (
            f"{counted(self.total, 'household')} of {counted(self.people, 'person', 'people')} with"
            f" {counted(len(self), 'joint key')}; {counted(self.cell_sizes[0], 'is', 'are')} alone"
            " with theirs."
        )

    def to_frame(self) -> Any:
        """Return a row for each member of each joint key: its number, the categories, `count`.

        >>> from maskmeter.data.keys import Key
        >>> space = KeySpace([Key("sex", ["f", "m"])])
        >>> HouseholdTable.of(space, [[1], [0], [0]], place=np.array([0, 0, 1])).to_frame().rows()
        [(0, 'f', 1), (1, 'f', 1), (1, 'm', 1)]
        """
        taken = {_JOINT, _COUNT} & set(self.space.names)
        if taken:
            raise InputError(
                f"The result has a column {taken.pop()!r} of its own. Rename the key of that name."
            )
        cells: pl.DataFrame = decode(self.space, self.codes).to_native()
        number, times = pl.Series(_JOINT, self.place), np.repeat(self.counts, self.members)
        frame = cells.insert_column(0, number).with_columns(pl.Series(_COUNT, times))
        return as_kind(frame, self.frame_kind)

    def project(self, names: str | Sequence[str]) -> HouseholdTable:
        """Return the table of some of the keys, in the order given."""
        names = self.space.chosen(names)
        columns = [self.space.index(name) for name in names]
        return self.moved(self.space.project(names), self.codes[:, columns])

    def onto(self, space: KeySpace) -> HouseholdTable:
        """Return the table over the keys of `space`, in their order and with their category codes.

        Occupied categories that `space` does not have are added behind its own.
        """
        table = self if self.space.names == space.names else self.project(space.names)
        if table.space == space:
            return table
        return table.moved(*recoded_onto(table.codes, table.space, space))

    def moved(self, space: KeySpace, codes: Codes) -> HouseholdTable:
        """Return the same households, whose members are in other cells of another space."""
        table = HouseholdTable.of(space, codes, place=self.place, counts=self.counts)
        return replace(table, frame_kind=self.frame_kind)

    def lookup(self, other: HouseholdTable) -> Integers:
        """Return how many households here have each joint key of another table of the same keys."""
        numbers = self.space.number(np.concatenate([self.codes, other.codes]))
        _, key = joint_keys(numbers, np.concatenate([self.place, len(self) + other.place]))
        found = np.zeros(int(key.max(initial=-1)) + 1, dtype=np.int64)
        found[key[: len(self)]] = self.counts
        return found[key[len(self) :]]


@dataclass(frozen=True, eq=False)
class Homes:
    """The households of a file in order of appearance: `place` has that of each record.

    `key` numbers the joint key of each household.
    """

    place: Integers
    key: Integers

    @classmethod
    def of(cls, data: Microdata, column: str) -> Homes:
        """Return the households of a file that a column names, which must not be a key."""
        place = data.groups(column)
        if column in data.space.names:
            raise InputError(
                f"{column!r} names the households, so it cannot be a key as well. Read the file"
                " without that key."
            )
        return cls(place, joint_keys(data.space.number(data.codes), place)[1])

    def __len__(self) -> int:
        """Return the number of households."""
        return len(self.key)

    @property
    def members(self) -> Integers:
        """Number of members of each household."""
        return np.bincount(self.place, minlength=len(self))

    @property
    def first(self) -> Integers:
        """Row of the first member of each household."""
        return np.unique(self.place, return_index=True)[1]

    @cached_property
    def unique(self) -> NDArray[np.bool_]:
        """Whether no other household has the same joint key."""
        return np.bincount(self.key)[self.key] == 1 if len(self) else np.zeros(0, dtype=bool)

    def largest(self, values: Array) -> Array:
        """Return the largest value of a member, for each household."""
        found = np.zeros(len(self))
        np.maximum.at(found, self.place, values)
        return found


def joint_keys(numbers: CellNumbers, place: Integers) -> tuple[Integers, Integers]:
    """Return the people in the order of household and cell, and the joint key of each household.

    Households with the same cells, each as often, have the same key. Keys count up from 0, those
    of small households first.

    >>> joint_keys(np.array([7, 5, 5, 7, 5]), np.array([0, 0, 1, 1, 2]))[1].tolist()
    [1, 1, 0]
    """
    cell = np.unique(numbers, return_inverse=True)[1]
    order = np.lexsort((cell, place))
    size = np.bincount(place)
    start = np.cumsum(size) - size
    key, known = np.zeros(len(size), dtype=np.int64), 0
    for members in np.unique(size):
        here = np.flatnonzero(size == members)
        rows = cell[order[start[here][:, None] + np.arange(members)]]
        found = distinct_rows(rows)
        key[here] = known + found
        known += int(found.max()) + 1
    return order, key


def distinct_rows(rows: Integers) -> Integers:
    """Return a number for each row, in the order of the rows; equal rows share it.

    >>> distinct_rows(np.array([[2, 1], [0, 5], [2, 1]])).tolist()
    [1, 0, 1]
    """
    found = np.zeros(len(rows), dtype=np.int64)
    width = int(rows.max(initial=0)) + 1
    for column in rows.T:  # fewer numbers than rows: the product stays far from overflow
        found = np.unique(found * width + column, return_inverse=True)[1]
    return found


def count_households(
    source: Any,
    keys: Keys,
    *,
    household: str = "hid",
    missing: Missing = "refuse",
    missing_codes: Given | None = None,
    bands: Bands | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> HouseholdTable:
    """Return how many households of a population have each joint key.

    The joint key of a household is the cells of all its members. The source may be a file, of which
    only the keys and the household column are read, a frame or a lazy frame. The other arguments
    are those of `mm.read`.

    Parameters
    ----------
    household
        The column of household numbers.

    >>> import polars as pl
    >>> people = pl.DataFrame({"hid": [1, 1, 2, 2, 3], "sex": ["f", "m", "m", "f", "f"]})
    >>> count_households(people, keys=["sex"])
    HouseholdTable(3 households with 2 joint keys, keys sex)
    """
    check_choice(missing, Missing, name="missing")
    given = Source.of(source, Dialect(encoding, delimiter, decimal))
    listed = listed_keys(keys, given.names)
    names = given.check_names([*key_names(listed), household])
    if household in names[:-1]:
        raise InputError(f"{household!r} names the households, so it cannot be a key as well.")
    cut = check_bands(bands, names[:-1])
    frame = given.columns(names)
    place = _numbered(frame, household)
    absent = MissingCodes.of(missing_codes, names[:-1], given.codebook)
    frame = banded(frame, cut, given.header, absent=absent)
    space, codes = encode(
        frame, listed, missing=missing, absent=absent.without(cut), codebook=given.codebook
    )
    warn_if_many(frame, listed, space, given.codebook)
    return replace(HouseholdTable.of(space, codes, place=place), frame_kind=given.frame_kind)


def _numbered(frame: nw.DataFrame[Any], name: str) -> Integers:
    """Return the number of each row's household, from 0 on; none may be missing."""
    column = frame[name]
    absent = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
    check_grouped(name, missing=int(absent.sum()), records=len(frame))
    try:
        codes = column.to_polars().rank("dense").to_numpy()
    except Exception:  # noqa: BLE001 - mixed types, say, which engines refuse in their own ways
        codes = encode_column(frame, name).codes
    return np.unique(codes, return_inverse=True)[1]


def _ranges(start: Integers, size: Integers) -> Integers:
    """Return the numbers from each start on, so many as its size.

    >>> _ranges(np.array([3, 10]), np.array([2, 1])).tolist()
    [3, 4, 10]
    """
    ends = np.cumsum(size)
    return np.repeat(start - ends + size, size) + np.arange(int(size.sum()))
