"""Variables of a release, keys and others, as they were and as they are given out."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.microdata import Microdata
from maskmeter.errors import InputError
from maskmeter.perturb import Release
from maskmeter.types import Array

_MOST_CELLS = 10_000_000


@dataclass(frozen=True, eq=False)
class VariableChange:
    """A categorical variable before and after: the code of each record, and its weight.

    `before` are codes of `categories`; `after` are those of the released records, which are codes
    of groups if the variable was recoded. `spread[group, category]` then shares the count of a group
    out, by the margin of the variable, which is taken to be published. `scale` is how many
    original records a released one stands for.
    """

    name: str
    categories: tuple[Hashable, ...]
    before: NDArray[np.integer]
    after: NDArray[np.integer]
    weights: Array | None = None
    weights_after: Array | None = None
    spread: Array | None = None
    scale: float = 1.0
    changed: float = 0.0  # share of the released records whose value is not the true one
    records: float = 0.0  # before, for tests; the effective number if they are weighted

    @classmethod
    def of(cls, release: Release, name: str) -> VariableChange:
        """Return a key, or any other column of the user's file: unchanged unless a key carried it.

        Categories that no record has, before or after, are left out.
        """
        original, truth = release.original, release.truth
        if name in release.released.dropped:
            raise InputError(
                f"{name!r} was dropped from the released file. Leave out tables with it."
            )
        categories, before = column_codes(original, name)
        if name in original.space.names:
            position = original.space.index(name)
            after = release.released.codes[:, position]
            changed = truth.share(after != truth.codes[:, position])
        elif original.at_source is not None:
            after, changed = column_codes(release.released, name)[1], 0.0
        else:
            true = before if release.kept is None else before[release.kept]
            carried = name in release.released.carried
            after = release.released.column(name).codes if carried else true
            changed = float((after != true).mean()) if carried else 0.0
        group = release.groups.get(name)
        held = np.bincount(before, minlength=len(categories)) > 0
        released = np.zeros(len(categories) if group is None else int(group.max()) + 1, dtype=bool)
        released[after] = True
        held |= released if group is None else released[group]
        kept = tuple(category for category, on in zip(categories, held, strict=True) if on)
        place = np.maximum(np.cumsum(held) - 1, 0)
        place = place.astype(np.min_scalar_type(len(held)))  # there is one for each record
        found = cls(
            name,
            kept,
            place[before],
            place[after] if group is None else after,
            original.amounts,
            truth.amounts,
            changed=changed,
            records=original.effective,
        )
        if group is not None:
            found = replace(found, spread=_shares(found.margins()[0], group[held], len(released)))
        return replace(found, scale=found.upscaling) if release.thinned else found

    def __repr__(self) -> str:
        """Return the name and the size: no category or record is shown."""
        return f"VariableChange({self.name}: {self.size} categories)"

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @property
    def size_after(self) -> int:
        """Number of categories or groups of the released file."""
        return self.size if self.spread is None else len(self.spread)

    @property
    def upscaling(self) -> float:
        """Original records, or their weights, over the released ones."""
        if self.weights is None or self.weights_after is None:
            return len(self.before) / len(self.after)
        return float(self.weights.sum() / self.weights_after.sum())

    def margins(self) -> tuple[Array, Array]:
        """Return the counts of the categories before and after, weighted if the records are."""
        after = _counts(self.after, self.size_after, self.weights_after)
        after = after if self.spread is None else after @ self.spread
        return _counts(self.before, self.size, self.weights), self.scale * after


def _shares(margin: Array, group: NDArray[np.integer], groups: int) -> Array:
    """Return the share of each category in the margin of its group, [group, category].

    The categories of a group that nobody had share evenly.
    """
    had = np.bincount(group, margin, groups)[group] > 0
    member = (np.arange(groups)[:, None] == group) * np.where(had, margin, 1.0)
    shares: Array = member / np.maximum(member.sum(axis=1, keepdims=True), 1e-300)
    return shares


def column_codes(data: Microdata, name: str) -> tuple[tuple[Hashable, ...], NDArray[np.integer]]:
    """Return the categories of a key, or of another column of the user's file, and each record's code."""
    column = data.column(name)
    return column.categories, column.codes


def tables(rows: VariableChange, columns: VariableChange) -> tuple[Array, Array]:
    """Return the two-way table of two variables before and after, weighted if the records are.

    The released table of a subsample is scaled up, and that of groups is spread over categories.
    """
    cells = rows.size * columns.size
    if cells > _MOST_CELLS:
        raise InputError(
            f"The table of {rows.name!r} by {columns.name!r} has {cells:,} cells; at most"
            f" {_MOST_CELLS:,} can be compared. Use coarser variables."
        )
    sizes = (rows.size_after, columns.size_after)
    after = two_way(rows.after, columns.after, sizes, rows.weights_after)
    after = after if rows.spread is None else rows.spread.T @ after
    after = after if columns.spread is None else after @ columns.spread
    before = two_way(rows.before, columns.before, (rows.size, columns.size), rows.weights)
    return before, after if rows.scale == 1 else rows.scale * after


def two_way(
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    sizes: tuple[int, int],
    weights: Array | None,
) -> Array:
    """Return the table of two columns of codes, weighted if the records are.

    >>> two_way(np.array([0, 1, 1]), np.array([0, 0, 1]), (2, 2), None).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    cell = rows.astype(np.int64) * sizes[1] + columns
    return _counts(cell, sizes[0] * sizes[1], weights).reshape(sizes)


def _counts(codes: NDArray[np.integer], size: int, weights: Array | None) -> Array:
    return np.bincount(codes, weights=weights, minlength=size).astype(np.float64)


def occupied(table: Array) -> Array:
    """Return the rows and columns of a table that have records.

    >>> occupied(np.array([[1.0, 0.0], [2.0, 0.0]])).tolist()
    [[1.0], [2.0]]
    """
    return table[table.any(axis=1)][:, table.any(axis=0)]
