"""Maximum likelihood fits of hierarchical log-linear models, component by component."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from maskmeter._checks import locked
from maskmeter.errors import InputError
from maskmeter.loglinear.components import JunctionTree, junction_tree
from maskmeter.loglinear.terms import generating_class, spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskmeter.keys import Codes, KeySpace
    from maskmeter.loglinear.terms import Term

    Array = NDArray[np.float64]

LARGEST_COMPONENT = 10_000_000
_MOST_SWEEPS = 2_000
_STRIDE = 10  # sweeps between looks at the likelihood


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

    @property
    def boundary(self) -> float:
        """Largest share of a component's cells whose fitted mean is 0: margins there are empty."""
        return max(float((table == 0).mean()) for table in self.components)

    def at(self, codes: Codes) -> Array:
        """Return the fitted mean of each cell."""
        total = np.ones(len(codes))
        for keys, table in zip(self.tree.components, self.components, strict=True):
            total *= table[tuple(codes[:, key] for key in keys)]
        for keys, table in zip(self.tree.separators[1:], self.separators[1:], strict=True):
            below = table[tuple(codes[:, key] for key in keys)]
            total = np.divide(total, below, out=np.zeros_like(total), where=below > 0)
        return total

    def margin(self, keys: Term) -> Array:
        """Return the fitted margin of some keys, also of keys that no component holds together."""
        operands: list[object] = []
        for term, table in zip(self.tree.components, self.components, strict=True):
            operands += [table, list(term)]
        for term, table in zip(self.tree.separators[1:], self.separators[1:], strict=True):
            inverse = np.divide(1.0, table, out=np.zeros_like(table), where=table > 0)
            operands += [inverse, list(term)]
        margin: Array = np.einsum(*operands, list(keys), optimize="greedy")  # type: ignore[call-overload]
        return margin


@dataclass(frozen=True, eq=False, repr=False)
class Observed:
    """The table that a model is fitted to: occupied cells and their counts, perhaps weighted."""

    space: KeySpace
    codes: Codes
    counts: Array

    @cached_property
    def total(self) -> float:
        """Sum of the counts."""
        return float(self.counts.sum())

    def margin(self, keys: Term) -> Array:
        """Return the observed margin of some keys, an axis for each."""
        sizes = [self.space.sizes[key] for key in keys]
        if not keys:
            return np.array(self.total)
        cell = np.ravel_multi_index([self.codes[:, key] for key in keys], sizes)
        margin: Array = np.bincount(cell, weights=self.counts, minlength=prod(sizes)).astype(float)
        return margin.reshape(sizes)

    def parameters(self, generators: tuple[Term, ...]) -> int:
        """Return how many parameters a model has, counting only cells of margins that occur.

        By inclusion and exclusion of the non-empty cells of each term's margins, at least one each.
        """
        terms = {part for term in generators for part in _parts(term)}
        return sum(self.degrees(term) for term in terms)

    def degrees(self, term: Term) -> int:
        """Return how many parameters a term adds to a model that holds all its parts."""
        if not term:
            return 1
        signs = ((1 if (len(term) - len(part)) % 2 == 0 else -1, part) for part in _parts(term))
        found = sum(sign * int(np.count_nonzero(self.margin(part))) for sign, part in signs)
        return max(found, 1)


def fit_means(
    observed: Observed,
    generators: tuple[Term, ...],
    *,
    start: FittedMeans | None = None,
    tolerance: float,
) -> FittedMeans:
    """Return the maximum likelihood fit of a generating class.

    A component that is one term is fitted in closed form, the others by iterative proportional
    fitting of their own small table, until the margins are met or the likelihood has settled, both
    to `tolerance` of the total. `start` is the fit of a smaller model.
    """
    tree = junction_tree(generators, len(observed.space.keys))
    tables, sweeps, deviation, converged = [], 0, 0.0, True
    for keys in tree.components:
        check_component(observed.space, keys)
        terms = _restricted(generators, keys)
        if terms == (keys,):
            tables.append(observed.margin(keys))
            continue
        first = None if start is None else start.margin(keys)
        table, needed, off = _proportional_fit(observed, keys, terms, first, tolerance)
        tables.append(table)
        sweeps, deviation = max(sweeps, needed), max(deviation, off)
        converged &= needed < _MOST_SWEEPS
    separators = tuple(locked(observed.margin(keys)) for keys in tree.separators)
    components = tuple(locked(table) for table in tables)
    return FittedMeans(
        observed.space, generators, tree, components, separators, sweeps, deviation, converged
    )


def check_component(space: KeySpace, keys: Term) -> None:
    """Refuse a component whose table does not fit in memory, before it is made."""
    size = prod(space.sizes[key] for key in keys)
    if size > LARGEST_COMPONENT:
        message = (
            f"The keys {spell(keys, space)} must be fitted together, in a table of {size:,} cells;"
            f" at most {LARGEST_COMPONENT:,} fit. Use fewer interactions, or coarser keys."
        )
        raise InputError(message)


def _parts(term: Term) -> Iterator[Term]:
    return chain.from_iterable(combinations(term, size) for size in range(len(term) + 1))


def _restricted(generators: tuple[Term, ...], keys: Term) -> tuple[Term, ...]:
    """Return the largest terms of a model inside a component."""
    return generating_class({tuple(k for k in term if k in keys) for term in generators} - {()})


def _proportional_fit(
    observed: Observed,
    keys: Term,
    terms: tuple[Term, ...],
    start: Array | None,
    tolerance: float,
) -> tuple[Array, int, float]:
    """Scale a table to the observed margins in turn until they are all met, or nothing changes.

    On sparse tables the maximum lies on the boundary, where margins are met only slowly while the
    deviance has long settled.
    """
    targets, others = [], []
    table = np.ones([observed.space.sizes[key] for key in keys]) if start is None else start.copy()
    for term in terms:
        others.append(tuple(axis for axis, key in enumerate(keys) if key not in term))
        shape = [observed.space.sizes[key] if key in term else 1 for key in keys]
        targets.append(observed.margin(term).reshape(shape))
        table = np.where(targets[-1] > 0, table, 0)
    seen = observed.margin(keys)
    held = seen > 0
    last = np.inf
    for sweep in range(1, _MOST_SWEEPS + 1):
        deviation = 0.0
        for target, axes in zip(targets, others, strict=True):
            margin = table.sum(axis=axes, keepdims=True)
            deviation = max(deviation, float(np.abs(margin - target).sum()) / observed.total)
            table *= np.divide(target, margin, out=np.zeros_like(margin), where=margin > 0)
        if deviation <= tolerance:
            break
        if sweep % _STRIDE == 0:
            likelihood = float((seen[held] * np.log(table[held])).sum())
            if abs(likelihood - last) <= tolerance * observed.total:
                break
            last = likelihood
    return table, sweep, deviation
