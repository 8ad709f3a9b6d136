"""The curve of record risks: how many are above a threshold, and the matches among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from maskmeter import chart
from maskmeter.checks import check_number, locked
from maskmeter.types import Array

_MOST_RANKS = 400  # that the curve is drawn at


class AtThreshold(NamedTuple):
    """A threshold of risk, the sample uniques above it, and the correct matches to expect among them."""

    threshold: float
    records: int
    matches: float


@dataclass(frozen=True, eq=False, repr=False)
class RiskCurve:
    """The risks of the sample uniques from the most to the least: threshold, records and matches.

    Give one of the three and read the others.

    >>> curve = RiskCurve.of(np.array([0.1, 0.5, 0.3, 0.3]))
    >>> curve.at_threshold(0.3), curve.at_records(2).threshold
    (AtThreshold(threshold=0.3, records=1, matches=0.5), 0.3)
    >>> curve.at_matches(1.0).records
    3
    """

    falling: Array
    running: Array  # sums of the risks so far

    @classmethod
    def of(cls, risks: Array) -> RiskCurve:
        """Return the curve of the risks of some sample uniques, in any order."""
        falling = np.sort(np.asarray(risks, dtype=np.float64))[::-1]
        return cls(locked(falling), locked(np.cumsum(falling)))

    def __len__(self) -> int:
        """Return the number of sample uniques."""
        return len(self.falling)

    def __repr__(self) -> str:
        """Return the number of records: no risk is shown."""
        return f"RiskCurve({len(self):,} sample uniques)"

    @property
    def total(self) -> float:
        """The correct matches to expect among all sample uniques."""
        return self._matches(len(self))

    def at_threshold(self, threshold: float) -> AtThreshold:
        """Return how many sample uniques have a risk above a threshold, and their matches."""
        level = check_number(threshold, name="threshold")
        records = int(np.searchsorted(-self.falling, -level, side="left"))
        return AtThreshold(level, records, self._matches(records))

    def at_records(self, records: int) -> AtThreshold:
        """Return the lowest threshold with at most so many records above it."""
        wanted = min(max(int(records), 0), len(self))
        if wanted == len(self):
            return self.at_threshold(0.0)
        return self.at_threshold(float(self.falling[wanted]))

    def at_matches(self, matches: float) -> AtThreshold:
        """Return the highest threshold above which so many matches, or more, are to be expected."""
        level = check_number(matches, name="matches")
        needed = int(np.searchsorted(self.running, level, side="left")) + 1
        if needed >= len(self):
            return self.at_threshold(0.0)
        beyond = self.falling[
            self.falling < self.falling[needed - 1]
        ]  # records that tie come along
        return self.at_threshold(float(beyond[0]) if len(beyond) else 0.0)

    def thinned(self) -> pl.DataFrame:
        """Return `rank` and `risk` at 400 ranks at most, with the first and the last, and a `label`.

        The label is the risk in percent.
        """
        size = len(self)
        ranks = np.unique(np.rint(np.linspace(1, size, min(size, _MOST_RANKS))).astype(np.int64))
        risks = self.falling[ranks - 1]
        return pl.DataFrame(
            {"rank": ranks, "risk": risks, "label": [f"{100 * one:.1f}" for one in risks]},
            schema={"rank": pl.Int64, "risk": pl.Float64, "label": pl.String},
        )

    def plot(self, *, threshold: float | None = None) -> Any:
        """Return an Altair chart of the risks from the most to the least, with a line at a threshold."""
        subtitle = f"{self.total:,.1f} expected correct matches among {len(self):,} sample uniques"
        if threshold is not None:
            at = self.at_threshold(threshold)
            subtitle = f"{at.matches:,.1f} expected correct matches among the {at.records:,} above"
        return chart.falling(
            self.thinned(),
            x="Sample uniques, highest risk first",
            y="Probability of a correct match",
            title="Risk of single records",
            subtitle=subtitle,
            line=threshold,
        )

    def _matches(self, records: int) -> float:
        return float(self.running[records - 1]) if records else 0.0
