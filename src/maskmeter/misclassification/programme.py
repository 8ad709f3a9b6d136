"""Invariant matrices by linear programming (HiGHS, through scipy)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maskmeter.types import Array

LARGEST = 1_000  # categories: a programme of a million variables
_ZERO = 1e-11
_CLOSE = 1e-7


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
