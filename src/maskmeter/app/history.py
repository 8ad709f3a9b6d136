"""The plans that were made, one after the other, and which of them is the present one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from maskmeter.errors import PlanError
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

    def as_data(self) -> dict[str, Any]:
        """Return the history as JSON can hold it."""
        return {"plans": [msgspec.to_builtins(one) for one in self.plans], "at": self.at}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> History:
        """Return the history that `as_data` wrote."""
        try:
            plans = tuple(msgspec.convert(one, Plan) for one in data["plans"])
            at = int(data["at"])
        except (msgspec.ValidationError, KeyError, TypeError, ValueError):
            raise PlanError("The state of the page cannot be read: open the file again.") from None
        if not plans or not 0 <= at < len(plans):
            raise PlanError("The state of the page cannot be read: open the file again.")
        return cls(plans, at)
