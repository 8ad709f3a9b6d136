"""Fitted means of all cells: as the small tables they factorise into, or as one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from maskmeter.data.keys import Codes, KeySpace
from maskmeter.loglinear.component_table import ComponentTable
from maskmeter.loglinear.components import JunctionTree
from maskmeter.loglinear.drawing import Drawn, draw_components, draw_within
from maskmeter.loglinear.observed import Counted
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

    def at_counted(self, counts: Counted) -> Array:
        """Return the fitted mean of each occupied cell of a table."""

    def dense(self) -> Array:
        """Return the fitted means of all cells, an axis for each key."""

    def margin(self, keys: Term) -> Array:
        """Return the fitted margin of some keys, an axis for each."""

    def draw(self, number: int, *, seed: int) -> Codes:
        """Return the codes of cells that are drawn in proportion to their means."""

    def drawn(self, number: int, *, seed: int) -> tuple[Codes, Array]:
        """Return the same codes, and the fitted mean of each cell."""


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

    def at_counted(self, counts: Counted) -> Array:
        """Return the fitted mean of each occupied cell of a table."""
        return self.at(counts.codes)

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
        return self.space.codes(draw_within(self.table.reshape(1, -1), 0, words))

    def drawn(self, number: int, *, seed: int) -> tuple[Codes, Array]:
        """Return the same codes, and the fitted mean of each cell."""
        codes = self.draw(number, seed=seed)
        return codes, self.at(codes)


@dataclass(frozen=True, eq=False, repr=False)
class FittedMeans:
    """Fitted means of a hierarchical model: `product of components / product of separators`."""

    space: KeySpace
    generators: tuple[Term, ...]
    tree: JunctionTree
    parts: tuple[ComponentTable, ...]
    separators: tuple[Array, ...]
    counts: Counted
    sweeps: int  # most that a component took, of those that were not taken from another fit
    last_drawn: Drawn = field(default_factory=dict)  # the same object in all models of a search

    @property
    def components(self) -> tuple[Array, ...]:
        """Fitted tables of the components."""
        return tuple(part.table for part in self.parts)

    @property
    def deviation(self) -> float:
        """How far fitted margins are from the observed ones, as a share of the total."""
        return max(part.deviation for part in self.parts)

    @property
    def converged(self) -> bool:
        """Whether all components had settled when their fitting stopped."""
        return all(part.converged for part in self.parts)

    @cached_property
    def factors(self) -> list[tuple[Term, Array]]:
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
        for keys, table in self.factors:
            total *= table[tuple(codes[:, key] for key in keys)]
        return total

    def at_counted(self, counts: Counted) -> Array:
        """Return the fitted mean of each occupied cell of a table."""
        total = np.ones(len(counts.codes))
        for keys, table in self.factors:
            total *= table.ravel()[counts.numbers(keys)]
        return total

    def dense(self) -> Array:
        """Return the fitted means of all cells, an axis for each key."""
        total = np.ones([1] * len(self.space.keys))
        for keys, table in sorted(self.factors, key=lambda factor: factor[1].size):
            sizes = [size if k in keys else 1 for k, size in enumerate(self.space.sizes)]
            total = total * table.reshape(sizes)
        return total

    def margin(self, keys: Term) -> Array:
        """Return the fitted margin of some keys, also of keys that no component holds together."""
        used = [self.factors[position] for position in self._needed(keys)]
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
        """Return the codes of cells that are drawn from the model, in proportion to their means."""
        columns, _ = draw_components(self.space, self.tree, self.parts, number=number, seed=seed)
        return self._side_by_side(columns)

    def drawn(self, number: int, *, seed: int) -> tuple[Codes, Array]:
        """Return the same codes, and the fitted mean of each cell.

        What the models of one search drew from the components that they share is used again.
        """
        columns, found = draw_components(
            self.space, self.tree, self.parts, number=number, seed=seed, before=self.last_drawn
        )
        means = np.ones(number)
        for one, (_, factor) in zip(found, self.factors, strict=True):
            means *= one.of(factor)
        return self._side_by_side(columns), means

    def _side_by_side(self, columns: list[Codes]) -> Codes:
        """Return columns of codes as one table, column after column."""
        return np.stack(columns).T


def table_sizes(space: KeySpace, keys: Term) -> tuple[int, ...]:
    """Return the number of categories of each of some keys."""
    return tuple(space.sizes[key] for key in keys)
