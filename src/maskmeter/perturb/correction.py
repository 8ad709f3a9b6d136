"""What analysts can do: unbiased estimates of the original counts from a file after PRAM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.data.frames import POLARS, FrameKind, as_kind
from maskmeter.data.keys import Codes, Key, KeySpace
from maskmeter.data.microdata import Microdata
from maskmeter.display import InWords, facts
from maskmeter.errors import InputError, MatrixError
from maskmeter.mechanism import Mechanism, Misclassification, as_mechanism
from maskmeter.mechanism.factor import Factor
from maskmeter.page import Table
from maskmeter.perturb.release import Release
from maskmeter.plurals import counted
from maskmeter.types import Array

_MOST_CELLS = 1_000_000
_MOST_CATEGORIES = 2_000  # of a column that is no key
_SINGULAR = 1e12  # condition number beyond which an inverse has no digits left


@dataclass(frozen=True, eq=False)
class CorrectedCounts(InWords):
    """Counts of the released records, and estimates of their original ones with standard errors.

    The arrays have a row per category of the first column, and a column per category of the second.
    Counts are weighted if the file has weights.
    """

    space: KeySpace
    released: NDArray[Any]
    estimate: Array
    standard_error: Array
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

    def __repr__(self) -> str:
        """Return the columns: small counts stay out of logs."""
        return f"CorrectedCounts({' x '.join(self.space.names)})"

    def summary(self) -> str:
        """Return a short account that shows no count."""
        return (
            f"Original counts of {' x '.join(self.space.names)} among the released records, estimated"
            f" for {counted(self.space.size, 'cell')} with standard errors of"
            f" {self.standard_error.max():,.1f} at most."
        )

    def _tables(self) -> Iterator[Table]:
        """Yield the size of the table and of the errors: no count."""
        yield facts(
            ("columns (categories)", self.space.in_words),
            ("total count", f"{self.released.sum():,.0f}"),
            ("median standard error", f"{np.median(self.standard_error):,.1f}"),
            ("largest standard error", f"{self.standard_error.max():,.1f}"),
        )

    def to_frame(self) -> Any:
        """Return a row per cell: its categories, released count, estimate and standard error."""
        return as_kind(self._frame(), self.frame_kind)

    def _frame(self) -> pl.DataFrame:
        cells = self.space.codes(np.arange(self.space.size))
        columns: dict[str, Any] = {
            key.name: [key.categories[code] for code in cells[:, position]]
            for position, key in enumerate(self.space.keys)
        }
        columns["released"] = self.released.ravel()
        columns["estimate"] = self.estimate.ravel()
        columns["standard_error"] = self.standard_error.ravel()
        return pl.DataFrame(columns)


def correct_counts(
    data: Release | Microdata,
    rows: str,
    *,
    columns: str | None = None,
    misclassification: Misclassification | Mechanism | Mapping[Any, Any] | None = None,
) -> CorrectedCounts:
    """Return unbiased estimates of the original one- or two-way counts after PRAM.

    `rows` and `columns` are keys, or any other columns of your file, in which nothing was changed.
    Counts are weighted if the file has weights. After a recode they are those of the groups, after
    a subsample those of the records that were released. An analyst who has the released file and
    the matrix can do this too. Standard errors are about the randomness of PRAM alone, given the original file.

    >>> import polars as pl, maskmeter as mm
    >>> released = mm.read(pl.DataFrame({"sex": ["f"] * 52 + ["m"] * 48}), keys=["sex"])
    >>> errors = {"sex": [[0.9, 0.1], [0.2, 0.8]]}
    >>> mm.correct_counts(released, "sex", misclassification=errors).estimate.round(1).tolist()
    [45.7, 54.3]

    With f~ the released counts, `f^ = f~ P^-1`; a two-way table takes the inverse on both sides.
    Record i with weight w_i and released value r_i adds `w_i a_i` to the count of c, where `a_i` is
    the entry (r_i, c) of P^-1. Records move independently, so the variance is the sum of
    `w_i^2 Var(a_i)`, and `sum of w_i^2 (a_i^2 - a_i)` is an unbiased estimate of it.
    """
    names = (rows,) if columns is None else (rows, columns)
    if not all(isinstance(name, str) for name in names):
        raise InputError("`rows` and `columns` must be names of columns.")
    mechanism, released = _door(data, misclassification)
    released.check_held("Correcting counts")
    if len(set(names)) < len(names):
        raise InputError("`rows` and `columns` must be two different columns.")
    whole, codes = _with_columns(released, names)
    space = whole.project(names)
    if space.size > _MOST_CELLS:
        raise InputError(
            f"The table has {space.size:,} cells; at most {_MOST_CELLS:,} can be corrected. Use"
            " coarser columns."
        )
    weights = np.ones(len(codes)) if released.weights is None else released.weights
    axes = _axes(mechanism.on(whole), names)
    _check_correctable(data, {whole.names[c] for axis in axes for c in axis.factor.needed})
    estimate, variance = _estimates(axes, codes, weights)
    cells = space.number(codes[:, [whole.index(name) for name in names]])
    counts = np.bincount(cells, weights=released.weights, minlength=space.size)
    error = np.sqrt(np.maximum(variance, 0))
    sizes = space.sizes
    return CorrectedCounts(
        space,
        counts.reshape(sizes),
        estimate.reshape(sizes),
        error.reshape(sizes),
        frame_kind=data.frame_kind,
    )


def _door(
    data: Release | Microdata, given: Misclassification | Mechanism | Mapping[Any, Any] | None
) -> tuple[Mechanism, Microdata]:
    if isinstance(data, Microdata) and given is not None:
        return as_mechanism(given, data.space), data
    if not isinstance(data, Release) or given is not None:
        raise InputError(
            "Give a release, or a released file (mm.read) with its `misclassification`."
        )
    return data.mechanism, data.released


def _check_correctable(data: Release | Microdata, used: set[str]) -> None:
    """Refuse a step that changed one of the keys `used`, unless tables can be corrected for it."""
    made = data.provenance if isinstance(data, Release) else None
    for step in () if made is None else made.steps:
        changed = [name for name in step.altered_keys if name in used]
        if changed and not step.correctable:
            raise InputError(
                f"The table depends on {changed[0]!r}, which was changed by {step.label!r}. These"
                " estimates and their standard errors hold for PRAM only, which changes every record"
                " on its own. Choose other columns."
            )


def _with_columns(data: Microdata, names: tuple[str, ...]) -> tuple[KeySpace, Codes]:
    """Return the keys of a file with the other columns that are asked for, and each record's codes."""
    others = {name: data.column(name) for name in names if name not in data.space.names}
    for name, column in others.items():
        if not 2 <= (size := len(column.categories)) <= _MOST_CATEGORIES:
            raise InputError(
                f"{name!r} has {counted(size, 'distinct value')}; a table needs 2 to"
                f" {_MOST_CATEGORIES:,}. Choose another column."
            )
    keys = [Key(name, column.categories) for name, column in others.items()]
    codes = [data.codes, *(column.codes for column in others.values())]
    return KeySpace([*data.space.keys, *keys]), np.column_stack(codes)


def _estimates(axes: list[_Axis], codes: Codes, weights: Array) -> tuple[Array, Array]:
    """Return the estimated counts and their variances, flat: each stratum has its own matrices."""
    size = prod(axis.size for axis in axes)
    estimate, variance = np.zeros(size), np.zeros(size)
    strata = np.column_stack([axis.factor.stratum(codes) for axis in axes])
    for kind in np.unique(strata, axis=0):
        here = (strata == kind).all(axis=1)
        inverses = [axis.inverse(int(s)) for axis, s in zip(axes, kind, strict=True)]
        place = tuple(axis.factor.code(codes[here]) for axis in axes)
        table, squares = np.zeros((2, *(len(inverse) for inverse in inverses)))
        np.add.at(table, place, weights[here])
        np.add.at(squares, place, weights[here] ** 2)
        estimate += _both_sides(inverses, table)
        variance += _both_sides([inverse**2 for inverse in inverses], squares)
        variance -= _both_sides(inverses, squares)
    return estimate, variance


def _both_sides(inverses: list[Array], table: Array) -> Array:
    """Return the table with each axis taken back through its inverse, flat."""
    for inverse in inverses:  # the first axis goes to the back, so that the next comes to the front
        table = table.reshape(len(inverse), -1).T @ inverse
    return table.ravel()


@dataclass(frozen=True, eq=False)
class _Axis:
    """One way back: from the released categories of a factor to the counts that are asked for."""

    factor: Factor
    wanted: NDArray[np.int64]  # of each category of the factor: the count it belongs to
    size: int

    def inverse(self, stratum: int) -> Array:
        """Return P^-1, summed over the categories that belong to one count."""
        P = self.factor.P[stratum]
        if np.linalg.cond(P) > _SINGULAR:
            raise MatrixError(
                f"The matrix of {self.factor.name!r} cannot be inverted: its rows are linearly"
                " dependent, so the released counts do not determine the original ones."
            )
        member = np.zeros((len(P), self.size))
        member[np.arange(len(P)), self.wanted] = 1
        inverse: Array = np.linalg.inv(P) @ member
        return inverse


def _axes(mechanism: Mechanism, names: tuple[str, ...]) -> list[_Axis]:
    """Return an axis for each key that is asked for; crossed keys that are both asked for are one."""
    space = mechanism.space
    groups: dict[str, tuple[Factor, list[str]]] = {}
    for name in names:
        factor = mechanism.factor_of(name)
        groups.setdefault(factor.name, (factor, []))[1].append(name)
    axes = []
    for factor, wanted in groups.values():
        part = space.project(wanted)
        cells = np.unravel_index(np.arange(factor.size), factor.sizes)
        columns = [cells[factor.columns.index(space.index(name))] for name in wanted]
        axes.append(_Axis(factor, part.number(np.stack(columns, axis=1)), part.size))
    return axes
