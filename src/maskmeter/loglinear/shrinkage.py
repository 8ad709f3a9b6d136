"""Means of all cells by shrinking every margin of one, two and three keys in turn.

No term is searched for: each takes its posterior mean, given what the rest of the model expects of
it, and one that explains nothing stays at 1. Neighbouring categories share what they have in
common: a margin is first shrunk in groups of 16, 8, 4 and 2 of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Protocol

import numpy as np

from maskmeter.data.keys import KeySpace
from maskmeter.loglinear.posterior import Shrinker
from maskmeter.loglinear.terms import Term
from maskmeter.types import Array

WIDTHS = (16, 8, 4, 2)
PASSES = 4
LARGEST_MARGIN = 60_000  # cells of a three-way term
_ORDERS = (1, 2, 3)
_LAST = _ORDERS[-1]


class Margins(Protocol):
    """Margins of a table, each with the number of its units that vary like one record."""

    @property
    def space(self) -> KeySpace:
        """The keys."""

    @property
    def total(self) -> float:
        """Sum of all units."""

    def margin(self, keys: Term) -> Array:
        """Return the margin of some keys, an axis for each."""

    def unit(self, keys: Term) -> float:
        """Return how many units of a margin tell as much as one record."""


@dataclass(frozen=True)
class ShrunkTerm:
    """A term of the model: what it gained, and the squared variation of its posterior.

    `gain` is in units of log likelihood, from all widths together in the last pass.
    """

    keys: Term
    gain: float
    variance: Array


class Shrinkage:
    """A table of means that is brought closer to the counts of a file, pass after pass."""

    def __init__(self, means: Array, terms: list[_Term]) -> None:
        self.means = means
        self._terms = terms

    @classmethod
    def flat(cls, table: Margins) -> Shrinkage:
        """Return the same mean for all cells, and the terms that will change them."""
        space = table.space
        terms = [
            _Term(keys, table.margin(keys), table.unit(keys))
            for order in _ORDERS
            for keys in combinations(range(len(space.keys)), order)
            if order < _LAST or prod(space.sizes[key] for key in keys) <= LARGEST_MARGIN
        ]
        return cls(np.full(space.sizes, table.total / space.size), terms)

    @classmethod
    def of(cls, table: Margins) -> Shrinkage:
        """Return the means of all cells after all passes."""
        made = cls.flat(table)
        for _ in range(PASSES if table.total else 0):
            made.go_through()
        return made

    @property
    def terms(self) -> tuple[ShrunkTerm, ...]:
        """The terms that are left."""
        return tuple(ShrunkTerm(one.keys, one.gain, one.variance) for one in self._terms)

    def go_through(self) -> None:
        """Shrink every term once, then forget three-way terms that gained nothing."""
        axes = tuple(range(self.means.ndim))
        for order in _ORDERS:
            chosen = [term for term in self._terms if len(term.keys) == order]
            if chosen:
                self.means = _swept(self.means, axes, chosen, ours=True)
        self._terms = [one for one in self._terms if len(one.keys) < _LAST or one.gain > 0]


class _Term:
    """A margin, the factor it has put into the means, and its counts at every width."""

    def __init__(self, keys: Term, units: Array, unit: float) -> None:
        self.keys, self.unit = keys, unit
        counts = units / unit
        self.factor: Array | float = 1.0
        self.variance, self.gain = np.zeros_like(counts), 0.0
        self.room = _room(counts)
        self.levels: list[tuple[int, tuple[int, ...], Shrinker]] = []
        for width in (*WIDTHS, 1):
            axes = tuple(a for a, size in enumerate(counts.shape) if size >= 2 * width)
            if width == 1:
                self.levels.append((1, axes, Shrinker(counts)))
            elif axes:
                self.levels.append((width, axes, Shrinker(_grouped(counts, axes, width))))

    def update(self, margin: Array) -> Array:
        """Return the margin of the means after this term is shrunk anew."""
        total = margin.sum() / self.unit
        without = margin / self.factor
        without *= total / without.sum()
        found, gains = without, []
        for width, axes, shrinker in self.levels:
            if width == 1:
                posterior = shrinker.shrink(found)
                found = posterior.mean
                self.variance = posterior.variation * self.room
            else:
                coarse = _grouped(found, axes, width)
                posterior = shrinker.shrink(coarse)
                if posterior.gain > 0:
                    ratio = posterior.mean / coarse
                    found = found * _spread(ratio, axes, width, found.shape)
            gains.append(posterior.gain)
        self.gain = sum(gain for gain in gains if gain > 0)
        scaled = found * (total / found.sum())
        self.factor = scaled / without
        return np.asarray(scaled * self.unit)


def _swept(table: Array, axes: Term, terms: list[_Term], *, ours: bool = False) -> Array:
    """Return a table over some keys after each of the terms has been shrunk.

    Terms that lack a key are worked on in the sums over it, so that few dense sums are made. A
    table that is `ours` is changed in place: a new one of many cells takes longer than the work.
    """
    while terms:
        lacking = [a for a in axes if any(a not in term.keys for term in terms)]
        if not lacking:
            (term,) = terms
            return term.update(table)
        over = max(lacking, key=lambda axis: table.shape[axes.index(axis)])
        at = axes.index(over)
        before = table.sum(axis=at)
        after = _swept(
            before, axes[:at] + axes[at + 1 :], [term for term in terms if over not in term.keys]
        )
        after /= before
        table = np.multiply(table, np.expand_dims(after, at), out=table if ours else None)
        ours = True
        terms = [term for term in terms if over in term.keys]
    return table


def _room(counts: Array) -> Array:
    """Return how free each cell of a margin is, given the margins of one key less.

    `product over the keys of (1 - n / sum of n over that key)`
    """
    room = np.ones_like(counts)
    for axis in range(counts.ndim):
        room *= 1 - counts / np.maximum(counts.sum(axis=axis, keepdims=True), 1)
    return room


def _grouped(table: Array, axes: tuple[int, ...], width: int) -> Array:
    """Return a table summed over groups of so many neighbours along some axes."""
    for axis in axes:
        table = np.add.reduceat(table, np.arange(0, table.shape[axis], width), axis=axis)
    return table


def _spread(table: Array, axes: tuple[int, ...], width: int, shape: tuple[int, ...]) -> Array:
    """Return a table of groups with the value of its group for each of the neighbours."""
    for axis in axes:
        table = np.take(table, np.arange(shape[axis]) // width, axis=axis)
    return table
