"""Information loss of a two-way table (Shlomo and Skinner 2010, section 4.4): one measure, one function.

Tables have rows R and columns C and hold counts before and after perturbation. Each measure has an
ideal, the value of an unchanged table: 100 for RAAD, 0 for RCV, BVR and A.
"""

from __future__ import annotations

import numpy as np

from maskmeter.types import Array

SIGNIFICANCE = 0.001


def relative_average_absolute_distance(before: Array, after: Array) -> float:
    """Return RAAD = 100 (D_avg - AAD) / D_avg, with AAD the mean of |after - before|.

    >>> relative_average_absolute_distance(np.array([[4.0, 6.0]]), np.array([[5.0, 5.0]]))
    80.0
    """
    return float(100 * (1 - np.abs(after - before).mean() / before.mean()))


def cramers_v(table: Array) -> float:
    """Return Cramer's V, `sqrt(chi2 / (n min(R - 1, C - 1)))`; rows and columns must have records.

    A table of one row or one column has no association.

    >>> cramers_v(np.array([[5.0, 0.0], [0.0, 5.0]]))
    1.0
    """
    if min(table.shape) == 1:
        return 0.0
    return float(np.sqrt(chi_square(table) / (table.sum() * (min(table.shape) - 1))))


def chi_square(table: Array) -> float:
    """Return Pearson's chi-square of a table whose rows and columns have records.

    >>> chi_square(np.array([[5.0, 0.0], [0.0, 5.0]]))
    10.0
    """
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    return float(((table - expected) ** 2 / expected).sum())


def independence_p(table: Array, records: float) -> float:
    """Return the p-value of Pearson's chi-square test of independence for so many records.

    The table may be weighted: `records` is then the effective number of them.

    >>> round(independence_p(np.array([[30.0, 20.0], [20.0, 30.0]]), records=100), 4)
    0.0455
    """
    from scipy.special import chdtrc

    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    chi2 = chi_square(table) * records / table.sum()
    return float(chdtrc(freedom, chi2)) if freedom else 1.0


def associated(table: Array, records: float) -> bool:
    """Return True when a table shows an association: chi-square test, p < 0.001.

    >>> associated(np.array([[30.0, 20.0], [20.0, 30.0]]), records=100)
    False
    """
    return independence_p(table, records) < SIGNIFICANCE


def between_variance(table: Array) -> Array:
    """Return BV of each column, `sum over r of (P^c(r) - P^c)^2 / (R - 1)`.

    P^c(r) is the share of column c in row r. A row without records has no share: it is taken to
    have that of the whole table.

    >>> between_variance(np.array([[3.0, 1.0], [1.0, 3.0]])).tolist()
    [0.125, 0.125]
    """
    rows, whole = table.sum(axis=1, keepdims=True), table.sum(axis=0) / table.sum()
    share = np.divide(table, rows, out=np.broadcast_to(whole, table.shape).copy(), where=rows > 0)
    return np.asarray(((share - whole) ** 2).sum(axis=0) / (len(table) - 1))


def contrast_change(before: Array, after: Array) -> float:
    """Return A = 100 (sqrt(sum of BV after / sum of BV before) - 1), the sums over all columns.

    By how much differences between the rows shrink (below 0) or grow; NaN when there were none.

    >>> contrast_change(np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([[2.5, 1.5], [1.5, 2.5]]))
    -50.0
    """
    spread = [np.sqrt(between_variance(table).sum()) for table in (before, after)]
    return float(relative_change(*spread))


def relative_change(before: Array | float, after: Array | float) -> Array:
    """Return 100 (after - before) / before, the form of RCV, BVR and A; NaN where before is 0.

    >>> relative_change(0.5, 0.4).round(6).tolist()
    -20.0
    """
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    hollow = np.full(first.shape, np.nan)
    return np.asarray(np.divide(100 * (second - first), first, out=hollow, where=first > 0))


def total_variation(before: Array, after: Array) -> float:
    """Return half the summed distance of two distributions: the share that would have to move.

    >>> total_variation(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    0.25
    """
    return float(np.abs(before / before.sum() - after / after.sum()).sum() / 2)


def hellinger(before: Array, after: Array) -> float:
    """Return the Hellinger distance of two distributions, between 0 and 1.

    >>> hellinger(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    roots = np.sqrt(before / before.sum()) - np.sqrt(after / after.sum())
    return float(np.sqrt((roots**2).sum() / 2))


def interval_overlap(before: tuple[Array, Array], after: tuple[Array, Array]) -> Array:
    """Return the mean share of two intervals that they have in common; negative when apart.

    `(common / length before + common / length after) / 2` (Karr et al. 2006).

    >>> at = np.array
    >>> interval_overlap((at([0.0]), at([2.0])), (at([1.0]), at([3.0]))).tolist()
    [0.5]
    """
    common = np.minimum(before[1], after[1]) - np.maximum(before[0], after[0])
    return np.asarray((common / (before[1] - before[0]) + common / (after[1] - after[0])) / 2)
