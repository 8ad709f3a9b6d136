"""The choice among releases: the useful one with the least loss that meets a target, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from maskmeter.display import InWords, shortened
from maskmeter.page import Table
from maskmeter.perturb import Release
from maskmeter.plurals import counted
from maskmeter.risk import Risk
from maskmeter.risk.target import Binding, Target, Verdict
from maskmeter.riskutility.assessor import MOST_CHANGED, MOST_LOSS, Point, Steps
from maskmeter.riskutility.layers import Layer, layer_table
from maskmeter.riskutility.riskmap import UNCHANGED, RiskUtilityMap, map_frame, map_table


@dataclass(frozen=True, eq=False)
class FoundRelease(InWords):
    """The release that was chosen, whether it meets the target, and all that were tried.

    A release is useful if it loses at most 50 and changes at most half of the records in each key.
    Where no useful release meets the target, `met` is False, `nearest` are the labels of those that
    come closest (the first is the one returned), `binds` says what keeps it from meeting the target,
    and `ruined` are releases that meet it and are not useful. `reason` says why this key was redrawn
    and for whom.
    """

    label: str
    release: Release
    risk: Risk
    loss: float
    met: bool
    target: Target
    tried: RiskUtilityMap
    verdict: Verdict
    searched: bool = False  # a family over its rates, not candidates
    nearest: tuple[str, ...] = ()
    binds: Binding | None = None
    ruined: tuple[str, ...] = ()
    reason: str = ""
    largest: float = 0.0  # risk of a record in any scenario
    redrawn: bool = False  # whether redraws were searched, not a family
    # What was tried, by label; None is the file as it is.
    candidates: Mapping[str, Steps | Release | None] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        """Return the choice."""
        return f"FoundRelease({self.label}: risk {self.risk.total:.1f}, loss {self.loss:.2f})"

    def summary(self) -> str:
        """Return the choice in a few sentences, and why."""
        said = self._chosen() if self.met else self._none()
        tried = (
            ""
            if len(self.tried.points) == 1
            else f" {counted(len(self.tried.points), 'release')} were tried."
        )
        others = [one for one in map(str, self.tried.cautions) if one != said]
        cautions = "".join(f"\nCaution: {caution}" for caution in others)
        return f"{said}{tried}{cautions}"

    def _chosen(self) -> str:
        figure = self._figures(self.label)
        if self.label == UNCHANGED:
            said = f"The file meets the target of {self.target} without protection: {figure}."
        else:
            said = (
                f"{self.label} loses least ({self.loss:.2f}) among the releases with"
                f" {self.target}: {figure}."
            )
        if self.verdict == "met at the estimate only":
            said += " The estimate meets the target, but the upper end of its interval does not."
        alone = self._by_estimate
        if alone not in (None, self.label):
            said += (
                " The interval decided, not the estimate: by the estimate alone"
                f" {self._said(alone)} would do."
            )
        return f"{said} {self.reason}" if self.reason else said

    @property
    def layers(self) -> tuple[Layer, ...]:
        """What each thing that the target asks for costs.

        The release that loses least if the intruder matched exactly and the estimate decided, if he
        is informed, and at the upper end of the interval.
        """
        return self.tried.layers

    @property
    def _by_estimate(self) -> str | None:
        """The release that would be chosen by the estimate alone, where the interval decides."""
        if self.target.by == "estimate":
            return None
        same = [one for one in self.layers if one.intruder == self.target.intruder]
        return next((one.label for one in same if one.by == "estimate"), None)

    def _none(self) -> str:
        """Return why no release was found, and what comes closest."""
        if self.verdict == "not assessable":
            return self.tried.headline
        useful = "useful " if self.ruined or self.searched else ""
        family = " in this family" if self.searched and not self.redrawn else ""
        listed = "; ".join(self._said(label) for label in self.nearest)
        said = f"No {useful}release{family} meets the target of {self.target}."
        if self.ruined:
            said += (
                f" Those that meet it lose more than {MOST_LOSS:g} or change more than"
                f" {MOST_CHANGED:.0%} of the records in a key, such as {self._said(self.ruined[0])}."
            )
        said += f" Nearest useful: {listed}. What exceeds the target is {self.binds}."
        if self.target.max_record is not None:
            said = said.removesuffix(".") + f", {self.largest:.2f} in the first of them."
        if self._by_estimate is not None:
            said += f" By the estimate alone {self._said(self._by_estimate)} would do."
        return said

    def _said(self, label: str) -> str:
        """Return a release with its figures in brief."""
        point = self.tried[label]
        matches, end = point.matches(self.target.intruder)
        upper = f", upper end {end:.1f}" if end > matches else ""
        return (
            f"{label} (loss {point.loss:.2f}, {_altered(point, '')}{matches:.1f} expected{upper})"
        )

    def _figures(self, label: str) -> str:
        point = self.tried[label]
        changed = "" if label == UNCHANGED else _altered(point, " of the records")
        matches, upper = point.matches(self.target.intruder)
        figure = f"{changed}{matches:.1f} expected correct matches"
        if upper > matches:
            figure += f", {upper:.1f} at the upper end of the interval"
        if self.target.max_record is not None:
            figure += f"; the largest risk of a record is {self.largest:.2f}"
        return figure

    def _tables(self) -> Iterator[Table]:
        """Yield what was tried: the choice first, then those on the frontier."""
        best = pl.col("label").is_in(self.tried.frontier)
        others = [pl.col("label") != self.label, ~best]
        ranked = map_frame(self.tried).sort(others, maintain_order=True)
        deciding = {"intruder": self.target.intruder, "chosen": self.label}
        yield shortened(map_table(ranked, measure=self.tried.measure, **deciding))
        yield layer_table(self.layers)

    def to_frame(self) -> Any:
        """Return a row for each release that was tried, in order."""
        return self.tried.to_frame()

    def plot(self) -> Any:
        """Return an Altair map of all releases that were tried, with the choice and the target."""
        line = None
        if self.target.max_record is None:
            line = (self.target.allowed(self.risk.unprotected), "target")
        return self.tried.plot(chosen=self.label, target=line)


def _altered(point: Point, of: str) -> str:
    """Return the shares of records that a release changed and left out."""
    left_out = f"{point.left_out:.0%}{of} left out, " if point.left_out else ""
    changed = f"{point.changed:.0%}{of} changed, " if point.changed or not left_out else ""
    return left_out + changed
