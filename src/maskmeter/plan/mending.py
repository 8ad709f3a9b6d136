"""Lines of a plan that mend a finding of the release check, put into a plan."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

import msgspec

from maskmeter.errors import PlanError
from maskmeter.perturb.entries import StepEntries, names_of
from maskmeter.plan.schema import AcceptedFinding, Plan
from maskmeter.release_check.finding import FindingKind

_LINE = re.compile(r"(\[\[?\w+\]\]?) (\w+ = .+)", re.DOTALL)


def mended(plan: Plan, line: str, *, key: str = "") -> Plan:
    """Return a plan with a line that mends a finding; `key` is the key that the finding is about.

    What a list has already stays in it.

    >>> plan = mended(mended(Plan(), "[release] shuffle = true"), '[release] drop = ["ward"]')
    >>> plan.release
    ReleasePlan(shuffle=True, drop=['ward'], renumber=[])
    """
    place, name, value = _parsed(line)
    if place == "[release]":
        return _finished(plan, name, value)
    if place == "[[step]]" and name in ("carry", "within"):
        return _stepped(plan, name, value, key)
    raise PlanError(
        f"This line cannot be put into the plan by itself: {line}. Write it into the plan file with"
        " the categories or the reason that it needs."
    )


def with_accepted(plan: Plan, kind: FindingKind, column: str, *, reason: str) -> Plan:
    """Return a plan that accepts a finding of the release check, and says why.

    >>> with_accepted(Plan(), "date", "born", reason="only the year is kept").check.accept[0].reason
    'only the year is kept'
    """
    if not reason.strip():
        raise PlanError("Give the reason for which the finding is accepted: the report shows it.")
    others = [one for one in plan.check.accept if (one.kind, one.column) != (kind, column)]
    accept = [*others, AcceptedFinding(kind, column, reason.strip())]
    check = msgspec.structs.replace(plan.check, accept=accept)
    return msgspec.structs.replace(plan, check=check)


def _parsed(line: str) -> tuple[str, str, Any]:
    """Return the table that a line belongs to, its entry and the value."""
    found = _LINE.fullmatch(line.strip())
    try:
        entries = tomllib.loads(found[2]) if found else {}
    except tomllib.TOMLDecodeError:
        entries = {}
    if found is None or not entries:
        raise PlanError("A line that mends a finding looks like [release] shuffle = true.")
    ((name, value),) = entries.items()
    return found[1], name, value


def _finished(plan: Plan, name: str, value: Any) -> Plan:
    held = plan.release
    entry = bool(value) if name == "shuffle" else _joined(getattr(held, name), value)
    plan = msgspec.structs.replace(plan, release=msgspec.structs.replace(held, **{name: entry}))
    return _forgetting(plan, value) if name == "drop" else plan


def _forgetting(plan: Plan, columns: Sequence[str]) -> Plan:
    """Return a plan that says nothing more of columns that are dropped."""
    replace = msgspec.structs.replace
    renumber = [one for one in plan.release.renumber if one not in columns]
    tables = [pair for pair in plan.loss.tables if not set(pair) & set(columns)]
    accept = [one for one in plan.check.accept if one.column not in columns]
    return replace(
        plan,
        release=replace(plan.release, renumber=renumber),
        step=[_without(step, columns) for step in plan.step],
        loss=replace(plan.loss, tables=tables),
        check=replace(plan.check, accept=accept),
    )


def _without(step: StepEntries, columns: Sequence[str]) -> StepEntries:
    carried = getattr(step, "carry", [])
    if not set(carried) & set(columns):
        return step
    return msgspec.structs.replace(step, carry=[one for one in carried if one not in columns])


def _stepped(plan: Plan, name: str, value: Any, key: str) -> Plan:
    """Return a plan whose steps for a key have more columns in one of their lists."""
    fitting = [
        key in names_of(getattr(one, "key", None)) and hasattr(one, name) for one in plan.step
    ]
    if not any(fitting):
        raise PlanError(f"No step of the plan changes {key!r} and has {name!r}.")
    steps = [
        msgspec.structs.replace(one, **{name: _joined(getattr(one, name), value)}) if on else one
        for one, on in zip(plan.step, fitting, strict=True)
    ]
    return msgspec.structs.replace(plan, step=steps)


def _joined(held: Sequence[str], more: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*held, *more]))
