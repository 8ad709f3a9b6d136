"""The risk of a record that shares its released cell with others, where the population is known.

Given that m units are released in a cell, one of them, taken at random, is unit B with the chance

    R(m) = o_B e_(m-1)(o without B) / (m e_m(o)),

o the odds of all units of being released there and e_m their elementary symmetric polynomial. R(1)
is (2.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from maskmeter.mechanism import origins
from maskmeter.risk.contenders import Contenders
from maskmeter.risk.formulas import ratio
from maskmeter.risk.population import Uniques
from maskmeter.types import Array, Integers

_FIRST = 64  # cells that are gone through before others are ruled out


def shared_risk(
    target: Integers, x: Array, *, units: Array, chosen: Array, records: Array
) -> Array:
    """Return R(m) of released cells that hold m records, for a unit B with x = `chosen`.

    `target`, `x` and `units` are those of all kinds of units that may be there, B among them. T
    units with x = 1 are there for sure and take T of the m records: the risk of one of them is
    1/m, and all others compete for m - T. Where so few units cannot leave m records, or so many
    certain ones must leave more, it is that of (2.4), at most 1/m.
    """
    sure, size = x >= 1, len(records)
    odds, own = ratio(x, 1 - x), np.where(chosen < 1, ratio(chosen, 1 - chosen), 0.0)
    certain = np.bincount(target[sure], units[sure], minlength=size).astype(np.float64)
    some = ~sure & (x > 0)
    others = Contenders(target[some], odds[some], units[some], size)
    left, number = records - certain, others.total()
    among = np.where((left > 0) & (left == number), own > 0, 0.0)  # all of them are there
    between = (left > 0) & (left < number)
    among[between] = others.at(between).chance_among(own[between], left[between])
    among[chosen >= 1] = 1
    unique = np.where(
        certain > 0,
        ratio((chosen >= 1).astype(np.float64), certain),
        ratio(own, others.total(others.odds)),
    )
    possible = (left >= 0) & (left <= number)
    return np.where(possible, among / records, np.minimum(unique, 1 / records))


def shared_risks(uniques: Uniques, records: Array, *, informed: bool) -> Iterator[Array]:
    """Yield R(m) of released cells that hold several records, part after part, in their order.

    B is somebody of the own cell, where there is anybody; for an informed intruder one of those
    with the largest odds.
    """
    for found in origins(uniques.mechanism, uniques.counts, uniques.cells, pi=uniques.inclusion):
        cells = slice(found.start, found.stop)
        own, size = uniques.own[cells], found.stop - found.start
        chosen = np.where(own > 0, uniques.pi[cells] * uniques.stay[cells], 0.0)
        target = np.append(found.target, np.arange(size))
        x, units = np.append(found.x, chosen), np.append(found.units, own)
        if informed:
            np.maximum.at(chosen, found.target, found.x)
        yield shared_risk(target, x, units=units, chosen=chosen, records=records[cells])


def largest_shared(uniques: Uniques, records: Array, *, bound: Array, informed: bool) -> float:
    """Return the largest R(m) of some released cells, where `bound` is a bound on that of each.

    Only cells whose bound exceeds what was found so far are gone through.
    """
    order, best = np.argsort(-bound, kind="stable"), 0.0
    for part in (order[:_FIRST], order[_FIRST:]):
        some, start = part[bound[part] > best], 0
        cells = replace(uniques, sight=uniques.sight.at(uniques.cells[some]))
        for found in shared_risks(cells, records[some], informed=informed):
            best = max(best, float(found.max(initial=0.0)))
            start += len(found)
            if start < len(some) and bound[some[start]] <= best:
                break
    return best
