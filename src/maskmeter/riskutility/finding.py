"""The release that costs least among those that meet a target of risk."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maskmeter._checks import check_progress, is_number, shown
from maskmeter._random import RandomSource, seed_of
from maskmeter._views import InWords
from maskmeter.errors import InputError, TargetWarning, without_warnings
from maskmeter.riskutility.assessor import Assessor, Measure, Point, Trial
from maskmeter.riskutility.comparison import (
    UNCHANGED,
    RiskUtilityMap,
    check_candidates,
    mapped,
)
from maskmeter.riskutility.family import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from maskmeter.loglinear import LogLinear, LoglinearSearch
    from maskmeter.microdata import Microdata
    from maskmeter.perturb import Release
    from maskmeter.risk import Risk
    from maskmeter.riskutility.assessor import Known, Steps
    from maskmeter.table import KeyTable

    Curve = Callable[[float], Steps]

_PERCENTS = 100  # rates are tried in steps of one percent


@dataclass(frozen=True)
class Target:
    """How much risk is allowed: in all, or as a share of the sample uniques of the release."""

    total: float | None
    share: float | None

    @classmethod
    def of(cls, *, max_total: float | None = None, max_share: float | None = None) -> Target:
        """Return a target that is given in one of two ways."""
        if (max_total is None) == (max_share is None):
            message = "Give the target as `max_share` or as `max_total`: one of the two."
            raise InputError(message)
        for name, value, most in (("max_total", max_total, np.inf), ("max_share", max_share, 1.0)):
            if value is not None and (not is_number(value) or not 0 <= value <= most):
                message = f"`{name}` must be a number from 0 to {most:g}, not {shown(value)}."
                raise InputError(message)
        return cls(max_total, max_share)

    def met_by(self, trial: Trial) -> bool:
        """Return True when the upper end of the risk is within the target."""
        return self.excess(trial) <= 0

    def excess(self, trial: Trial) -> float:
        """Return by how much the upper end of the risk is above the target, in the worst scenario."""
        return max(risk.upper - self.most(risk.uniques) for risk in trial.risks)

    def most(self, uniques: int) -> float:
        """Return how many correct matches are allowed among some sample uniques."""
        return float(self.share or 0) * uniques if self.total is None else self.total

    def __str__(self) -> str:
        """Return the target in words."""
        if self.total is not None:
            return f"at most {self.total:g} correct matches"
        return f"at most {100 * float(self.share or 0):g}% of the sample uniques matched correctly"


@dataclass(frozen=True, eq=False)
class FoundRelease(InWords):
    """The release that was chosen, whether it meets the target, and all that were tried."""

    label: str
    release: Release
    risk: Risk
    loss: float
    met: bool
    target: Target
    tried: RiskUtilityMap
    searched: bool = False  # a family over its rates, not candidates

    def __repr__(self) -> str:
        """Return the choice."""
        return f"FoundRelease({self.label}: risk {self.risk.total:.1f}, loss {self.loss:.2f})"

    @property
    def path(self) -> pl.DataFrame:
        """All releases that were tried, in order."""
        return self.tried.to_frame()

    def summary(self) -> str:
        """Return the choice in a sentence, and why."""
        upper = self.tried[self.label].upper
        changed = self.tried[self.label].changed
        figure = (
            f"{changed:.0%} of the records changed, {self.risk.total:.1f} correct matches to expect"
        )
        if upper > self.risk.total:
            figure += f", {upper:.1f} at the upper end of the interval"
        tried = f"{len(self.tried.points)} releases were tried"
        cautions = "".join(f"\nCaution: {caution}" for caution in self.tried.cautions)
        if not self.met:
            return (
                f"No release meets the target of {self.target}; the closest is {self.label}"
                f" ({figure}, loss {self.loss:.2f}). {tried}.{cautions}"
            )
        if self.label == UNCHANGED:
            return f"The file meets the target of {self.target} without protection: {figure}.{cautions}"
        among = "the lowest rates of each method" if self.searched else "the releases"
        return (
            f"{self.label} loses least ({self.loss:.2f}) among {among} with {self.target}:"
            f" {figure}. {tried}.{cautions}"
        )

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each release that was tried."""
        return self.path

    def plot(self) -> Any:  # noqa: ANN401 - an Altair chart, loaded when it is drawn
        """Return an Altair map of all releases that were tried."""
        return self.tried.plot()


def find_release(
    sample: Microdata,
    *,
    family: Family | None = None,
    candidates: Mapping[str, Steps] | None = None,
    max_share: float | None = None,
    max_total: float | None = None,
    loss: tuple[str, str] | Sequence[tuple[str, str]],
    measure: Measure = "raad",
    population: KeyTable | None = None,
    model: LogLinear | LoglinearSearch | None = None,
    known: Known = None,
    rng: RandomSource = None,
    progress: Callable[[Point], object] | None = None,
) -> FoundRelease:
    """Return the release with the least information loss whose risk meets a target.

    The file as it is comes first. A `family` is searched for the lowest rate of each of its methods
    that meets the target; `candidates` are each tried once. Estimated risk must meet it by the upper end of its interval.

    Parameters
    ----------
    max_share, max_total
        The target, one of the two: correct matches to expect as a share of the sample uniques, or
        their number.
    loss, measure, population, model, known, progress
        As for `mm.compare`.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=50_000)
    >>> population = mm.count(census, keys=["lad", "age", "ethnicity"])
    >>> people = mm.bernoulli_sample(census, fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=population.space, fraction=0.05)
    >>> family = mm.Family("lad", methods=("swap",), target="ethnicity")
    >>> found = mm.find_release(
    ...     sample, family=family, max_share=0.1, loss=("lad", "ethnicity"), population=population, rng=1
    ... )
    >>> found.met
    True
    """
    target = Target.of(max_total=max_total, max_share=max_share)
    check_progress(progress)
    if (family is None) == (candidates is None):
        message = "Give a `family` to search, or `candidates` to choose from: one of the two."
        raise InputError(message)
    if family is not None and not isinstance(family, Family):
        message = f"`family` must be an mm.Family, not {shown(family)}."
        raise InputError(message)
    if candidates is not None:
        check_candidates(candidates, UNCHANGED)
    assessor = Assessor.of(
        sample, population=population, model=model, loss=loss, measure=measure, known=known
    )
    search = _Search(assessor, target, seed_of(rng), progress or (lambda _: None), [], [])
    search.attempt(UNCHANGED, None)
    if family is not None and not search.meeting:
        for label, curve in family.curves(sample, _risk_before(assessor)).items():
            search.lowest_rate(label, curve)
    for label, steps in (candidates or {}).items():
        search.attempt(str(label), steps)
    found = search.chosen(searched=family is not None)
    if not found.met:
        warnings.warn(found.summary(), TargetWarning, stacklevel=2)
    for caution in found.tried.cautions:
        warnings.warn(caution, stacklevel=2)
    return found


class _Tried(NamedTuple):
    """A release that was tried, and its place on the map."""

    point: Point
    trial: Trial


@dataclass(frozen=True)
class _Search:
    """A search under way: what was tried so far, and what of it may be chosen.

    On a curve only the lowest rate that meets the target may be: higher ones move more records
    for nothing, even where the loss does not see it.
    """

    assessor: Assessor
    target: Target
    seed: int
    progress: Callable[[Point], object]
    tried: list[_Tried]
    meeting: list[_Tried]

    def attempt(self, label: str, steps: Steps | None) -> _Tried:
        """Try a release, which may be chosen if it meets the target; None leaves the file alone."""
        one = self._tried(label, steps)
        if self.target.met_by(one.trial):
            self.meeting.append(one)
        return one

    def _tried(self, label: str, steps: Steps | None) -> _Tried:
        trial = self.assessor.trial(steps, seed=self.seed)
        one = _Tried(Point.of(label, [trial]), trial)
        self.tried.append(one)
        self.progress(one.point)
        return one

    def lowest_rate(self, label: str, curve: Curve) -> None:
        """Find the lowest rate that meets the target by bisection: risk falls as rates rise."""
        low, high = 0, _PERCENTS
        best = self._tried(f"{label} {high}%", curve(1.0))
        if not self.target.met_by(best.trial):
            return
        while high - low > 1:
            middle = (low + high) // 2
            one = self._tried(f"{label} {middle}%", curve(middle / _PERCENTS))
            if self.target.met_by(one.trial):
                best, high = one, middle
            else:
                low = middle
        self.meeting.append(best)

    def chosen(self, *, searched: bool) -> FoundRelease:
        """Return the release with the least loss that meets the target, or the closest to it."""
        if self.meeting:
            best = min(self.meeting, key=lambda one: (one.trial.loss, one.point.changed))
        else:
            best = min(self.tried, key=lambda one: self.target.excess(one.trial))
        tried = mapped([one.point for one in self.tried], self.assessor)
        trial, met = best.trial, bool(self.meeting)
        return FoundRelease(
            best.point.label,
            trial.release,
            trial.risk,
            trial.loss,
            met,
            self.target,
            tried,
            searched,
        )


def _risk_before(assessor: Assessor) -> NDArray[np.float64]:
    """Return the risk of every record before protection, 0 where it is not known."""
    with without_warnings():
        risks = [view.risk(assessor.sample).by_record for view in assessor.views]
        return np.asarray(np.nan_to_num(risks).max(axis=0))
