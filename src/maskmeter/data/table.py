"""KeyTable: the occupied cells of a key space and how many units each holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.checks import check_choice, locked
from maskmeter.data.bands import Bands, banded, check_bands, warn_if_many
from maskmeter.data.encoding import encode
from maskmeter.data.engines.files import EngineName
from maskmeter.data.frames import (
    POLARS,
    FrameKind,
    Keys,
    Missing,
    as_kind,
    decode,
    key_names,
    listed_keys,
)
from maskmeter.data.keys import CellNumbers, Codes, InCells, Key, KeySpace, check_codes
from maskmeter.data.matching import respelled
from maskmeter.data.missing import Given, MissingCodes
from maskmeter.data.source import Source
from maskmeter.errors import InputError
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.plurals import counted


@dataclass(frozen=True, eq=False)
class KeyTable(InCells):
    """Occupied cells, in the order of their numbers, and their counts."""

    _unit = "units"

    space: KeySpace
    cells: CellNumbers
    counts: NDArray[np.int64]
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check the counts, and make the arrays read-only."""
        if np.shape(self.cells) != np.shape(self.counts) or np.min(self.counts, initial=1) < 1:
            raise InputError("A table needs a count of at least 1 for each of its cells.")
        object.__setattr__(self, "cells", locked(self.cells))
        object.__setattr__(self, "counts", locked(self.counts))

    @classmethod
    def of(
        cls, space: KeySpace, codes: Codes, *, counts: NDArray[np.int64] | None = None
    ) -> KeyTable:
        """Return the table of some rows of codes, each standing for one unit or for `counts`.

        >>> space = KeySpace([Key("sex", ["f", "m"])])
        >>> KeyTable.of(space, [[0], [1], [1]]).counts.tolist()
        [1, 2]
        """
        numbers = space.number(check_codes(codes, space))
        if counts is None:
            cells, counts = np.unique(numbers, return_counts=True)
            return cls(space, cells, counts)
        cells, place = np.unique(numbers, return_inverse=True)
        total = np.zeros(len(cells), dtype=np.int64)
        np.add.at(total, place, counts)
        return cls(space, cells, total)

    def __len__(self) -> int:
        """Return the number of occupied cells."""
        return len(self.cells)

    def __repr__(self) -> str:
        """Return the size and the keys: no cell is shown."""
        return (
            f"KeyTable({counted(self.total, 'unit')} in {len(self):,} of {self.space.size:,} cells,"
            f" keys {', '.join(self.space.names)})"
        )

    def __eq__(self, other: object) -> bool:
        """Return True when both have the same keys, cells and counts."""
        if not isinstance(other, KeyTable):
            return NotImplemented
        return (
            self.space == other.space
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def total(self) -> int:
        """Number of units in the table."""
        return int(self.counts.sum())

    def _cell_counts(self) -> NDArray[np.int64]:
        """Return the number of units in each occupied cell."""
        return self.counts

    def summary(self) -> str:
        """Return a short account that shows no cell."""
        return (
            f"{counted(self.total, 'unit')} in {len(self):,} of {self.space.size:,} cells;"
            f" {counted(self.cell_sizes[0], 'is', 'are')} alone in theirs."
        )

    def to_frame(self) -> Any:
        """Return a row per occupied cell: its categories and its `count`.

        >>> KeyTable.of(KeySpace([Key("sex", ["f", "m"])]), [[0], [1], [1]]).to_frame().rows()
        [('f', 1), ('m', 2)]
        """
        if "count" in self.space.names:
            raise InputError(
                "The result has a column 'count' of its own. Rename the key of that name."
            )
        cells: pl.DataFrame = decode(self.space, self.codes).to_native()
        return as_kind(cells.with_columns(count=self.counts), self.frame_kind)

    @cached_property
    def codes(self) -> Codes:
        """Category codes of the occupied cells, a row for each."""
        return self.space.codes(self.cells)

    def uniques(self) -> KeyTable:
        """Return the cells that hold exactly one unit."""
        alone = self.counts == 1
        return replace(self, cells=self.cells[alone], counts=self.counts[alone])

    def lookup(self, codes: Codes) -> NDArray[np.int64]:
        """Return the count of each row of codes, 0 where the cell is empty.

        >>> KeyTable.of(KeySpace([Key("age", [1, 2, 3])]), [[0], [2]]).lookup([[1], [2]]).tolist()
        [0, 1]
        """
        place, occupied = self.find(codes)
        return np.where(occupied, self.counts[place], 0) if len(self) else np.zeros(len(codes), int)

    def find(self, codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the position of each row of codes among the cells, and whether it is there."""
        numbers = self.space.number(codes)
        place = np.minimum(np.searchsorted(self.cells, numbers), max(len(self) - 1, 0))
        return place, self.cells[place] == numbers if len(self) else np.zeros(len(codes), bool)

    def project(self, names: str | Sequence[str]) -> KeyTable:
        """Return the table of some of the keys, in the order given."""
        names = self.space.chosen(names)
        columns = [self.space.index(name) for name in names]
        return self.moved(self.space.project(names), self.codes[:, columns])

    def onto(self, space: KeySpace) -> KeyTable:
        """Return the table over the keys of `space`, in their order and with their category codes.

        Occupied categories that `space` does not have are added behind its own.
        """
        table = self if self.space.names == space.names else self.project(space.names)
        if table.space == space:
            return table
        return table.moved(*recoded_onto(table.codes, table.space, space))

    def moved(self, space: KeySpace, codes: Codes) -> KeyTable:
        """Return the same units in other cells of another space, by the codes of each cell there."""
        table = KeyTable.of(space, codes, counts=self.counts)
        return replace(table, frame_kind=self.frame_kind)

    def dense(self) -> NDArray[np.int64]:
        """Return all K cells as an array with an axis per key, empty cells included.

        >>> KeyTable.of(KeySpace([Key("age", [1, 2, 3])]), [[0], [2]]).dense().tolist()
        [1, 0, 1]
        """
        limit = 1 << 28
        if self.space.size > limit:
            raise InputError(
                f"The dense table would have {self.space.size:,} cells; at most {limit:,} fit in"
                " memory. Project it on fewer keys first."
            )
        table = np.zeros(self.space.size, dtype=np.int64)
        table[self.cells] = self.counts
        return table.reshape(self.space.sizes)


def recoded_onto(codes: Codes, here: KeySpace, there: KeySpace) -> tuple[KeySpace, Codes]:
    """Return codes of the keys of `here` as those of the same keys of `there`, and their space.

    Occupied categories that `there` does not have are added behind its own. Where the types of a
    key differ, its values are matched.

    >>> one, other = KeySpace([Key("age", [1, 2, 3])]), KeySpace([Key("age", [3, 4])])
    >>> recoded_onto(np.array([[2], [0]]), one, other)[1].tolist()
    [[0], [2]]
    """
    here = respelled(here, there)
    recoded = np.empty(codes.shape, dtype=np.int64, order="F")
    keys = []
    for position, (mine, theirs) in enumerate(zip(here.keys, there.keys, strict=True)):
        occupied = np.bincount(codes[:, position], minlength=mine.size) > 0
        extra = [
            value
            for value, used in zip(mine.categories, occupied, strict=True)
            if used and theirs.position(value) < 0
        ]
        key = Key(theirs.name, (*theirs.categories, *extra)) if extra else theirs
        place = np.array([key.position(value) for value in mine.categories])
        recoded[:, position] = place[codes[:, position]]
        keys.append(key)
    return KeySpace(keys), recoded


def count(
    source: Any,
    keys: Keys,
    *,
    missing: Missing = "refuse",
    missing_codes: Given | None = None,
    bands: Bands | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    engine: EngineName | None = None,
    master: str | None = None,
) -> KeyTable:
    """Return how many units of a population fall in each cell.

    The source may be a file, several files, a frame, a lazy frame, a DuckDB relation or a Spark
    data frame. Rows are grouped by the engine that holds them, so that a population's rows never
    have to fit in memory. The other arguments are those of `mm.read`.

    >>> import polars as pl
    >>> count(pl.DataFrame({"sex": ["f", "m", "m"]}), keys=["sex"])
    KeyTable(3 units in 2 of 2 cells, keys sex)
    """
    check_choice(missing, Missing, name="missing")
    dialect = Dialect(encoding, delimiter, decimal)
    given = Source.of(source, dialect, engine=engine, master=master)
    listed = listed_keys(keys, given.names)
    names = given.check_names(key_names(listed))
    cut = check_bands(bands, names)
    absent = MissingCodes.of(missing_codes, names, given.codebook)
    groups, rows = given.count(names)
    groups = banded(groups, cut, given.header, rows, absent)
    sort = () if given.engine is None else [name for name in names if name not in cut]
    space, codes = encode(
        groups,
        listed,
        missing=missing,
        rows=rows,
        by_value=sort,
        absent=absent.without(cut),
        codebook=given.codebook,
    )
    warn_if_many(groups, listed, space, given.codebook)
    return replace(KeyTable.of(space, codes, counts=rows), frame_kind=given.frame_kind)
