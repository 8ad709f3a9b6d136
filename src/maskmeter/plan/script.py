"""A plan as Python: the lines that make and assess the same release."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from maskmeter.data.varying import NOTHING, By
from maskmeter.loglinear import DEFAULT_MODEL
from maskmeter.mechanism import Matrix
from maskmeter.perturb.pram import Pram
from maskmeter.perturb.recode import Recode
from maskmeter.perturb.step import Step
from maskmeter.plan.job import Task
from maskmeter.plan.schema import Data, TargetPlan


def python_lines(task: Task, *, source: str, provenance: str, out: str) -> str:
    """Return the lines of Python that make and assess the release of a plan.

    They read its seed from the `provenance` of a pack, and write another one to the folder `out`.
    """
    plan, steps = task.plan, task.steps
    household = plan.data.household
    finished: dict[str, Any] = {
        name: value
        for name, value in (
            ("shuffle", plan.release.shuffle),
            ("drop", plan.release.drop),
            ("renumber", plan.release.renumber),
        )
        if value
    }
    if finished and household is not None:
        finished["household"] = household
    lines = ["import json", "from pathlib import Path", ""] if steps or finished else []
    lines += ["import maskmeter as mm", "", *_population(task)]
    lines += [_call("sample = mm.read", [source], _reading(task))]
    data = "sample"
    if steps or finished:
        listed = [_Written(_step(step)) for step in steps]
        lines += [f"seed = json.loads(Path({provenance!r}).read_text())['seed']"]
        seed = {"rng": _Written("int(seed)"), **finished}
        lines += [_call("release = mm.protect", [_Written("sample"), listed], seed)]
        data = "release"
    lines += [_call("found = mm.assess", [_Written(data)], _assessed(task, household))]
    return "\n".join([*lines, "print(found.summary())", f"mm.report(found, {out!r})", ""])


class _Written(str):
    """Python that stands for itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _population(task: Task) -> list[str]:
    data = task.plan.data
    if data.population is None:
        return []
    given = [str(task.file.folder / data.population)]
    options = {"keys": list(task.sample.space.names), **_ways(data, text=False)}
    lines = [_call("population = mm.count", given, options)]
    if task.households is not None:
        options["household"] = data.household
        lines.append(_call("households = mm.count_households", given, options))
    return lines


def _reading(task: Task) -> dict[str, Any]:
    """Return how the sample is read."""
    data, sample = task.plan.data, task.sample
    keys: Any = list(sample.space.names)
    if data.population is not None:
        keys = _Written("population.space")
    given: dict[str, Any] = {"keys": keys}
    if sample.fraction is not None:
        given["fraction"] = _varying(sample.fraction)
    return given | _ways(data, text=True)


def _ways(data: Data, *, text: bool) -> dict[str, Any]:
    """Return what the plan says about values; and about the text of a file, and its columns."""
    names = ("bands", "missing_codes")
    given: dict[str, Any] = {
        name: dict(getattr(data, name)) for name in names if getattr(data, name)
    }
    given |= {} if data.missing == "refuse" else {"missing": data.missing}
    if text:
        own = ("weights", "id", "encoding", "delimiter", "decimal")
        given |= {name: value for name in own if (value := getattr(data, name)) is not None}
    return given


def _assessed(task: Task, household: str | None) -> dict[str, Any]:
    plan, known = task.plan, task.scenarios
    given: dict[str, Any] = {} if known is None else {"known": known}
    given |= {} if task.population is None else {"population": _Written("population")}
    if task.errors is not None:
        errors = {one.key: _matrix_of(task, one.key) for one in plan.error}
        given["misclassification"] = errors
    given |= {"loss": task.tables} if task.tables else {}
    given |= {} if plan.loss.measure == "worst" else {"measure": plan.loss.measure}
    given |= {} if plan.target is None else {"target": _Written(_target(plan.target))}
    given |= {} if household is None else {"household": household}
    given |= {} if task.households is None else {"households": _Written("households")}
    given |= {} if plan.data.model == DEFAULT_MODEL else {"model": plan.data.model}
    given |= {name: value for name, value in _check(task) if value}
    return given


def _check(task: Task) -> Iterator[tuple[str, Any]]:
    yield "accept", task.check_options["accept"]
    yield "earlier", [str(path) for path in task.check_options["earlier"]]


def _matrix_of(task: Task, key: str) -> Any:
    from maskmeter.perturb.entries import matrix_of

    (one,) = (one for one in task.plan.error if one.key == key)
    return matrix_of(one.matrix, one.categories, task.file.folder).P.tolist()


def _target(target: TargetPlan) -> str:
    bounds = ("max_share", "max_total", "max_record")
    given: dict[str, Any] = {name: getattr(target, name) for name in bounds}
    given = {name: value for name, value in given.items() if value is not None}
    given |= {"intruder": target.intruder, "by": target.by}
    return _call("mm.Target", [], given)


def _step(step: Step) -> str:
    """Return the call that makes a step, its categories and matrices included."""
    known = inspect.signature(type(step)).parameters
    values = {name: getattr(step, name) for name in known if hasattr(step, name)}
    if isinstance(step, Pram):
        targets = [_one(names) for names in step.targets]
        values = {"key": targets[0] if len(targets) == 1 else targets, **values}
    if isinstance(step, Recode):
        values |= {"groups": {name: list(some) for name, some in step.groups} or None}
        values |= {"bands": list(step.bands) or None}
    key = _one(values.pop("key")) if "key" in values else None
    given = {
        name: _varying(value)
        for name, value in values.items()
        if value != known[name].default and value not in ((), None)
    }
    return _call(f"mm.{type(step).__name__}", [] if key is None else [key], given)


def _one(names: Any) -> Any:
    return names[0] if isinstance(names, tuple) and len(names) == 1 else names


def _varying(value: Any) -> Any:
    """Return a value that may vary with keys, as Python writes it."""
    if isinstance(value, By):
        values = {_one(at): _varying(one) for at, one in value.values}
        rest = {} if value.otherwise is NOTHING else {"otherwise": _varying(value.otherwise)}
        return _Written(_call("mm.by", [_one(value.keys), values], rest))
    return value.P.tolist() if isinstance(value, Matrix) else value


def _call(name: str, given: Iterable[Any], options: Mapping[str, Any]) -> str:
    """Return a call, on one line if it is short."""
    parts = [*map(_python, given), *(f"{key}={_python(value)}" for key, value in options.items())]
    line = f"{name}({', '.join(parts)})"
    if len(line) <= 88:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), ")"])


def _python(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)
