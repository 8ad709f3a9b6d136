"""The risk to expect, given a sample or a released file and a model of the population.

A unit of true cell k has the odds `o_k = x_k / (1 - x_k)`, `x_k = pi_k M_jk`, of being the record
released in cell j. With `X = sum over k of F_k o_k` the risk from exact matching is `o_j / X` where
somebody truly is in cell j, and that from an informed intruder `o_k / X` for the likeliest cell k
that holds anybody. The mean of an inverse is an integral over a generating function, `E(1/X) =
integral over s > 0 of E(e^(-s X)) ds`, and E(e^(-s X)) is a product over the true cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.loglinear.expectations import expected_inverse, log_generating, nodes
from maskmeter.mechanism import Grid
from maskmeter.types import Array, Integers

_NODES = 32
_FIRST = -3.2  # where the integral begins, on its own scale: 1e-12 of it is left out
_LAST = 25.0  # s times the least odds, where it ends
_UNLIKELY = -28.0  # logarithm of a chance that does not matter
_AT_ONCE = 1 << 17  # elements of the arrays that are made in one go: they stay in the cache
MOST_PAIRS = 20_000_000  # released cells times their sources that are gone through one by one
MOST_SOURCES = 5_000  # of a released cell
_TINY = 1e-12
_NOBODY = 1e-9  # units to expect in a cell that may be left out

Places: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


class Expected(NamedTuple):
    """The risk of each released cell from an intruder who matches exactly, and an informed one."""

    exact_match: Array
    informed: Array


@dataclass(frozen=True)
class Cells:
    """True cells, a row for each target: x, sampled units, population mean and inclusion.

    `most` are the odds that a cell counts with when it is the likeliest that holds anybody: its
    own, or a bound where one cell stands for several.
    """

    x: Array
    count: Array
    lam: Array
    pi: Array
    most: Array | None = None

    @cached_property
    def odds(self) -> Array:
        """Odds of each cell. A unit that is there for sure has infinite odds: nearly so will do."""
        return self.x / np.maximum(1 - self.x, _TINY)

    @property
    def mean(self) -> Array:
        """Units to expect."""
        return self.count + (1 - self.pi) * self.lam

    def log_generating(self, gap: Array | float, phi: float) -> Array:
        """Return the logarithm of the generating function of the unsampled units at 1 - gap."""
        return log_generating(gap, lam=self.lam, pi=self.pi, phi=phi, count=self.count)

    def log_nobody(self, phi: float) -> Array:
        """Return log Pr(F = 0)."""
        return np.where(self.count > 0, -np.inf, self.log_generating(1.0, phi))

    def at(self, places: Places) -> Cells:
        """Return one cell for each target, as a column."""
        return Cells(*(a[places][:, None] for a in (self.x, self.count, self.lam, self.pi)))

    def likeliest_first(self) -> Cells:
        """Return the cells of each target in falling order of their odds."""
        most = self.odds if self.most is None else self.most
        held = self.mean > _NOBODY  # many cells are as good as empty
        order = np.argsort(np.where(held, -most, np.inf), axis=1, kind="stable")
        order = order[:, : int((held & ((self.x > 0) | (most > 0))).sum(axis=1).max(initial=1))]
        arrays = (self.x, self.count, self.lam, self.pi, most)
        return Cells(*(np.take_along_axis(one, order, axis=1) for one in arrays))

    def log_transform(self, k: int, s: Array, phi: float) -> Array:
        """Return log E(e^(-s o F)) of the k-th cell of each target."""
        lam, pi, count = (one[:, k, None] for one in (self.lam, self.pi, self.count))
        gap = s * -self.odds[:, k, None]
        sampled = gap * count if count.any() else 0.0
        np.negative(np.expm1(gap, out=gap), out=gap)
        return log_generating(gap, lam=lam, pi=pi, phi=phi, count=count) + sampled


@dataclass(frozen=True)
class Sources:
    """The true cells that released ones may come from, as tables over a grid.

    `count` are units of the sample, `lam` population means and `pi` inclusion probabilities.
    `recorded` is the inclusion of the targets, where the sample is drawn by recorded cells. `told`
    are inclusion probabilities given the counts that matrices tell, where they do.
    """

    grid: Grid
    count: Array
    lam: Array
    pi: Array
    recorded: Array | None = None
    told: Array | None = None

    @property
    def share(self) -> Array:
        """Inclusion probabilities that count for whose record it is."""
        return self.pi if self.told is None else self.told

    def moments(self, table: Array, powers: range) -> Iterator[Array]:
        """Yield `sum over k of table_k x_k^p` of each target, for each power p."""
        for p in powers:
            if self.recorded is None:
                yield self.grid.at(self.grid.spread(table * self.share**p, power=p))
            else:
                yield self.recorded**p * self.grid.at(self.grid.spread(table, power=p))

    def chosen(self, targets: Integers, chance: Array, rows: Integers | None = None) -> Cells:
        """Return cells of some targets with their M_jk: those of some rows of the grid, or all."""
        columns = self.grid.column[targets, None]
        at = (np.arange(self.grid.rows) if rows is None else rows, columns)
        share = self.share[at] if self.recorded is None else self.recorded[targets, None]
        return Cells(share * chance, self.count[at], self.lam[at], self.pi[at])

    def blocks(self) -> Iterator[tuple[Integers, Cells, Places]]:
        """Yield targets, their sources and where each target is among these, part after part."""
        for targets in parts(self.grid, max(self.grid.rows, _NODES)):
            own = self.grid.row[targets]
            cells = self.chosen(targets, self.grid.chances(targets))
            yield targets, cells, (np.arange(len(own)), own)

    @property
    def own(self) -> Cells:
        """The own cell of each target."""
        grid = self.grid
        count, lam, pi = (grid.at(one) for one in (self.count, self.lam, self.pi))
        share = grid.at(self.share) if self.recorded is None else self.recorded
        return Cells(share * grid.stay, count, lam, pi)


def parts(grid: Grid, size: int) -> Iterator[Integers]:
    """Yield so many targets as can be worked on in one go, when each takes arrays of some size.

    Those of a part share their matrices: where few sources have a chance, few are gone through.
    """
    step = max(_AT_ONCE // size, 1)
    kind = np.empty(len(grid.columns), dtype=np.int64)
    for number, (_, columns) in enumerate(grid.groups):
        kind[columns] = number
    of_target = kind[grid.column]
    for alike in np.split(
        np.argsort(of_target, kind="stable"), np.cumsum(np.bincount(of_target))[:-1]
    ):
        yield from (alike[start : start + step] for start in range(0, len(alike), step))


def one_by_one(grid: Grid) -> bool:
    """Return True when every source of every released cell can be gone through."""
    return grid.rows <= MOST_SOURCES and len(grid.row) * grid.rows <= MOST_PAIRS


def match_given_sample(cells: Cells, own: Places, *, phi: float) -> Array:
    """Return E(risk of exact matching) where F_k = f_k + unsampled units, given all f.

    It is that of `risk_given_sample`, bit for bit: no figure depends on what else was asked.
    """
    ranked, _, s, weight = _prepared(cells, own, phi)
    logs = np.zeros_like(s)
    for k in reversed(range(ranked.x.shape[1])):
        logs += ranked.log_transform(k, s, phi)
    return _match(cells.at(own), s, weight * np.exp(logs), phi)


def risk_given_sample(cells: Cells, own: Places, *, phi: float) -> Expected:
    """Return E(risk) from both intruders where F_k = f_k + unsampled units, given all f."""
    ranked, before, s, weight = _prepared(cells, own, phi)
    informed, everybody = _integrand(ranked, before, s, phi)
    matched = _match(cells.at(own), s, weight * everybody, phi)
    return Expected(matched, (informed * weight).sum(axis=1))


def _prepared(cells: Cells, own: Places, phi: float) -> tuple[Cells, Array, Array, Array]:
    """Return the cells in order, the chances that those before each are empty, nodes and weights."""
    ranked, here = cells.likeliest_first(), cells.at(own)
    before = _log_empty_before(ranked, phi)
    least = np.minimum(_least(ranked, before), np.where(here.odds > 0, here.odds, np.inf)[:, 0])
    return ranked, before, *_nodes(ranked, least)


def _match(here: Cells, s: Array, everybody: Array, phi: float) -> Array:
    """Return `o_j integral over s of E(1(F_j > 0) e^(-s X))`, from E(e^(-s X)) times the weights.

    The outcomes in which nobody truly is in cell j are taken out.
    """
    present = -np.expm1(here.log_nobody(phi) - here.log_transform(0, s, phi))
    return np.asarray(here.odds[:, 0] * (everybody * present).sum(axis=1))


def _log_empty_before(ranked: Cells, phi: float) -> Array:
    """Return the logarithm of the chance that all cells before each one are empty."""
    return np.cumsum(np.pad(ranked.log_nobody(phi), ((0, 0), (1, 0)))[:, :-1], axis=1)


def _least(ranked: Cells, before: Array) -> Array:
    """Return the least odds that the likeliest cell may have, but for what hardly happens."""
    matter = (before > _UNLIKELY) & (ranked.x > 0)
    return np.asarray(np.where(matter, ranked.odds, np.inf).min(axis=1))


def _integrand(
    ranked: Cells, before: Array, s: Array, phi: float, origin: Array | None = None
) -> tuple[Array, Array]:
    """Return E(o e^(-s X)) for the largest odds o of a cell that holds anybody, and E(e^(-s X)).

    `sum_i o_i [prod over k < i of Pr(F_k = 0)] [G_i(s) - Pr(F_i = 0)] prod over k > i of G_k(s)`,
    `G_k(s) = E(e^(-s o_k F_k))`, cells in falling order of their odds. Where one more unit is known
    to be there, which comes from cell k with the chances `origin`, the likeliest cell is its own or
    one before it that holds anybody else.
    """
    nobody, most = ranked.log_nobody(phi), ranked.odds if ranked.most is None else ranked.most
    total, behind = np.zeros_like(s), np.zeros_like(s)  # the latter as logarithms
    elsewhere = np.ones_like(s) if origin is None else np.zeros_like(s)
    for k in reversed(range(ranked.x.shape[1])):
        logs = ranked.log_transform(k, s, phi)
        # The likeliest cell is seldom one of the last: most targets need no more than the product.
        some = np.flatnonzero(before[:, k] > _UNLIKELY)
        there = np.exp(logs[some])
        found = (there - np.exp(nobody[some, k, None])) * elsewhere[some]
        if origin is not None:
            from_here = origin[:, k, None] * np.exp(-s * ranked.odds[:, k, None])
            found += from_here[some] * there
            elsewhere += from_here
        scale = most[some, k] * np.exp(before[some, k])
        total[some] += scale[:, None] * found * np.exp(behind[some])
        behind += logs
    return total, np.exp(behind)


def _nodes(cells: Cells, least: Array) -> tuple[Array, Array]:
    """Return values of s and weights for integrals of e^(-s X), whatever X may be.

    The trapezoidal rule in y, `s = e^(y - e^-y) / scale`: it is exact to 1e-7 for every X between
    the least odds that matter, below which X never is, and several times its mean.
    """
    least = np.where(np.isfinite(least) & (least > 0), least, 1.0)
    scale = np.maximum((cells.odds * cells.mean).sum(axis=1), least)
    step = (np.log(_LAST * scale / least) - _FIRST) / (_NODES - 1)
    y = _FIRST + step[:, None] * np.arange(_NODES)
    s = np.exp(y - np.exp(-y)) / scale[:, None]
    return s, step[:, None] * s * (1 + np.exp(-y))


def match_given_release(sources: Sources, released: Array, *, phi: float = 0.0) -> Array:
    """Return E(risk of exact matching), given the released counts alone.

    A record in a released cell of m comes from its own cell with the chance `q = lam_j x_j / sum_k
    lam_k x_k`, and its risk is `q integral over t in [0, 1] of (1 - q (1 - t))^(m - 1) e^(-lam_j
    (1 - x_j) (1 - t))`. With phi, a unique in gamma cells has the gamma form of that integral, and
    the weights `lam_k x_k / (1 + phi lam_k x_k)` in q.
    """
    own = sources.own
    q = own_origin(sources)
    others = own.lam * (1 - own.x)
    gap, weight = nodes(others + q * (released - 1))
    logs = (released - 1)[:, None] * np.log1p(-q[:, None] * gap) - others[:, None] * gap
    risk = np.asarray(q * (np.exp(logs) * weight).sum(axis=1))
    if phi:
        inverse = expected_inverse(own.lam, pi=own.x, phi=phi)
        risk = np.where(released == 1, own_origin(sources, phi) * inverse, risk)
    return risk


def own_origin(sources: Sources, phi: float = 0.0) -> Array:
    """Return q, the chance that a record comes from its own cell.

    With too many sources to go through, phi is left out: it takes half a point off the error.
    """
    own = sources.own
    mine = own.lam * own.x
    if phi and one_by_one(sources.grid):
        mine = mine / (1 + phi * mine)
        arrivals = np.empty_like(mine)
        for targets, cells, _ in sources.blocks():
            sent = cells.lam * cells.x
            arrivals[targets] = (sent / (1 + phi * sent)).sum(axis=1)
    else:
        (arrivals,) = sources.moments(sources.lam, range(1, 2))
    return np.divide(mine, arrivals, out=np.zeros_like(arrivals), where=arrivals > 0)


def informed_given_release(cells: Cells) -> Array:
    """Return E(risk from an informed intruder), given that one record was released in the cell.

    It comes from cell k with a chance in proportion to lam_k x_k; the other units of a cell, which
    were not released there, are Poisson with mean lam_k (1 - x_k).
    """
    ranked = cells.likeliest_first()
    weights = ranked.lam * ranked.x
    origin = weights / np.maximum(weights.sum(axis=1, keepdims=True), _TINY)
    none = np.zeros_like(ranked.x)
    others = Cells(ranked.x, none, ranked.lam * (1 - ranked.x), none, ranked.most)
    before = _log_empty_before(others, 0.0)
    s, weight = _nodes(others, _least(others, before))
    informed, _ = _integrand(others, before, s, 0.0, origin)
    return np.asarray((informed * weight).sum(axis=1))


def expected_originals(grid: Grid, released: Array, means: Array) -> Array:
    """Return the expected units of each true cell behind released counts, where `means` are fitted.

    `n_k = sum over j of f~_j M_jk m_k / sum over l of M_jl m_l`
    """
    origin = grid.spread(means)
    share = np.divide(released, origin, out=np.zeros_like(origin), where=origin > 0)
    return means * grid.trace_back(share)
