"""Sums over the true cells k that a released cell j may come from.

Risk needs two of them: `sum_k F_k M_jk`, the released count to expect, and the denominator of
(2.4), `sum_k F_k M_jk / (1 - pi_j M_jk)`. The own cell, k = j, is left out of both here because it
has a closed form; what remains are the rivals of a correct match.

Either the occupied source cells are visited, pair by pair; or, when several keys are misclassified
and the table of those keys is small enough, each matrix is applied along its own axis. The
denominator then becomes a series in pi, for an element-wise power of a Kronecker product is the
Kronecker product of the powers.
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
from maskmeter.mechanism.pairs import Pairs

_SLOWEST_SERIES = 0.9
_TAIL = 1e-14


@dataclass(frozen=True, slots=True)
class Rivals:
    """Units of other cells that may be released in each cell, weighted as in (2.4).

    `certain` counts those with pi_j M_jk = 1, which are sampled and released there for sure; their
    weight would be infinite, so `weighted` leaves them out.
    """

    weighted: NDArray[np.float64]
    certain: NDArray[np.float64]


def moved_in(mechanism: Mechanism, population: KeyTable, cells: Codes) -> NDArray[np.float64]:
    """Return how many units of other cells to expect in each released cell.

    `sum over k != j of F_k M_jk`
    """
    pairs = Pairs.of(mechanism, population, cells)
    if Grid.cost(mechanism, cells) < pairs.cost:
        return next(_moments(mechanism, population, cells))
    total = np.zeros(len(cells))
    for target, units, probability in pairs.blocks():
        _add(total, target, units * probability)
    return total


def rivals(
    mechanism: Mechanism, population: KeyTable, cells: Codes, *, pi: NDArray[np.float64]
) -> Rivals:
    """Return the weighted rivals in the denominator of (2.4).

    `sum over k != j of F_k M_jk / (1 - pi_j M_jk)`
    """
    pairs = Pairs.of(mechanism, population, cells)
    terms = _terms(float(pi.max(initial=0)) * largest_move(mechanism))
    weighted, certain = np.zeros(len(cells)), np.zeros(len(cells))
    if terms * Grid.cost(mechanism, cells) < pairs.cost:
        moments = _moments(mechanism, population, cells)
        for term in range(int(terms)):
            weighted += pi**term * next(moments)
        return Rivals(weighted, certain)
    for target, units, probability in pairs.blocks():
        hidden = 1 - pi[target] * probability
        sure = hidden <= 0
        if sure.any():
            _add(certain, np.broadcast_to(target, sure.shape)[sure], units[sure])
            probability[sure], hidden[sure] = 0, 1
        _add(weighted, target, units * probability / hidden)
    return Rivals(weighted, certain)


def _moments(
    mechanism: Mechanism, population: KeyTable, cells: Codes
) -> Iterator[NDArray[np.float64]]:
    """Yield `sum over k != j of F_k M_jk**power` for power 1, 2, and so on."""
    grid = Grid.of(mechanism, cells)
    units = grid.fill(population.codes, population.counts)
    own, stay = grid.at(units), mechanism.stay(cells)
    for power in count(1):
        # What rounding leaves below zero is nothing.
        yield np.maximum(grid.at(grid.spread(units, power=power)) - own * stay**power, 0)


def _add(
    total: NDArray[np.float64], target: NDArray[np.int64], amount: NDArray[np.float64]
) -> None:
    """Add amounts to the targets they belong to, or to the one target that they all belong to."""
    if len(target) == 1:
        total[target] += amount.sum()
        return
    # Targets of a block are close together.
    first = int(target[0])
    sums = np.bincount(target - first, weights=amount)
    total[first : first + len(sums)] += sums


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
