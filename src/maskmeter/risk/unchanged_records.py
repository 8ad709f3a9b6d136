"""The risk of released records that were not changed, which needs no misclassification matrix."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from maskmeter.risk.intruder import EXACT_MATCH
from maskmeter.risk.known import correctly_classified
from maskmeter.risk.left_out import by_record_without
from maskmeter.risk.result import EstimatedRisk
from maskmeter.risk.view import View
from maskmeter.types import Array, Integers


@dataclass(frozen=True)
class UnchangedRisk:
    """Correct matches among the unique released records that were not changed in the keys.

    Of `uniques` released records, `unchanged` ones have their true keys, and each is matched
    correctly with 1/F, known or estimated. The `interval` comes from that of the true file's risk: a
    part of its matches has the square root of that part of its width. An exact risk has none.
    """

    keys: tuple[str, ...]
    uniques: int
    unchanged: int
    total: float
    interval: tuple[float, float] | None = None


def unchanged_risk(view: View, whole: View, rows: Integers) -> UnchangedRisk:
    """Return the risk of the unchanged released uniques of a view, by eq. (2.9).

    `whole` is the view of all true records as they are, of which `rows` are released. Where the
    population is not known, its model gives E(1/F) of each, whether unique in the true file or not.
    """
    if view.counts is not None:
        return _known(view)
    true = whole.risk(intruder=EXACT_MATCH)
    found = _estimated(view, true.by_record[rows])
    if not isinstance(true, EstimatedRisk) or true.interval is None or not true.total:
        return found
    # Wider than in proportion, which would hold only if all records erred alike.
    part = sqrt(min(found.total / true.total, 1.0))
    low, high = (found.total + part * (end - true.total) for end in true.interval)
    between = max(low, 0.0), min(high, float(found.unchanged))
    return UnchangedRisk(found.keys, found.uniques, found.unchanged, found.total, between)


def unchanged_without(view: View, whole: View, rows: Integers, key: str) -> UnchangedRisk:
    """Return the same when one of the keys is not known; it has no interval."""
    if view.counts is not None:
        return _known(view.without(key))
    return _estimated(view.without(key), by_record_without(whole, key)[rows])


def _known(view: View) -> UnchangedRisk:
    total = correctly_classified(view.uniques).total
    uniques = view.sight.uniques
    return UnchangedRisk(view.keys, len(uniques), int(_same(view)[uniques].sum()), total)


def _estimated(view: View, inverse: Array) -> UnchangedRisk:
    uniques = view.sight.uniques
    kept = uniques[_same(view)[uniques]]
    return UnchangedRisk(view.keys, len(uniques), len(kept), float(inverse[kept].sum()))


def _same(view: View) -> NDArray[np.bool_]:
    """Return which released records have their true keys."""
    sight = view.sight
    same: NDArray[np.bool_] = (sight.recorded.codes == sight.released.codes).all(axis=1)
    return same
