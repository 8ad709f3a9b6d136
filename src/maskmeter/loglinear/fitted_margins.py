"""Fitted margins of many terms at once, by steps from component to component along the tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from maskmeter.loglinear.means import FittedMeans
from maskmeter.loglinear.terms import Term
from maskmeter.types import Array


def fitted_margins(means: FittedMeans, terms: Iterable[Term]) -> Iterator[tuple[Term, Array]]:
    """Yield each term with its fitted margin, an axis for each key.

    A term inside a component is a margin of its table; keys that nothing joins are independent.
    Other pairs are found together, all partners of a key on one walk through the tree.
    """
    partners: dict[int, set[int]] = defaultdict(set)
    for term in terms:
        holders = [part for part in means.parts if set(term) <= set(part.keys)]
        if holders:
            yield term, min(holders, key=lambda part: part.table.size).margin(term)
        elif len(term) == 2:
            partners[term[0]].add(term[1])
        else:
            yield term, means.margin(term)
    for key, others in partners.items():
        for other, margin in _joint_with(means, key, others):
            yield (key, other), margin


def _joint_with(means: FittedMeans, key: int, others: set[int]) -> Iterator[tuple[int, Array]]:
    """Yield the other keys with their fitted margin beside one key, which shares no component.

    `p(key, other) = sum over separators of p(key, s) p(t given s) ... p(other given t)`
    """
    near, parts, left = means.tree.neighbours, means.parts, set(others)
    home = min(
        (p for p, part in enumerate(parts) if key in part.keys), key=lambda p: parts[p].table.size
    )
    walk = [(there, home, parts[home].joint((key,), sep), sep) for there, sep in near[home]]
    while walk and left:
        here, before, joint, separator = walk.pop()
        part = parts[here]
        for other in left & set(part.keys):
            yield other, joint @ part.step(separator, (other,))
        left -= set(part.keys)
        walk += [
            (there, here, joint @ part.step(separator, sep), sep)
            for there, sep in near[here]
            if there != before
        ]
    own = parts[home].margin((key,))
    for other in left:  # nothing joins it
        holder = next(part for part in parts if other in part.keys)
        yield other, np.outer(own, holder.margin((other,))) / means.total
