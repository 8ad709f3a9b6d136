"""Risk: what a risk measure found, with what it assumed, in three views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter import chart
from maskmeter.checks import check_number, locked
from maskmeter.data.frames import as_kind
from maskmeter.data.households import Homes
from maskmeter.data.microdata import Microdata
from maskmeter.display import InWords, facts
from maskmeter.errors import Caution, InputError, UnfitModelWarning
from maskmeter.loglinear import FileModel
from maskmeter.page import Table
from maskmeter.plurals import counted, plural
from maskmeter.risk.intruder import EXACT_MATCH, Intruder
from maskmeter.risk.sight import NOTHING_MISCLASSIFIED

_MOST_RANKS = 200  # that a curve of the risk is drawn at


_PROBABILITY = "Probability of a correct match"
_ONE_BAR = 0.75  # of the uniques in one bar of a histogram, beyond which the others are stubs
UNUSABLE = 8.0  # abs(z2) of the model used, beyond which its estimate means nothing


@dataclass(frozen=True)
class Headline:
    """The figures of a risk that a target is held against, without its records."""

    total: float
    interval: tuple[float, float] | None
    upper: float
    share: float
    largest: float
    unprotected: int
    assessable: bool
    misclassified: bool
    intruder: Intruder


@dataclass(frozen=True, eq=False)
class Risk(InWords):
    """Identification risk of a file, per sample unique and for the whole file.

    `by_unique` holds the risk of each sample unique and `records` the row of the file it is in, both
    in file order. A target's share is taken of the `unprotected` uniques: protection that makes
    more records unique does not allow more matches. `cautions` say why the risk may mislead.
    """

    measure: str
    data: Microdata
    records: NDArray[np.int64]
    by_unique: NDArray[np.float64]
    without_target: int
    ruled: bool  # that a unique without a target has no risk
    assumptions: tuple[str, ...]
    unprotected: int = field(kw_only=True)  # sample uniques of the unprotected file
    cautions: tuple[Caution, ...] = field(default=(), kw_only=True)
    intruder: Intruder = field(default=EXACT_MATCH, kw_only=True)
    # The largest risk of a record that shares its cell, where the measure gives one.
    shared: Callable[[], float] | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        object.__setattr__(self, "records", locked(self.records))
        object.__setattr__(self, "by_unique", locked(self.by_unique))

    def __repr__(self) -> str:
        """Return the headline: no record is shown."""
        return (
            f"{type(self).__name__}({self.measure}: total {self.total:.1f}{self._between},"
            f" {counted(self.uniques, 'sample unique')})"
        )

    @property
    def _between(self) -> str:
        """The interval of the total, in brackets; nothing when there is none."""
        if self.interval is None:
            return ""
        return f" (95 % interval {self.interval[0]:.1f} to {self.interval[1]:.1f})"

    @property
    def total(self) -> float:
        """Expected number of correct matches among the sample uniques (tau)."""
        return float(self.by_unique.sum())

    @property
    def uniques(self) -> int:
        """Number of sample uniques in the released file."""
        return len(self.by_unique)

    @property
    def misclassified(self) -> bool:
        """Whether anything was misclassified: else all intruders are the same."""
        return NOTHING_MISCLASSIFIED not in self.assumptions

    @property
    def assessable(self) -> bool:
        """Whether the figures hold: exact ones do, estimates only with a model that fits."""
        return True

    @property
    def share(self) -> float:
        """Total as a share of the sample uniques of the unprotected file; 0 when there are none.

        Protection that makes more records unique cannot dilute it.
        """
        return self.total / self.unprotected if self.unprotected else 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """An interval for the total, which only an estimate has."""
        return None

    @property
    def upper(self) -> float:
        """Upper end of the interval, or the total when it is exact."""
        return self.total if self.interval is None else self.interval[1]

    @cached_property
    def largest(self) -> float:
        """The largest risk of a record, those that share their cell with others included."""
        shared = 0.0 if self.shared is None else self.shared()
        return max(float(self.by_unique.max(initial=0.0)), shared)

    @property
    def headline(self) -> Headline:
        """What a target is held against: all that is kept of a risk whose records nobody needs."""
        return Headline(
            self.total,
            self.interval,
            self.upper,
            self.share,
            self.largest,
            self.unprotected,
            self.assessable,
            self.misclassified,
            self.intruder,
        )

    def above(self, threshold: float) -> int:
        """Return how many sample uniques have a risk above a threshold."""
        return int((self.by_unique > check_number(threshold, name="threshold")).sum())

    @property
    def negative(self) -> int:
        """Number of uniques with a negative value: only (2.6) has them, where it does not apply."""
        return int((self.by_unique < 0).sum())

    @property
    def by_record(self) -> NDArray[np.float64]:
        """Risk of every record in file order, NaN where it is not a sample unique."""
        risk = np.full(len(self.data.codes), np.nan)
        risk[self.records] = self.by_unique
        return risk if self.data.held is None else self.data.of_records(risk)

    def least_of(self, homes: Homes) -> NDArray[np.float64]:
        """Return how often each unique household is matched correctly, at least.

        Who knows all members knows each of them, and is right at least as often as for the member
        who is easiest to match. But who matches exactly needs all members unchanged: after
        misclassification nothing is certain of him.
        """
        if self.misclassified and self.intruder == EXACT_MATCH:
            return np.zeros(len(homes))
        return homes.largest(np.nan_to_num(self.by_record, nan=0.0))

    @property
    def _headline(self) -> str:
        of = "" if self.unprotected == self.uniques else f" of the {self.unprotected:,} before"
        return (
            f"{self.measure}: {self.total:.1f} expected correct matches among"
            f" {counted(self.uniques, 'sample unique')} ({self.share:.1%}{of})."
        )

    def summary(self) -> str:
        """Return a short account that names no record."""
        lines = [self._headline]
        lost = self.without_target
        if lost:
            included = plural(lost, "it is included", "they are included")
            lines.append(
                f"{lost:,} of the uniques {plural(lost, 'is in a cell', 'are in cells')} that nobody in"
                " the population belongs to:"
                f" {'no target, no risk' if self.ruled else included}."
            )
        if self.negative:
            lines.append(
                f"{counted(self.negative, 'value is', 'values are')} negative: misclassification is"
                " not small there and the approximation does not apply."
            )
        lines.append(f"Assumed: {'; '.join(self.assumptions)}.")
        return "\n".join(lines)

    def _tables(self) -> Iterator[Table]:
        """Yield the total with its interval, and how many uniques have a high risk: no record."""
        ends = [f"{end:,.1f}" for end in self.interval or ()]
        yield facts(
            ("expected correct matches", f"{self.total:,.1f}"),
            *((("approximate 95 % interval", " to ".join(ends)),) if ends else ()),
            ("sample uniques", f"{self.uniques:,}"),
            ("matches as a share of the unprotected file's uniques", f"{self.share:.1%}"),
            ("uniques with a risk above one half", f"{self.above(0.5):,}"),
            ("records", f"{len(self.data):,}"),
        )

    def to_frame(self) -> Any:
        """Return a row per sample unique: `record` (row number), released key values, `risk`.

        Of records that stay in an engine `record` is the id. After a subsample it is the row of the
        released file. The frame is of the user's kind.
        In pandas its index is that of these very records, so that
        `people.loc[risk.to_frame().index]` are the same people.
        """
        taken = {"record", "risk"} & set(self.data.space.names)
        if taken:
            raise InputError(
                f"The result has a column {taken.pop()!r} of its own. Rename the key of that name."
            )
        before = {"record": self.data.record_names(self.records)}
        after = {"risk": self.by_unique}
        return self.data.rows_to_frame(self.records, before=before, after=after)

    def distribution(self) -> Any:
        """Return how many sample uniques have a risk in each twentieth of [0, 1].

        Values below 0, which only (2.6) has, are counted together in the bin left of 0.
        """
        return as_kind(self._distribution(), self.data.frame_kind)

    def _distribution(self) -> pl.DataFrame:
        return risk_bins(self.by_unique)

    def ranked(self) -> Any:
        """Return the risk of the sample uniques from the most to the least, at 200 ranks at most.

        The first ranks, which matter most, are the densest.
        """
        return as_kind(self._ranked(), self.data.frame_kind)

    def _ranked(self) -> pl.DataFrame:
        falling = np.sort(self.by_unique)[::-1]
        ranks = np.unique(np.rint(np.geomspace(1, self.uniques, _MOST_RANKS)).astype(np.int64))
        return pl.DataFrame({"rank": ranks, "risk": falling[ranks - 1]})

    def plot(self, *, title: str = "", subtitle: str = "") -> Any:
        """Return an Altair histogram of the risk of the sample uniques.

        If one bar would hold most of them, it is the curve of their risks from the most to the
        least.
        """
        bins, words = self._distribution(), self._words(title, subtitle)
        if self.uniques and not self.negative and bins["count"].max() > _ONE_BAR * self.uniques:  # type: ignore[operator]
            across = "Sample uniques, highest risk first (log scale)"
            return chart.ranked(self._ranked(), x=across, y=_PROBABILITY, **words)
        return chart.bars(bins, x=_PROBABILITY, y="Sample uniques", **words)

    def _words(self, title: str = "", subtitle: str = "") -> dict[str, str]:
        among = counted(self.uniques, "unique")
        told = f"{self.total:.1f} expected correct matches among {among}"
        return {"title": title or self.measure, "subtitle": subtitle or told}

    def _drawn(self) -> Any:
        """Return the histogram: a curve would take risks of single records into a notebook."""
        return chart.bars(self._distribution(), x=_PROBABILITY, y="Sample uniques", **self._words())


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedRisk(Risk):
    """Identification risk of a file whose population is estimated by a model.

    `every` is the risk of each record of the file. `tau1` and `tau2` are the unadjusted sums over
    the sample uniques of the file that the model was fitted to, as if nothing was misclassified.
    `interval` is an approximate 95 % interval for the total.
    """

    model: FileModel
    method: str
    every: NDArray[np.float64]
    tau1: float
    tau2: float
    household: str | None = None
    interval: tuple[float, float] | None = None
    undefined: int = 0  # cells of several records whose risk is that of a single one

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        super().__post_init__()
        object.__setattr__(self, "every", locked(self.every))

    @property
    def assessable(self) -> bool:
        """Whether the model describes the file well enough for any figure: abs(z2) is at most 8."""
        return not (self.uniques and abs(self.model.goodness.z2) > UNUSABLE)

    def with_interval(self, low: float, high: float) -> EstimatedRisk:
        """Return the same risk with an interval for its total, within 0 and the uniques."""
        return replace(self, interval=(max(low, 0.0), min(high, float(self.uniques))))

    @property
    def by_record(self) -> NDArray[np.float64]:
        """Risk of every record in file order, also of those that share their cell with others."""
        return self.every if self.data.held is None else self.data.of_records(self.every)

    @cached_property
    def largest(self) -> float:
        """The largest risk of a record, those that share their cell with others included."""
        return float(self.every.max(initial=0.0))

    @property
    def naive(self) -> float:
        """tau2, the estimate that takes the fitted counts for the truth."""
        return self.tau2

    @cached_property
    def _members(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first row of each household, and the household of each row."""
        if self.household is None:
            raise InputError("Name the household column: mm.estimate_risk(..., household=...).")
        place = self.data.groups(self.household)
        return np.unique(place, return_index=True)[1], place

    @property
    def by_household(self) -> NDArray[np.float64]:
        """Chance that some member is matched correctly, for households in order of appearance."""
        first, place = self._members
        safe = np.ones(len(first))
        np.multiply.at(safe, place, 1 - self.every)
        return 1 - safe

    @property
    def household_bounds(self) -> tuple[float, int]:
        """Households that who knows all members matches correctly: at least so many, at most so many."""
        homes = Homes.of(self.data, str(self.household))
        least = self.least_of(homes)[homes.unique]
        return float(least.sum()), len(least)

    def households(self) -> Any:
        """Return a row per household, in the user's kind of frame: its name, `members`, `risk`."""
        first, place = self._members
        columns = {"members": np.bincount(place), "risk": self.by_household}
        return self.data.groups_to_frame(str(self.household), first, after=columns)

    @property
    def _headline(self) -> str:
        first = [str(one) for one in self.cautions if one.kind is UnfitModelWarning]
        lines = [*first, super()._headline]
        if self.interval is not None:
            low, high = self.interval
            lines.append(f"Approximate 95 % interval: {low:.1f} to {high:.1f}.")
        lines.append(
            f"{counted(self.above(0.5), 'unique has', 'uniques have')} a risk above one half,"
            f" {self.above(0.2):,} above one fifth."
        )
        if self.household is not None:
            least, most = self.household_bounds
            lines.append(
                "Households: an intruder who knows all members is expected to match at least"
                f" {least:.1f} and at most {most:,} of {len(self._members[0]):,} correctly."
            )
        if self.undefined:
            lines.append(
                f"In {counted(self.undefined, 'cell')} of several records fewer people are expected than"
                " there are records; the risk there is that of a single record, and at most one in"
                " their number."
            )
        lines.append(
            f"Unadjusted: tau2 {self.tau2:.1f} correct matches, tau1 {self.tau1:.1f} population"
            " uniques."
        )
        lines.append(self.model.summary())
        others = [str(one) for one in self.cautions if str(one) not in first]
        return "\n".join([*lines, *(f"Caution: {caution}" for caution in others)])


def risk_bins(values: NDArray[np.float64]) -> pl.DataFrame:
    """Return how many risks are in each twentieth of [0, 1]; those below 0 are counted left of it.

    >>> risk_bins(np.array([0.01, 0.02, 0.97])).filter(pl.col("count") > 0)["count"].to_list()
    [2, 1]
    """
    edges, negative = np.linspace(0, 1, 21), int((values < 0).sum())
    counts, _ = np.histogram(values, edges)
    low, high = edges[:-1], edges[1:]
    if negative:
        low, high = np.append(-0.05, low), np.append(0.0, high)
        counts = np.append(negative, counts)
    return pl.DataFrame({"low": low, "high": high, "count": counts})
