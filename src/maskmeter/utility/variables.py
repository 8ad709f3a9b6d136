"""Variables of a release, keys and others, as they were and as they are given out."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskmeter.errors import ColumnNotFoundError, InputError, MaskmeterError
from maskmeter.frames import encode, listed_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskmeter.perturb import Release

    Array = NDArray[np.float64]

_MOST_CELLS = 10_000_000


@dataclass(frozen=True, eq=False)
class Variable:
    """A categorical variable: its categories, and each record's code before and after."""

    name: str
    categories: tuple[Hashable, ...]
    before: NDArray[np.integer]
    after: NDArray[np.integer]

    @classmethod
    def of(cls, release: Release, name: str) -> Variable:
        """Return a key, or any other column of the user's file, of which nothing was changed.

        Categories that no record has, before or after, are left out.
        """
        space, origin = release.original.space, release.original.origin
        if name in space.names:
            position = space.index(name)
            categories = space.keys[position].categories
            before = release.original.codes[:, position]
            after = release.released.codes[:, position]
        elif origin is not None and name in origin.frame.columns:
            categories, before = _column(origin.frame, name)
            after = before
        else:
            others = () if origin is None else tuple(origin.frame.columns)
            columns = tuple(dict.fromkeys((*space.names, *others)))
            named, listed = origin is None or origin.named, origin is None or origin.listed
            raise ColumnNotFoundError(name, columns, named=named, listed=listed)
        used, codes = np.unique(np.concatenate([before, after]), return_inverse=True)
        kept = tuple(categories[code] for code in used)
        return cls(name, kept, codes[: len(before)], codes[len(before) :])

    def __repr__(self) -> str:
        """Return the name and the size: no category or record is shown."""
        return f"Variable({self.name}: {self.size} categories)"

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.categories)

    def margins(self) -> tuple[Array, Array]:
        """Return the counts of the categories before and after."""
        one, two = (np.bincount(c, minlength=self.size) for c in (self.before, self.after))
        return one.astype(np.float64), two.astype(np.float64)


def _column(frame: Any, name: str) -> tuple[tuple[Hashable, ...], NDArray[np.integer]]:  # noqa: ANN401 - any narwhals frame
    """Return the categories of a column and each record's code, in declared order if it has one."""
    try:
        space, codes = encode(frame, listed_keys([name]), missing="category")
    except MaskmeterError:  # one category, or types that do not sort
        return _coded(name, frame[name].to_list())
    return space.keys[0].categories, codes[:, 0]


def _coded(name: str, values: list[Any]) -> tuple[tuple[Hashable, ...], NDArray[np.int64]]:
    """Return the categories of a column, in order where they have one, and each record's code."""
    if not all(isinstance(value, Hashable) for value in values):
        message = f"Column {name!r} holds lists, or the like, that cannot be told apart."
        raise InputError(message)
    distinct = list(dict.fromkeys(values))
    try:
        distinct.sort(key=lambda value: (value is None, value))
    except TypeError:  # numbers and texts in one column, say
        distinct.sort(key=str)
    place = {value: code for code, value in enumerate(distinct)}
    return tuple(distinct), np.array([place[value] for value in values], dtype=np.int64)


def tables(rows: Variable, columns: Variable) -> tuple[Array, Array]:
    """Return the two-way table of two variables before and after."""
    cells = rows.size * columns.size
    if cells > _MOST_CELLS:
        message = (
            f"The table of {rows.name!r} by {columns.name!r} has {cells:,} cells; at most"
            f" {_MOST_CELLS:,} can be compared. Use coarser variables."
        )
        raise InputError(message)
    shape = (rows.size, columns.size)
    one = np.bincount(rows.before * columns.size + columns.before, minlength=cells)
    two = np.bincount(rows.after * columns.size + columns.after, minlength=cells)
    return one.astype(np.float64).reshape(shape), two.astype(np.float64).reshape(shape)
