"""What the tab of protecting shows and does: releases that are tried, found and chosen, on a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from maskmeter.app.changes import with_steps, with_target, without_steps
from maskmeter.app.results import FoundSteps, Tried
from maskmeter.app.settings import Setting, describe, steps_of_setting
from maskmeter.app.state import BenchState, silent
from maskmeter.app.tries import (
    AS_IT_IS,
    TRYING,
    Attempt,
    Measured,
    first_draw,
    refined,
    with_attempt,
)
from maskmeter.checks import Progress
from maskmeter.errors import InputError, MaskmeterError
from maskmeter.evidence.figures import comparison_figures
from maskmeter.evidence.schema import MapFigures
from maskmeter.perturb import Release
from maskmeter.perturb.entries import StepEntries, names_of
from maskmeter.plan import Plan, Task
from maskmeter.plan.file_keys import file_keys
from maskmeter.plan.schema import TargetPlan
from maskmeter.riskutility import FoundRelease, RiskUtilityMap
from maskmeter.riskutility.assessor import Assessor, Steps
from maskmeter.riskutility.riskmap import UNCHANGED
from maskmeter.workflows import search_task


class MapBench(BenchState):
    """The state with its map: what was tried, how it is measured, and which release the plan has."""

    def try_setting(self, setting: Setting, *, label: str = "") -> Tried:
        """Return the point of a setting, one draw of it, and leave it on the map under its label.

        A point with the same label is replaced.
        """
        steps = self._steps_of_setting(setting)
        return self.try_steps(
            steps, label=label or self._tries.free_label(describe(setting), steps)
        )

    def try_steps(self, steps: Sequence[StepEntries], *, label: str) -> Tried:
        """Return the point of some steps of a plan, as `try_setting` does of a setting."""
        held, base = self._opened, self._base()
        made = self._draw(Attempt(label, tuple(steps)), base)
        self._keep(made, of=held)
        return self._point(made, base)

    def settle(self, setting: Setting) -> str:
        """Give the point of a slider that rests the label of its setting, and return that."""
        steps = self._steps_of_setting(setting)
        with self._lock:
            label = self._tries.free_label(describe(setting), steps)
            held = self._tries.attempts.get(TRYING)
            if held is not None and held.steps == steps:
                known = self._tries.attempts.get(label)
                if known is not None and known.measured == held.measured:  # it may have more draws
                    self._tries = self._tries.without(TRYING)
                else:
                    self._tries = self._tries.renamed(TRYING, label)
                self._changed()
                return label
        self.forget(TRYING)
        return self.try_steps(steps, label=label).label

    def refine(self, label: str, progress: Progress | None = None) -> Tried:
        """Return a point as the mean over several draws, with their spread; for the background."""
        told, opened, base = progress or silent, self._opened, self._base()
        told(f"Drawing again: {label}", 0, 0)
        known = self._attempt(label)
        if known.refined and known.measured == self._way(base):
            return self._point(known, base)
        first = self._draw(known, base)
        task, assessor = self._measure_of(first, base)
        attempt = refined(first, task, assessor, seed=opened.readings.seed, progress=told)
        self._keep_measured(attempt, of=opened)
        return self._point(attempt, base)

    def forget(self, label: str) -> None:
        """Take a point off the map."""
        with self._lock:
            self._tries = self._tries.without(label)
            self._changed()

    @property
    def pending(self) -> int:
        """How many points must be measured again, because keys, sampling or tables have changed."""
        return len(self.waiting)

    @property
    def waiting(self) -> frozenset[str]:
        """The labels of these points."""
        waiting = self._waiting(self._base()) if self.ready else []
        return frozenset(one.label for one in waiting)

    @property
    def set_aside(self) -> tuple[str, ...]:
        """The points that are not on the map, because they need a column that is no key."""
        keys = file_keys(without_steps(self.plan))
        return tuple(one.label for one in self._tries.attempts.values() if not one.fits(keys))

    @property
    def idle_changes(self) -> tuple[str, ...]:
        """The columns that the plan changes though no intruder is taken to know them."""
        changed = [key for one in self.plan.step for key in names_of(getattr(one, "key", None))]
        return tuple(one for one in dict.fromkeys(changed) if one not in self.keys)

    @property
    def tried(self) -> tuple[Tried, ...]:
        """What was tried and is measured, at once; see `pending`."""
        found = self._measured()
        return () if found is None else found.tried

    def map(self, progress: Progress | None = None) -> RiskUtilityMap | None:
        """Return the map of all that was tried, and the file as it is; None while the plan lacks something.

        Points that are pending are measured first; see `measure`.
        """
        self.measure(progress)
        found = self._measured()
        return None if found is None else found.map()

    def measure(self, progress: Progress | None = None) -> str:
        """Measure the points that are pending; return which had to be taken off the map, and why."""
        if self.problem() is not None:
            return ""
        told, held, lost = progress or silent, self._opened, []
        if UNCHANGED not in self._tries.attempts:
            self._keep(AS_IT_IS, of=held)
        base = self._base()
        waiting = sorted(self._waiting(base), key=lambda one: bool(one.steps))
        for number, one in enumerate(waiting):
            told(one.label, number, len(waiting))
            try:
                self._keep_measured(self._draw(one, base), of=held)
            except MaskmeterError as error:
                if self.problem() is not None:  # the file is not what it was: the map stays
                    break
                if not one.steps:  # nothing can be measured: it is no fault of the points
                    raise
                self.forget(one.label)  # the file has no longer what its steps need
                lost.append(f"{one.label} was taken off the map: {error}")
        return " ".join(lost)

    def map_figures(self, progress: Progress | None = None) -> MapFigures | None:
        """Return the figures of the map, with the level of risk that the plan's target allows."""
        found = self.map(progress)
        if found is None:
            return None
        task = self._opened.readings.task(self._base())
        return comparison_figures(found, task.sample, task.scenarios or {}, task.target).map

    def find(self, target: TargetPlan, progress: Progress | None = None) -> FoundSteps:
        """Choose the release of least loss that meets a target, and return it.

        What is searched is the plan's family, or redraws where it has none; of what is on the map
        already, a release that meets the target and loses less wins. Where none meets it the steps
        of the plan stay as they are, and what comes closest is on the map.
        """
        told, readings, begun = progress or silent, self._opened.readings, self.plan
        before = {one.label for one in self.tried}
        plan = with_target(msgspec.structs.replace(self._base(), family=self.plan.family), target)
        found = search_task(readings.task(plan), seed=readings.seed, progress=told)
        own = found.label  # or what it is called on the map, where other steps have that name
        layers = [one.label for one in found.layers if one.label is not None]
        for label in dict.fromkeys((*found.nearest, *layers, found.label)):
            told(f"Drawing {label}", 0, 0)
            steps = _entries(found.candidates[label])
            if steps and self._searches_as(begun):
                free = self._tries.free_label(label, steps)
                self.try_steps(steps, label=free)
                own = free if label == found.label else own
        with self._lock:
            if not self._searches_as(begun) or self.plan.step != begun.step:
                raise InputError(
                    "The plan was changed while the search went on, so nothing is chosen: choose a"
                    " point of the map, or press Find it for me again."
                )
            self.apply(lambda plan: with_target(plan, target))
            tried = {one.label: one for one in self.tried if one.label != TRYING}
            held = (one for one in tried.values() if one.meets and one.label in before)
            best = min(held, key=_costs, default=None)
            if found.met and (best is None or found.loss <= best.point.loss):
                best = tried.get(own)
            if best is None:
                near = () if own == UNCHANGED else self._steps_of(own)
                kept = self.label_of(begun.step)
                stays = f": the plan keeps {kept}" if begun.step and kept else ""
                words = f"{found.summary()} Nothing is chosen{stays}."
                return FoundSteps(own, near, found.tried[found.label], met=False, summary=words)
            self.choose(best.label)
        words = _said(found, best, own=best.label == own)
        return FoundSteps(best.label, best.steps, best.point, met=True, summary=words)

    def choose(self, label: str) -> Plan:
        """Make the steps of a point those of the plan."""
        steps = () if label == UNCHANGED else self._steps_of(label)
        return self.apply(lambda plan: with_steps(plan, steps))

    @property
    def chosen(self) -> str:
        """The label of the point whose steps the plan has; empty if there is none."""
        return self.label_of(self.plan.step)

    def label_of(self, steps: Sequence[StepEntries]) -> str:
        """Return the label of the point with these steps; empty if there is none."""
        if not steps:
            return UNCHANGED
        alike = [name for name, one in self._tries.attempts.items() if one.steps == tuple(steps)]
        return next((name for name in reversed(alike) if name != TRYING), TRYING if alike else "")

    # -- private -------------------------------------------------------------------------------

    def _steps_of_setting(self, setting: Setting) -> tuple[StepEntries, ...]:
        return steps_of_setting(setting, self._opened.readings.task(self._base()))

    def _searches_as(self, begun: Plan) -> bool:
        """Return True while the plan asks for the same search; points may come and go."""
        return without_steps(self.plan) == without_steps(begun)

    def _waiting(self, base: Plan) -> list[Attempt]:
        """Return the attempts with the keys of a plan that were not measured as it asks."""
        way = self._way(base)
        return [one for one in self._tries.of(file_keys(base)) if one.measured != way]

    # What is drawn is measured, and marked, by a plan of before: another may follow meanwhile.

    def _measure_of(self, one: Attempt, base: Plan) -> tuple[Task, Assessor]:
        """Return a plan with an attempt as its candidate, and what measures it."""
        readings = self._opened.readings
        return readings.task(with_attempt(base, one)), readings.assessor(base)

    def _draw(self, one: Attempt, base: Plan) -> Attempt:
        """Return an attempt with its first draw measured as a plan asks."""
        way = self._way(base)
        task, assessor = self._measure_of(one, base)
        draw = first_draw(one, task, assessor, seed=self._opened.readings.seed)
        return replace(one, draws=(draw,), measured=way)

    def _point(self, one: Attempt, base: Plan) -> Tried:
        """Return what the page shows of an attempt."""
        task, assessor = self._measure_of(one, base)
        return Measured([one], assessor, task.target).tried[0]

    def _measured(self) -> Measured | None:
        """Return the points that were measured as the present plan asks; the file as it is comes first."""
        if not self.ready:
            return None
        base, readings = self._base(), self._opened.readings
        way = self._way(base)
        done = [one for one in self._tries.of(file_keys(base)) if one.measured == way]
        if not done:
            return None
        done.sort(key=lambda one: bool(one.steps))
        return Measured(done, readings.assessor(base), readings.task(base).target)


def _entries(candidate: Steps | Release | None) -> tuple[StepEntries, ...]:
    """Return what a search tried as steps of a plan."""
    if candidate is None or isinstance(candidate, Release):
        return ()
    listed = candidate if isinstance(candidate, Sequence) else [candidate]
    return tuple(step.to_plan() for step in listed)


def _costs(one: Tried) -> tuple[float, float]:
    return one.point.loss, one.point.changed


def _said(found: FoundRelease, best: Tried, *, own: bool) -> str:
    """Return in words what was found, and whether the search found it on its `own` or somebody before."""
    words = f"{best.label} meets the target of {found.target}"
    if own:
        return f"{words}. {found.reason}".strip()
    if not found.met:
        return f"{words}; the search itself found none."
    return (
        f"{words}. It was on the map already, and loses {best.point.loss:.2f}; what the search found,"
        f" {found.label}, loses {found.loss:.2f}."
    )
