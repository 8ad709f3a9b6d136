"""Matrices P[true, released] of swaps and of invariant PRAM, for the records of one stratum.

A swap has three: what was asked for, what it must be on average, and what was done.
Invariant PRAM leaves expected margins as they are: p R = p.
Categories without records stay.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.types import Array

Counts: TypeAlias = NDArray[np.int64]
LARGEST = 1_000  # categories: a programme of a million variables
_ZERO = 1e-11
_CLOSE = 1e-7
_INVARIANT = 1e-9
_HALVINGS = 1 << 50  # places between two bounds: as many as a float tells apart, nearly


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
    """Solve x_j (X - x_j) = moved_j with X the sum of all x."""
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

    most = 2 * least
    while (gap(most) < 0) == takes_large:
        most *= 2
    # The standard library halves the way, because scipy.optimize takes long to import.
    sign = 1 if gap(most) > 0 else -1
    halves = range(_HALVINGS)
    place = bisect_left(halves, 0.0, key=lambda part: sign * gap(_between(least, most, part)))
    x = solution(_between(least, most, place))
    for _ in range(3):  # Newton steps: near a double root the solution keeps half of its digits
        slope = np.broadcast_to(x[:, None], (len(x), len(x))).copy()
        np.fill_diagonal(slope, x.sum() - x)
        x = x - np.linalg.solve(slope, x * (x.sum() - x) - moved)
    return x


def _between(low: float, high: float, part: int) -> float:
    return low + (high - low) * (part / _HALVINGS)


def two_stage(P: Array, shares: Array) -> Array:
    """Return R = P Q, which leaves the shares p as they are: p R = p.

    `Q[k, j] = P[j, k] p_j / sum_l P[l, k] p_l` is the chance of each true category given the
    released one. A category that nothing is released in needs no way back.

    >>> R = two_stage(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0.7, 0.3]))
    >>> (np.array([0.7, 0.3]) @ R).round(12).tolist()
    [0.7, 0.3]
    """
    joint = shares[:, None] * P
    released = joint.sum(axis=0)
    Q = np.where(released > 0, joint / np.where(released > 0, released, 1), np.eye(len(P))).T
    R: Array = P @ Q
    return R


def reversible(P: Array, shares: Array, allowed: NDArray[np.bool_]) -> Array:
    """Return an invariant matrix that makes allowed moves only.

    The two-stage product can re-open a forbidden move by way of a third category. Symmetric flows
    cannot: `p_i R[i, j] = p_j R[j, i]`, the smaller of both directions of P.

    >>> allowed = np.array([[True, True, False], [True, True, True], [False, True, True]])
    >>> reversible(np.full((3, 3), 1 / 3), np.full(3, 1 / 3), allowed).round(3).tolist()
    [[0.667, 0.333, 0.0], [0.333, 0.333, 0.333], [0.0, 0.333, 0.667]]
    """
    joint = np.where(allowed & allowed.T, shares[:, None] * P, 0)
    flows = np.minimum(joint, joint.T)
    np.fill_diagonal(flows, 0)
    R = flows / np.where(shares > 0, shares, 1)[:, None]
    np.fill_diagonal(R, 1 - R.sum(axis=1))
    return R


def blended(R: Array, *, blend: float) -> Array:
    """Return R* = alpha R + (1 - alpha) I, which is invariant when R is.

    >>> blended(np.array([[0.0, 1.0], [1.0, 0.0]]), blend=0.25).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    star = blend * R
    np.fill_diagonal(star, 1 - blend * (1 - R.diagonal()))
    return _exact_zeros(star)


def solve_blend(R: Array, shares: Array, *, stay: float) -> float:
    """Return the blend with which the expected share unchanged is `stay`, or the nearest to it.

    The share is linear in the blend: `1 - alpha (1 - sum_i p_i R_ii)`. Alpha may exceed 1 as long
    as no diagonal entry of a category that occurs falls below 0.

    >>> solve_blend(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0.5, 0.5]), stay=0.75)
    0.5
    """
    moves = float(shares @ (1 - R.diagonal()))
    present = shares > 0
    furthest = 1 / (1 - R.diagonal()[present]).max() if moves > 0 else 0.0
    return float(min((1 - stay) / moves, furthest)) if moves > 0 else 0.0


def full_exchange(shares: Array) -> Array:
    """Return the invariant matrix that moves as many as any can: everybody, or twice the minority.

    >>> full_exchange(np.array([0.5, 0.25, 0.25])).tolist()
    [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    largest = shares.max()
    moved = np.minimum(shares, 1 - largest) if 2 * largest > 1 else shares
    R = symmetric_flows(moved) / np.where(shares > 0, shares, 1)[:, None]
    np.fill_diagonal(R, 1 - R.sum(axis=1))
    return _exact_zeros(R)


def _exact_zeros(P: Array) -> Array:
    """Return P with 0 where 1 minus a sum that should be 1 left a rounding error."""
    return np.where(np.abs(P) < 1e-15, 0, P)


def least_cost(
    shares: Array, *, cost: Array, allowed: NDArray[np.bool_], stay_at_most: Array
) -> Array | None:
    """Return the invariant matrix that makes allowed moves at the least cost, or None.

    Every category must occur. The programme is in the flows p_i P_ij, each against the smaller of
    both shares: rows and columns sum to the shares, and the diagonal is bounded. The scaling lets a
    category of one record in ten million count as much as the others in the solver's tolerance.

    >>> half, free = np.array([0.5, 0.5]), np.ones((2, 2), dtype=bool)
    >>> least_cost(half, cost=1 - np.eye(2), allowed=free, stay_at_most=np.array([0.8, 1.0]))
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """
    from scipy import optimize, sparse

    size = len(shares)
    smaller = np.minimum.outer(shares, shares)
    entry = np.arange(size * size)
    row, column = np.divmod(entry, size)
    scaled = smaller.ravel()
    sums = sparse.coo_array(
        (
            np.concatenate([scaled / shares[row], scaled / shares[column]]),
            (np.concatenate([row, size + column]), np.concatenate([entry, entry])),
        )
    )
    largest = allowed.astype(np.float64)
    np.fill_diagonal(largest, stay_at_most)
    found = optimize.linprog(  # type: ignore[call-overload] # the stubs know dense arrays only
        (cost * smaller).ravel(),
        A_eq=sums.tocsr(),
        b_eq=np.ones(2 * size),
        bounds=np.column_stack([np.zeros(size * size), largest.ravel()]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.success:
        flows = np.where(found.x > _ZERO, found.x, 0).reshape(size, size) * smaller
        P = flows / shares[:, None]
        np.fill_diagonal(P, 0)
        np.fill_diagonal(P, np.maximum(1 - P.sum(axis=1), 0))
        drift = np.abs(shares @ P / shares - 1).max()
        if drift < _CLOSE and (P.diagonal() <= stay_at_most + _CLOSE).all():
            return P
    return None


def most_change(shares: Array, allowed: NDArray[np.bool_]) -> Array:
    """Return the invariant matrix that changes as many records as allowed moves can."""
    present = shares > 0
    if allowed.all():
        return full_exchange(shares)
    if present.sum() > LARGEST:
        return reversible(np.full(allowed.shape, 1 / len(allowed)), shares, allowed)
    found = least_cost(
        shares[present],
        cost=np.eye(int(present.sum())),
        allowed=allowed[np.ix_(present, present)],
        stay_at_most=np.ones(int(present.sum())),
    )
    R = np.eye(len(shares))
    if found is not None:
        R[np.ix_(present, present)] = found
    return R


def leaves_margins(P: Array, shares: Array) -> bool:
    """Return True when a matrix leaves the margins as they are."""
    return bool(np.abs(shares @ P - shares).max() < _INVARIANT)


def _idle_rows_stay(P: Array, active: NDArray[np.bool_]) -> Array:
    return np.where(active[:, None], P, np.eye(len(P)))
