"""The workbench: the state behind the page, and all that its tabs show and do. No UI is imported."""

from __future__ import annotations

from collections.abc import Sequence

from maskmeter.app.changes import with_steps
from maskmeter.app.key_bench import KeyBench
from maskmeter.app.map_bench import MapBench
from maskmeter.app.results import Assessed, RiskNow, SideBySide
from maskmeter.app.saving_bench import SavingBench
from maskmeter.app.side_by_side import beside
from maskmeter.app.state import silent
from maskmeter.app.tries import mended_label
from maskmeter.checks import Progress
from maskmeter.evidence.assessment import Assessment
from maskmeter.evidence.check_figures import FindingFigures
from maskmeter.evidence.figures import figures
from maskmeter.plan import Plan
from maskmeter.plan.mending import mended, with_accepted
from maskmeter.risk.curve import RiskCurve
from maskmeter.riskutility.riskmap import UNCHANGED

_ACCEPT = "[check] accept"  # how a line begins that accepts a finding


class Workbench(KeyBench, MapBench, SavingBench):
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

    # -- risk now ------------------------------------------------------------------------------

    def risk_now(self, progress: Progress | None = None) -> RiskNow:
        """Return the risk of the file before protection, as `assess` without steps finds it."""
        readings, plan = self._opened.readings, self._base()
        readings.assessment(plan, progress or silent)
        return readings.shown(plan, _risk_now)

    @property
    def risk_ready(self) -> RiskNow | None:
        """The risk of the file if it was measured with the present plan; None at once if not."""
        if not self.ready:
            return None
        return self._opened.readings.ready(self._base(), _risk_now)

    # -- check and decide ----------------------------------------------------------------------

    def assess(self, progress: Progress | None = None) -> Assessed:
        """Return the release of the plan as the command assesses it, its release check included."""
        readings, plan = self._opened.readings, self._with_tables(self.plan)
        readings.assessment(plan, progress or silent)
        return readings.shown(plan, _assessed)

    @property
    def assessed_ready(self) -> Assessed | None:
        """The release of the present plan if it was assessed; None at once if not."""
        if not self.ready:
            return None
        return self._opened.readings.ready(self._with_tables(self.plan), _assessed)

    def mend(self, finding: FindingFigures, line: str, *, reason: str = "") -> Plan:
        """Apply one of a finding's `lines` to the plan, or accept the finding for a `reason`.

        Any finding may be accepted: give an empty line, or one that begins with "[check] accept".
        """
        if not line or accepts(line):
            return self.apply(
                lambda plan: with_accepted(
                    plan,
                    finding.kind,  # type: ignore[arg-type]
                    finding.column,
                    reason=reason,
                )
            )
        with self._lock:
            label, before = self.chosen, self.plan.step
            plan = self.apply(lambda plan: mended(plan, line, key=finding.key))
            if plan.step and plan.step != before and not self.chosen:
                self._tries = self._tries.with_steps(
                    plan.step, mended_label(label, before, plan.step)
                )
                self._changed()
            return plan

    def side_by_side(self, labels: Sequence[str], progress: Progress | None = None) -> SideBySide:
        """Return points of the map next to each other, each assessed in full with the plan's target."""
        told, found = progress or silent, []
        for number, label in enumerate(labels):
            told(f"Assessing {label}", number, len(labels))
            plan = self._plan_of(label)
            self._opened.readings.assessment(plan, told)
            found.append(self._opened.readings.shown(plan, _assessed))
        return beside(tuple(labels), tuple(found))

    def side_by_side_ready(self, labels: Sequence[str]) -> SideBySide | None:
        """Return points next to each other if all were assessed with the present plan; None if not."""
        if not self.ready or not self._tries.attempts.keys() >= {*labels} - {UNCHANGED}:
            return None
        ready = self._opened.readings.ready
        found = [ready(self._plan_of(label), _assessed) for label in labels]
        known = tuple(one for one in found if one is not None)
        return beside(tuple(labels), known) if len(known) == len(labels) > 0 else None

    # -- private -------------------------------------------------------------------------------

    def _plan_of(self, label: str) -> Plan:
        """Return the plan with the steps of a point, as it is measured."""
        steps = () if label == UNCHANGED else self._steps_of(label)
        return with_steps(self._with_tables(self.plan), steps)


def accepts(line: str) -> bool:
    """Return True for a line that accepts a finding.

    >>> accepts('[check] accept = [{kind = "order"}]'), accepts("[release] shuffle = true")
    (True, False)
    """
    return line.startswith(_ACCEPT)


def _risk_now(found: Assessment) -> RiskNow:
    return RiskNow(figures(found), RiskCurve.of(found.worst.risk.by_unique))


def _assessed(found: Assessment) -> Assessed:
    return Assessed(figures(found))
