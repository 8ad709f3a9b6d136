"""Misclassification of whole households: members move independently, and their order tells nothing.

Pr(released joint key J given true joint key K) sums the product of the members' M_jk over all
distinct ways to give the members of K the cells of J. Only households whose members agree on the
keys that are never misclassified can be released as each other, and only members who do can take
each other's place; so pairs are made within such groups, and the sum is a product of small ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.households import HouseholdTable, distinct_rows
from maskmeter.data.keys import Codes
from maskmeter.errors import InputError
from maskmeter.mechanism.mechanism import Mechanism
from maskmeter.types import Array, Integers

MOST_STATES = 1 << 12  # of the cells that some members have taken: twelve members reach it at most
_AT_ONCE = 1 << 20  # numbers in an array over pairs and states
_MOST_PAIRS = 2 * 10**8


@dataclass(frozen=True, slots=True)
class JointOdds:
    """The odds of being sampled and released as each released joint key, over the population.

    `total` is the sum over all households, `likeliest` the largest of one, and `own` that of a
    household which truly has the joint key: there are `population` of them. `certain` counts the
    households that are sampled and released so for sure; their odds would be infinite, so the
    others leave them out, and `own_certain` says that those with the joint key are among them.
    `unsummed` are those whose members could have been released in too many ways.
    """

    population: Integers
    own: Array
    total: Array
    likeliest: Array
    certain: Array
    own_certain: NDArray[np.bool_]
    unsummed: NDArray[np.bool_]


def joint_odds(
    mechanism: Mechanism, population: HouseholdTable, released: HouseholdTable, *, pi: Array
) -> JointOdds:
    """Return the odds of the households behind each released joint key.

    `pi` is the inclusion probability of each joint key of the population.
    """
    population_of = population.lookup(released)
    zero = [np.zeros(len(released)) for _ in range(4)]
    odds = JointOdds(population_of, *zero, *(np.zeros((2, len(released)), dtype=bool)))  # type: ignore[arg-type]
    for one in _sizes(mechanism, population, released):
        for pattern in one.patterns():
            if pattern.states > MOST_STATES:
                odds.unsummed[one.targets[pattern.rows]] = True
                continue
            for j, k in one.pairs(pattern):
                x = pi[one.sources[k]] * one.chance(mechanism, pattern, j, k)
                same = (one.target_cells[j] == one.source_cells[k]).all(axis=1)
                units = population.counts[one.sources[k]].astype(np.float64)
                _add(odds, one.targets[j], x, units=units, same=same)
    return odds


def _add(
    odds: JointOdds, target: Integers, x: Array, *, units: Array, same: NDArray[np.bool_]
) -> None:
    """Add to the sums over true joint keys some of them, with the chance x = pi_K M_JK of each.

    `units` are the households of each, and `same` says that it is the released one.
    """
    sure, size = x >= 1, len(odds.total)
    o = np.divide(x, 1 - x, out=np.zeros(len(x)), where=~sure)
    odds.total[:] += np.bincount(target, units * o, size)
    odds.certain[:] += np.bincount(target, units * sure, size)
    np.maximum.at(odds.likeliest, target, o)
    odds.own[target[same]] = o[same]
    odds.own_certain[target[same]] = sure[same]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Released households of one size, all of whose members agree in the same places.

    `rows` are theirs. `classes` has the places of members who agree on the keys that are never
    misclassified, each with the first place and the number of members of every distinct cell.
    """

    rows: Integers
    classes: tuple[tuple[range, tuple[int, ...], tuple[int, ...]], ...]

    @property
    def states(self) -> int:
        """The most ways in which some members of a class can have taken its cells."""
        return max(prod(n + 1 for n in times) for _, _, times in self.classes)


@dataclass(frozen=True, slots=True)
class _Size:
    """Joint keys of one number of members: released ones, `targets`, and true ones, `sources`.

    Members stand in the order of the keys that are never misclassified, then of their cells.
    """

    targets: Integers
    sources: Integers
    target_codes: Codes  # [joint key, member, key]
    source_codes: Codes
    target_cells: Integers  # [joint key, member]
    source_cells: Integers
    target_free: Integers  # the keys that are never misclassified, as a number
    source_free: Integers
    target_groups: Integers  # who may be released as whom
    source_groups: Integers

    def patterns(self) -> Iterator[_Pattern]:
        """Yield the released joint keys by the places where members agree."""
        edges = [np.diff(one, axis=1) != 0 for one in (self.target_free, self.target_cells)]
        kind = distinct_rows(np.hstack(edges).astype(np.int64))
        for number in range(int(kind.max(initial=-1)) + 1):
            rows = np.flatnonzero(kind == number)
            free, cell = (_starts(one[rows[0]]) for one in edges)
            yield _Pattern(rows, tuple(_classes(free, cell)))

    def pairs(self, pattern: _Pattern) -> Iterator[tuple[Integers, Integers]]:
        """Yield blocks of released and true joint keys that may come from one another."""
        order = np.argsort(self.source_groups, kind="stable")
        group, source = self.target_groups[pattern.rows], self.source_groups[order]
        first = np.searchsorted(source, group, side="left")
        ends = np.cumsum(np.searchsorted(source, group, side="right") - first)
        number = int(ends[-1])
        if number > _MOST_PAIRS:
            raise InputError(
                f"The risk of households would take {number:,} pairs of households, because so many"
                " keys were changed. Let the intruder know fewer keys, or change fewer."
            )
        starts = np.concatenate([[0], ends[:-1]])
        step = max(_AT_ONCE // pattern.states, 1)
        for begin in range(0, number, step):
            pair = np.arange(begin, min(begin + step, number))
            place = np.searchsorted(ends, pair, side="right")
            yield pattern.rows[place], order[first[place] + pair - starts[place]]

    def chance(self, mechanism: Mechanism, pattern: _Pattern, j: Integers, k: Integers) -> Array:
        """Return Pr(released joint key given true joint key) for each pair."""
        total = np.ones(len(j))
        for members, cells, times in pattern.classes:
            P = np.empty((len(members), len(cells), len(j)))
            for row, member in enumerate(members):
                for column, cell in enumerate(cells):
                    true, released = self.source_codes[k, member], self.target_codes[j, cell]
                    P[row, column] = mechanism.prob(released=released, true=true)
            total *= assignments(P, times)
        return total


def assignments(P: Array, times: tuple[int, ...]) -> Array:
    """Return the sum over all ways to give members cells, each cell as often as `times` says.

    `P[member, cell]` may have further axes. Members are taken one after the other, and what counts
    is how often each cell was taken: `prod(times + 1)` states, and no term is negative. With each
    cell once it is the permanent of P.

    >>> assignments(np.array([[0.9, 0.1], [0.2, 0.8]]), (1, 1)).round(2)
    np.float64(0.74)
    >>> assignments(np.array([[0.9], [0.2]]), (2,)).round(2)
    np.float64(0.18)
    """
    state = np.zeros([n + 1 for n in times] + list(P.shape[2:]))
    state[(0,) * len(times)] = 1
    for row in P:
        after = np.zeros_like(state)
        for cell, chance in enumerate(row):
            before = (slice(None),) * cell
            after[(*before, slice(1, None))] += state[(*before, slice(-1))] * chance
        state = after
    total: Array = state[times]
    return total


def _sizes(
    mechanism: Mechanism, population: HouseholdTable, released: HouseholdTable
) -> Iterator[_Size]:
    """Yield the joint keys of both tables by their number of members, if released ones have it."""
    tables = (released, population)
    both = np.concatenate([one.codes for one in tables])
    cell = np.unique(population.space.number(both), return_inverse=True)[1]
    free = np.unique(mechanism.untouched_number(both), return_inverse=True)[1]
    cut = len(released.codes)
    for size in np.unique(released.members):
        held = [np.flatnonzero(one.members == size) for one in tables]
        sorted_rows = []
        for table, here, start in zip(tables, held, (0, cut), strict=True):
            first = np.cumsum(table.members) - table.members + start
            rows = first[here][:, None] + np.arange(size)
            order = np.lexsort((cell[rows], free[rows]), axis=-1)
            sorted_rows.append(np.take_along_axis(rows, order, axis=1))
        parts = [values[rows] for values in (both, cell, free) for rows in sorted_rows]
        group = distinct_rows(np.concatenate(parts[-2:]))
        yield _Size(*held, *parts, *np.split(group, [len(held[0])]))


def _starts(edges: NDArray[np.bool_]) -> list[int]:
    """Return the places where something new begins, and the end, by the edges between places."""
    return [0, *(int(place) + 1 for place in np.flatnonzero(edges)), len(edges) + 1]


def _classes(
    free: list[int], cell: list[int]
) -> Iterator[tuple[range, tuple[int, ...], tuple[int, ...]]]:
    """Yield the places of each class of members, and its distinct cells with their numbers.

    >>> list(_classes([0, 1, 4], [0, 1, 3, 4]))
    [(range(0, 1), (0,), (1,)), (range(1, 4), (1, 3), (2, 1))]
    """
    for start, stop in pairwise(free):
        inside = [place for place in cell if start <= place <= stop]
        times = tuple(after - before for before, after in pairwise(inside))
        yield range(start, stop), tuple(inside[:-1]), times
