"""Too many true cells to go through one by one: the likeliest are listed, the others gathered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maskmeter.loglinear.expectations import log_generating
from maskmeter.risk.expected import Cells, Places, Sources, parts
from maskmeter.types import Array, Integers

LISTED = 128  # sources of a target that are looked at one by one
_POWERS = range(1, 5)
_GAP = 1e-12
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Gathered:
    """Sources of which all but the likeliest of each target are gathered in three cells.

    Two hold the unsampled units: two-point Gauss quadrature in x, whose points and units have the
    moments `sum over k of a_k x_k^p`, p = 1 to 4, where a_k are the unsampled units to expect. The
    third holds one sampled unit, whose odds are those of all of them by their series in x. When it
    is the likeliest, what is gathered counts with the least M_jk that is listed and the largest
    inclusion: so the informed risk is too large rather than too small.
    """

    sources: Sources
    unsampled: tuple[Array, ...]
    sampled: tuple[Array, ...]

    @classmethod
    def of(cls, sources: Sources, *, phi: float) -> Gathered:
        """Return the sources with the moments of all of them, over all targets."""
        lam, pi, count = sources.lam, sources.pi, sources.count
        unsampled = -log_generating(_GAP, lam=lam, pi=pi, phi=phi, count=count) / _GAP
        tables = (tuple(sources.moments(table, _POWERS)) for table in (unsampled, count))
        return cls(sources, *tables)

    def blocks(self, *, phi: float) -> Iterator[tuple[Integers, Cells, Places]]:
        """Yield targets, their sources and where each target is among these, part after part."""
        grid = self.sources.grid
        widest = max((one.size for one in grid.mechanism.factors), default=1)
        for targets in parts(grid, LISTED * widest):
            rows, chance = grid.likeliest_rows(targets, LISTED)
            share = self._most_included(targets)
            bound = np.minimum(share * chance.min(axis=1), 1 - _GAP)
            place = _with_own(rows, grid.row[targets])
            chance[place] = grid.stay[targets]
            listed = self.sources.chosen(targets, chance, rows)
            yield targets, self._joined(targets, listed, bound / (1 - bound), phi), place

    def _most_included(self, targets: Integers) -> Array | float:
        """Return the largest inclusion of a source of some targets."""
        recorded = self.sources.recorded
        return float(self.sources.share.max()) if recorded is None else recorded[targets]

    def _joined(self, targets: Integers, listed: Cells, most: Array, phi: float) -> Cells:
        """Return the cells that are listed, then those that stand for all others."""
        cells = (listed.lam, listed.pi, listed.count)
        unsampled = -log_generating(_GAP, lam=cells[0], pi=cells[1], phi=phi, count=cells[2]) / _GAP
        left = _left(self.unsampled, targets, unsampled, listed.x)
        points, units = _two_points(*left, most=most / (1 + most))
        # Odds of all sampled units together, x / (1 - x) as the sum of its powers.
        odds = np.sum(_left(self.sampled, targets, listed.count, listed.x), axis=0)
        x = np.column_stack([listed.x, points, odds / (1 + odds)])
        none = np.zeros(len(x))
        return Cells(
            x,
            np.column_stack([listed.count, none, none, (odds > 0).astype(np.float64)]),
            np.column_stack([listed.lam, units, none]),
            np.column_stack([listed.pi, none, none, none]),
            np.column_stack([listed.odds, most, most, most]),
        )


def without_gathered(cells: Cells) -> Cells:
    """Return the same cells, of which those that stand for others never count as the likeliest.

    The informed risk is then too small rather than too large: the difference bounds its error.
    """
    most = cells.odds.copy() if cells.most is None else cells.most.copy()
    most[:, -3:] = 0
    return replace(cells, most=most)


def _left(moments: tuple[Array, ...], targets: Integers, units: Array, x: Array) -> list[Array]:
    """Return what is left of the moments of all sources without the listed ones.

    A remainder that rounding may have left is none.
    """
    left = []
    for p, moment in zip(_POWERS, moments, strict=True):
        whole = moment[targets]
        rest = whole - (units * x**p).sum(axis=1)
        left.append(np.where(rest > _ROUNDING * whole, rest, 0.0))
    return left


def _with_own(rows: NDArray[np.int64], own: NDArray[np.int64]) -> Places:
    """Put the target's own row among the listed ones, in place of the last if need be; return where."""
    listed = rows == own[:, None]
    missing = ~listed.any(axis=1)
    rows[missing, -1] = own[missing]
    return np.arange(len(own)), np.where(missing, rows.shape[1] - 1, listed.argmax(axis=1))


def _two_points(s1: Array, s2: Array, s3: Array, s4: Array, *, most: Array) -> tuple[Array, Array]:
    """Return two points x and units a with `sum of a x^p` equal to the given moments, p = 1 to 4.

    The points are the roots of `x^2 + linear x + constant`, orthogonal to 1 and x; none exceeds
    the `most` that x can be.
    """
    det = s1 * s3 - s2**2
    flat = det <= 1e-9 * s1 * s3  # one point holds everything
    safe = np.where(flat, 1, det)
    linear, constant = (s2 * s3 - s1 * s4) / safe, (s2 * s4 - s3**2) / safe
    root = np.sqrt(np.maximum(linear**2 / 4 - constant, 0))
    # A root below 0 comes from rounding, and units at a point near 0 would be without number.
    flat |= -linear / 2 - root <= 0
    mean = np.divide(s2, s1, out=np.zeros_like(s1), where=s1 > 0)
    low = np.where(flat, mean, -linear / 2 - root)
    high = np.where(flat, mean, -linear / 2 + root)
    low, high = np.minimum(low, most), np.minimum(high, most)
    upper = np.divide(s2 - low * s1, high - low, out=np.zeros_like(s1), where=high > low)
    upper = np.clip(upper, 0, s1)
    mass, points = np.column_stack([s1 - upper, upper]), np.column_stack([low, high])
    return points, np.divide(mass, points, out=np.zeros_like(mass), where=points > 0)
