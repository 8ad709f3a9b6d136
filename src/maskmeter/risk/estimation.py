"""Risk when only the sample is known: section 3 of Shlomo and Skinner (2010), and beyond."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.errors import Caution, ConvergenceWarning, InputError, MatrixError
from maskmeter.loglinear import LogLinear, LogLinearSearch
from maskmeter.loglinear.cell_sums import population_mean
from maskmeter.loglinear.expectations import expected_inverse_of
from maskmeter.loglinear.means import FittedMeans
from maskmeter.loglinear.observed import Observed
from maskmeter.mechanism import Grid
from maskmeter.mechanism.grid import LARGEST_GRID
from maskmeter.plurals import counted, plural
from maskmeter.risk.cautions import cautions
from maskmeter.risk.em import shared_out, traced_back
from maskmeter.risk.expected import (
    Sources,
    expected_match_probability,
    expected_match_probability_unseen,
    one_by_one,
)
from maskmeter.risk.interval import Z, bootstrap_errors, standard_error
from maskmeter.risk.result import EstimatedRisk
from maskmeter.risk.sight import Sight
from maskmeter.types import Array

Method = Literal["expected", "paper", "em"]
Interval = Literal["model", "bootstrap", "none"]


class Bootstrap(NamedTuple):
    """How an interval is found by whole searches on samples from the model."""

    replications: int
    seed: int


def estimate(
    sight: Sight,
    search: LogLinearSearch,
    *,
    method: Method,
    household: str | None = None,
    interval: Bootstrap | Literal["model", "none"] = "model",
) -> EstimatedRisk:
    """Return the estimated risk of a file by the models that a search would use."""
    cells = ReleasedCells(sight, method)
    found = [cells.risk(one.model, one.phi) for one in search.weighted]
    parts = [one.values for one in found]
    shares = [one.weight for one in search.weighted]
    by_record = np.average(parts, axis=0, weights=shares)[cells.table.place]
    more = () if all(one.settled for one in found) else (_UNSETTLED,)
    risk = _result(cells, search, by_record, household, more)
    if interval == "none":
        return risk
    if not risk.uniques:
        return risk.with_interval(0.0, 0.0)
    if interval == "model":
        return risk.with_interval(*_modelled(risk, cells, parts))
    return risk.with_interval(*_bootstrapped(risk, interval))


class CellRisk(NamedTuple):
    """The risk of every occupied released cell under one model, and whether it settled."""

    values: Array
    settled: bool = True


_UNSETTLED = Caution(
    ConvergenceWarning,
    "The estimated original counts did not converge. Read the risk as approximate, or use"
    ' method="paper".',
)


@dataclass(frozen=True, eq=False)
class ReleasedCells:
    """The occupied cells of a released file, and the method that estimates their risk."""

    sight: Sight
    method: Method

    @property
    def fitted(self) -> Microdata:
        """The file whose counts the model describes."""
        return fitted_file(self.sight, self.method)

    @cached_property
    def table(self) -> Observed:
        """Occupied cells of the released file."""
        return Observed.of(self.sight.released)

    def risk(self, model: LogLinear, phi: float) -> CellRisk:
        """Return the risk of every occupied released cell under one model."""
        codes, mechanism = self.table.codes, self.sight.mechanism
        pi = self.fitted.inclusion(codes)
        if self.method == "paper" or not mechanism.factors:
            lam = model.population_mean(codes)
            inverse = expected_inverse_of(self._count, lam, pi=pi, phi=phi)
            return CellRisk(mechanism.stay(codes) * inverse)
        if self.method == "expected":
            seen = self.grid.fill(self._original.codes, self._original.records)
            sources = self._sources(model.means, seen)
            return CellRisk(expected_match_probability(sources, pi=pi, phi=phi))
        return self._risk_unseen(model, pi)

    def _risk_unseen(self, model: LogLinear, pi: Array) -> CellRisk:
        """Return the risk given the released file alone, with Poisson cells."""
        grid, codes = self.grid, self.table.codes
        if not one_by_one(grid):
            raise InputError(
                f"Each of {len(codes):,} released cells may come from {grid.rows:,} others, too many"
                ' to trace back. Use method="paper", or let fewer keys be misclassified.'
            )
        released, unique = grid.fill(codes, self._count), self.table.records == 1

        def risk(means: FittedMeans) -> Array:
            sources = self._sources(means, released)
            expected = sources.pi * sources.lam
            units = shared_out(grid, released, expected)
            return expected_match_probability_unseen(
                replace(sources, count=units), self._count, expected, pi=pi
            )

        means, settled = traced_back(grid, model, lambda one: float(risk(one)[unique].sum()))
        return CellRisk(risk(means), settled)

    @cached_property
    def _count(self) -> Array:
        return self.table.records.astype(np.float64)

    def _sources(self, means: FittedMeans, seen: Array) -> Sources:
        grid, codes = self.grid, self._grid_codes
        pi = self.fitted.inclusion(codes)
        lam = population_mean(means.at(codes), pi, self.fitted)
        return Sources(grid, seen, grid.table(lam), grid.table(pi))

    @cached_property
    def _grid_codes(self) -> Codes:
        return self.grid.codes()

    @cached_property
    def _original(self) -> Observed:
        return Observed.of(self.fitted)

    @cached_property
    def grid(self) -> Grid:
        """All true cells that the occupied cells may come from."""
        size = Grid.size_for(self.sight.mechanism, self.table.codes)
        if size > LARGEST_GRID:
            raise InputError(
                f"The released cells may come from {size:,} true cells; at most {LARGEST_GRID:,} fit"
                ' in memory. Use method="paper", or let fewer keys be misclassified.'
            )
        return Grid.of(self.sight.mechanism, self.table.codes)


def fitted_file(sight: Sight, method: Method) -> Microdata:
    """Return the file whose counts a method models: the true one, or the one that is released."""
    return sight.recorded if method == "expected" else sight.released


def check_method(sight: Sight, method: Method) -> None:
    """Refuse a method, or a mechanism, that does not suit a file recorded with error."""
    if sight.truth is not None:
        return
    if method == "expected":
        raise InputError(
            'Method "expected" needs the true keys of the sample, which are unknown when it was'
            ' recorded with error. Use method="paper" or method="em".'
        )
    codes = sight.released.codes
    for factor in sight.mechanism.factors:
        reached = factor.P.sum(axis=1)[factor.stratum(codes), factor.code(codes)]
        if (reached == 0).any():
            raise MatrixError(
                f"{(lost := int((reached == 0).sum())):,} of {counted(len(codes), 'record')}"
                f" {plural(lost, 'has', 'have')} a value of {factor.name!r} that the misclassification"
                " rules out. Give the misclassification that made this file."
            )


def _result(
    cells: ReleasedCells,
    search: LogLinearSearch,
    by_record: Array,
    household: str | None,
    more: tuple[Caution, ...],
) -> EstimatedRisk:
    sight, method = cells.sight, cells.method
    return EstimatedRisk(
        f"Estimated risk ({method})" if sight.mechanism.factors else "Estimated risk",
        sight.released,
        sight.uniques,
        by_record[sight.uniques],
        without_target=0,
        ruled=True,
        assumptions=(
            sight.premise,
            "population counts follow the model",
            "the intruder does not know who is in the sample",
        ),
        search=search,
        method=method,
        every=by_record,
        tau1=search.tau1,
        tau2=search.tau2,
        cautions=(*cautions(search, uniques=len(sight.uniques)), *more),
        household=household,
        unprotected=sight.unprotected,
    )


def _modelled(risk: EstimatedRisk, cells: ReleasedCells, parts: list[Array]) -> tuple[float, float]:
    """Return [min, max] of nearest model, A and B, widened by the nearest model's standard error.

    After misclassification the standard error is scaled as the estimate is.
    """
    search, unique = risk.search, cells.table.records == 1
    totals = [float(part[unique].sum()) for part in parts]
    ends = []
    for estimate_name in ("A", "B"):
        chosen = [i for i, one in enumerate(search.weighted) if one.estimate == estimate_name]
        if chosen:
            weights = [search.weighted[i].weight for i in chosen]
            ends.append(float(np.average([totals[i] for i in chosen], weights=weights)))
    known = {
        id(one.model): t for one, t in zip(search.weighted, totals, strict=True) if not one.phi
    }
    if id(search.nearest) in known:
        ends.append(known[id(search.nearest)])
    else:
        ends.append(float(cells.risk(search.nearest, 0.0).values[unique].sum()))
    half = _scaled(Z * standard_error(search.nearest), risk)
    return min(ends) - half, max(ends) + half


def _bootstrapped(risk: EstimatedRisk, how: Bootstrap) -> tuple[float, float]:
    """Return the estimate with the root mean square error of whole searches on drawn samples."""
    errors = bootstrap_errors(risk.search, replications=how.replications, seed=how.seed)
    half = _scaled(Z * float(np.hypot(errors.mean(), errors.std())), risk)
    return risk.total - half, risk.total + half


def _scaled(half: float, risk: EstimatedRisk) -> float:
    """Return a half-width for tau2 as one for the adjusted total, which is smaller or larger."""
    return half * risk.total / risk.tau2 if risk.tau2 else half
