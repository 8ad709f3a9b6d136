"""Risk: what a risk measure found, with what it assumed, in three views."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from maskmeter import chart
from maskmeter._checks import locked
from maskmeter.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskmeter.microdata import Microdata


@dataclass(frozen=True, eq=False)
class Risk:
    """Identification risk of a file, per sample unique and for the whole file.

    `by_cell` holds the risk of each sample unique and `records` the row of the file it is in, both
    in file order.
    """

    measure: str
    data: Microdata
    records: NDArray[np.int64]
    by_cell: NDArray[np.float64]
    without_target: int
    ruled: bool  # that a unique without a target has no risk
    assumptions: tuple[str, ...]

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        object.__setattr__(self, "records", locked(self.records))
        object.__setattr__(self, "by_cell", locked(self.by_cell))

    def __repr__(self) -> str:
        """Return the headline: no record is shown."""
        return f"Risk({self.measure}: total {self.total:.1f}, {self.uniques:,} sample uniques)"

    @property
    def total(self) -> float:
        """Expected number of correct matches among the sample uniques (tau)."""
        return float(self.by_cell.sum())

    @property
    def uniques(self) -> int:
        """Number of sample uniques in the released file."""
        return len(self.by_cell)

    @property
    def share(self) -> float:
        """Total as a share of the sample uniques; 0 when there are none."""
        return self.total / self.uniques if self.uniques else 0.0

    @property
    def negative(self) -> int:
        """Number of uniques with a negative value: only (2.6) has them, where it does not apply."""
        return int((self.by_cell < 0).sum())

    @property
    def by_record(self) -> NDArray[np.float64]:
        """Risk of every record in file order, NaN where it is not a sample unique."""
        risk = np.full(len(self.data), np.nan)
        risk[self.records] = self.by_cell
        return risk

    def summary(self) -> str:
        """Return a short account that names no record."""
        headline = (
            f"{self.measure}: {self.total:.1f} expected correct matches among"
            f" {self.uniques:,} sample uniques ({self.share:.1%})."
        )
        lines = [headline]
        if self.without_target:
            lines.append(
                f"{self.without_target:,} of the uniques are in cells where nobody in the population"
                f" truly is: {'no target, no risk' if self.ruled else 'they count all the same'}."
            )
        if self.negative:
            lines.append(
                f"{self.negative:,} values are negative: misclassification is not small there and"
                " the approximation does not apply."
            )
        lines.append(f"Assumed: {'; '.join(self.assumptions)}.")
        return "\n".join(lines)

    def to_frame(self) -> Any:  # noqa: ANN401 - the user's kind of frame
        """Return a row per sample unique: `record` (row number), released key values, `risk`."""
        taken = {"record", "risk"} & set(self.data.space.names)
        if taken:
            message = f"{taken.pop()!r} is a column of the result: rename the key of that name."
            raise InputError(message)
        before, after = {"record": self.records}, {"risk": self.by_cell}
        return self.data.rows_to_frame(self.records, before=before, after=after)

    def distribution(self) -> pl.DataFrame:
        """Return how many sample uniques have a risk in each twentieth of [0, 1].

        Values below 0, which only (2.6) has, are counted together in the bin left of 0.
        """
        edges = np.linspace(0, 1, 21)
        counts, _ = np.histogram(self.by_cell, edges)
        low, high = edges[:-1], edges[1:]
        if self.negative:
            low, high = np.append(-0.05, low), np.append(0.0, high)
            counts = np.append(self.negative, counts)
        return pl.DataFrame({"low": low, "high": high, "count": counts})

    def plot(self) -> Any:  # noqa: ANN401 - an Altair chart, which is optional
        """Return an Altair histogram of the risk of the sample uniques."""
        return chart.bars(
            self.distribution(),
            x="Probability that a unique match is right",
            y="Sample uniques",
            title=self.measure,
            subtitle=f"{self.total:.1f} expected correct matches among {self.uniques:,} uniques",
        )

    def _repr_html_(self) -> str:
        """Return the summary for notebooks."""
        return "".join(f"<p>{escape(line)}</p>" for line in self.summary().splitlines())
