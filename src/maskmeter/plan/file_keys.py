"""What a plan reads of its file: the keys that anything in it depends on."""

from __future__ import annotations

import msgspec

from maskmeter.plan.schema import Plan


def file_keys(plan: Plan) -> list[str]:
    """Return the keys of the file: those to be read, those known, others that steps depend on."""
    named = [*plan.data.read, *plan.data.keys]
    named += (key for one in plan.scenario.values() for key in one.keys)
    steps = [*plan.step, *(step for one in plan.candidate for step in one.step)]
    named += [key for step in steps for key in step.keys_used()]
    if plan.family is not None:
        named += plan.family.keys_used()
    return list(dict.fromkeys(named)) if plan.data.keys or plan.scenario else []


def reading_part(plan: Plan) -> bytes:
    """Return all of a plan that decides what is read of its files, and what intruders know.

    Columns of tables are read when they are wanted.

    >>> from maskmeter.plan.schema import Data, TargetPlan
    >>> one, other = Plan(data=Data(keys=["sex"])), Plan(target=TargetPlan(max_share=0.1))
    >>> reading_part(one) == reading_part(other), reading_part(other) == reading_part(Plan())
    (False, True)
    """
    part = (plan.data, plan.scenario, plan.error, file_keys(plan))
    return msgspec.json.encode(part)
