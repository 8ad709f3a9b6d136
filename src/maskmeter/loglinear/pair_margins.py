"""Observed margins of all pairs of keys at once: the blocks of one sparse product, X'WX.

X has a row for each cell and a column for each category of each key, with 1 where the cell has the
category; W has the counts.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from maskmeter.data.keys import Codes
from maskmeter.loglinear.terms import Term
from maskmeter.types import Array

_AT_ONCE = 1 << 12  # rows of X: the products of more do not stay in the processor's cache


def pair_margins(values: Array, codes: Codes, sizes: tuple[int, ...]) -> dict[Term, Array]:
    """Return the sums of the values of some cells over all but one key, and all but two.

    >>> found = pair_margins(np.array([1.0, 2.0]), np.array([[0, 1], [1, 1]]), (2, 2))
    >>> found[0, 1].tolist(), found[0,].tolist()
    ([[0.0, 1.0], [0.0, 2.0]], [1.0, 2.0])
    """
    ends = np.cumsum([0, *sizes])
    product = _product(values, codes, ends)
    parts = [slice(start, end) for start, end in pairwise(ends)]
    found: dict[Term, Array] = {
        (key,): product[part, part].diagonal().copy() for key, part in enumerate(parts)
    }
    for one, other in combinations(range(len(sizes)), 2):
        found[one, other] = product[parts[one], parts[other]].copy()
    return found


def _product(values: Array, codes: Codes, ends: Array) -> Array:
    """Return X'WX, with the values in W, as the sum of the products of a few rows each."""
    from scipy.sparse import csr_matrix  # it takes long to import

    keys, columns = codes.shape[1], int(ends[-1])
    total = np.zeros((columns, columns))
    for start in range(0, len(codes), _AT_ONCE):
        place = codes[start : start + _AT_ONCE] + ends[:-1].astype(np.int32)
        rows = np.arange(0, place.size + 1, keys)
        weights = np.repeat(values[start : start + _AT_ONCE], keys)
        shape = len(place), columns
        X = csr_matrix((np.ones(place.size), place.ravel(), rows), shape=shape)
        WX = csr_matrix((weights, place.ravel(), rows), shape=shape)
        total += (X.T @ WX).toarray()
    return total
