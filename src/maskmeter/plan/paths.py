"""The files that a plan names beside the records: a population, matrices, earlier releases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from maskmeter.perturb.entries import StepEntries
from maskmeter.plan.schema import Candidate, Plan


def with_paths(plan: Plan, change: Callable[[str], str]) -> Plan:
    """Return a plan with every path in it changed.

    >>> from maskmeter.plan.schema import Data
    >>> with_paths(Plan(data=Data(population="census.csv")), lambda path: f"../{path}").data.population
    '../census.csv'
    """
    replace, population = msgspec.structs.replace, plan.data.population
    data = replace(plan.data, population=None if population is None else change(population))
    check = replace(plan.check, earlier=[change(path) for path in plan.check.earlier])
    family = plan.family
    if family is not None:
        family = replace(family, first=_candidates(family.first, change))
    return replace(
        plan,
        data=plan.data if population is None else data,
        check=check if plan.check.earlier else plan.check,
        error=[
            replace(one, matrix=change(one.matrix)) if isinstance(one.matrix, str) else one
            for one in plan.error
        ],
        step=_steps(plan.step, change),
        candidate=_candidates(plan.candidate, change),
        family=family,
    )


def paths_of(plan: Plan) -> list[str]:
    """Return every path in a plan.

    >>> from maskmeter.plan.schema import Data
    >>> paths_of(Plan(data=Data(population="census.csv")))
    ['census.csv']
    """
    found: list[str] = []

    def note(path: str) -> str:
        found.append(path)
        return path

    with_paths(plan, note)
    return found


def _candidates(listed: Sequence[Candidate], change: Callable[[str], str]) -> list[Candidate]:
    return [msgspec.structs.replace(one, step=_steps(one.step, change)) for one in listed]


def _steps(steps: Sequence[StepEntries], change: Callable[[str], str]) -> list[StepEntries]:
    return [
        msgspec.structs.replace(one, matrix=change(matrix))
        if isinstance(matrix := getattr(one, "matrix", None), str)
        else one
        for one in steps
    ]
