"""The choice among releases: the least loss that meets a target, from candidates or a family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.checks import Progress
from maskmeter.display import InWords, shortened
from maskmeter.page import Table
from maskmeter.perturb import Release
from maskmeter.plurals import counted
from maskmeter.risk import Risk
from maskmeter.risk.target import Binding, Target, Verdict
from maskmeter.riskutility.assessor import (
    MOST_CHANGED,
    MOST_LOSS,
    Assessor,
    Point,
    Steps,
    Trial,
    release_cautions,
)
from maskmeter.riskutility.comparison import (
    UNCHANGED,
    RiskUtilityMap,
    map_frame,
    map_of,
    map_table,
)
from maskmeter.riskutility.family import Curve, Family, rate_label

_PERCENTS = 100  # rates are tried in steps of one percent
_NEAREST = 3  # useful releases to show when none meets the target


@dataclass(frozen=True, eq=False)
class FoundRelease(InWords):
    """The release that was chosen, whether it meets the target, and all that were tried.

    A release is useful if it loses at most 50 and changes at most half of the records in each key.
    Where no useful release meets the target, `met` is False, `nearest` are the labels of those that
    come closest (the first is the one returned), `binds` says what keeps it from meeting the target,
    and `ruined` are releases that meet it and are not useful. `by_estimate` is the release that
    would have been chosen by the estimate alone, where the interval decided for another.
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
    by_estimate: str | None = None

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
        if self.by_estimate is not None:
            said += (
                " The interval decided, not the estimate: by the estimate alone"
                f" {self._said(self.by_estimate)} would do."
            )
        return said

    def _none(self) -> str:
        """Return why no release was found, and what comes closest."""
        if self.verdict == "not assessable":
            return self.tried.headline
        useful = "useful " if self.ruined or self.searched else ""
        family = " in this family" if self.searched else ""
        listed = "; ".join(self._said(label) for label in self.nearest)
        said = f"No {useful}release{family} meets the target of {self.target}."
        if self.ruined:
            said += (
                f" Those that meet it lose more than {MOST_LOSS:g} or change more than"
                f" {MOST_CHANGED:.0%} of the records in a key, such as {self._said(self.ruined[0])}."
            )
        said += f" Nearest useful: {listed}. What exceeds the target is {self.binds}."
        if self.by_estimate is not None:
            said += f" By the estimate alone {self._said(self.by_estimate)} would do."
        return said

    def _said(self, label: str) -> str:
        """Return a release with its figures in brief."""
        point = self.tried[label]
        upper = f", upper end {point.upper:.1f}" if point.upper > point.risk else ""
        return (
            f"{label} (loss {point.loss:.2f}, {_altered(point, '')}{point.risk:.1f}"
            f" expected{upper})"
        )

    def _figures(self, label: str) -> str:
        point = self.tried[label]
        changed = "" if label == UNCHANGED else _altered(point, " of the records")
        figure = f"{changed}{point.risk:.1f} expected correct matches"
        if point.upper > point.risk:
            figure += f", {point.upper:.1f} at the upper end of the interval"
        return figure

    def _tables(self) -> Iterator[Table]:
        """Yield what was tried: the choice first, then those on the frontier."""
        others = [pl.col("label") != self.label, ~pl.col("frontier")]
        ranked = map_frame(self.tried).sort(others, maintain_order=True)
        yield shortened(map_table(ranked, measure=self.tried.measure, chosen=self.label))

    def to_frame(self) -> Any:
        """Return a row for each release that was tried, in order."""
        return self.tried.to_frame()

    def plot(self) -> Any:
        """Return an Altair map of all releases that were tried, with the choice and the target."""
        target = (self.target.allowed(self.risk.unprotected), "target")
        return self.tried.plot(chosen=self.label, target=target)


def found_release(
    assessor: Assessor,
    target: Target,
    *,
    family: Family | None,
    candidates: Mapping[str, Steps | Release] | None,
    seed: int,
    progress: Progress | None = None,
) -> FoundRelease:
    """Return the choice from a family or from candidates, without a warning."""
    search = _Search(assessor, target, seed, progress or (lambda *_: None), [])
    search.try_all(family, candidates or {})
    return search.chosen(searched=family is not None)


class _Tried(NamedTuple):
    """A release that was tried, and its place on the map; `kind` is its label without the rate."""

    point: Point
    trial: Trial
    kind: str


@dataclass(frozen=True)
class _Search:
    """A search under way: all that was tried so far."""

    assessor: Assessor
    target: Target
    seed: int
    progress: Progress
    tried: list[_Tried]

    def try_all(self, family: Family | None, candidates: Mapping[str, Steps | Release]) -> None:
        """Try the file as it is, then a family or candidates, unless no risk can be assessed."""
        bare = self.attempt(UNCHANGED, None)
        if not bare.trial.assessable:
            return
        if family is not None and not self.meets(bare):
            self.search(family)
        for label, steps in candidates.items():
            self.attempt(str(label), steps)

    def search(self, family: Family) -> None:
        """Search the rates of a family, without the steps that may come first and after each."""
        risk, sample = _risk_before(self.assessor), self.assessor.sample
        for label, curve in family.curves(sample, risk).items():
            self.lowest_rate(label, curve)
        for before, steps in family.first:
            if self.meets(self.attempt(before, list(steps))):
                continue
            for label, curve in family.curves(sample, risk, first=steps).items():
                self.lowest_rate(f"{before}, {label}", curve)

    def attempt(
        self, label: str, steps: Steps | Release | None, *, percent: int | None = None
    ) -> _Tried:
        """Try a release; None leaves the file alone.

        With the `percent` of records that it was asked to change, the label is that of its method.
        """
        trial = self.assessor.trial(steps, seed=self.seed)
        one = _Tried(Point.of(label, [trial]), trial, label)
        if percent is not None:
            taken = {other.point.label for other in self.tried}
            named = rate_label(label, percent, _achieved(trial.release), taken)
            one = one._replace(point=replace(one.point, label=named))
        self.tried.append(one)
        self.progress(one.point.label, len(self.tried), 0)
        return one

    def meets(self, one: _Tried) -> bool:
        """Return True when a release meets the target in every scenario."""
        return self.target.decide(one.trial.risks).met

    def lowest_rate(self, label: str, curve: Curve) -> None:
        """Try the rates of a method by bisection, for the lowest that meets the target or ruins the file.

        Risk falls and loss grows as rates rise: at that rate the release has the least loss of
        those that meet the target, or the one before it is the nearest useful one.
        """

        def ends(percent: int) -> bool:
            one = self.attempt(label, curve(percent / _PERCENTS), percent=percent)
            return self.meets(one) or not one.trial.useful

        low, high = 0, _PERCENTS // 2  # more is useful only where a swap falls short of it
        if not ends(high):
            low, high = high, _PERCENTS
            if not ends(high):
                return
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if ends(middle) else (middle, high)

    def excess(self, one: _Tried) -> float:
        """Return by how much a release is above the target."""
        return self.target.decide(one.trial.risks).excess

    def least(self, releases: Sequence[_Tried]) -> _Tried:
        """Return the release with the least loss, of several the one with less risk."""
        return min(releases, key=lambda one: (one.trial.loss, self.excess(one), one.point.changed))

    def nearest(self, useful: Sequence[_Tried]) -> list[_Tried]:
        """Return the useful releases that come closest to the target, one of a kind.

        The file as it is comes last, if at all.
        """
        first: dict[str, _Tried] = {}
        for one in sorted(useful, key=lambda one: (self.excess(one), one.trial.loss)):
            first.setdefault(one.kind, one)
        bare = first.pop(UNCHANGED)
        return list(first.values())[:_NEAREST] or [bare]

    def by_estimate(self, useful: Sequence[_Tried]) -> _Tried | None:
        """Return what would be chosen by the estimate alone."""
        within = [one for one in useful if self.target.decide(one.trial.risks).verdict != "not met"]
        return self.least(within) if within else None

    def chosen(self, *, searched: bool) -> FoundRelease:
        """Return the useful release with the least loss that meets the target, or the nearest one."""
        useful = [one for one in self.tried if one.trial.useful]
        meeting = [one for one in useful if self.meets(one)]
        nearest = [] if meeting else self.nearest(useful)
        best = self.least(meeting) if meeting else nearest[0]
        alone = self.by_estimate(useful)
        shown = self.tried if not searched else [best, *nearest[1:]]
        outcome = self.target.decide(best.trial.risks)
        cautions = [caution for one in self.tried for caution in one.trial.cautions]
        for one in shown:
            cautions += release_cautions(one.point.label, [one.trial])
        return FoundRelease(
            best.point.label,
            best.trial.release,
            best.trial.risk,
            best.trial.loss,
            bool(meeting),
            self.target,
            map_of([one.point for one in self.tried], self.assessor, cautions),
            outcome.verdict,
            searched,
            nearest=tuple(one.point.label for one in nearest),
            binds=outcome.binds,
            ruined=tuple(
                one.point.label
                for one in sorted(self.tried, key=lambda one: one.trial.loss)
                if not meeting and self.meets(one) and not one.trial.useful
            ),
            by_estimate=None if alone is None or alone in meeting else alone.point.label,
        )


def _altered(point: Point, of: str) -> str:
    """Return the shares of records that a release changed and left out."""
    left_out = f"{point.left_out:.0%}{of} left out, " if point.left_out else ""
    changed = f"{point.changed:.0%}{of} changed, " if point.changed or not left_out else ""
    return left_out + changed


def _achieved(release: Release) -> float:
    """Return the share of records that the last step of a release changed or left out."""
    last = release.reported[-1].step
    done = [rate for rate in release.reported if rate.step == last]
    return sum(one.achieved * one.records for one in done) / sum(one.records for one in done)


def _risk_before(assessor: Assessor) -> NDArray[np.float64]:
    """Return the risk of every record before protection, 0 where it is not known."""
    risks = [view.before().risk().by_record for view in assessor.views.values()]
    return np.asarray(np.nan_to_num(risks).max(axis=0))
