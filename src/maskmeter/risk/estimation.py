"""Risk when only the sample is known: section 3 of Shlomo and Skinner (2010), and beyond."""

from __future__ import annotations

from dataclasses import dataclass
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
from maskmeter.risk.em import fit_originals
from maskmeter.risk.expected import (
    Sources,
    expected_risk_given_release,
    expected_risk_given_sample,
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
    values = [one.values for one in found]
    average = np.average(values, axis=0, weights=[one.weight for one in search.weighted])
    more = () if all(one.converged for one in found) else (_UNSETTLED,)
    risk = _result(cells, search, average[cells.table.place], household, more)
    if interval == "none":
        return risk
    if not risk.uniques:
        return risk.with_interval(0.0, 0.0)
    if interval == "model":
        return risk.with_interval(*_modelled(risk, cells, values))
    return risk.with_interval(*_bootstrapped(risk, interval))


class CellRisk(NamedTuple):
    """The risk of every occupied released cell under one model, and whether EM converged."""

    values: Array
    converged: bool = True


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

    @cached_property
    def table(self) -> Observed:
        """Occupied cells of the released file."""
        return Observed.of(self.sight.released)

    @cached_property
    def fitted(self) -> Microdata:
        """The file whose counts the model describes."""
        return fitted_file(self.sight, self.method)

    @cached_property
    def pi(self) -> Array:
        """Inclusion probability of every occupied cell."""
        return self.fitted.inclusion(self.table.codes)

    def risk(self, model: LogLinear, phi: float) -> CellRisk:
        """Return the risk of every occupied released cell under one model."""
        codes, mechanism = self.table.codes, self.sight.mechanism
        if self.method == "paper" or not mechanism.factors:
            count, lam = self.table.records.astype(np.float64), model.population_mean(codes)
            inverse = expected_inverse_of(count, lam, pi=self.pi, phi=phi)
            return CellRisk(mechanism.stay(codes) * inverse)
        if self.method == "expected":
            sources = self._sources(model.means)
            return CellRisk(expected_risk_given_sample(sources, pi=self.pi, phi=phi))
        return self._risk_by_em(model)

    def _risk_by_em(self, model: LogLinear) -> CellRisk:
        """Return the risk given the released file alone, with Poisson cells."""
        if not one_by_one(self.grid):
            raise InputError(
                f"Each of {len(self.pi):,} released cells may come from {self.grid.rows:,} others,"
                ' too many to trace back. Use method="paper", or let fewer keys be misclassified.'
            )
        unique = self.table.records == 1

        def risk(means: FittedMeans) -> Array:
            return expected_risk_given_release(self._sources(means), pi=self.pi)

        means, converged = fit_originals(
            self.grid, model, lambda means: float(risk(means)[unique].sum())
        )
        return CellRisk(risk(means), converged)

    def _sources(self, means: FittedMeans) -> Sources:
        """Return the true cells behind the released ones, with counts of the fitted file."""
        grid, codes = self.grid, self._grid_codes
        pi = self.fitted.inclusion(codes)
        lam = population_mean(means.at(codes), pi, self.fitted)
        return Sources(grid, self._counts, grid.table(lam), grid.table(pi))

    @cached_property
    def _counts(self) -> Array:
        table = Observed.of(self.fitted)
        return self.grid.fill(table.codes, table.records)

    @cached_property
    def _grid_codes(self) -> Codes:
        return self.grid.codes()

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
    """Return the lowest and highest total of A, B and the nearest model, with a margin of error.

    The margin is that of the nearest model's tau2; after misclassification it is scaled as the
    estimate is.
    """
    search, unique = risk.search, cells.table.records == 1
    totals = [
        (one, float(part[unique].sum())) for one, part in zip(search.weighted, parts, strict=True)
    ]
    ends = [t for one, t in totals if one.model is search.nearest and not one.phi]
    if not ends:
        ends.append(float(cells.risk(search.nearest, 0.0).values[unique].sum()))
    for name in ("A", "B"):
        chosen = [(total, one.weight) for one, total in totals if one.estimate == name]
        if chosen:
            values, weights = zip(*chosen, strict=True)
            ends.append(float(np.average(values, weights=weights)))
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
