"""A column that is written with other values than the file has."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = "NDArray[np.int64]"


@dataclass(frozen=True, eq=False, repr=False)
class Replacement:
    """New values of a column: the category of each record that is written, and their values.

    `before` has the category of each record of the source. In a `recoded` column the categories are
    new: no cell of the source holds one, and nothing that the source says of its values holds any
    more. `labels` are the labels of the new categories, for formats that have them; `numbers` such
    as new weights or identifiers are no categories and get none.

    Every record takes its cell from the first record of the source that holds the value, also
    where its value stays: two ways of writing one value, such as with quotes and without, would
    tell which cells were changed. Where several codes stand for missing, all missing values take
    the cell of one record, `missing_from`, for the same reason.

    >>> one = Replacement("sex", np.array([1, 0]), ("f", "m", "x"), np.array([0, 1]))
    >>> one.donors.tolist(), one.changes()
    ([0, 1, -1], True)
    """

    column: str
    codes: NDArray[np.integer]
    values: tuple[Hashable, ...]
    before: NDArray[np.integer]
    recoded: bool = False
    labels: tuple[str, ...] = ()
    numbers: bool = False
    missing_from: int = -1

    @cached_property
    def donors(self) -> Rows:
        """For each category, the first record of the source that has it, or -1."""
        donors = np.full(len(self.values), -1)
        if not self.recoded:
            donors[self.before[::-1]] = np.arange(len(self.before))[::-1]
        if self.missing_from >= 0:
            donors[self.values.index(None)] = self.missing_from
        return donors

    @property
    def sources(self) -> Rows:
        """For each record that is written, a record of the source that has its value, or -1."""
        found: Rows = self.donors[self.codes]
        return found

    @property
    def texts(self) -> tuple[str, ...]:
        """The values as delimited text has them; a missing value is empty."""
        return tuple("" if value is None else str(value) for value in self.values)

    def labelled(self) -> Replacement:
        """Return the replacement for a format with value labels: new categories as labelled codes.

        >>> bands = Replacement("age", np.array([1]), ("0-15", "16+"), np.array([0]), recoded=True)
        >>> bands.labelled().values, bands.labelled().labels
        ((1, 2), ('0-15', '16+'))
        """
        texts = [value for value in self.values if value is not None]
        worded = all(isinstance(text, str) for text in texts)
        if (
            not self.recoded
            or self.numbers
            or not worded
            or self.labels
            or self.values[: len(texts)] != tuple(texts)
        ):
            return self
        missing = (None,) * (len(self.values) - len(texts))
        codes = (*range(1, len(texts) + 1), *missing)
        return replace(self, values=codes, labels=tuple(map(str, texts)))

    def changes(self, rows: Rows | None = None) -> bool:
        """Return True when a record has another value than in the source; `rows` are those kept."""
        kept = self.before if rows is None else self.before[rows]
        written_anew = self.recoded or self.missing_from >= 0
        return written_anew or not np.array_equal(kept, self.codes)
