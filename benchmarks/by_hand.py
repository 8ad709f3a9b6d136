"""PRAM and swapping as a user would write them: the peers of our own.

Once with pandas and labels, as they are first written, and once with numpy on category codes, as
somebody does who looks for speed.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd

Column: TypeAlias = Any  # a categorical pandas Series


def pram_in_pandas(column: Column, *, stay: float, seed: int) -> Column:
    """Return a column redrawn from an invariant matrix, category by category."""
    rng = np.random.default_rng(seed)
    shares = column.value_counts(normalize=True)
    moved = (1 - stay) / (1 - (shares**2).sum())  # so that `stay` of all records stay
    redrawn = column.copy()
    for category in shares.index:
        row = moved * shares.to_numpy() + (1 - moved) * (shares.index == category)
        here = column == category
        redrawn[here] = rng.choice(shares.index, size=here.sum(), p=row)
    return redrawn


def pram_in_numpy(column: Column, *, stay: float, seed: int) -> Column:
    """Return the same from codes."""
    rng = np.random.default_rng(seed)
    codes, size = column.cat.codes.to_numpy(), len(column.cat.categories)
    shares = np.bincount(codes, minlength=size) / len(codes)
    moved = (1 - stay) / (1 - (shares**2).sum())
    redrawn = codes.copy()
    for category in range(size):
        row = moved * shares
        row[category] += 1 - moved
        here = np.flatnonzero(codes == category)
        redrawn[here] = rng.choice(size, size=len(here), p=row)
    return pd.Series(pd.Categorical.from_codes(redrawn, dtype=column.dtype))


def swap_in_pandas(column: Column, *, rate: float, seed: int) -> Column:
    """Return a column of which half of `rate` in each category were exchanged with other categories.

    Each record that is drawn gets a partner of another category that nobody had before, so `rate`
    of all records change.
    """
    drawn = column.groupby(column, observed=True).sample(frac=rate / 2, random_state=seed)
    free = column.drop(drawn.index)
    swapped = column.copy()
    for category, mine in drawn.groupby(drawn, observed=True):
        partners = free[free != category].sample(len(mine), random_state=seed)
        swapped[mine.index] = partners.to_numpy()
        swapped[partners.index] = category
        free = free.drop(partners.index)
    return swapped


def swap_in_numpy(column: Column, *, rate: float, seed: int) -> Column:
    """Return the same from codes."""
    rng = np.random.default_rng(seed)
    codes = column.cat.codes.to_numpy()
    free, swapped = np.ones(len(codes), dtype=bool), codes.copy()
    groups = [np.flatnonzero(codes == category) for category in np.unique(codes)]
    drawn = [rng.choice(one, size=round(rate / 2 * len(one)), replace=False) for one in groups]
    free[np.concatenate(drawn)] = False
    for mine in drawn:
        others = np.flatnonzero(free & (codes != codes[mine[0]]))
        partners = rng.choice(others, size=len(mine), replace=False)
        swapped[mine], swapped[partners] = codes[partners], codes[mine]
        free[partners] = False
    return pd.Series(pd.Categorical.from_codes(swapped, dtype=column.dtype))
