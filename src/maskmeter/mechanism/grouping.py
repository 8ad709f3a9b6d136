"""Factors of groups of categories: what a recode makes of recording errors."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from maskmeter.checks import locked
from maskmeter.data.keys import Codes, KeySpace, combined
from maskmeter.mechanism.division import ListedDivision
from maskmeter.mechanism.factor import Factor
from maskmeter.types import Array, Integers


def grouped_factor(
    factor: Factor,
    space: KeySpace,
    groups: Mapping[int, Integers],
    *,
    true: Codes,
    weights: Array,
) -> Factor:
    """Return a factor on coarser keys; `groups` has the group of each category, by the key's position.

    The rows of a group are averaged over the records that have them, or evenly where none has;
    what was not joined keeps its row.

    >>> import maskmeter as mm
    >>> age = mm.KeySpace([mm.Key("age", [1, 2, 3])])
    >>> error = mm.Misclassification({"age": [[1, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]]}).on(age)
    >>> records, one = np.array([[1], [1], [1], [2]]), np.ones(4)
    >>> joined = {0: np.array([0, 1, 1])}
    >>> grouped_factor(error.factors[0], age, joined, true=records, weights=one).P[0].tolist()
    [[1.0, 0.0], [0.125, 0.875]]
    """
    if not factor.needed & set(groups):
        return factor
    keys = (*factor.by, *factor.columns)
    fine = [space.sizes[c] for c in keys]
    maps = [groups.get(c, np.arange(size)) for c, size in zip(keys, fine, strict=True)]
    sizes = [int(one.max()) + 1 for one in maps]
    every = np.stack(np.unravel_index(np.arange(prod(fine)), fine), axis=1)  # fine combinations
    cells = np.zeros((len(every), len(space.keys)), dtype=np.int64)
    cells[:, keys] = every
    coarse = np.ravel_multi_index(
        [one[part] for one, part in zip(maps, every.T, strict=True)], sizes
    )
    rows = factor.P[factor.stratum(cells), factor.code(cells)].reshape(len(every), *factor.sizes)
    for axis, one in enumerate(maps[len(factor.by) :], start=1):
        member = np.eye(int(one.max()) + 1)[one]
        rows = np.moveaxis(np.moveaxis(rows, axis, -1) @ member, -1, axis)
    held = np.bincount(combined(true, keys, fine), weights=weights, minlength=len(every))
    share = np.where(np.bincount(coarse, held)[coarse] > 0, held, 1.0)
    share = share / np.bincount(coarse, share)[coarse]
    size = prod(sizes[len(factor.by) :])
    summed = np.zeros((prod(sizes), size))
    np.add.at(summed, coarse, share[:, None] * rows.reshape(len(every), size))
    P: Array = summed.reshape(-1, size, size)
    around = sizes[: len(factor.by)]
    strata = np.full([one + 1 for one in around], len(P) if around else 0)
    strata[tuple(map(slice, around))] = np.arange(len(P)).reshape(around)
    if around:  # categories that the keys lack
        P = np.concatenate([P, P.mean(axis=0, keepdims=True)])
    own = tuple(sizes[len(factor.by) :])
    division = ListedDivision(locked(strata))
    return Factor(factor.name, factor.columns, own, locked(P), factor.by, division)
