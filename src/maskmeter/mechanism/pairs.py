"""Released cells paired with the occupied cells they may come from, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes
from maskmeter.data.table import KeyTable
from maskmeter.mechanism.factor import Factor
from maskmeter.mechanism.mechanism import Mechanism

Sources: TypeAlias = NDArray[np.int64] | slice
_Block: TypeAlias = tuple[int, NDArray[np.int64], Sources, NDArray[np.float64]]

_PAIRS_AT_ONCE = 1 << 17  # arrays of a megabyte stay in the processor's cache
_MANY_SOURCES = 1 << 10  # of a target, on average: then it is worked on alone
_SOURCES_AT_ONCE = 1 << 13  # small arrays are not given back to the system after each block
_LARGEST_FUSED = 1 << 10  # categories of keys that are looked up together
_STEPS_PER_PAIR = 8  # array passes for each pair and fused matrix, about a multiplication each
_STEPS_ALONE = 2  # the same for a target that is worked on alone


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Fused matrices of one or more keys: where a pair's probability is found."""

    table: NDArray[np.float64]  # [stratum, released, true], flat
    base: NDArray[np.int64]  # of each target: its row in the table
    column: NDArray[np.int64]  # of each source


@dataclass(frozen=True, slots=True)
class Pairs:
    """Every released cell with every occupied cell that agrees with it on the untouched keys."""

    lookups: list[_Lookup]
    units: NDArray[np.float64]  # of each source
    place: NDArray[np.int64]  # of each source: its cell in the population
    first: NDArray[np.int64]  # of each target: its first source
    ends: NDArray[np.int64]  # of each target: the number of pairs up to and with it
    own: NDArray[np.int64]  # the numbers of the pairs in which both cells are the same

    @classmethod
    def of(cls, mechanism: Mechanism, population: KeyTable, cells: Codes) -> Pairs:
        """Return the pairs of some released cells with the cells of a population."""
        source = population.codes
        there, here = mechanism.untouched_number(source), mechanism.untouched_number(cells)
        order = np.argsort(there, kind="stable")
        there = there[order]
        first = np.searchsorted(there, here, side="left")
        ends = np.cumsum(np.searchsorted(there, here, side="right") - first)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        place, occupied = population.find(cells)
        starts = np.concatenate([[0], ends[:-1]])
        own = (starts - first + rank[place])[occupied]
        lookups = [_lookup(group, source[order], cells) for group in _fused(mechanism.factors)]
        return cls(lookups, population.counts[order].astype(np.float64), order, first, ends, own)

    @property
    def number(self) -> int:
        """Number of pairs."""
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def alone(self) -> bool:
        """Whether targets have so many sources that each is worked on alone."""
        return self.number >= _MANY_SOURCES * max(len(self.ends), 1)

    @property
    def cost(self) -> float:
        """Rough number of elementary operations."""
        steps = _STEPS_ALONE if self.alone else _STEPS_PER_PAIR
        return float(self.number) * steps * len(self.lookups)

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], Sources, NDArray[np.float64]]]:
        """Yield targets, their sources and probabilities M_jk, 0 for the own cell.

        A block has a target for each pair, in ascending order, or one for all.
        """
        for low, target, source, probability in self._alone() if self.alone else self._together():
            left, right = np.searchsorted(self.own, (low, low + len(probability)))
            probability[self.own[left:right] - low] = 0
            yield target, source, probability

    def _together(self) -> Iterator[_Block]:
        """Yield blocks of pairs one after the other, whatever their targets."""
        starts = np.concatenate([[0], self.ends[:-1]])
        for low in range(0, self.number, _PAIRS_AT_ONCE):
            high = min(low + _PAIRS_AT_ONCE, self.number)
            begin = int(np.searchsorted(self.ends, low, side="right"))
            end = int(np.searchsorted(self.ends, high, side="left")) + 1
            inside = np.minimum(self.ends[begin:end], high) - np.maximum(starts[begin:end], low)
            target = np.repeat(np.arange(begin, begin + len(inside)), inside)
            source = np.arange(low, high) + (self.first - starts)[target]
            probability = np.ones(high - low)
            for lookup in self.lookups:
                probability *= lookup.table[lookup.base[target] + lookup.column[source]]
            yield low, target, source, probability

    def _alone(self) -> Iterator[_Block]:
        """Yield blocks of one target each: its sources are neighbours, and nothing is gathered."""
        starts = np.concatenate([[0], self.ends[:-1]])
        for target, (start, end) in enumerate(
            zip(starts.tolist(), self.ends.tolist(), strict=True)
        ):
            rows = [lookup.table[lookup.base[target] :] for lookup in self.lookups]
            shift = int(self.first[target]) - start
            for low in range(start, end, _SOURCES_AT_ONCE):
                high = min(low + _SOURCES_AT_ONCE, end)
                source = slice(low + shift, high + shift)
                probability = np.ones(high - low)
                for row, lookup in zip(rows, self.lookups, strict=True):
                    probability *= row.take(lookup.column[source])
                yield low, np.array([target]), source, probability


def _fused(factors: tuple[Factor, ...]) -> list[list[Factor]]:
    """Return groups of factors with the same strata whose combinations fit in a small table."""
    groups: list[list[Factor]] = []
    for factor in factors:
        for group in groups:
            size = prod(one.size for one in group) * factor.size
            alike = group[0].by == factor.by and group[0].division.same(factor.division)
            if alike and size <= _LARGEST_FUSED:
                group.append(factor)
                break
        else:
            groups.append([factor])
    return groups


def _lookup(group: list[Factor], source: Codes, cells: Codes) -> _Lookup:
    table = group[0].P
    column, row = group[0].code(source), group[0].code(cells)
    for factor in group[1:]:
        table = np.stack([np.kron(a, b) for a, b in zip(table, factor.P, strict=True)])
        column = column * factor.size + factor.code(source)
        row = row * factor.size + factor.code(cells)
    size = table.shape[1]
    flat = np.ascontiguousarray(table.transpose(0, 2, 1)).ravel()
    return _Lookup(flat, (group[0].stratum(cells) * size + row) * size, column)
