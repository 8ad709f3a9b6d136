"""Changes of a plan that the page makes: each takes a plan and returns another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from maskmeter.app.results import OpenedFile
from maskmeter.perturb.entries import StepEntries
from maskmeter.plan import Plan
from maskmeter.plan.mending import mended
from maskmeter.plan.schema import Scenario, TargetPlan

# What a plan file may bring that no control of the page sets, or that may no longer fit the file.
PARTS = (
    "error",
    "data.read",
    "data.household",
    "data.id",
    "data.codes",
    "data.missing_codes",
    "data.bands",
    "loss.tables",
    "check.earlier",
    "check.accept",
    "release.drop",
    "release.renumber",
    "target",
    "step",
    "family",
)


_TOLD = {
    "keys": "the keys",
    "data": "how the file is read and was sampled",
    "target": "the target",
    "step": "the release",
    "candidate": "the points of the map",
    "release": "how the file is finished",
    "check": "what is accepted",
    "loss": "the tables of the loss",
}


def differing(plan: Plan, other: Plan) -> list[str]:
    """Return in words what differs between two plans.

    >>> from maskmeter.plan.schema import Data
    >>> differing(Plan(data=Data(keys=["sex"])), Plan(data=Data(keys=["age"], fraction=0.1)))
    ['the keys', 'how the file is read and was sampled']
    """

    def part(one: Plan, name: str) -> Any:
        if name == "keys":
            return one.data.keys, one.scenario
        return msgspec.structs.replace(one.data, keys=[]) if name == "data" else getattr(one, name)

    return [words for name, words in _TOLD.items() if part(plan, name) != part(other, name)]


def with_keys(plan: Plan, keys: Sequence[str], file: OpenedFile) -> Plan:
    """Return a plan with these keys; records without a value are counted as a category of their own.

    A key of numbers that the starter plan has bands for is put into these.
    """
    data, listed = plan.data, list(dict.fromkeys(keys))
    known = {*listed, *(name for one in plan.scenario.values() for name in one.keys)}
    bands = {name: bounds for name, bounds in data.bands.items() if name in known}
    for name in listed:
        column = file.column(name)
        if column is not None and column.bands and name not in data.keys:
            bands.setdefault(name, list(column.bands))
    coded = {name: codes for name, codes in data.missing_codes.items() if name in known}
    codes = [name for name in data.codes if name in known]
    settings = {"bands": bands, "missing_codes": coded, "codes": codes, "missing": "category"}
    return _with_data(plan, keys=listed, **settings)


def with_missing_codes(plan: Plan, column: str, codes: Sequence[str | int]) -> Plan:
    """Return a plan in which some values of a key count as missing; no codes take that away."""
    coded = {name: held for name, held in plan.data.missing_codes.items() if name != column}
    if codes:
        coded[column] = list(codes)
    return _with_data(plan, missing_codes=coded)


def with_bands(plan: Plan, column: str, bounds: Sequence[float]) -> Plan:
    """Return a plan that puts a key of numbers into bands; no bounds take the bands away."""
    bands = {name: held for name, held in plan.data.bands.items() if name != column}
    if bounds:
        bands[column] = list(bounds)
    codes = [name for name in plan.data.codes if name != column]
    return _with_data(plan, bands=bands, codes=codes)


def as_codes(plan: Plan, column: str) -> Plan:
    """Return a plan that takes the many numbers of a key for codes."""
    return _with_data(
        with_bands(plan, column, []), codes=list(dict.fromkeys([*plan.data.codes, column]))
    )


def with_fraction(plan: Plan, fraction: float | None) -> Plan:
    """Return a plan whose file holds this share of the population; None leaves it open."""
    return _with_data(plan, fraction=fraction, weights=None, population=None)


def with_weights(plan: Plan, column: str | None) -> Plan:
    """Return a plan with a column of survey weights in place of a fraction; None leaves it open."""
    return _with_data(plan, weights=column, fraction=None, population=None)


def with_population(plan: Plan, path: str) -> Plan:
    """Return a plan with a file of the whole population, which tells the sampling fraction as well.

    An empty path takes it away.
    """
    if not path:
        return _with_data(plan, population=None)
    return _with_data(plan, population=path, fraction=None, weights=None)


def without_key(plan: Plan, name: str, file: OpenedFile) -> Plan:
    """Return a plan in which no intruder knows a column."""
    scenarios = {
        one: Scenario([key for key in known.keys if key != name])
        for one, known in plan.scenario.items()
    }
    held = {one: known for one, known in scenarios.items() if known.keys}
    kept = [key for key in plan.data.keys if key != name]
    return with_keys(msgspec.structs.replace(plan, scenario=held), kept, file)


def with_steps(plan: Plan, steps: Sequence[StepEntries]) -> Plan:
    """Return a plan with these steps."""
    return msgspec.structs.replace(plan, step=list(steps))


def without_column(plan: Plan, column: str) -> Plan:
    """Return a plan that leaves a column out of the released file."""
    return mended(plan, f"[release] drop = [{json.dumps(column, ensure_ascii=False)}]")


def with_column(plan: Plan, column: str) -> Plan:
    """Return a plan that keeps a column in the released file."""
    left = [one for one in plan.release.drop if one != column]
    release = msgspec.structs.replace(plan.release, drop=left)
    return msgspec.structs.replace(plan, release=release)


def with_household(plan: Plan, column: str) -> Plan:
    """Return a plan with a column that numbers the households; an empty name takes it away."""
    return _with_data(plan, household=column or None)


def without_steps(plan: Plan) -> Plan:
    """Return a plan that leaves the values of the file as they are, and compares nothing."""
    return msgspec.structs.replace(plan, step=[], candidate=[], family=None)


def without_candidates(plan: Plan) -> Plan:
    """Return a plan without its candidates, which are on the map."""
    return msgspec.structs.replace(plan, candidate=[])


def without_part(plan: Plan, part: str) -> Plan:
    """Return a plan without one of its `PARTS`.

    >>> from maskmeter.plan.schema import Data, TargetPlan
    >>> plan = Plan(data=Data(keys=["sex"], household="home"), target=TargetPlan(max_share=0.1))
    >>> without_part(without_part(plan, "data.household"), "target") == Plan(data=Data(keys=["sex"]))
    True
    """
    table, _, entry = part.partition(".")
    held, empty = getattr(plan, table), getattr(Plan(), table)
    left = msgspec.structs.replace(held, **{entry: getattr(empty, entry)}) if entry else empty
    return msgspec.structs.replace(plan, **{table: left})


def with_target(plan: Plan, target: TargetPlan | None) -> Plan:
    """Return a plan with a target of risk, or none."""
    return msgspec.structs.replace(plan, target=target)


def with_tables(plan: Plan, tables: Sequence[tuple[str, str]]) -> Plan:
    """Return a plan with the two-way tables that analysts need."""
    loss = msgspec.structs.replace(plan.loss, tables=list(tables))
    return msgspec.structs.replace(plan, loss=loss)


def _with_data(plan: Plan, **entries: Any) -> Plan:
    return msgspec.structs.replace(plan, data=msgspec.structs.replace(plan.data, **entries))
