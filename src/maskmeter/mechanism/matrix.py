"""Misclassification matrices of one key: P[true, released], every row sums to one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import check_number, locked, shown
from maskmeter.data.keys import Key
from maskmeter.errors import CategoryError, MatrixError
from maskmeter.plurals import plural

_LARGEST = 20_000  # categories: a matrix of 3 GB
_TOLERANCE = 1e-6  # rows that were rounded to single precision are made to sum to one


def stay_or_move(size: int, *, stay: float) -> NDArray[np.float64]:
    """Return P[true, released] that keeps a category with probability `stay`.

    The rest is shared equally between the other categories.

    >>> stay_or_move(3, stay=0.8).round(12).tolist()
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    """
    check_number(stay, name="stay", least=0, most=1, error=MatrixError)
    if not isinstance(size, int | np.integer) or not 2 <= size <= _LARGEST:
        raise MatrixError(
            f"`size` must be a number of categories from 2 to {_LARGEST:,}, not {shown(size)}."
        )
    P = np.full((size, size), (1 - stay) / (size - 1))
    np.fill_diagonal(P, stay)
    return P


@dataclass(frozen=True, eq=False)
class Matrix:
    """A checked P[true, released], with the categories of its rows when they are known."""

    P: NDArray[np.float64]
    categories: tuple[Hashable, ...] | None = None

    def __eq__(self, other: object) -> bool:
        """Return True when both hold the same probabilities for the same categories."""
        if not isinstance(other, Matrix):
            return NotImplemented
        return self.categories == other.categories and np.array_equal(self.P, other.P)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the size: categories stay out of logs."""
        return f"Matrix({len(self.P)} categories)"

    def follow(self, keys: Sequence[Key], name: str) -> NDArray[np.float64]:
        """Return the probabilities in the order of the categories of `keys`.

        Without labels the rows follow the categories as they stand.
        """
        size = int(np.prod([key.size for key in keys]))
        if len(self.P) != size:
            raise MatrixError(
                f"The matrix for {name!r} is {len(self.P)} by {len(self.P)}, but {name!r} has"
                f" {size} categories. When the population has more categories than the sample,"
                " read the sample with keys=population.space."
            )
        if self.categories is None:
            return self.P
        order = [_position(keys, label, name, row) for row, label in enumerate(self.categories)]
        if len(set(order)) < size:
            raise MatrixError(
                f"Two row labels of the matrix for {name!r} name the same category. Give each row its own."
            )
        place = np.argsort(order)
        return self.P[np.ix_(place, place)]


def as_matrix(source: Any, *, name: str) -> Matrix:
    """Return a checked P[true, released] for the key called `name`.

    Arrays follow the key's categories. Frames are matched by label: a pandas frame has the true
    categories as its index and the released ones as its columns; in other frames the first column
    holds the true categories.

    >>> as_matrix([[0.9, 0.1], [0.2, 0.8]], name="sex").P.tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """
    if isinstance(source, Matrix):
        return source
    labelled = _labelled(source, name)
    values, rows, columns = labelled if labelled is not None else (source, None, None)
    try:
        P = np.array(values) if np.iscomplexobj(values) else np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise _refused(name, "it does not hold numbers in rows of equal length") from None
    _check_probabilities(P, name)
    P = P / P.sum(axis=1, keepdims=True)
    if rows is None or columns is None:
        return Matrix(locked(P))
    return Matrix(locked(P[:, _same_order(rows, columns, name)]), tuple(rows))


def _check_probabilities(P: NDArray[np.float64], name: str) -> None:
    if np.iscomplexobj(P):
        raise _refused(name, "its entries are complex numbers")
    if P.ndim != 2 or P.shape[0] != P.shape[1]:
        shape = " by ".join(map(str, P.shape)) or "a single number"
        raise _refused(name, f"it must be square, but it is {shape}")
    if np.isnan(P).any():
        bad = int(np.isnan(P).sum())
        raise _refused(
            name, f"{bad} of its entries {plural(bad, 'is not a number', 'are not numbers')}"
        )
    if (P < 0).any():
        bad = int((P < 0).sum())
        raise _refused(name, f"{bad} of its entries {plural(bad, 'is', 'are')} negative")
    off = np.abs(P.sum(axis=1) - 1)
    if (off > _TOLERANCE).any():
        worst = int(off.argmax())
        total = P[worst].sum()
        hint = (
            ". Its columns sum to 1: give the transpose, P[true, released]"
            if (np.abs(P.sum(axis=0) - 1) <= _TOLERANCE).all()
            else ""
        )
        raise _refused(
            name, f"every row must sum to 1, but row {worst + 1} sums to {total:.6g}{hint}"
        )


def _labelled(source: Any, name: str) -> tuple[Any, list[Any], list[Any]] | None:
    """Return the values, row labels and column labels of a frame; None when it is not a frame."""
    try:
        frame = nw.from_native(source, pass_through=True, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise _refused(name, "two of its columns have the same label") from None
    if not isinstance(frame, nw.DataFrame):
        return None
    first = next(iter(frame.schema.values()))
    if frame.implementation.is_pandas_like() and first.is_numeric():
        return source.to_numpy(), source.index.tolist(), source.columns.tolist()
    if len(frame.columns) < 2:
        raise _refused(name, "its first column must hold the true categories")
    if first.is_float():
        raise _refused(
            name,
            "the first column of a data frame must hold the true categories, but it holds"
            " probabilities. Give an array if there are no labels",
        )
    labels, *columns = frame.columns
    return frame.select(columns).to_numpy(), frame[labels].to_list(), columns


def _same_order(rows: list[Any], columns: list[Any], name: str) -> list[int]:
    """Return where each row's category stands among the columns."""
    texts = [str(column) for column in columns]
    wanted = [str(row) for row in rows]
    if sorted(texts) != sorted(wanted) or len(set(texts)) < len(texts):
        raise _refused(name, "its row labels and column labels do not name the same categories")
    return [texts.index(text) for text in wanted]


def _position(keys: Sequence[Key], label: Any, name: str, row: int) -> int:
    """Return the row of a label; crossed keys are labelled by a tuple of categories."""
    parts = (label,) if len(keys) == 1 else label
    try:
        codes = [key.code(part) for key, part in zip(keys, parts, strict=True)]
    except (CategoryError, TypeError, ValueError):
        raise MatrixError(
            f"The label of row {row + 1} of the matrix for {name!r} is not one of the categories of"
            " that key. Label the rows with categories, or give an array in the order of the categories."
        ) from None
    return int(np.ravel_multi_index(codes, [key.size for key in keys]))


def _refused(name: str, reason: str) -> MatrixError:
    return MatrixError(f"The matrix for {name!r} is not a valid P[true, released]: {reason}.")
