"""Bands that are offered for a key of numbers: about equally many records in each, at round bounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from maskmeter.riskutility.redraws import round_between
from maskmeter.types import Array

_SHARES = (0.2, 0.4, 0.6, 0.8)


def number_bands(numbers: Array) -> list[float]:
    """Return lower bounds of at most five bands; none where the numbers make no two bands.

    >>> number_bands(np.arange(1, 1000))
    [0, 200, 400, 600, 800]
    >>> number_bands(np.ones(10))
    []
    """
    present = np.asarray(numbers, dtype=np.float64)
    present = present[np.isfinite(present)]
    if not len(present) or present.min() == present.max():
        return []
    values = np.unique(present)
    inner = []
    for wanted in np.quantile(present, _SHARES):
        place = int(np.searchsorted(values, wanted, side="left"))
        if place:
            inner.append(_round(values[place - 1], values[place], present))
    low = 0.0 if present.min() >= 0 else -_above(-float(present.min()))
    bounds = sorted({low, *inner})
    kept = [bounds[0], *(high for under, high in pairwise(bounds) if high > under)]
    whole = all(one == int(one) for one in kept)
    return [int(one) if whole else one for one in kept] if len(kept) > 1 else []


def _round(low: float, high: float, present: Array) -> float:
    """Return a round number near two neighbours, or just between them where numbers are far apart."""
    spread = float(present.max() - present.min())
    step = 10.0 ** np.floor(np.log10(spread / 10))
    near = float(np.round(high / step) * step)
    return near if abs(near - high) <= step else (round_between(low, high) if low >= 0 else high)


def _above(number: float) -> float:
    """Return the next number with one digit, not below a number above 0."""
    step = 10.0 ** np.floor(np.log10(number))
    return float(np.ceil(number / step) * step)
