"""Brute force from the definitions, slow and plain. Nothing here comes from maskmeter.risk.

Arithmetic is in fractions, so that limits can be taken by moving a hair's breadth away from them.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

HAIR = Fraction(1, 10**40)


def unit_matches(released, true, *, misclassify, include):
    """Return the chance that a unit is sampled and released in one cell, over all its outcomes."""
    total = Fraction(0)
    for recorded, chance in misclassify(true).items():
        for sampled in (False, True):
            weight = include(recorded) if sampled else 1 - include(recorded)
            if sampled and recorded == released:
                total += chance * weight
    return total


def identification_risk(released, units, *, misclassify, include):
    """Return Pr(A = B) of definition (2.3) for a target B whose true cell is `released`.

    Every pattern of who matches and who does not is gone through; those with exactly one match are
    kept, and the share in which it is B is the answer. None when no unit has the target's key.
    """
    if released not in units:
        return None
    target = units.index(released)

    def almost(cell):  # at the limit pi = 1 two certain matches would leave no pattern at all
        return include(cell) * (1 - HAIR)

    chances = [
        unit_matches(released, true, misclassify=misclassify, include=almost) for true in units
    ]
    alone = [Fraction(0)] * len(units)
    for pattern in product((False, True), repeat=len(units)):
        if sum(pattern) == 1:
            alone[pattern.index(True)] = prod(
                chance if matched else 1 - chance
                for chance, matched in zip(chances, pattern, strict=True)
            )
    return float(alone[target] / sum(alone)) if sum(alone) else 0.0


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
