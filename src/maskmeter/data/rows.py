"""Rows of codes that stand for one record each, or for several."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes, InCells
from maskmeter.streams import RecordNumbers


class RecordRows(InCells):
    """Records as rows of codes: how many there are, what they weigh, and how they are numbered."""

    codes: Codes
    weights: NDArray[np.float64] | None
    times: NDArray[np.int64] | None
    ids: NDArray[np.uint64] | None

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.codes) if self.times is None else int(self.times.sum())

    def _cell_counts(self) -> NDArray[np.int64]:
        """Return the number of records in each occupied cell."""
        _, place = np.unique(self.space.number(self.codes), return_inverse=True)
        return self.tally(place)

    def tally(
        self,
        groups: NDArray[np.integer],
        size: int = 0,
        *,
        rows: NDArray[np.bool_] | slice = slice(None),
    ) -> NDArray[np.int64]:
        """Return the number of records in each group; `groups` has that of each row, or of some.

        >>> import maskmeter as mm
        >>> space = mm.KeySpace([mm.Key("sex", ["f", "m"])])
        >>> both = mm.Microdata(space, [[0], [1]], times=[3, 1])
        >>> both.tally(both.codes[:, 0]).tolist(), len(both), both.uniques
        ([3, 1], 4, 1)
        """
        times = None if self.times is None else self.times[rows]
        return np.bincount(groups, times, size).astype(np.int64)

    def records_in(self, rows: NDArray[np.bool_]) -> int:
        """Return the number of records in some rows."""
        return int(rows.sum() if self.times is None else self.times[rows].sum())

    def share(self, rows: NDArray[np.bool_]) -> float:
        """Return the share of the records in some rows; 0 without records."""
        return self.records_in(rows) / max(len(self), 1)

    @property
    def amounts(self) -> NDArray[np.float64] | None:
        """What each row counts for in a weighted table; None where each counts for one."""
        if self.times is None:
            return self.weights
        times = self.times.astype(np.float64)
        return times if self.weights is None else times * self.weights

    @property
    def units(self) -> float:
        """The sum of the weights of all records; their number where they have none."""
        return float(len(self) if self.amounts is None else self.amounts.sum())

    @property
    def effective(self) -> float:
        """Number of records, or Kish's effective one by weights, `(sum of w)^2 / (sum of w^2)`.

        >>> import maskmeter as mm
        >>> space = mm.KeySpace([mm.Key("sex", ["f", "m"])])
        >>> mm.Microdata(space, [[0], [1]], weights=[3, 1]).effective
        1.6
        """
        weights, amounts = self.weights, self.amounts
        if weights is None or amounts is None:
            return float(len(self))
        return float(amounts.sum() ** 2 / (amounts @ weights))

    @property
    def numbers(self) -> RecordNumbers:
        """The number of each record in random streams: that of its row, or its id."""
        return range(len(self.codes)) if self.ids is None else self.ids

    def in_order(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return some rows in the order of their ids, whatever order the file has them in."""
        return rows if self.ids is None else rows[np.argsort(self.ids[rows], kind="stable")]

    @cached_property
    def unique_rows(self) -> NDArray[np.int64]:
        """Rows of the records that are alone in their cell."""
        numbers = self.space.number(self.codes)
        _, row, place = np.unique(numbers, return_index=True, return_inverse=True)
        return np.sort(row[self.tally(place) == 1])

    @property
    def uniques(self) -> int:
        """Number of records that are alone in their cell."""
        return self.cell_sizes[0]

    @property
    def unique_share(self) -> float:
        """Share of the records that are alone in their cell."""
        return self.uniques / max(len(self), 1)
