"""Invariant PRAM matrices: p R = p, so that expected margins stay as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maskmeter.misclassification.flows import symmetric_flows
from maskmeter.types import Array


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
