"""The search for the release with the least loss that meets a target: what is tried, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from math import inf

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import Progress
from maskmeter.errors import PerturbationError
from maskmeter.perturb import Release
from maskmeter.risk.intruder import INFORMED
from maskmeter.risk.target import Target
from maskmeter.risk.view import View
from maskmeter.riskutility.assessor import Assessor, Draw, Point, Steps, release_cautions
from maskmeter.riskutility.choice import FoundRelease
from maskmeter.riskutility.comparison import map_of
from maskmeter.riskutility.family import Curve, Family, rate_label
from maskmeter.riskutility.layers import Layer, target_layers
from maskmeter.riskutility.redraws import RedrawnKeys, keys_to_redraw, pair_to_redraw, told
from maskmeter.riskutility.riskmap import UNCHANGED

_PERCENTS = 100  # rates are tried in steps of one percent
_NEAREST = 3  # useful releases to show when none meets the target


def found_release(
    assessor: Assessor,
    target: Target,
    *,
    family: Family | None,
    candidates: Mapping[str, Steps | Release] | None,
    seed: int,
    progress: Progress | None = None,
) -> FoundRelease:
    """Return the choice from a family or from candidates, without a warning.

    Where neither is given the key is chosen too, and redrawn for rare records.
    """
    search = _Search(assessor, target, seed, progress or (lambda *_: None))
    search.try_all(family, candidates)
    return search.chosen(searched=candidates is None)


@dataclass(frozen=True, eq=False)
class _Tried:
    """A candidate that was tried, and its place on the map; `kind` is its label without the rate.

    Its release is not kept: a search tries dozens, and each can be drawn again.
    """

    point: Point
    draw: Draw
    candidate: Steps | Release | None
    kind: str
    redrawn: RedrawnKeys | None = None


@dataclass(frozen=True)
class _Search:
    """A search under way: all that was tried so far, by its kind and how much it changes."""

    assessor: Assessor
    target: Target
    seed: int
    progress: Progress
    tried: dict[tuple[str, float | None], _Tried] = field(default_factory=dict)

    @property
    def targets(self) -> tuple[Target, ...]:
        """The target, then its layers."""
        return tuple(dict.fromkeys((self.target, *self.target.layers())))

    def try_all(
        self, family: Family | None, candidates: Mapping[str, Steps | Release] | None
    ) -> None:
        """Try the file as it is, then what is asked for, unless no risk can be assessed."""
        bare = self.bare
        if not bare.draw.assessable:
            return
        for label, steps in (candidates or {}).items():
            self.attempt(str(label), steps)
        if candidates is not None:
            return
        for target in self.targets:
            if self.meets(bare, target):
                continue
            if family is None:
                self.search_redraws(target)
            else:
                self.search(family, target)

    def search(self, family: Family, target: Target) -> None:
        """Search the rates of a family, without the steps that may come first and after each."""
        risk, sample = self.unprotected, self.assessor.sample
        for label, curve in family.curves(sample, risk).items():
            self.lowest_rate(label, curve, target)
        for before, steps in family.first:
            if self.meets(self.attempt(before, list(steps)), target):
                continue
            for label, curve in family.curves(sample, risk, first=steps).items():
                self.lowest_rate(f"{before}, {label}", curve, target)

    @cached_property
    def unprotected(self) -> NDArray[np.float64]:
        """Risk of every record before protection."""
        self.progress("Measuring the risk before protection", 0, 0)
        return risk_before(self.assessor.views.values())

    @cached_property
    def single_keys(self) -> tuple[RedrawnKeys, ...]:
        """The keys that may be redrawn, that which lowers the risk most first."""
        return keys_to_redraw(self.assessor.sample, self.assessor.views, self.progress)

    @cached_property
    def pair(self) -> RedrawnKeys | None:
        """The two keys that are redrawn together when one will not do."""
        if not self.single_keys:
            return None
        return pair_to_redraw(self.single_keys[0], self.assessor.views, self.progress)

    def search_redraws(self, target: Target) -> None:
        """Search the bounds of rare records for every key that may reach a target, or for two together.

        A layer of the target is searched with the keys that lose least for the target itself.
        """
        won = [one for one in self.meeting if one.redrawn is not None]
        best = self.least(won).redrawn if won else None
        if best is not None:
            self.lowest_bound(best, best.bounds, target)
            return
        found = [self.lowest_bound(one, self.affordable(one), target) for one in self.able_keys]
        if not any(found) and self.pair is not None:
            self.lowest_bound(self.pair, self.pair.bounds, target)

    @cached_property
    def able_keys(self) -> tuple[RedrawnKeys, ...]:
        """The keys of which a redraw may reach the target; that which comes closest if none may.

        A key for which no bound tells rare records from common ones cannot be redrawn for some.
        """
        bare = self.bare.draw.risks[INFORMED]
        uniques = {name: risk.unprotected for name, risk in bare.items()}
        able = (one for one in self.single_keys if one.may_reach(self.target, uniques))
        found = tuple(one for one in able if one.bounds)
        return found or tuple(islice((one for one in self.single_keys if one.bounds), 1))

    @property
    def bare(self) -> _Tried:
        """The file as it is."""
        return self.attempt(UNCHANGED, None)

    @property
    def meeting(self) -> list[_Tried]:
        """The useful releases so far that meet the target."""
        return [one for one in self.tried.values() if one.draw.useful and self.meets(one)]

    def attempt(
        self,
        kind: str,
        steps: Steps | Release | None,
        *,
        at: float | None = None,
        redrawn: RedrawnKeys | None = None,
    ) -> _Tried:
        """Try a release, once; None leaves the file alone.

        `at` is the percentage of records that it was asked to change, or the bound of rare records.
        """
        if (kind, at) in self.tried:
            return self.tried[kind, at]
        trial = self.assessor.trial(steps, seed=self.seed)
        draw, label = trial.draw, kind
        if redrawn is not None:
            label = f"{kind} < {at:g}"
        elif at is not None:
            taken = {other.point.label for other in self.tried.values()}
            label = rate_label(kind, round(at), _achieved(trial.release), taken)
        one = _Tried(Point.of(label, [draw]), draw, steps, kind, redrawn)
        self.tried[kind, at] = one
        self.progress(label, len(self.tried), 0)
        return one

    def meets(self, one: _Tried, target: Target | None = None) -> bool:
        """Return True when a release meets a target in every scenario."""
        wanted = target or self.target
        return wanted.decide(one.draw.risks[wanted.intruder]).met

    def lowest_rate(self, label: str, curve: Curve, target: Target) -> None:
        """Try the rates of a method by bisection, for the lowest that meets the target or ruins the file.

        Risk falls and loss grows as rates rise: at that rate the release has the least loss of
        those that meet the target, or the one before it is the nearest useful one.
        """

        def ends(percent: int) -> bool:
            one = self.attempt(label, curve(percent / _PERCENTS), at=percent)
            return self.meets(one, target) or not one.draw.useful

        low, high = 0, _PERCENTS // 2  # more is useful only where a swap falls short of it
        if not ends(high):
            low, high = high, _PERCENTS
            if not ends(high):
                return
        _bisect(low, high, ends)

    def affordable(self, redrawn: RedrawnKeys) -> list[float]:
        """Return the bounds at which a redraw loses no more than the best release so far.

        Loss grows with the bound, and is measured in a fraction of the time that the risk takes.
        """
        most = min((one.draw.loss for one in self.meeting), default=inf)
        bounds = redrawn.bounds
        if most == inf:
            return bounds

        def loses_more(number: int) -> bool:
            self.progress(f"Measuring the loss of {redrawn.label}", len(self.tried), 0)
            try:
                return self.assessor.loss(redrawn.step(bounds[number]), seed=self.seed) > most
            except PerturbationError:  # too few rare records to exchange anything
                return False

        return bounds[: _bisect(-1, len(bounds), loses_more)]

    def lowest_bound(self, redrawn: RedrawnKeys, bounds: Sequence[float], target: Target) -> bool:
        """Try bounds of rare records by bisection; return True when a useful release meets a target."""

        def tried(number: int) -> _Tried:
            bound = bounds[number]
            return self.attempt(redrawn.label, redrawn.step(bound), at=bound, redrawn=redrawn)

        def ends(number: int) -> bool:
            try:
                one = tried(number)
            except PerturbationError:  # too few rare records to exchange anything
                return False
            return self.meets(one, target) or not one.draw.useful

        last = len(bounds) - 1
        if last < 0 or not ends(last):
            return False
        one = tried(_bisect(-1, last, ends))
        return self.meets(one, target) and one.draw.useful

    def excess(self, one: _Tried) -> float:
        """Return by how much a release is above the target."""
        return self.target.decide(one.draw.risks[self.target.intruder]).excess

    def least(self, releases: Sequence[_Tried]) -> _Tried:
        """Return the release with the least loss, of several the one with less risk."""
        return min(releases, key=lambda one: (one.draw.loss, self.excess(one), one.point.changed))

    def nearest(self, useful: Sequence[_Tried]) -> list[_Tried]:
        """Return the useful releases that come closest to the target, one of a kind.

        The file as it is, where none comes closer.
        """
        first: dict[str, _Tried] = {}
        for one in sorted(useful, key=lambda one: (self.excess(one), one.draw.loss)):
            first.setdefault(one.kind, one)
        bare = first.pop(UNCHANGED)
        better = [one for one in first.values() if self.excess(one) < self.excess(bare)]
        return better[:_NEAREST] or [bare]

    def chosen(self, *, searched: bool) -> FoundRelease:
        """Return the useful release with the least loss that meets the target, or the nearest one."""
        every = list(self.tried.values())
        useful = [one for one in every if one.draw.useful]
        meeting = self.meeting
        nearest = [] if meeting else self.nearest(useful)
        best = self.least(meeting) if meeting else nearest[0]
        shown = every if not searched else [best, *nearest[1:]]
        outcome = self.target.decide(best.draw.risks[self.target.intruder])
        trial = self.assessor.trial(best.candidate, seed=self.seed)
        cautions = [caution for one in every for caution in one.draw.cautions]
        for one in shown:
            cautions += release_cautions(one.point.label, [one.draw])
        points, intruder = [one.point for one in every], self.target.intruder
        risks = best.draw.risks[intruder]
        return FoundRelease(
            best.point.label,
            trial.release,
            trial.risk(intruder),
            trial.loss,
            bool(meeting),
            self.target,
            map_of(points, self.assessor, cautions, intruder=intruder, layers=self.layers()),
            outcome.verdict,
            searched,
            nearest=tuple(one.point.label for one in nearest),
            binds=outcome.binds,
            ruined=tuple(
                one.point.label
                for one in sorted(every, key=lambda one: one.draw.loss)
                if not meeting and self.meets(one) and not one.draw.useful
            ),
            reason=self.reason(best, trial.release),
            largest=max(risk.largest for risk in risks.values())
            if self.target.max_record is not None
            else 0.0,
            redrawn=any(one.redrawn is not None for one in every),
            candidates={one.point.label: one.candidate for one in every},
        )

    def layers(self) -> tuple[Layer, ...]:
        """Return what each layer of the target costs."""
        return target_layers(self.target, [(one.point, one.draw) for one in self.tried.values()])

    def reason(self, one: _Tried, release: Release) -> str:
        """Return why a key was redrawn for whom; nothing for other releases."""
        if one.redrawn is None:
            return ""
        others = [other.keys[0] for other in self.able_keys if other is not one.redrawn]
        before = self.bare.draw.risk(self.target.intruder).total
        return told(one.redrawn, release, before=before, others=others, met=self.meets(one))


def _bisect(low: int, high: int, ends: Callable[[int], bool]) -> int:
    """Return the lowest number above `low` at which a search ends, if it does so at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ends(middle) else (middle, high)
    return high


def _achieved(release: Release) -> float:
    """Return the share of records that the last step of a release changed or left out."""
    last = release.reported[-1].step
    done = [rate for rate in release.reported if rate.step == last]
    return sum(one.achieved * one.records for one in done) / sum(one.records for one in done)


def risk_before(views: Iterable[View]) -> NDArray[np.float64]:
    """Return the risk of every record before protection, 0 where it is not known."""
    risks = [view.before().risk().by_record for view in views]
    return np.asarray(np.nan_to_num(risks).max(axis=0))
