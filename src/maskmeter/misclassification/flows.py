"""Matrices that describe a swap: what was asked for, what it must be on average, what was done.

All are P[true, released] for the records of one stratum; categories without records stay.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.types import Array

Counts: TypeAlias = NDArray[np.int64]


def nominal(counts: Counts, *, rate: float) -> Array:
    """Return the paper's matrix: stay 1 - rate, move in proportion to the other categories.

    `P[true, k] = rate n_k / sum of n_l over l != true`. Its margins drift a little.

    >>> nominal(np.array([50, 30, 20]), rate=0.5).round(3).tolist()
    [[0.5, 0.3, 0.2], [0.357, 0.5, 0.143], [0.312, 0.188, 0.5]]
    """
    others = counts.sum() - counts
    P = rate * counts / np.maximum(others, 1)[:, None]
    np.fill_diagonal(P, 1 - rate)
    return _idle_rows_stay(P, (counts > 0) & (others > 0))


def balanced(counts: Counts, moved: Counts) -> Array:
    """Return the matrix of a swap that moved these records, with all margins exact.

    Flows between two categories are symmetric, x_j x_k, and each category's flows add up to its
    records that moved.

    >>> P = balanced(np.array([50, 30, 20]), np.array([20, 15, 15]))
    >>> (np.array([50, 30, 20]) @ P).round(9).tolist()
    [50.0, 30.0, 20.0]
    """
    P = symmetric_flows(moved.astype(np.float64)) / np.maximum(counts, 1)[:, None]
    np.fill_diagonal(P, 1 - moved / np.maximum(counts, 1))
    return _idle_rows_stay(P, counts > 0)


def realised(moves: Counts) -> Array:
    """Return the transition frequencies of a swap from its table of moves [true, released].

    >>> realised(np.array([[1, 1], [1, 0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    counts = moves.sum(axis=1)
    return _idle_rows_stay(moves / np.maximum(counts, 1)[:, None], counts > 0)


def symmetric_flows(moved: Array) -> Array:
    """Return flows x_j x_k, 0 on the diagonal, whose row sums are the numbers that moved.

    When one category supplies half of the moves, all others exchange with it alone.

    >>> symmetric_flows(np.array([2.0, 2.0, 2.0])).round(9).tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    flows = np.zeros((len(moved), len(moved)))
    largest = int(moved.argmax())
    if moved[largest] >= (moved.sum() - moved[largest]) * (1 - 1e-12):  # half, but for rounding
        flows[largest], flows[:, largest] = moved, moved
        flows[largest, largest] = 0
        return flows
    active = np.flatnonzero(moved)
    weights = np.zeros(len(moved))
    weights[active] = _weights(moved[active])
    flows = np.outer(weights, weights)
    np.fill_diagonal(flows, 0)
    return flows


def _weights(moved: Array) -> Array:
    """Solve x_j (X - x_j) = moved_j with X the sum of all x, by bisection on X."""
    largest = int(moved.argmax())

    def small_root(total: float) -> Array:
        # 2m / (X + sqrt(X^2 - 4m)) keeps its digits where (X - sqrt(X^2 - 4m)) / 2 loses them.
        root: Array = 2 * moved / (total + np.sqrt(np.maximum(total**2 - 4 * moved, 0)))
        return root

    least = 2 * float(np.sqrt(moved[largest]))
    # The largest category may need the larger of its two roots; the others never do.
    takes_large = small_root(least).sum() < least

    def solution(total: float) -> Array:
        x = small_root(total)
        if takes_large:
            x[largest] = total - x[largest]
        return np.where(moved > 0, x, 0)

    def gap(total: float) -> float:
        return float(solution(total).sum() - total)

    low, high = least, 2 * least
    rising = 1 if takes_large else -1
    while gap(high) * rising < 0:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if gap(middle) * rising < 0 else (low, middle)
    x = solution((low + high) / 2)
    for _ in range(
        3
    ):  # Newton steps, for bisection on X keeps half of the digits near a double root
        slope = np.broadcast_to(x[:, None], (len(x), len(x))).copy()
        np.fill_diagonal(slope, x.sum() - x)
        x = x - np.linalg.solve(slope, x * (x.sum() - x) - moved)
    return x


def _idle_rows_stay(P: Array, active: NDArray[np.bool_]) -> Array:
    return np.where(active[:, None], P, np.eye(len(P)))
