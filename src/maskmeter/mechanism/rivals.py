"""Sums and maxima over the true cells k that a released cell j may come from.

Risk needs the released count to expect, `sum_k F_k M_jk`, and the denominator of (2.4). There a
unit of cell k has the weight `w_jk = (pi_k / pi_j) M_jk / (1 - pi_k M_jk)`, its odds of being
sampled and released in j over pi_j; where pi does not depend on a misclassified key that is the
paper's `M_jk / (1 - pi_j M_jk)`. The own cell, k = j, is left out of all sums here because it has
a closed form; what remains are the rivals of a correct match.

Either the occupied source cells are visited, pair by pair; or, when several keys are misclassified
and the table of those keys is small enough, each matrix is applied along its own axis. The
denominator then becomes a series in pi, for an element-wise power of a Kronecker product is the
Kronecker product of the powers; and the largest weight is found as sums are, with maxima for sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from math import ceil, inf, log, prod

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes
from maskmeter.data.table import KeyTable
from maskmeter.mechanism.grid import Grid
from maskmeter.mechanism.mechanism import Mechanism
from maskmeter.mechanism.pairs import Pairs, Sources
from maskmeter.types import Array

_SLOWEST_SERIES = 0.9
_TAIL = 1e-14
_TINY = 1e-300  # in place of a chance that is 0, so that odds are nearly infinite


@dataclass(frozen=True, slots=True)
class Inclusion:
    """Inclusion probabilities: of the targets and, where they differ from these, of the sources.

    `sources` has that of every population cell. None says that a source has that of its target:
    because the sample is drawn by recorded cells, or because no misclassified key matters to it.
    """

    targets: Array
    sources: Array | None = None


@dataclass(frozen=True, slots=True)
class Rivals:
    """Units of other cells that may be released in each cell, by their weights w_jk.

    `weighted` is the sum of the weights and `likeliest` the largest weight of one unit (0 unless it
    was asked for). `certain` counts the units with pi M_jk = 1, which are sampled and released
    there for sure; their weight would be infinite, so the other two leave them out.
    """

    weighted: Array
    certain: Array
    likeliest: Array


def moved_in(mechanism: Mechanism, population: KeyTable, cells: Codes) -> Array:
    """Return how many units of other cells to expect in each released cell.

    `sum over k != j of F_k M_jk`
    """
    pairs = Pairs.of(mechanism, population, cells)
    if Grid.cost(mechanism, cells) < pairs.cost:
        return next(_moments(mechanism, population, cells))
    total = np.zeros(len(cells))
    for target, source, probability in pairs.blocks():
        _add(total, target, pairs.units[source] * probability)
    return total


def rivals(
    mechanism: Mechanism,
    population: KeyTable,
    cells: Codes,
    *,
    pi: Inclusion,
    likeliest: bool = False,
) -> Rivals:
    """Return the rivals in the denominator of (2.4), and the likeliest of them if asked for.

    `sum over k != j of F_k w_jk` and `max over k != j with F_k >= 1 of w_jk`
    """
    pairs = Pairs.of(mechanism, population, cells)
    most = pi.targets if pi.sources is None else pi.sources
    terms = _terms(float(most.max(initial=0)) * largest_move(mechanism))
    if terms * Grid.cost(mechanism, cells) < pairs.cost:
        return _along_axes(mechanism, population, cells, pi, int(terms), likeliest=likeliest)
    weighted, certain, best = np.zeros((3, len(cells)))
    for target, source, probability in pairs.blocks():
        units, (weight, sure) = (
            pairs.units[source],
            _weights(pi, pairs, target, source, probability),
        )
        if sure.any():
            _add(certain, np.broadcast_to(target, sure.shape)[sure], units[sure])
            weight[sure] = 0
        _add(weighted, target, units * weight)
        if likeliest:
            _raise(best, target, weight)
    return Rivals(weighted, certain, best)


def likeliest_sources(
    mechanism: Mechanism,
    population: KeyTable,
    cells: Codes,
    *,
    pi: Inclusion,
    among: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return which of some population cells each released cell comes from most likely.

    `among` says which cells count; -1 where none of them can be released there.
    """
    pairs = Pairs.of(mechanism, population, cells)
    own, there = population.find(cells)
    stay = mechanism.stay(cells)
    there = there & among[own] & (stay > 0)
    best = np.where(there, stay / np.maximum(1 - pi.targets * stay, _TINY), 0.0)
    place = np.where(there, own, -1)
    for target, source, probability in pairs.blocks():
        cell, (weight, sure) = pairs.place[source], _weights(pi, pairs, target, source, probability)
        weight[sure] = 1 / _TINY
        weight *= among[cell]
        at = np.broadcast_to(target, weight.shape)
        order = np.lexsort((weight, at))
        last = order[np.flatnonzero(np.diff(at[order], append=len(cells)))]  # of each target
        better = last[weight[last] > best[at[last]]]
        best[at[better]], place[at[better]] = weight[better], cell[better]
    return place


def _weights(
    pi: Inclusion, pairs: Pairs, target: NDArray[np.int64], source: Sources, probability: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Return w_jk of some pairs, and which units are certain: their weight means nothing."""
    of_target = pi.targets[target]
    share = of_target if pi.sources is None else pi.sources[pairs.place[source]]
    hidden = 1 - share * probability
    sure = hidden <= 0
    if sure.any():
        hidden[sure] = 1
    weight = probability / hidden
    return (weight if pi.sources is None else weight * (share / of_target)), sure


def _along_axes(
    mechanism: Mechanism,
    population: KeyTable,
    cells: Codes,
    pi: Inclusion,
    terms: int,
    *,
    likeliest: bool,
) -> Rivals:
    """Return the rivals by a series of that many terms; nobody is certain where it ends."""
    none = np.zeros(len(cells))
    moments = _moments(mechanism, population, cells, pi.sources)
    weighted = none.copy()
    for term in range(terms):
        scale = pi.targets**term if pi.sources is None else 1 / pi.targets
        weighted += scale * next(moments)
    if not likeliest:
        return Rivals(weighted, none, none)
    grid = Grid.of(mechanism, cells)
    shares = np.ones(len(population)) if pi.sources is None else pi.sources
    chance = grid.at(grid.largest(grid.fill(population.codes, shares)))
    # The own cell is among them: it is a rival of nobody, but it may be the likeliest all the same.
    hidden = 1 - (pi.targets * chance if pi.sources is None else chance)
    best = np.divide(chance, hidden, out=none.copy(), where=hidden > 0)
    if pi.sources is not None:
        best /= pi.targets
    return Rivals(weighted, none, best)


def _moments(
    mechanism: Mechanism, population: KeyTable, cells: Codes, pi: Array | None = None
) -> Iterator[Array]:
    """Yield `sum over k != j of F_k M_jk**power` for power 1, 2, and so on; M_jk times pi_k if given."""
    grid = Grid.of(mechanism, cells)
    units = grid.fill(population.codes, population.counts)
    shares = None if pi is None else grid.fill(population.codes, pi)
    stay = mechanism.stay(cells)
    for power in count(1):
        table = units if shares is None else units * shares**power
        own = grid.at(table) * stay**power
        # What rounding leaves below zero is nothing.
        yield np.maximum(grid.at(grid.spread(table, power=power)) - own, 0)


def _add(total: Array, target: NDArray[np.int64], amount: Array) -> None:
    """Add amounts to the targets they belong to, or to the one target that they all belong to."""
    if len(target) == 1:
        total[target] += amount.sum()
        return
    # Targets of a block are close together.
    first = int(target[0])
    sums = np.bincount(target - first, weights=amount)
    total[first : first + len(sums)] += sums


def _raise(best: Array, target: NDArray[np.int64], amount: Array) -> None:
    """Raise the best of targets to the largest of the amounts that belong to them."""
    if len(target) == 1:
        best[target] = max(best[target[0]], amount.max(initial=0.0))
        return
    starts = np.flatnonzero(np.diff(target, prepend=target[0] - 1))
    at = target[starts]
    best[at] = np.maximum(best[at], np.maximum.reduceat(amount, starts))


def _terms(ratio: float) -> float:
    """Return how many terms leave a tail below 1e-14 of the sum, infinity if too many."""
    if ratio > _SLOWEST_SERIES:
        return inf
    return 1 if ratio == 0 else ceil(log(_TAIL * (1 - ratio)) / log(ratio)) + 1


def largest_move(mechanism: Mechanism) -> float:
    """Return an upper bound on M_jk over all k != j."""
    most = [factor.P.max() for factor in mechanism.factors]
    off = [(factor.P * (1 - np.eye(factor.size))).max() for factor in mechanism.factors]
    others = [prod(most[:c] + most[c + 1 :]) for c in range(len(most))]
    return float(max((o * rest for o, rest in zip(off, others, strict=True)), default=0.0))
