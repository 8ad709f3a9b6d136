"""The risk when one of the keys is not known: by the model of all keys where another fit takes long."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maskmeter.loglinear import FileModel
from maskmeter.loglinear.marginal import MarginalModel
from maskmeter.loglinear.observed import Observed
from maskmeter.risk.intruder import EXACT_MATCH, Intruder
from maskmeter.risk.released_cells import ReleasedCells, fitted_file
from maskmeter.risk.view import View
from maskmeter.types import Array

MOST_FITTED = 6_000_000  # cells of all the tables with a key less: some seconds to fit


def summed(view: View) -> bool:
    """Return True where the model of all keys is summed over the key that is not known.

    That is so with an estimate, when models of all the tables with a key less would take long to
    fit. True counts behind recording errors are traced back with a model fitted anew.
    """
    if view.counts is not None or view.method != "expected":
        return False
    space = view.sight.recorded.space
    return sum(space.size // size for size in space.sizes) > MOST_FITTED


def total_without(view: View, key: str, intruder: Intruder) -> tuple[int, float]:
    """Return the sample uniques when a key is not known, and their total risk."""
    if not summed(view):
        risk = view.without(key).risk(intruder=intruder, interval="none")
        return risk.uniques, risk.total
    records, by_cell = view.without(key).cells.table.records, _by_cell(view, key, intruder)
    return int((records == 1).sum()), float(by_cell[records == 1].sum())


def by_record_without(view: View, key: str) -> Array:
    """Return the estimated risk of every record from exact matching when a key is not known."""
    if not summed(view):
        return view.without(key).risk(intruder=EXACT_MATCH, interval="none").by_record
    by_record: Array = _by_cell(view, key, EXACT_MATCH)[view.without(key).cells.table.place]
    return by_record


def _by_cell(view: View, key: str, intruder: Intruder) -> Array:
    """Return the risk of every cell without a key, by the model of all keys."""
    cells = view.without(key).cells
    whole = view.models.for_file(fitted_file(view.sight, view.method))
    found = [
        weight * cells.risk(model, phi, intruder).of(intruder)
        for model, phi, weight in _models_without(whole, cells)
    ]
    average: Array = np.sum(found, axis=0)
    return average


def _models_without(
    whole: FileModel, cells: ReleasedCells
) -> Iterator[tuple[MarginalModel, float, float]]:
    """Yield the models that an estimate averages, each summed over a key, with phi and weight.

    The overdispersion of summed cells is not that of the cells: it is estimated anew.
    """
    same = cells.fitted is cells.sight.released
    observed = cells.table if same else Observed.of(cells.fitted)
    for one in whole.weighted:
        model = MarginalModel.of(one.model, cells.fitted, observed)
        phi = model.goodness.overdispersion if one.estimate == "B" else 0.0
        yield model, phi, one.weight
