"""The exact risk (2.4) to expect, given a sample or a released file and a model of the population.

With `w_k = M_jk / (1 - pi_j M_jk)` and `rho_k = w_k / w_j`, (2.4) is 1/X for `X = F_j + sum over
k != j of rho_k F_k`. The mean of an inverse is an integral over a generating function, `E(1/X) =
integral over u in [0, 1] of E(u^X) du / u`, and E(u^X) is a product over the true cells k. Where
nobody truly is in cell j there is no target: the outcomes with F_j = 0 are taken out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.loglinear.expectations import log_generating, nodes
from maskmeter.mechanism import Grid
from maskmeter.types import Array

_NODES = 32
_AT_ONCE = 1 << 20  # elements of the arrays that are made in one go
MOST_PAIRS = 20_000_000  # released cells times their sources that are gone through one by one
MOST_SOURCES = 5_000  # of a released cell
_TINY = 1e-12

Places: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class _Cells:
    """True cells, a row for each target: rho, sampled units, population mean and inclusion."""

    rho: Array
    count: Array
    lam: Array
    pi: Array

    def at(self, places: Places | tuple[slice, int]) -> _Cells:
        """Return one cell for each target."""
        return _Cells(self.rho[places], self.count[places], self.lam[places], self.pi[places])

    def each(self) -> Iterator[_Cells]:
        """Yield the first cell of every target, then the second, and so on."""
        return (self.at((slice(None), k)) for k in range(self.rho.shape[1]))

    @property
    def steepness(self) -> Array:
        """How fast their generating function falls off: rho times the units to expect."""
        return self.rho * (self.count + (1 - self.pi) * self.lam)

    def log_generating(self, gap: Array | float, phi: float) -> Array:
        """Return the logarithm of the generating function of the unsampled units at 1 - gap."""
        lam, pi, count = (a[:, None] for a in (self.lam, self.pi, self.count))
        return log_generating(gap, lam=lam, pi=pi, phi=phi, count=count)


@dataclass(frozen=True)
class Sources:
    """The true cells that released ones may come from, as tables over a grid.

    `count` are units of the sample, by their original or their released cells; `lam` are population
    means and `pi` inclusion probabilities.
    """

    grid: Grid
    count: Array
    lam: Array
    pi: Array

    def blocks(self, pi: Array) -> Iterator[tuple[slice, _Cells, Places]]:
        """Yield targets, their sources and where each target is among these, part after part.

        `pi` is the inclusion of the targets. One that is never recorded in its own cell (M_jj = 0)
        has rho 0 there.
        """
        size = max(_AT_ONCE // max(self.grid.rows, _NODES), 1)
        for start in range(0, len(pi), size):
            targets = slice(start, min(start + size, len(pi)))
            chance, columns = self.grid.chances(targets), self.grid.column[targets]
            own = np.arange(len(columns)), self.grid.row[targets]
            # A unit that is sampled and recorded there for sure has infinite odds: nearly so will do.
            w = chance / np.maximum(1 - pi[targets, None] * chance, _TINY)
            w_own = w[own][:, None]
            rho = np.divide(w, w_own, out=np.zeros_like(w), where=w_own > 0)
            tables = (table[:, columns].T for table in (self.count, self.lam, self.pi))
            yield targets, _Cells(rho, *tables), own


def one_by_one(grid: Grid) -> bool:
    """Return True when every source of every released cell can be gone through."""
    return grid.rows <= MOST_SOURCES and len(grid.row) * grid.rows <= MOST_PAIRS


def expected_risk_given_sample(sources: Sources, *, pi: Array, phi: float) -> Array:
    """Return E[(2.4) given the original sample] of each target; `pi` is the targets' inclusion.

    Sources are gone through one by one while that is affordable; else those of a target are
    gathered in two Poisson cells with the same first four moments of M_jk.
    """
    grid = sources.grid
    if not one_by_one(grid):
        stays = (grid.stay > 0).astype(np.float64)
        own = _Cells(stays, *(grid.at(t) for t in (sources.count, sources.lam, sources.pi)))
        return _given_sample(own, _two_cells(sources, pi=pi, phi=phi), phi=phi, phi_others=0.0)
    risk = np.zeros(len(grid.row))
    for targets, cells, place in sources.blocks(pi):
        own = cells.at(place)
        cells.rho[place] = 0
        risk[targets] = _given_sample(own, cells, phi=phi, phi_others=phi)
    return risk


def _given_sample(own: _Cells, others: _Cells, *, phi: float, phi_others: float) -> Array:
    """Return E(1/X) where F_j > 0, given the sampled units f of every cell.

    `integral of [u^f_j Q_j(u) - 1(f_j = 0) Q_j(0)] prod over k of u^(rho_k f_k) Q_k(u^rho_k) du / u`,
    where Q generates the unsampled units of a cell.
    """
    gap, weight = nodes(own.steepness + others.steepness.sum(axis=1), _NODES)
    log_u = np.log1p(-gap)
    logs = (others.rho * others.count).sum(axis=1)[:, None] * log_u
    for cell in others.each():
        logs += cell.log_generating(1 - np.exp(cell.rho[:, None] * log_u), phi_others)
    f = own.count[:, None]
    there = np.exp(f * log_u + own.log_generating(gap, phi))
    nobody = np.where(f == 0, np.exp(own.log_generating(1.0, phi)), 0)
    value = (np.exp(logs) * (there - nobody) / (1 - gap) * weight).sum(axis=1)
    return np.where(own.rho > 0, value, 0)


def _two_cells(sources: Sources, *, pi: Array, phi: float) -> _Cells:
    """Return three cells that stand for all other sources: two for their unsampled units.

    Two-point Gauss quadrature in M_jk: the points and their units have the moments
    `sum over k != j of a_k M_jk^p`, p = 1 to 4, where a_k are the unsampled units to expect. The
    third cell holds one sampled unit, whose rho is that of all of them: `sum over k != j of f_k
    M_jk / (1 - pi_j M_jk)` by its series in pi_j M_jk.
    """
    grid, stay = sources.grid, sources.grid.stay
    lam, count = sources.lam, sources.count
    unsampled = -log_generating(_TINY, lam=lam, pi=sources.pi, phi=phi, count=count) / _TINY

    def moments(table: Array) -> list[Array]:
        own = grid.at(table)
        spread = (grid.at(grid.spread(table, power=p)) - own * stay**p for p in range(1, 5))
        return [np.maximum(moment, 0) for moment in spread]

    points, units = _two_points(*moments(unsampled))
    w = points / np.maximum(1 - pi[:, None] * points, _TINY)
    w_sampled = np.sum([pi**p * moment for p, moment in enumerate(moments(count))], axis=0)
    w_own = (stay / np.maximum(1 - pi * stay, _TINY))[:, None]
    rho = np.column_stack([w, w_sampled])
    rho = np.divide(rho, w_own, out=np.zeros_like(rho), where=w_own > 0)
    none = np.zeros(len(stay))
    lam, count = np.column_stack([units, none]), np.column_stack([none, none, none + 1])
    return _Cells(rho, count, lam, np.zeros_like(lam))


def _two_points(s1: Array, s2: Array, s3: Array, s4: Array) -> tuple[Array, Array]:
    """Return two points x and units a with `sum of a x^p` equal to the given moments, p = 1 to 4.

    The points are the roots of `x^2 + linear x + constant`, orthogonal to 1 and x.
    """
    det = s1 * s3 - s2**2
    flat = det <= 1e-9 * s1 * s3  # one point holds everything
    safe = np.where(flat, 1, det)
    linear, constant = (s2 * s3 - s1 * s4) / safe, (s2 * s4 - s3**2) / safe
    root = np.sqrt(np.maximum(linear**2 / 4 - constant, 0))
    mean = np.divide(s2, s1, out=np.zeros_like(s1), where=s1 > 0)
    low = np.where(flat, mean, np.clip(-linear / 2 - root, 1e-300, 1))
    high = np.where(flat, mean, np.clip(-linear / 2 + root, 1e-300, 1))
    upper = np.divide(s2 - low * s1, high - low, out=np.zeros_like(s1), where=high > low)
    mass, points = np.column_stack([s1 - upper, upper]), np.column_stack([low, high])
    return points, np.divide(mass, points, out=np.zeros_like(mass), where=points > 0)


def expected_risk_given_release(sources: Sources, *, pi: Array) -> Array:
    """Return E[(2.4) given the released counts alone] of each target, with Poisson cells.

    A released record of cell j comes from k with probability q_k, in proportion to M_jk times the
    sample mean mu_k. Records of other released cells are taken as Poisson, with the expected
    number that comes from k.
    """
    grid, mu = sources.grid, sources.pi * sources.lam
    units = expected_originals(grid, sources.count, mu)
    released, origin = grid.at(sources.count), grid.at(grid.spread(mu))
    risk = np.zeros(len(grid.row))
    for targets, cells, own in replace(sources, count=units).blocks(pi):
        q = grid.chances(targets) * mu[:, grid.column[targets]].T / origin[targets, None]
        here = released[targets, None]
        others = (1 - cells.pi) * cells.lam + np.maximum(cells.count - here * q, 0)
        risk[targets] = _given_release(cells.rho, others, q, own=own, released=here)
    return risk


def _given_release(rho: Array, others: Array, q: Array, *, own: Places, released: Array) -> Array:
    """Return E(1/X) where F_j > 0, given m released records of cell j.

    `integral of [(G(u) + q_j u)^m e^(-a_j (1 - u)) - G(u)^m e^(-a_j)] prod over k != j of
    e^(-a_k (1 - u^rho_k)) du / u`, with `G(u) = sum over k != j of q_k u^rho_k`, where a are the
    means of the `others`: units that are unsampled or released elsewhere.
    """
    gap, weight = nodes((rho * (others + released * q)).sum(axis=1), _NODES)
    log_u = np.log1p(-gap)
    a, stayed = others[own][:, None], q[own][:, None] * (1 - gap)
    others[own], q[own] = 0, 0
    logs, elsewhere = np.zeros_like(gap), np.zeros_like(gap)
    for k in range(rho.shape[1]):
        power = np.exp(rho[:, k, None] * log_u)
        logs -= others[:, k, None] * (1 - power)
        elsewhere += q[:, k, None] * power
    there = (elsewhere + stayed) ** released * np.exp(-a * gap)
    nobody = elsewhere**released * np.exp(-a)
    value = (np.exp(logs) * (there - nobody) / (1 - gap) * weight).sum(axis=1)
    return np.where(rho[own] > 0, value, 0)


def expected_originals(grid: Grid, released: Array, means: Array) -> Array:
    """Return the expected units of each true cell behind released counts, where `means` are fitted.

    `n_k = sum over j of f~_j M_jk m_k / sum over l of M_jl m_l`
    """
    origin = grid.spread(means)
    share = np.divide(released, origin, out=np.zeros_like(origin), where=origin > 0)
    return means * grid.trace_back(share)
