"""Brute force from the definitions, slow and plain. Nothing here comes from maskmeter.risk.

Arithmetic is in fractions, so that limits can be taken by moving a hair's breadth away from them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import prod

HAIR = Fraction(1, 10**40)


def unit_matches(released, true, *, misclassify, include, sampled_by="true"):
    """Return the chance that a unit is sampled and released in one cell, over all its outcomes.

    It is sampled with the probability of its true cell, or of the one it is recorded in.
    """
    total = Fraction(0)
    for recorded, chance in misclassify(true).items():
        share = include(true if sampled_by == "true" else recorded)
        for sampled in (False, True):
            if sampled and recorded == released:
                total += chance * (share if sampled else 1 - share)
    return total


def among(released, units, *, records=1, misclassify, include, sampled_by="true"):
    """Return for each unit the chance that the cell holds so many records and one of them is its own.

    Every pattern of who is sampled and released in the cell and who is not is gone through; those
    with as many matches as records are kept, and one of the matches is taken at random.
    """

    def almost(cell):  # at the limit pi = 1 certain matches could leave no pattern at all
        return include(cell) * (1 - HAIR)

    chances = [
        unit_matches(released, true, misclassify=misclassify, include=almost, sampled_by=sampled_by)
        for true in units
    ]
    found = [Fraction(0)] * len(units)
    for pattern in product((False, True), repeat=len(units)):
        if sum(pattern) == records:
            chance = prod(
                chance if matched else 1 - chance
                for chance, matched in zip(chances, pattern, strict=True)
            )
            for unit, matched in enumerate(pattern):
                found[unit] += chance / records if matched else 0
    return found


def identification_risk(released, units, **world):
    """Return Pr(A = B) of definition (2.3) for a target B whose true cell is `released`.

    The share of the outcomes with exactly one match, or as many as `records`, in which it is B;
    None when no unit has the target's key.
    """
    if released not in units:
        return None
    found = among(released, units, **world)
    return float(found[units.index(released)] / sum(found)) if sum(found) else 0.0


def informed_risk(released, units, **world):
    """Return the chance that a record released in a cell is the unit it most likely is."""
    found = among(released, units, **world)
    return float(max(found) / sum(found)) if sum(found) else 0.0


def product_of_matrices(matrices, *, sizes):
    """Return a function from a true cell to the chances of all released cells, key by key.

    `matrices(c, true)` is the P[true, released] of key c for units of this true cell, None for a
    key that is not misclassified.
    """
    cells = list(product(*(range(size) for size in sizes)))

    def chance(released, true):
        total = Fraction(1)
        for c, (to, start) in enumerate(zip(released, true, strict=True)):
            P = matrices(c, true)
            total *= (to == start) if P is None else P[start][to]
        return total

    return lambda true: {released: chance(released, true) for released in cells}


def together(misclassify):
    """Return a function from a true household to the chances of all that it may be released as.

    A household is the tuple of its members' cells. Members are released independently, every
    combination of their outcomes is gone through, and the order of released members tells nothing.
    """

    @cache
    def released(true):
        found = {}
        for outcome in product(*(misclassify(member).items() for member in true)):
            seen = tuple(sorted(cell for cell, _ in outcome))
            found[seen] = found.get(seen, Fraction(0)) + prod(chance for _, chance in outcome)
        return found

    return released


def household_risk(released, homes, *, misclassify, include):
    """Return Pr(A = B) for a target household B whose members truly have the released cells.

    Each household is sampled as a whole, with the probability that `include` gives it, and released
    as `misclassify` says (see `together`). None when no household truly has these cells.
    """
    world = {"misclassify": misclassify, "include": include}
    return identification_risk(released, [tuple(sorted(home)) for home in homes], **world)


def informed_household_risk(released, homes, *, misclassify, include):
    """Return the chance that the one household released with these cells is the likeliest one."""
    world = {"misclassify": misclassify, "include": include}
    return informed_risk(released, [tuple(sorted(home)) for home in homes], **world)
