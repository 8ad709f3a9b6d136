"""Moves between categories that must not happen, such as a child who is widowed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Key
from maskmeter.errors import CategoryError, PerturbationError
from maskmeter.types import Array


def as_moves(forbidden: Any) -> tuple[tuple[Any, Any], ...]:
    """Return forbidden moves as pairs (true, released)."""
    moves = forbidden if isinstance(forbidden, list | tuple) else [forbidden]
    if not all(isinstance(move, list | tuple) and len(move) == 2 for move in moves):
        raise PerturbationError("`forbidden` must be a list of moves (true, released).")
    return tuple((true, released) for true, released in moves)


def allowed_moves(keys: list[Key], forbidden: tuple[tuple[Any, Any], ...]) -> NDArray[np.bool_]:
    """Return which moves may happen; staying always may."""
    sizes = [key.size for key in keys]
    size = int(np.prod(sizes))
    allowed = np.ones((size, size), dtype=bool)

    def row(category: Any) -> Any:
        if category is ...:
            return np.arange(size)
        parts = (category,) if len(keys) == 1 else category
        if not isinstance(parts, tuple) or len(parts) != len(keys):
            raise CategoryError(
                f"A forbidden move of crossed keys must name {len(keys)} categories on each side."
            )
        codes = [
            slice(None) if part is ... else key.code(part)
            for key, part in zip(keys, parts, strict=True)
        ]
        return np.arange(size).reshape(sizes)[tuple(codes)].ravel()

    for true, released in forbidden:
        allowed[np.ix_(row(true), row(released))] = False
    np.fill_diagonal(allowed, val=True)
    return allowed


def without_forbidden(P: Array, allowed: NDArray[np.bool_]) -> Array:
    """Return P with the probability of forbidden moves given to staying."""
    kept = np.where(allowed, P, 0)
    np.fill_diagonal(kept, P.diagonal() + np.where(allowed, 0, P).sum(axis=1))
    return kept
