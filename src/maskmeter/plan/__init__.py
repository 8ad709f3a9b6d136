"""Plan files: what is to be assessed, protected, compared and reported, as TOML."""

from maskmeter.plan.job import Task, Where, read_task, read_to_protect
from maskmeter.plan.reading import PlanFile, read_plan
from maskmeter.plan.schema import Plan
from maskmeter.plan.writing import plan_text

__all__ = [
    "Plan",
    "PlanFile",
    "Task",
    "Where",
    "plan_text",
    "read_plan",
    "read_task",
    "read_to_protect",
]
