"""Fitted means of all cells: as the small tables they factorise into, or as one table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes, KeySpace
from maskmeter.loglinear.components import JunctionTree
from maskmeter.loglinear.terms import Term
from maskmeter.streams import uniforms
from maskmeter.types import Array


class Means(Protocol):
    """Fitted means of all cells of a key space."""

    @property
    def total(self) -> float:
        """Sum of all means."""

    def at(self, codes: Codes) -> Array:
        """Return the fitted mean of each cell."""

    def dense(self) -> Array:
        """Return the fitted means of all cells, an axis for each key."""

    def margin(self, keys: Term) -> Array:
        """Return the fitted margin of some keys, an axis for each."""

    def draw(self, number: int, *, seed: int) -> Codes:
        """Return the codes of cells that are drawn in proportion to their means."""


@dataclass(frozen=True, eq=False, repr=False)
class DenseMeans:
    """Fitted means of all cells as one table."""

    space: KeySpace
    table: Array

    @property
    def total(self) -> float:
        """Sum of all means."""
        return float(self.table.sum())

    def at(self, codes: Codes) -> Array:
        """Return the fitted mean of each cell."""
        found: Array = self.table[tuple(codes.T)]
        return found

    def dense(self) -> Array:
        """Return the fitted means of all cells, an axis for each key."""
        return self.table

    def margin(self, keys: Term) -> Array:
        """Return the fitted margin of some keys, an axis for each."""
        others = tuple(key for key in range(self.table.ndim) if key not in keys)
        held = sorted(keys)
        margin: Array = self.table.sum(axis=others)
        return margin.transpose([held.index(key) for key in keys])

    def draw(self, number: int, *, seed: int) -> Codes:
        """Return the codes of cells that are drawn in proportion to their means."""
        words = uniforms(seed, "cells", start=0, stop=number)
        return self.space.codes(_draw_within(self.table.reshape(1, -1), 0, words))


@dataclass(frozen=True, eq=False, repr=False)
class FittedMeans:
    """Fitted means of a hierarchical model: `product of components / product of separators`."""

    space: KeySpace
    generators: tuple[Term, ...]
    tree: JunctionTree
    components: tuple[Array, ...]
    separators: tuple[Array, ...]
    sweeps: int
    deviation: float  # of the fitted margins from the observed ones, summed, against their total
    converged: bool

    @cached_property
    def _factors(self) -> list[tuple[Term, Array]]:
        """Tables to multiply: components, each over the separator that ties it to its parent."""
        factors: list[tuple[Term, Array]] = []
        for keys, table, separator, below in zip(
            self.tree.components,
            self.components,
            self.tree.separators,
            self.separators,
            strict=True,
        ):
            if not factors:
                factors.append((keys, table))
                continue
            held = below.reshape([self.space.sizes[k] if k in separator else 1 for k in keys])
            factors.append((keys, np.divide(table, held, out=np.zeros_like(table), where=held > 0)))
        return factors

    @property
    def total(self) -> float:
        """Sum of all means."""
        return float(self.components[0].sum())

    def at(self, codes: Codes) -> Array:
        """Return the fitted mean of each cell."""
        total = np.ones(len(codes))
        for keys, table in self._factors:
            total *= table[tuple(codes[:, key] for key in keys)]
        return total

    def dense(self) -> Array:
        """Return the fitted means of all cells, an axis for each key."""
        total = np.ones([1] * len(self.space.keys))
        for keys, table in sorted(self._factors, key=lambda factor: factor[1].size):
            sizes = [size if k in keys else 1 for k, size in enumerate(self.space.sizes)]
            total = total * table.reshape(sizes)
        return total

    def margin(self, keys: Term) -> Array:
        """Return the fitted margin of some keys, also of keys that no component holds together."""
        used = [self._factors[position] for position in self._needed(keys)]
        # einsum has 52 names for axes: they go to the keys that are here.
        label = {
            key: number for number, key in enumerate(dict.fromkeys(k for t, _ in used for k in t))
        }
        operands: list[object] = []
        for term, table in used:
            operands += [table, [label[key] for key in term]]
        wanted = [label[key] for key in keys]
        margin: Array = np.einsum(*operands, wanted, optimize="greedy")  # type: ignore[call-overload]
        return margin

    def _needed(self, keys: Term) -> list[int]:
        """Return the components that a margin depends on: leaves that only add up to 1 are cut."""
        needed = list(range(len(self.tree.components)))
        for position in reversed(needed[1:]):  # children stand behind their parents
            wanted = set(keys) & set(self.tree.components[position])
            is_leaf = all(self.tree.parents[other] != position for other in needed)
            if is_leaf and wanted <= set(self.tree.separators[position]):
                needed.remove(position)
        return needed

    def draw(self, number: int, *, seed: int) -> Codes:
        """Return the codes of cells that are drawn from the model, in proportion to their means.

        Each component is drawn given its separator, from a stream named by its keys: models that
        share a component share its random numbers.
        """
        codes = np.zeros((number, len(self.space.keys)), dtype=self.space.code_type, order="F")
        for keys, separator, table in zip(
            self.tree.components, self.tree.separators, self.components, strict=True
        ):
            label = "/".join(self.space.names[key] for key in keys)
            words = uniforms(seed, label, start=0, stop=number)
            rest = tuple(key for key in keys if key not in separator)
            rows = table.transpose([keys.index(key) for key in (*separator, *rest)])
            shape = rows.shape[len(separator) :]
            rows = rows.reshape(-1, int(np.prod(shape)))
            given = [codes[:, key] for key in separator]
            row = np.ravel_multi_index(given, table_sizes(self.space, separator)) if given else 0
            found = np.unravel_index(_draw_within(rows, row, words), shape)
            for key, code in zip(rest, found, strict=True):
                codes[:, key] = code
        return codes


def table_sizes(space: KeySpace, keys: Term) -> tuple[int, ...]:
    """Return the number of categories of each of some keys."""
    return tuple(space.sizes[key] for key in keys)


def _draw_within(rows: Array, row: NDArray[np.int64] | int, words: Array) -> NDArray[np.int64]:
    """Return a column for each word, drawn in proportion to the values of its row."""
    ends = np.cumsum(rows.ravel())
    starts = np.concatenate([[0.0], ends[rows.shape[1] - 1 :: rows.shape[1]]])
    low, high = starts[row], starts[np.asarray(row) + 1]
    place = np.searchsorted(ends, low + words * (high - low), side="right")
    # A word next to 1 may round up to the end of its row: step back to a column that has a value.
    last = np.searchsorted(ends, high, side="left")
    column: NDArray[np.int64] = np.minimum(place, last) % rows.shape[1]
    return column
