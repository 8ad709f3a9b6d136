"""The exact risk (2.4) to expect, given a sample and a model of the population.

Unsampled units of a cell are Poisson (or Poisson-gamma) with the model's mean. With
`rho_k = w_k / w_j`, `w_k = M_jk / (1 - pi_j M_jk)`, (2.4) is `1 / (F_j + sum of rho_k F_k)`, and the
expectation of an inverse is an integral of generating functions: `E(1/X) = integral over u in
[0, 1] of E(u^X) du / u`. Where nobody truly is in cell j there is no target: those outcomes are
taken out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskmeter.loglinear import expectations
from maskmeter.mechanism import Grid
from maskmeter.types import Array

_NODES = 32
_AT_ONCE = 1 << 20  # elements of the arrays that are made in one go
MOST_PAIRS = 20_000_000  # released cells times their sources that are gone through one by one
MOST_SOURCES = 5_000  # of a released cell
_TINY = 1e-12


@dataclass(frozen=True)
class Sources:
    """What is known of the true cells that released ones may come from, as tables over a grid.

    `count` are sampled units (known, or expected), `lam` population means, `pi` inclusion.
    """

    grid: Grid
    count: Array
    lam: Array
    pi: Array

    def of(self, targets: slice) -> tuple[Array, Array, Array]:
        """Return count, lam and pi of every source of some targets."""
        columns = self.grid.column[targets]
        return self.count[:, columns].T, self.lam[:, columns].T, self.pi[:, columns].T


def expected_match_probability(sources: Sources, *, pi: Array, phi: float) -> Array:
    """Return E[(2.4) given the sample] of each target; `pi` is the targets' own inclusion.

    Sources are gone through one by one while that is affordable; else those of a target are
    gathered in two Poisson cells with the same first four moments of M_jk.
    """
    grid = sources.grid
    if not one_by_one(grid):
        return _integral(_own(sources), _gathered(sources, pi=pi, phi=phi), phi=phi, phi_others=0.0)
    risk = np.zeros(len(grid.row))
    for targets in _blocks(len(risk), grid.rows):
        rho, row = _odds_against(grid, targets, pi)
        count, lam, at = sources.of(targets)
        mine = np.arange(len(row)), row
        own = _Cells(rho[mine], count[mine], lam[mine], at[mine])
        rho[mine] = 0
        risk[targets] = _integral(own, _Cells(rho, count, lam, at), phi=phi, phi_others=phi)
    return risk


def one_by_one(grid: Grid) -> bool:
    """Return True when every source of every released cell can be gone through."""
    return grid.rows <= MOST_SOURCES and len(grid.row) * grid.rows <= MOST_PAIRS


@dataclass(frozen=True)
class _Cells:
    """Cells as the integral needs them: rho, sampled units, population mean and inclusion."""

    rho: Array
    count: Array
    lam: Array
    pi: Array

    @property
    def steepness(self) -> Array:
        """How fast their generating function falls off."""
        return self.rho * (self.count + (1 - self.pi) * self.lam)

    def log_generating(self, gap: Array | float, phi: float) -> Array:
        """Return the logarithm of the generating function of the unsampled units."""
        return expectations.log_generating(
            gap, lam=self.lam[:, None], pi=self.pi[:, None], phi=phi, count=self.count[:, None]
        )


def _integral(own: _Cells, others: _Cells, *, phi: float, phi_others: float) -> Array:
    """Return the expectation of `1 / (F_j + sum of rho_k F_k)` where F_j > 0, else of 0.

    `integral of [u^f_j Q_j(u) - 1(f_j = 0) Q_j(0)] prod_k u^(rho_k f_k) Q_k(u^rho_k) du / u`, where
    Q generates the unsampled units of a cell.
    """
    gap, weight = expectations.nodes(own.steepness + others.steepness.sum(axis=1), _NODES)
    log_u = np.log1p(-gap)
    logs = (others.rho * others.count).sum(axis=1)[:, None] * log_u
    for rho, count, lam, pi in zip(
        others.rho.T, others.count.T, others.lam.T, others.pi.T, strict=True
    ):
        cell = _Cells(rho, count, lam, pi)
        logs += cell.log_generating(1 - np.exp(rho[:, None] * log_u), phi_others)
    f = own.count[:, None]
    there = np.exp(f * log_u + own.log_generating(gap, phi))
    nobody = np.where(f == 0, np.exp(own.log_generating(1.0, phi)), 0)
    value = (np.exp(logs) * (there - nobody) / (1 - gap) * weight).sum(axis=1)
    return np.where(own.rho > 0, value, 0)


def _own(sources: Sources) -> _Cells:
    grid = sources.grid
    count, lam, pi = (grid.at(table) for table in (sources.count, sources.lam, sources.pi))
    return _Cells((grid.stay > 0).astype(np.float64), count, lam, pi)


def _gathered(sources: Sources, *, pi: Array, phi: float) -> _Cells:
    """Return two cells that stand for the unsampled units of all other sources, one for the sampled.

    Two-point Gauss quadrature in M_jk: the points and their units have the moments
    `sum over k != j of a_k M_jk^p`, p = 1 to 4, where a_k are the unsampled units to expect.
    """
    grid, stay = sources.grid, sources.grid.stay
    unsampled = (
        -expectations.log_generating(
            _TINY, lam=sources.lam, pi=sources.pi, phi=phi, count=sources.count
        )
        / _TINY
    )

    def moments(table: Array) -> list[Array]:
        own = grid.at(table)
        spread = (grid.at(grid.spread(table, power=p)) - own * stay**p for p in range(1, 5))
        return [np.maximum(moment, 0) for moment in spread]

    points, units = _two_points(*moments(unsampled))
    odds = stay / np.maximum(1 - pi * stay, _TINY)
    rho = points / np.maximum(1 - pi[:, None] * points, _TINY)
    orders = enumerate(moments(sources.count))
    sampled = np.sum([pi**order * moment for order, moment in orders], axis=0)
    rho = np.concatenate([rho, sampled[:, None]], axis=1)
    rho = np.divide(rho, odds[:, None], out=np.zeros_like(rho), where=odds[:, None] > 0)
    none, one = np.zeros(len(stay)), np.ones(len(stay))
    lam = np.column_stack([units, none])
    return _Cells(rho, np.column_stack([none, none, one]), lam, np.zeros_like(lam))


def _two_points(s1: Array, s2: Array, s3: Array, s4: Array) -> tuple[Array, Array]:
    """Return two points x and units a with `sum of a x^p` equal to the given moments, p = 1 to 4."""
    det = s1 * s3 - s2**2
    flat = det <= 1e-9 * s1 * s3  # one point holds everything
    safe = np.where(flat, 1, det)
    linear, constant = (s2 * s3 - s1 * s4) / safe, (s2 * s4 - s3**2) / safe
    root = np.sqrt(np.maximum(linear**2 / 4 - constant, 0))
    mean = np.divide(s2, s1, out=np.zeros_like(s1), where=s1 > 0)
    low = np.where(flat, mean, np.clip(-linear / 2 - root, 1e-300, 1))
    high = np.where(flat, mean, np.clip(-linear / 2 + root, 1e-300, 1))
    upper = np.divide(s2 - low * s1, high - low, out=np.zeros_like(s1), where=high > low)
    mass = np.column_stack([s1 - upper, upper])
    points = np.column_stack([low, high])
    return points, np.divide(mass, points, out=np.zeros_like(mass), where=points > 0)


def expected_match_probability_unseen(
    sources: Sources, released: Array, means: Array, *, pi: Array
) -> Array:
    """Return E[(2.4) given the released file alone] of each target.

    A released record of cell j comes from k with probability `q_jk`, in proportion to M_jk times
    the table of `means`, so that it adds `G(u) = sum of q_jk u^rho_k`. Records of other released
    cells, whose expected number is in `sources.count`, are taken as Poisson.
    """
    grid = sources.grid
    origin = grid.at(grid.spread(means))
    risk = np.zeros(len(grid.row))
    for targets in _blocks(len(risk), grid.rows):
        rho, row = _odds_against(grid, targets, pi)
        count, lam, at = sources.of(targets)
        q = grid.chances(targets) * means[:, grid.column[targets]].T / origin[targets, None]
        m = released[targets, None]
        mine = np.arange(len(row)), row
        others = (1 - at) * lam + np.maximum(count - m * q, 0)
        gap, weight = expectations.nodes((rho * (others + m * q)).sum(axis=1), _NODES)
        log_u = np.log1p(-gap)
        logs, elsewhere = np.zeros_like(gap), np.zeros_like(gap)
        for k in range(grid.rows):
            other = np.not_equal(row, k)[:, None]
            power = np.exp(rho[:, k, None] * log_u)
            logs -= other * others[:, k, None] * (1 - power)
            elsewhere += other * q[:, k, None] * power
        a, stayed = others[mine][:, None], q[mine][:, None] * (1 - gap)
        there = (elsewhere + stayed) ** m * np.exp(-a * gap) - elsewhere**m * np.exp(-a)
        value = (np.exp(logs) * there / (1 - gap) * weight).sum(axis=1)
        risk[targets] = np.where(rho[mine] > 0, value, 0)
    return risk


def _blocks(targets: int, rows: int) -> Iterator[slice]:
    size = max(_AT_ONCE // max(rows, _NODES), 1)
    for start in range(0, targets, size):
        yield slice(start, min(start + size, targets))


def _odds_against(grid: Grid, targets: slice, pi: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return rho of every source of some targets, and the row of each target itself.

    A target that is never recorded in its own cell (M_jj = 0) has rho 0 there.
    """
    chance = grid.chances(targets)
    # A unit that is sampled and recorded there for sure has infinite odds: nearly so will do.
    w = chance / np.maximum(1 - pi[targets, None] * chance, _TINY)
    own = grid.row[targets]
    mine = w[np.arange(len(own)), own][:, None]
    return np.divide(w, mine, out=np.zeros_like(w), where=mine > 0), own
