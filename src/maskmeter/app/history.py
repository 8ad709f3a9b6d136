"""The plans that were made, one after the other, and which of them is the present one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from maskmeter.plan import Plan

_MOST = 500


@dataclass(frozen=True)
class History:
    """A list of plans with a position.

    >>> from maskmeter.plan.schema import Data
    >>> history = History().then(Plan(data=Data(keys=["sex"])))
    >>> history.undone().plan.data.keys, history.undone().redone().plan.data.keys
    ([], ['sex'])
    """

    plans: tuple[Plan, ...] = (Plan(),)
    at: int = 0

    @property
    def plan(self) -> Plan:
        """The present plan."""
        return self.plans[self.at]

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier plan."""
        return self.at > 0

    @property
    def can_redo(self) -> bool:
        """Whether a plan was undone."""
        return self.at < len(self.plans) - 1

    def then(self, plan: Plan) -> History:
        """Return the history with one more plan; those that were undone are forgotten."""
        if plan == self.plan:
            return self
        plans = (*self.plans[: self.at + 1], plan)[-_MOST:]
        return History(plans, len(plans) - 1)

    def undone(self) -> History:
        """Return the history at the plan before, if there is one."""
        return replace(self, at=self.at - 1) if self.can_undo else self

    def redone(self) -> History:
        """Return the history at the plan that was undone last, if there is one."""
        return replace(self, at=self.at + 1) if self.can_redo else self
