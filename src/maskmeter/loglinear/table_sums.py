"""Sums of a table over most of its axes."""

from __future__ import annotations

from math import prod

import numpy as np

from maskmeter.types import Array

_SHORT = 8  # columns: below, sums of whole columns are faster than those of rows


def summed_to(table: Array, axes: tuple[int, ...]) -> Array:
    """Return the sums over all axes but some, given in order.

    Axes before the first of these are summed row by row, then those behind the last: both run
    through memory in order, and leave little to sum between.

    >>> summed_to(np.arange(24.0).reshape(2, 3, 4), (1,)).tolist()
    [60.0, 92.0, 124.0]
    """
    if not axes:
        return np.asarray(table.sum())
    shape, first, last = table.shape, axes[0], axes[-1]
    if first:
        table = table.reshape(prod(shape[:first]), -1).sum(axis=0)
    table = _row_sums(table.reshape(-1, prod(shape[last + 1 :])))
    table = table.reshape(shape[first : last + 1])
    between = tuple(a for a in range(table.ndim) if a + first not in axes)
    return table.sum(axis=between) if between else table


def _row_sums(rows: Array) -> Array:
    """Return the sum of each row, in this thread: a product with ones would wait for others."""
    columns = rows.shape[1]
    if columns >= _SHORT:
        return np.asarray(np.einsum("ij->i", rows))
    total: Array = rows[:, 0] if columns == 1 else rows[:, 0] + rows[:, 1]
    for column in range(2, columns):
        total += rows[:, column]
    return total
