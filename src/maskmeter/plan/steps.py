"""Converts the steps of a plan to Swap and Pram steps, and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from maskmeter.data.frames import opened
from maskmeter.data.microdata import Microdata
from maskmeter.data.varying import NOTHING, By
from maskmeter.errors import CategoryError, InputError
from maskmeter.mechanism import Matrix, as_matrix
from maskmeter.perturb import Pram, Release, Swap
from maskmeter.perturb.step import Step
from maskmeter.plan.reading import PlanFile
from maskmeter.plan.schema import Data, Move, Plan, PramStep, StepPlan, SwapStep, Varying
from maskmeter.plurals import counted


def steps_of(file: PlanFile, place: tuple[str | int, ...], sample: Microdata) -> list[Step]:
    """Return the steps that stand at some place of a plan, for the keys of a file."""
    plans: Any = file.plan
    for part in place:
        plans = plans[part] if isinstance(part, int) else getattr(plans, part)
    return [
        file.blame((*place, number), lambda one=one: step_of(one, sample, file.folder))
        for number, one in enumerate(plans)
    ]


def step_of(plan: StepPlan, sample: Microdata, folder: Path) -> Step:
    """Return a step; categories are named as in the file, or by their value labels."""
    if isinstance(plan, SwapStep):
        return Swap(
            _crossed(plan.key),
            rate=varying(plan.rate, sample),
            within=tuple(plan.within),
            description=plan.description,
            label=plan.label,
        )
    if (plan.key is None) == (plan.keys is None):
        raise InputError(
            "Give PRAM either `key` (a list moves together) or `keys` (each key moves on its own)."
        )
    key = _crossed(plan.key) if plan.key is not None else [_crossed(one) for one in plan.keys or ()]
    names = key if isinstance(key, tuple) else (key,)
    return Pram(
        key,
        None if plan.stay is None else varying(plan.stay, sample),
        matrix=None if plan.matrix is None else matrix_of(plan.matrix, plan.categories, folder),
        blend=plan.blend,
        invariant=plan.invariant,
        forbidden=[
            (_end(move.true, names, sample), _end(move.released, names, sample))
            for move in plan.forbidden
        ],
        label=plan.label,
    )


def varying(value: float | Varying, sample: Microdata) -> float | By[float]:
    """Return a number, or one that varies with keys."""
    if not isinstance(value, Varying):
        return value
    keys = (value.by,) if isinstance(value.by, str) else tuple(value.by)
    values = tuple(_leaves(value.values, keys, sample))
    return By(keys, values, NOTHING if value.otherwise is None else value.otherwise)


def matrix_of(
    source: str | list[list[float]],
    categories: Sequence[str | float | list[str]] | None,
    folder: Path,
) -> Matrix:
    """Return P[true, released] from a file with its categories in the first row and column."""
    if isinstance(source, str):
        path = folder / source
        frame = opened(path).load().to_polars()
        numbers = frame.select(frame.columns[0], *_numbers(frame, source))
        return as_matrix(numbers, name=source)
    plain = as_matrix(source, name="the plan")
    if categories is None:
        return plain
    if len(categories) != len(plain.P):
        raise InputError(
            f"`categories` must name the {len(plain.P)} rows of the matrix, not {len(categories)}."
        )
    return Matrix(plain.P, tuple(_spelled(category) for category in categories))


def _spelled(category: str | float | list[str]) -> Hashable:
    """Return a category as the file would have it; a whole number is one, whatever TOML makes of it."""
    if isinstance(category, list):
        return tuple(category)
    return int(category) if isinstance(category, float) and category.is_integer() else category


def plan_of(step: Step) -> StepPlan:
    """Return a step as a plan would say it, matrices written out.

    >>> plan_of(Swap("lad", rate=0.2))
    SwapStep(key='lad', rate=0.2, within=[], description='balanced', label='swap lad')
    """
    if isinstance(step, Swap):
        return SwapStep(
            _uncrossed(step.key),
            _said(step.rate),
            within=list(step.within),
            description=step.description,
            label=step.label,
        )
    if not isinstance(step, Pram) or isinstance(step.matrix, By):
        raise InputError(f"A plan cannot express the step {step.label!r}.")
    single = len(step.targets) == 1
    written = step.matrix.P.tolist() if step.matrix is not None else None
    names = step.matrix.categories if step.matrix is not None else None
    return PramStep(
        key=_uncrossed(step.targets[0]) if single else None,
        keys=None if single else [_uncrossed(one) for one in step.targets],
        stay=None if step.stay is None else _said(step.stay),
        matrix=written,
        categories=None if names is None else [_text(one) for one in names],
        blend=step.blend,
        invariant=step.invariant,
        forbidden=[Move(_text(true), _text(released)) for true, released in step.forbidden],
        label=step.label,
    )


def plan_of_release(data: Release | Microdata, *, household: str | None = None) -> Plan:
    """Return the plan that a release was made by, as far as its file is known."""
    original = data.original if isinstance(data, Release) else data
    made = data.provenance if isinstance(data, Release) else None
    reading = {} if original.origin is None else dict(original.origin.reading)
    fraction = None if original.fraction is None else _said(original.fraction)
    return Plan(
        data=Data(
            keys=list(original.space.names), fraction=fraction, household=household, **reading
        ),
        step=[] if made is None else [plan_of(step) for step in made.steps],
    )


def _crossed(key: str | list[str]) -> Any:
    return tuple(key) if isinstance(key, list) else key


def _uncrossed(names: tuple[str, ...]) -> str | list[str]:
    return names[0] if len(names) == 1 else list(names)


def _leaves(
    values: dict[str, Any], keys: tuple[str, ...], sample: Microdata
) -> Iterator[tuple[tuple[Hashable, ...], float]]:
    """Yield each combination of categories with its number; one table within another for each key."""
    for text, inner in values.items():
        at = category(sample, keys[0], text)
        if len(keys) > 1:
            if not isinstance(inner, dict):
                raise InputError(
                    f"With {counted(len(keys), 'key')} in `by`, `values` needs tables nested {len(keys)} deep."
                )
            yield from (((at, *rest), one) for rest, one in _leaves(inner, keys[1:], sample))
        else:
            yield (at,), inner


def category(sample: Microdata, key: str, text: str) -> Hashable:
    """Return the category that a plan names, by its value in the file or by its value label."""
    known = sample.space[key]
    try:
        return known.categories[known.code(text)]
    except CategoryError:
        labelled = [one for one in known.categories if sample.value_label(key, one) == text]
        if len(labelled) != 1:
            raise
        return labelled[0]


def _end(given: str | list[str] | None, names: tuple[Any, ...], sample: Microdata) -> Any:
    if given is None:
        return ...
    if isinstance(given, str):
        return category(sample, names[0], given)
    return tuple(category(sample, name, one) for name, one in zip(names, given, strict=True))


def _numbers(frame: Any, source: str) -> list[Any]:
    columns = [frame[name].cast(pl.Float64, strict=False) for name in frame.columns[1:]]
    if not columns or any(column.null_count() for column in columns):
        raise InputError(
            f"{source!r} must hold a matrix: the categories in its first row and first column, and"
            " numbers with decimal points in all other cells."
        )
    return columns


def _said(value: float | By[float]) -> float | Varying:
    if not isinstance(value, By):
        return value
    nested: dict[str, Any] = {}
    for at, number in value.values:
        inner = nested
        for part in at[:-1]:
            inner = inner.setdefault(str(part), {})
        inner[str(at[-1])] = number
    rest = None if value.otherwise is NOTHING else value.otherwise
    return Varying(_uncrossed(value.keys), nested, rest)  # type: ignore[arg-type]


def _text(category: Any) -> Any:
    if category is ...:
        return None
    return [str(one) for one in category] if isinstance(category, tuple) else str(category)
