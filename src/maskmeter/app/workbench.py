"""The workbench: the state behind the page, and all that its tabs show and do. No UI is imported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from maskmeter.app.changes import with_keys, with_steps, with_target, without_steps
from maskmeter.app.counting import key_counts, key_warnings
from maskmeter.app.deciding import beside
from maskmeter.app.results import (
    Assessed,
    ExpectedMatches,
    FoundSteps,
    KeyCounts,
    KeyWarning,
    RiskNow,
    SamplingNow,
    SideBySide,
    Tried,
)
from maskmeter.app.sampling import sampling_now
from maskmeter.app.settings import Setting, describe, steps_of_setting
from maskmeter.app.state import BenchState
from maskmeter.app.tries import AS_IT_IS, Attempt, Measured, measured, refined
from maskmeter.app.work import Cancelled
from maskmeter.checks import Progress
from maskmeter.errors import MaskmeterError
from maskmeter.evidence import Pack
from maskmeter.evidence.assessment import Assessment
from maskmeter.evidence.check_figures import FindingFigures
from maskmeter.evidence.figures import comparison_figures, figures
from maskmeter.evidence.pack import write_pack
from maskmeter.evidence.schema import MapFigures
from maskmeter.files import check_new_folder
from maskmeter.perturb.entries import StepEntries
from maskmeter.plan import Plan
from maskmeter.plan.mending import mended, with_accepted
from maskmeter.plan.schema import TargetPlan
from maskmeter.risk.curve import RiskCurve
from maskmeter.riskutility import RiskUtilityMap
from maskmeter.riskutility.riskmap import UNCHANGED
from maskmeter.workflows import search_task, settings_of, written_out

ACCEPT = "[check] accept"  # how a line begins that accepts a finding


def _silent(_stage: str, _done: int, _of: int) -> None:
    """Tell nobody."""


class Workbench(BenchState):
    """A file, a list of plans for it with a position, and what was tried: all that the page shows.

    Errors are `MaskmeterError`s whose text may be shown. Methods with `progress` may take seconds:
    give a `Work`, run them in a thread, and cancel it from any other; all results are values that
    never change. Paths are text that starts at the start directory; what lies outside is refused.

    The file is `open`ed, then each change of the plan is `apply`ed (see `maskmeter.app.changes`).
    All that is tried and saved is drawn with one seed, which the system draws for the session: so
    figures move smoothly, and the saved release is the one that was looked at.

    Parameters
    ----------
    root
        The start directory.
    allowed
        A file elsewhere that may be opened too.
    seed
        For tests.
    """

    # -- keys ----------------------------------------------------------------------------------

    def key_counts(self, keys: Sequence[str]) -> KeyCounts:
        """Return how far some keys tell the records apart; quick enough for every tick."""
        held = self._opened
        return key_counts(held.columns, keys, self._read_as(keys).data, held.file.records)

    def expected_matches(self, keys: Sequence[str]) -> ExpectedMatches | None:
        """Return the matches to expect with some keys; None while the sampling is not known."""
        plan = without_steps(self._read_as(keys))
        data = plan.data
        sampled = data.fraction is not None or data.weights or data.population
        if not sampled or not keys:
            return None
        task = self._opened.readings.task(msgspec.structs.replace(plan, scenario={}))
        (view,) = task.views.values()
        risk = view.risk(interval="none")
        return ExpectedMatches(tuple(keys), risk.uniques, risk.total, risk.share, risk.assessable)

    def key_warnings(self, keys: Sequence[str]) -> tuple[KeyWarning, ...]:
        """Return why some of the ticked columns may be no good keys."""
        held = self._opened
        return key_warnings(held.columns, keys, self._read_as(keys).data, held.file)

    def bands_for(self, column: str) -> tuple[float, ...]:
        """Return lower bounds of bands for a column of numbers; none where it holds no numbers."""
        held = self._opened
        known = held.file.column(column)
        if known is not None and known.bands:
            return known.bands
        return held.columns.bands(column, self.plan.data)

    def categories(self, key: str) -> tuple[str, ...]:
        """Return the names of a key's categories as the plan reads them: for the page only."""
        sample = self._opened.columns.sample([key], self.plan.data)
        return tuple(str(one) for one in sample.space[key].categories if one is not None)

    # -- sample and risk now -------------------------------------------------------------------

    def sampling(self) -> SamplingNow:
        """Return how the plan says that the file was sampled, and what that implies."""
        return sampling_now(self._opened.readings, self._base(), self._opened.file)

    def risk_now(self, progress: Progress | None = None) -> RiskNow:
        """Return the risk of the file before protection, as `assess` without steps finds it."""
        readings, plan = self._opened.readings, self._base()
        readings.assessment(plan, progress or _silent)
        return readings.shown(plan, _risk_now)

    @property
    def risk_ready(self) -> RiskNow | None:
        """The risk of the file if it was measured with the present plan; None at once if not."""
        return None if self._open is None else self._open.readings.ready(self._base(), _risk_now)

    # -- protect -------------------------------------------------------------------------------

    def try_setting(self, setting: Setting, *, label: str = "") -> Tried:
        """Return the point of a setting, one draw of it, and leave it on the map under its label.

        A point with the same label is replaced.
        """
        task = self._opened.readings.task(self._map_plan())
        steps = steps_of_setting(setting, task)
        return self.try_steps(steps, label=label or describe(setting))

    def try_steps(self, steps: Sequence[StepEntries], *, label: str) -> Tried:
        """Return the point of some steps of a plan, as `try_setting` does of a setting."""
        readings, attempt = self._opened.readings, Attempt(label, tuple(steps))
        task = readings.task(self._map_plan(attempt))
        assessor = readings.assessor(task)
        attempt = measured(attempt, task, assessor, seed=readings.seed)
        self._keep(attempt)
        return Measured.of([attempt], task, assessor).tried[0]

    def refine(self, label: str, progress: Progress | None = None) -> Tried:
        """Return a point as the mean over several draws, with their spread; for the background."""
        steps, readings, told = self._steps_of(label), self._opened.readings, progress or _silent
        told(f"Drawing again: {label}", 0, 0)
        task = readings.task(self._map_plan())
        assessor = readings.assessor(task)
        first = measured(Attempt(label, steps), task, assessor, seed=readings.seed)
        attempt = refined(first, task, assessor, seed=readings.seed, progress=told)
        if self._tries.attempts.get(label) is not None and self._steps_of(label) == steps:
            self._keep(attempt)
        return Measured.of([attempt], task, assessor).tried[0]

    def forget(self, label: str) -> None:
        """Take a point off the map."""
        with self._lock:
            self._tries = self._tries.without(label)
            self._changed()

    @property
    def pending(self) -> int:
        """How many points must be measured again, because keys or sampling have changed."""
        return len(self._tries.pending(self._base()))

    @property
    def tried(self) -> tuple[Tried, ...]:
        """What was tried and is measured, at once; see `pending`."""
        found = self._measured()
        return () if found is None else found.tried

    def map(self, progress: Progress | None = None) -> RiskUtilityMap | None:
        """Return the map of all that was tried, and the file as it is; None while the plan lacks something.

        Points that are pending are measured first; those that cannot be are taken off.
        """
        if self.problem() is not None:
            return None
        readings, told = self._opened.readings, progress or _silent
        if UNCHANGED not in self._tries.attempts:
            self._keep(AS_IT_IS)
        pending = self._tries.pending(self._base())
        for number, one in enumerate(pending):
            told(one.label, number, len(pending))
            try:
                task = readings.task(self._map_plan(one))
                made = measured(one, task, readings.assessor(task), seed=readings.seed)
            except Cancelled:
                raise
            except MaskmeterError:  # the file has no longer what its steps need
                self.forget(one.label)
                continue
            self._keep(made)
        found = self._measured()
        return None if found is None else found.map()

    def map_figures(self, progress: Progress | None = None) -> MapFigures | None:
        """Return the figures of the map, with the level of risk that the plan's target allows."""
        found = self.map(progress)
        if found is None:
            return None
        task = self._opened.readings.task(self._base())
        return comparison_figures(found, task.sample, task.scenarios or {}, task.target).map

    def find(self, target: TargetPlan, progress: Progress | None = None) -> FoundSteps:
        """Return the release of least loss that meets a target; it and the frontier go on the map.

        The search measures the loss on tables of all keys, for any of them may be changed; the map
        measures it on those of the keys that were.
        """
        readings = self._opened.readings
        family = self.plan.family
        plan = with_target(msgspec.structs.replace(self._base(), family=family), target)
        task = readings.task(plan)
        found = search_task(task, seed=readings.seed, progress=progress or _silent)
        best = dict.fromkeys((*found.tried.frontier, *found.nearest, found.label))
        for label in best:
            made = found.trials[label].release.provenance
            steps = () if made is None else tuple(step.to_plan() for step in made.steps)
            self._keep(Attempt(label, steps))
        steps = self._steps_of(found.label)
        words = f"{found.label} meets the target of {found.target}. {found.reason}".strip()
        point = self.try_steps(steps, label=found.label).point if steps else found.tried[UNCHANGED]
        return FoundSteps(
            found.label, steps, point, found.met, words if found.met else found.summary()
        )

    def choose(self, label: str) -> Plan:
        """Make the steps of a point those of the plan."""
        steps = () if label == UNCHANGED else self._steps_of(label)
        return self.apply(lambda plan: with_steps(plan, steps))

    @property
    def chosen(self) -> str:
        """The label of the point whose steps the plan has; empty if there is none."""
        steps = tuple(self.plan.step)
        if not steps:
            return UNCHANGED
        alike = [one.label for one in self._tries.attempts.values() if one.steps == steps]
        return alike[-1] if alike else ""

    # -- check and decide ----------------------------------------------------------------------

    def assess(self, progress: Progress | None = None) -> Assessed:
        """Return the release of the plan as the command assesses it, its release check included."""
        readings, plan = self._opened.readings, self.plan
        readings.assessment(plan, progress or _silent)
        return readings.shown(plan, _assessed)

    @property
    def assessed_ready(self) -> Assessed | None:
        """The release of the present plan if it was assessed; None at once if not."""
        return None if self._open is None else self._open.readings.ready(self.plan, _assessed)

    def mend(self, finding: FindingFigures, line: str, *, reason: str = "") -> Plan:
        """Apply one of a finding's `lines` to the plan, or accept the finding for a `reason`.

        Any finding may be accepted: give an empty line, or one that begins with "[check] accept".
        """
        if not line or line.startswith(ACCEPT):
            return self.apply(
                lambda plan: with_accepted(
                    plan,
                    finding.kind,  # type: ignore[arg-type]
                    finding.column,
                    reason=reason,
                )
            )
        return self.apply(lambda plan: mended(plan, line, key=finding.key))

    def side_by_side(self, labels: Sequence[str], progress: Progress | None = None) -> SideBySide:
        """Return points of the map next to each other, each assessed in full with the plan's target."""
        told, found = progress or _silent, []
        for number, label in enumerate(labels):
            told(f"Assessing {label}", number, len(labels))
            steps = () if label == UNCHANGED else self._steps_of(label)
            plan = with_steps(msgspec.structs.replace(self.plan, candidate=[], family=None), steps)
            self._opened.readings.assessment(plan, told)
            found.append(self._opened.readings.shown(plan, _assessed))
        return beside(tuple(labels), tuple(found))

    def save_pack(self, folder: str, progress: Progress | None = None) -> Pack:
        """Write the evidence pack of the plan to a new or empty folder below the start directory."""
        held, out, told = self._opened, self.folder.inside(folder), progress or _silent
        check_new_folder(out, held.path)  # before the work
        plan = self.plan
        settings = replace(settings_of(plan.report), invented=held.file.example)
        task, found = held.readings.assessment(plan, told)
        told("Writing", 4, 5)
        return write_pack(found, out, settings, plan=written_out(task))

    # -- private -------------------------------------------------------------------------------

    def _read_as(self, keys: Sequence[str]) -> Plan:
        return with_keys(self.plan, keys, self._opened.file)

    def _base(self) -> Plan:
        """Return the plan without its steps: with it the file is assessed as it is."""
        return without_steps(self.plan)

    def _map_plan(self, *more: Attempt) -> Plan:
        return self._tries.plan(self._base(), *more)

    def _measured(self) -> Measured | None:
        """Return the points that were measured with the present keys and sampling."""
        tries, base = self._tries, self._base()
        late = {one.label for one in tries.pending(base)}
        done = [one for one in tries.attempts.values() if one.label not in late]
        if not done or self._open is None:
            return None
        first = [one for one in done if not one.steps]
        listed = [*first, *(one for one in done if one.steps)]
        task = self._open.readings.task(tries.plan(base))
        return Measured.of(listed, task, self._open.readings.assessor(task))


def _risk_now(found: Assessment) -> RiskNow:
    return RiskNow(figures(found), RiskCurve.of(found.worst.risk.by_unique), found.plot())


def _assessed(found: Assessment) -> Assessed:
    return Assessed(figures(found), RiskCurve.of(found.worst.risk.by_unique), found.plot())
