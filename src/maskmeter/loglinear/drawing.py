"""Cells drawn from a fitted model, component by component; what did not change is not drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes, KeySpace
from maskmeter.loglinear.component_table import ComponentTable
from maskmeter.loglinear.components import JunctionTree
from maskmeter.loglinear.terms import Term
from maskmeter.streams import uniforms
from maskmeter.types import Array, Integers


@dataclass(frozen=True, eq=False, repr=False)
class DrawnComponent:
    """The cell of a component that each draw got, given the codes of its separator.

    `place` are the numbers of the cells, separator first, and `codes` the columns of the other keys.
    """

    part: ComponentTable
    seed: int
    separator: Term
    given: tuple[Codes, ...]
    place: Integers
    codes: tuple[Codes, ...]

    def serves(
        self, part: ComponentTable, given: tuple[Codes, ...], number: int, seed: int
    ) -> bool:
        """Return True when so many draws from a component, which has this separator, are the same."""
        same = all(one is other for one, other in zip(given, self.given, strict=True))
        return same and part is self.part and len(self.place) == number and self.seed == seed

    def of(self, values: Array) -> Array:
        """Return the value of each draw's cell in a table over the same keys."""
        return _rows(self.part.keys, self.separator, values).ravel()[self.place]


Drawn = dict[tuple[Term, Term], DrawnComponent]


def draw_components(
    space: KeySpace,
    tree: JunctionTree,
    parts: Sequence[ComponentTable],
    *,
    number: int,
    seed: int,
    before: Drawn | None = None,
) -> tuple[list[Codes], list[DrawnComponent]]:
    """Return a column of codes for each key, and what was drawn from each component.

    Each component is drawn given its separator, from a stream named by its keys: models that share
    a component share its random numbers. What `before` holds of a component is used again while
    neither the component nor its separator's codes have changed; it then holds what is drawn here.
    """
    columns: list[Codes] = [np.zeros(0, dtype=space.code_type)] * len(space.keys)
    kept = {} if before is None else before
    found = []
    for part, separator in zip(parts, tree.separators, strict=True):
        given = tuple(columns[key] for key in separator)
        one = kept.get((part.keys, separator))
        if one is None or not one.serves(part, given, number, seed):
            one = _drawn(space, part, separator, given, number=number, seed=seed)
            kept[part.keys, separator] = one
        rest = [key for key in part.keys if key not in separator]
        for key, codes in zip(rest, one.codes, strict=True):
            columns[key] = codes
        found.append(one)
    for gone in kept.keys() - {(one.part.keys, one.separator) for one in found}:
        del kept[gone]
    return columns, found


def _drawn(
    space: KeySpace,
    part: ComponentTable,
    separator: Term,
    given: tuple[Codes, ...],
    *,
    number: int,
    seed: int,
) -> DrawnComponent:
    """Return cells of a component, drawn given the codes of its separator."""
    label = "/".join(space.names[key] for key in part.keys)
    words = uniforms(seed, label, start=0, stop=number)
    rows = _rows(part.keys, separator, part.table)
    sizes = dict(zip(part.keys, part.table.shape, strict=True))
    row = np.ravel_multi_index(given, [sizes[key] for key in separator]) if given else 0
    column = draw_within(rows, row, words)
    shape = [sizes[key] for key in part.keys if key not in separator]
    codes = np.indices(shape, dtype=space.code_type).reshape(len(shape), -1)
    place = row * rows.shape[1] + column
    return DrawnComponent(part, seed, separator, given, place, tuple(one[column] for one in codes))


def _rows(keys: Term, separator: Term, table: Array) -> Array:
    """Return the table of a component with a row for each cell of its separator."""
    rest = [key for key in keys if key not in separator]
    ordered = table.transpose([keys.index(key) for key in (*separator, *rest)])
    return ordered.reshape(prod(ordered.shape[: len(separator)]), -1)


def draw_within(rows: Array, row: NDArray[np.int64] | int, words: Array) -> NDArray[np.int64]:
    """Return a column for each word, drawn in proportion to the values of its row."""
    ends = np.cumsum(rows.ravel())
    starts = np.concatenate([[0.0], ends[rows.shape[1] - 1 :: rows.shape[1]]])
    low, high = starts[:-1][row], starts[1:][row]
    place = np.searchsorted(ends, low + words * (high - low), side="right")
    # A word next to 1 may round up to the end of its row: step back to a column that has a value.
    last = np.searchsorted(ends, starts[1:], side="left")[row]
    column: NDArray[np.int64] = np.minimum(place, last) % rows.shape[1]
    return column
