"""The target of risk as controls, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from htmltools import Tag
from msgspec.structs import asdict, replace

from maskmeter.app import changes
from maskmeter.app.controls import choice, given_number, group, number
from maskmeter.app.desk import Desk
from maskmeter.errors import InputError
from maskmeter.plan.schema import TargetPlan
from maskmeter.risk.target import Target

SHARE, TOTAL, RECORD = "max_share", "max_total", "max_record"
KINDS = {
    "": "no target",
    SHARE: "matches, % of uniques",
    TOTAL: "matches, a number",
    RECORD: "risk of any record, %",
}
INTRUDERS = {"informed": "knows the method", "exact-match": "matches exactly"}
ENDS = {"upper": "upper end of the interval", "estimate": "estimate"}
_LIMITS = {
    SHARE: "Give a share from 0 to 100 percent.",
    TOTAL: "Give a number of matches, 0 or more.",
    RECORD: "Give a risk from 0 to 100 percent.",
    "": "Choose first what the target limits.",
}
_NO_LIMIT = "Give the limit as a number."
USUAL = {SHARE: 0.05, TOTAL: 10.0, RECORD: 0.5}


def kind_of(target: TargetPlan | None) -> str:
    """Return which of its three entries a target has; "" without one.

    >>> kind_of(TargetPlan(max_share=0.03)), kind_of(None)
    ('max_share', '')
    """
    if target is None:
        return ""
    return next((one for one in USUAL if getattr(target, one) is not None), "")


def target_form(target: TargetPlan | None) -> Tag:
    """Return the controls of a target."""
    kind = kind_of(target)
    parts = [choice("At most", "target-kind", KINDS, chosen=kind)]
    if target is not None and kind:
        most = getattr(target, kind) * _scale(kind)
        unit = "" if kind == TOTAL else " in percent"
        parts.append(number(f"Limit{unit}", "target-most", most, min="0"))
        parts.append(choice("Intruder", "target-intruder", INTRUDERS, chosen=target.intruder))
        if kind != RECORD:
            parts.append(choice("Measured at the", "target-by", ENDS, chosen=target.by))
    return group("Target", *parts)


def connect_target(desk: Desk) -> None:
    """Say what the controls of a target do."""
    bench = desk.bench

    def change(**entries: Any) -> None:
        wanted = _with(bench.plan.target, entries)
        try:
            Target(**asdict(wanted))
        except InputError:
            raise InputError(_LIMITS[kind_of(wanted)]) from None
        bench.apply(lambda plan: changes.with_target(plan, wanted))

    def kind(name: str) -> None:
        if name == "":
            bench.apply(lambda plan: changes.with_target(plan, None))
        elif name in USUAL:
            change(**{one: USUAL[one] if one == name else None for one in USUAL})

    def most(text: str) -> None:
        name = kind_of(bench.plan.target)
        if name:
            change(**{name: given_number(text, else_say=_NO_LIMIT) / _scale(name)})

    desk.on("target-kind", kind)
    desk.on("target-most", most)
    desk.on("target-intruder", lambda name: change(intruder=name))
    desk.on("target-by", lambda name: change(by=name))


def _with(target: TargetPlan | None, entries: Mapping[str, Any]) -> TargetPlan:
    return replace(TargetPlan() if target is None else target, **entries)


def _scale(kind: str) -> float:
    return 1.0 if kind == TOTAL else 100.0
