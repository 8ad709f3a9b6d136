"""How the estimated risk of a record changes because others share its released cell.

With m records in the cell the risk is R(m) in place of R(1), which is (2.4): their ratio, at the
units to expect, is a factor on the expected risk of a single record.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from maskmeter.risk.contenders import Contenders
from maskmeter.risk.expected import Cells, Places
from maskmeter.risk.formulas import ratio
from maskmeter.types import Array, Integers

_BY_POWERS = 32  # records of a cell up to which power sums keep their digits
_LOST = 1e-8  # of the terms: a sum that is smaller has lost its digits
_NOBODY = 1e-9  # units to expect in a cell that may be left out
_LIKELIER_THAN_NOT = np.log(2)  # units to expect, where somebody is there in one case of two


class SharedFactors(NamedTuple):
    """R(m) / R(1) of each released cell for both intruders, and how often it is undefined.

    It is undefined, and taken to be 1, where fewer than m units are to be expected.
    """

    exact_match: Array
    informed: Array
    undefined: int


def shared_factors(
    cells: Cells, own: Places, *, records: Integers, informed: bool
) -> SharedFactors:
    """Return by how much the risk of a record changes because its cell holds m records.

    `p1 e_(m-1)(o without B) / (m e_m(o))`, `p1 = sum F o`, at the units to expect. It is 1 for
    m = 1 and without misclassification. The informed intruder is not asked for unless `informed`.
    """
    factors, several = np.ones((2, len(records))), np.flatnonzero(records > 1)
    (_, column), held = own, records[several].astype(np.float64)
    some, place = _rows(cells, several), column[several]
    factors[0, several], undefined = _factor(some, place, held)
    if informed:
        factors[1] = factors[0]
        likeliest = _likeliest(some)
        other = np.flatnonzero(likeliest != place)
        emptied = _without_likelier(_rows(some, other), likeliest[other])
        factors[1, several[other]], more = _factor(emptied, likeliest[other], held[other])
        undefined += more
    return SharedFactors(factors[0], factors[1], undefined)


def _rows(cells: Cells, rows: Integers) -> Cells:
    """Return the cells of some targets."""
    most = None if cells.most is None else cells.most[rows]
    return Cells(cells.x[rows], cells.count[rows], cells.lam[rows], cells.pi[rows], most)


def _units(cells: Cells) -> tuple[Array, Array]:
    """Return the odds of units, and how many are to be expected.

    A cell that stands for several has more units, none with larger odds than its bound.
    """
    if cells.most is None:
        return cells.odds, cells.mean
    odds = np.minimum(cells.odds, cells.most)
    return odds, cells.mean * ratio(cells.odds, odds)


def _likeliest(cells: Cells) -> Integers:
    """Return which cell the likeliest person of each target is in.

    The first in falling order of the odds by which somebody is there more likely than not: the one
    with the largest odds that is surely held is not passed by, nor do cells that are as good as
    empty count.
    """
    odds, units = _units(cells)
    order = np.argsort(-odds, axis=1, kind="stable")
    held = np.cumsum(np.take_along_axis(units, order, axis=1), axis=1) >= _LIKELIER_THAN_NOT
    return np.asarray(order[np.arange(len(order)), held.argmax(axis=1)])


def _without_likelier(cells: Cells, place: Integers) -> Cells:
    """Return the cells with nobody in those that have larger odds than one of each target."""
    odds, _ = _units(cells)
    before = odds > odds[np.arange(len(place)), place][:, None]
    return replace(cells, x=np.where(before, 0.0, cells.x))


def _factor(cells: Cells, place: Integers, records: Array) -> tuple[Array, int]:
    """Return R(m) / R(1) for a unit B of one cell of each target, and for how many it is undefined.

    The cell of B holds at least one unit, and about 1 / E(1/F) of them rather than the mean, for
    R(1) is largest where they are few.
    """
    at = np.arange(len(place)), place
    odds, units = _units(cells)
    own, count = odds[at], np.maximum(cells.count[at], 1.0)
    mean = count + (1 - cells.pi[at]) * cells.lam[at]
    number = mean**3 / (mean**2 + mean - count)
    units[at] = np.floor(number) - 1
    here = _contenders(odds, units)
    found, top = np.where(own > 0, np.nan, 1.0), 1
    while top < min(int(records.max(initial=1)), _BY_POWERS):
        some, top = (records > top) & (records <= 2 * top) & (own > 0), 2 * top
        found[some] = _between(here.at(some), own[some], number[some], records[some])
    some = np.isnan(found)
    units[at] = number
    here = _contenders(odds[some], units[some])
    among = here.chance_about(own[some], records[some])
    found[some] = among * here.total(here.odds) / (own[some] * records[some])
    undefined = ~np.isfinite(found)
    return np.where(undefined, 1.0, found), int(undefined.sum())


def _contenders(odds: Array, units: Array) -> Contenders:
    """Return all units that may be there."""
    target, source = np.nonzero((odds > 0) & (units > _NOBODY))
    return Contenders(target, odds[target, source], units[target, source], len(odds))


def _between(others: Contenders, own: Array, number: Array, records: Array) -> Array:
    """Return `p1 e_(m-1)(o without B) / (m e_m(o))` with so many units in the cell of B.

    `others` has one unit less there than the whole number below. The factor is interpolated from
    the whole numbers on both sides: so it is 1 where nobody comes from elsewhere, and a part of a
    unit does not count as one with negative odds. NaN where digits are lost.
    """
    weight, factors = others.total(others.odds), []
    scale = records / (weight + own)  # so that no power overflows
    found, bound = others.polynomials(records, scale)
    for _ in range(2):
        before, limit, weight = found[-2], bound[-2], weight + own
        found, bound = (one[1:] + own * scale * one[:-1] for one in (found, bound))  # with B
        kept = (before > _LOST * limit) & (found[-1] > _LOST * bound[-1])
        among = np.minimum(own * scale * ratio(before, found[-1]), 1.0)
        factors.append(np.where(kept, among * weight / (own * records), np.nan))
    low, high = factors
    return np.asarray(low + (number - np.floor(number)) * (high - low))
