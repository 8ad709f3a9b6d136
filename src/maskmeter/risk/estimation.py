"""Risk when only the sample is known: section 3 of Shlomo and Skinner (2010), and beyond."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from maskmeter.errors import (
    Caution,
    ConvergenceWarning,
    GatheredSourcesWarning,
    InputError,
    MatrixError,
)
from maskmeter.loglinear import FileModel, ShrunkLogLinear
from maskmeter.plurals import counted, plural
from maskmeter.risk.cautions import cautions, too_much_error
from maskmeter.risk.gathered import LISTED
from maskmeter.risk.interval import Z, bootstrap_errors, shrunk_margins, standard_error
from maskmeter.risk.intruder import ASSUMED, EXACT_MATCH, INFORMED, Intruder
from maskmeter.risk.margins import unused_margin
from maskmeter.risk.released_cells import CellRisk, Method, ReleasedCells
from maskmeter.risk.result import EstimatedRisk
from maskmeter.risk.sight import Sight
from maskmeter.types import Array

Interval = Literal["model", "bootstrap", "none"]


class Bootstrap(NamedTuple):
    """How an interval is found by whole estimates on samples from the model."""

    replications: int
    seed: int


def estimate(
    cells: ReleasedCells,
    model: FileModel,
    *,
    intruder: Intruder = EXACT_MATCH,
    household: str | None = None,
    interval: Bootstrap | Literal["model", "none"] = "model",
) -> EstimatedRisk:
    """Return the estimated risk of a file by its model, or the average of several."""
    found = [cells.risk(one.model, one.phi, intruder) for one in model.weighted]
    values = [one.of(intruder) for one in found]
    average = np.average(values, axis=0, weights=[one.weight for one in model.weighted])
    more = [] if all(one.converged for one in found) else [_UNSETTLED]
    if cells.method == "em":
        more += too_much_error(cells.sight)
    if intruder == INFORMED:
        more += [*_gathered(found, cells), *unused_margin(cells.sight)]
    by_record = average[cells.table.place]
    risk = _result(
        cells, model, by_record, intruder=intruder, household=household, more=tuple(more)
    )
    risk = replace(risk, undefined=max(one.undefined for one in found))
    if interval == "none":
        return risk
    if not risk.uniques:
        return risk.with_interval(0.0, 0.0)
    if interval == "model":
        return risk.with_interval(*_modelled(risk, cells, values))
    return risk.with_interval(*_bootstrapped(risk, interval))


_UNSETTLED = Caution(
    ConvergenceWarning,
    "The estimated original counts did not converge. Read the risk as approximate, or use"
    ' method="paper".',
)
_NOTICEABLE = 0.01  # of the informed risk: what gathered sources may add to it


def _gathered(found: list[CellRisk], cells: ReleasedCells) -> list[Caution]:
    """Return how far an informed risk may be too large because sources were gathered."""
    unique = cells.table.records == 1
    excess = [
        1 - one.least[unique].sum() / max(float(one.of(INFORMED)[unique].sum()), 1e-300)
        for one in found
        if one.least is not None
    ]
    if not excess or max(excess) < _NOTICEABLE:
        return []
    text = (
        f"Each released cell may come from {cells.grid.rows:,} others: {LISTED} of them were looked at"
        f" one by one, and the informed risk is at most {max(excess):.1%} too large because of the rest."
    )
    return [Caution(GatheredSourcesWarning, text)]


def check_method(sight: Sight, method: Method, intruder: Intruder = EXACT_MATCH) -> None:
    """Refuse a method, or a mechanism, that does not suit a file recorded with error."""
    if method == "paper" and intruder == INFORMED and sight.mechanism.factors:
        raise InputError(
            'Method "paper" knows no informed intruder. Use method="expected" where the original is'
            ' held, or method="em".'
        )
    if sight.truth is not None:
        return
    if method == "expected":
        raise InputError(
            'Method "expected" needs the true keys of the sample, which are unknown when it was'
            ' recorded with error. Use method="em" or method="paper".'
        )
    released, codes = sight.released, sight.released.codes
    for factor in sight.mechanism.factors:
        reached = factor.P.sum(axis=1)[factor.stratum(codes), factor.code(codes)]
        if (reached == 0).any():
            raise MatrixError(
                f"{(lost := released.records_in(reached == 0)):,} of {counted(len(released), 'record')}"
                f" {plural(lost, 'has', 'have')} a value of {factor.name!r} that the misclassification"
                " rules out. Give the misclassification that made this file."
            )


def _result(
    cells: ReleasedCells,
    model: FileModel,
    by_record: Array,
    *,
    intruder: Intruder,
    household: str | None,
    more: tuple[Caution, ...],
) -> EstimatedRisk:
    sight, method = cells.sight, cells.method
    told: list[str] = [method] if sight.mechanism.factors else []
    told += ["informed intruder"] if intruder == INFORMED else []
    return EstimatedRisk(
        f"Estimated risk ({', '.join(told)})" if told else "Estimated risk",
        sight.released,
        sight.uniques,
        by_record[sight.uniques],
        without_target=0,
        ruled=True,
        assumptions=(
            sight.premise,
            "population counts follow the model",
            "the intruder does not know who is in the sample",
            ASSUMED[intruder],
        ),
        model=model,
        method=method,
        every=by_record,
        tau1=model.tau1,
        tau2=model.tau2,
        cautions=(*cautions(model, uniques=len(sight.uniques)), *more),
        household=household,
        unprotected=sight.unprotected,
        intruder=intruder,
    )


def _modelled(risk: EstimatedRisk, cells: ReleasedCells, parts: list[Array]) -> tuple[float, float]:
    """Return the ends of the interval by the model's own variances.

    Those of a search are the lowest and highest total of A, B and the nearest model, with a margin
    of error. All are found for tau2; after misclassification they are scaled as the estimate is.
    """
    search = risk.model
    if isinstance(search, ShrunkLogLinear):
        moved, held = cells.moved(search), cells.sight.truth is not None and cells.method != "em"
        down, up = shrunk_margins(search, moved=moved, truth_held=held)
        return risk.total - _scaled(down, risk), risk.total + _scaled(up, risk)
    unique = cells.table.records == 1
    totals = [
        (one, float(part[unique].sum())) for one, part in zip(search.weighted, parts, strict=True)
    ]
    ends = [t for one, t in totals if one.model is search.nearest and not one.phi]
    if not ends:
        nearest = cells.risk(search.nearest, 0.0, risk.intruder).of(risk.intruder)
        ends.append(float(nearest[unique].sum()))
    for name in ("A", "B"):
        chosen = [(total, one.weight) for one, total in totals if one.estimate == name]
        if chosen:
            values, weights = zip(*chosen, strict=True)
            ends.append(float(np.average(values, weights=weights)))
    half = _scaled(Z * standard_error(search.nearest), risk)
    return min(ends) - half, max(ends) + half


def _bootstrapped(risk: EstimatedRisk, how: Bootstrap) -> tuple[float, float]:
    """Return the estimate with the root mean square error of whole estimates on drawn samples."""
    errors = bootstrap_errors(risk.model, replications=how.replications, seed=how.seed)
    half = _scaled(Z * float(np.hypot(errors.mean(), errors.std())), risk)
    return risk.total - half, risk.total + half


def _scaled(width: float, risk: EstimatedRisk) -> float:
    """Return a width for tau2 as one for the adjusted total, which is smaller or larger."""
    return width * risk.total / risk.tau2 if risk.tau2 else width
