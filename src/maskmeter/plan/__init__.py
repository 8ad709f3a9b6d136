"""Plan files: what is to be assessed, protected, compared and reported, as TOML."""

from maskmeter.plan.reading import PlanFile, read_plan
from maskmeter.plan.schema import Plan
from maskmeter.plan.task import Task, read_task

__all__ = ["Plan", "PlanFile", "Task", "read_plan", "read_task"]
