"""The risk-utility map: releases by what they protect and what they cost, in words, table and chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from maskmeter import chart
from maskmeter.data.frames import POLARS, FrameKind, as_kind
from maskmeter.display import InWords, shortened
from maskmeter.errors import Caution, InputError, UnfitModelWarning
from maskmeter.page import Table
from maskmeter.plurals import counted, plural
from maskmeter.risk.intruder import BY_WHOM, EXACT_MATCH, INFORMED, Intruder
from maskmeter.riskutility.assessor import Measure, Point
from maskmeter.riskutility.layers import Layer

UNCHANGED = "no protection"
AXES = {
    "worst": "Information loss (%)",
    "raad": "100 - RAAD",
    "rcv": "Change in Cramer's V (%)",
    "bvr": "Mean change in between-row variances (%)",
}
_FEW_TABLES = 6  # that a summary names
_LINE = 70  # letters of labels that a line has room for


@dataclass(frozen=True, eq=False)
class RiskUtilityMap(InWords):
    """Candidates by risk and information loss; a frontier holds those that none beats on both.

    `frontiers` has one for each intruder, `frontier` is that of the `intruder` who decides.
    `tables` are those that the loss is the mean of, `cautions` why the estimates may mislead and
    what the steps of a candidate warned of.
    """

    points: tuple[Point, ...]
    frontiers: Mapping[Intruder, tuple[str, ...]]
    intruder: Intruder
    measure: Measure
    exact: bool
    tables: tuple[tuple[str, str], ...]
    cautions: tuple[Caution, ...] = ()
    layers: tuple[Layer, ...] = ()  # of a target, if there is one
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

    def __repr__(self) -> str:
        """Return the headline."""
        return (
            f"RiskUtilityMap({counted(len(self.points), 'release')};"
            f" frontier {', '.join(self.frontier)})"
        )

    @property
    def frontier(self) -> tuple[str, ...]:
        """The releases that none beats, from least loss to least risk."""
        return self.frontiers[self.intruder]

    @cached_property
    def _by_label(self) -> dict[str, Point]:
        return {point.label: point for point in self.points}

    def __getitem__(self, label: str) -> Point:
        """Return the point of a candidate."""
        if label not in self._by_label:
            raise InputError(
                f"No release is labelled {label!r}; there are {', '.join(self._by_label)}."
            )
        return self._by_label[label]

    def to_frame(self) -> Any:
        """Return a row for each candidate."""
        return as_kind(map_frame(self), self.frame_kind)

    def summary(self) -> str:
        """Return a short account."""
        kind = "exact" if self.exact else "estimated"
        axis, listed = AXES[self.measure], ", ".join(map(" x ".join, self.tables))
        over = listed if len(self.tables) <= _FEW_TABLES else counted(len(self.tables), "table")
        unfit = [str(one) for one in self.cautions if one.kind is UnfitModelWarning]
        lines = [
            *unfit,
            (
                f"{counted(len(self.points), 'release')} by {kind} risk ({BY_WHOM[self.intruder]}) and"
                f" {axis[0].lower()}{axis[1:]}, the mean over {over}."
            ),
            f"On the frontier, from least loss to least risk: {self.ranking}.",
            *(f"Caution: {one}" for one in map(str, self.cautions) if one not in unfit),
        ]
        return "\n".join(lines)

    @property
    def ranking(self) -> str:
        """The releases on the frontier with their figures, from least loss to least risk."""
        found = {label: self[label].matches(self.intruder)[0] for label in self.frontier}
        return "; ".join(
            f"{label} ({matches:.1f} correct matches, loss {self[label].loss:.1f})"
            for label, matches in found.items()
        )

    @property
    def headline(self) -> str:
        """How many of the releases are on the frontier, in one line; or why no figure holds."""
        for caution in self.cautions:
            if caution.kind is UnfitModelWarning:
                return str(caution)
        number = len(self.frontier)
        of = counted(len(self.points), "release")
        return f"{number} of {of} {plural(number, 'is', 'are')} on the frontier."

    def _tables(self) -> Iterator[Table]:
        """Yield the releases with their figures."""
        frame = map_frame(self)
        yield shortened(map_table(frame, measure=self.measure, intruder=self.intruder))

    def plot(self, *, chosen: str = "", target: tuple[float, str] | None = None) -> Any:
        """Return an Altair chart of the map with its frontier.

        `chosen` is the label of a release to stand out, `target` a level of risk to draw a line at
        and the words on it.
        """
        return map_chart(
            map_frame(self),
            measure=self.measure,
            intruder=self.intruder,
            exact=self.exact,
            chosen=chosen,
            target=target,
        )


def map_frame(found: RiskUtilityMap) -> pl.DataFrame:
    """Return a row for each release of a map: its point, and which frontiers it is on."""
    matched, informed = (found.frontiers[one] for one in (EXACT_MATCH, INFORMED))
    return pl.DataFrame(
        [
            vars(point)
            | {"frontier": point.label in matched, "informed_frontier": point.label in informed}
            for point in found.points
        ]
    )


def map_table(
    frame: pl.DataFrame, *, measure: str, intruder: str = INFORMED, chosen: str = ""
) -> Table:
    """Return the releases of a map as a table; `frame` is that of `map_frame`.

    Upper ends, shares and the frontier are those of the intruder who decides, whose matches stand
    beside them.

    >>> import polars as pl
    >>> one = {"label": "RS20", "risk": 299.21, "informed": 311.0, "informed_upper": 320.0}
    >>> one |= {"informed_share": 0.11, "loss": 4.3, "changed": 0.2, "left_out": 0.0}
    >>> frame = pl.DataFrame([one | {"informed_frontier": True}])
    >>> map_table(frame, measure="raad", chosen="RS20").rows
    (('RS20', '299.2', '311.0', '320.0', '11.0%', '4.30', '20.0%', 'chosen'),)
    """
    leaves_out = bool((frame["left_out"] > 0).any())
    informed = intruder == INFORMED
    prefix = "informed_" if informed else ""
    matches = {"exact": "risk", "informed": "informed"}
    order = ("exact", "informed") if informed else ("informed", "exact")
    rows = tuple(
        (
            one["label"],
            *(f"{one[matches[name]]:,.1f}" for name in order),
            f"{one[f'{prefix}upper']:,.1f}",
            f"{one[f'{prefix}share']:.1%}",
            f"{one['loss']:.2f}",
            f"{one['changed']:.1%}",
            *([f"{one['left_out']:.1%}"] if leaves_out else []),
            "chosen" if one["label"] == chosen else "frontier" * one[f"{prefix}frontier"],
        )
        for one in frame.iter_rows(named=True)
    )
    left_out = ("left out",) if leaves_out else ()
    figures = (*order, "upper", "share", "loss", "changed")
    axis = AXES[measure]
    return Table(
        f"Expected correct matches and {axis[0].lower()}{axis[1:]}",
        ("release", *figures, *left_out, "mark"),
        rows,
    )


def map_chart(
    frame: pl.DataFrame,
    *,
    measure: str,
    exact: bool,
    intruder: str = INFORMED,
    chosen: str = "",
    target: tuple[float, str] | None = None,
) -> Any:
    """Return an Altair chart of the releases of a map, with the frontiers of both intruders.

    The intruder who decides is drawn in full, the other one in the background.
    """
    drawn = _drawn(frame, intruder)
    best = drawn.filter("frontier").sort("loss")["label"].to_list()
    named = ", ".join(best)
    many = f"{len(best)} of {counted(len(frame), 'release')}"
    informed = intruder == INFORMED
    matches = f"{'expected' if exact else 'estimated'} correct matches"
    return chart.frontier(
        drawn,
        x=AXES[measure],
        y=f"{matches.capitalize()}, {'informed' if informed else 'exact matching'}",
        title="Risk and information loss",
        subtitle=f"Frontier: {named if len(named) <= _LINE else many}",
        other=BY_WHOM[EXACT_MATCH if informed else INFORMED],
        chosen=chosen,
        target=target,
    )


def _drawn(frame: pl.DataFrame, intruder: str) -> pl.DataFrame:
    """Return the columns that a map draws: those of the intruder who decides, then the other's."""
    deciding, other = ("informed", "risk") if intruder == INFORMED else ("risk", "informed")
    one, two = (("informed_", ""), ("", "informed_"))[intruder != INFORMED]
    return frame.select(
        "label",
        "loss",
        "loss_sd",
        "changed",
        risk=deciding,
        risk_sd=f"{deciding}_sd",
        share=f"{one}share",
        upper=f"{one}upper",
        frontier=f"{one}frontier",
        other=other,
        other_frontier=f"{two}frontier",
    )
