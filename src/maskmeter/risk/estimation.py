"""Risk when only the sample is known: section 3 of Shlomo and Skinner (2010), and beyond."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.errors import (
    Caution,
    ConvergenceWarning,
    GatheredSourcesWarning,
    InputError,
    MatrixError,
)
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
    Cells,
    Places,
    Sources,
    informed_given_release,
    match_given_release,
    match_given_sample,
    one_by_one,
    risk_given_sample,
)
from maskmeter.risk.gathered import LISTED, Gathered, without_gathered
from maskmeter.risk.interval import Z, bootstrap_errors, standard_error
from maskmeter.risk.intruder import ASSUMED, EXACT_MATCH, INFORMED, InclusionBy, Intruder
from maskmeter.risk.margins import known_margin, margin_effect, unused_margin
from maskmeter.risk.result import EstimatedRisk
from maskmeter.risk.sight import Sight
from maskmeter.types import Array, Integers

Method = Literal["expected", "paper", "em"]
Interval = Literal["model", "bootstrap", "none"]


class Bootstrap(NamedTuple):
    """How an interval is found by whole searches on samples from the model."""

    replications: int
    seed: int


def estimate(
    cells: ReleasedCells,
    search: LogLinearSearch,
    *,
    intruder: Intruder = EXACT_MATCH,
    household: str | None = None,
    interval: Bootstrap | Literal["model", "none"] = "model",
) -> EstimatedRisk:
    """Return the estimated risk of a file by the models that a search would use."""
    found = [cells.risk(one.model, one.phi, intruder) for one in search.weighted]
    values = [one.of(intruder) for one in found]
    average = np.average(values, axis=0, weights=[one.weight for one in search.weighted])
    more = [] if all(one.converged for one in found) else [_UNSETTLED]
    if intruder == INFORMED:
        more += [*_gathered(found, cells), *unused_margin(cells.sight)]
    by_record = average[cells.table.place]
    risk = _result(
        cells, search, by_record, intruder=intruder, household=household, more=tuple(more)
    )
    if interval == "none":
        return risk
    if not risk.uniques:
        return risk.with_interval(0.0, 0.0)
    if interval == "model":
        return risk.with_interval(*_modelled(risk, cells, values))
    return risk.with_interval(*_bootstrapped(risk, interval))


@dataclass(frozen=True, eq=False)
class CellRisk:
    """The risk of every occupied released cell under one model, and whether EM converged.

    `informed` is None where it was not asked for. `least` is the informed risk without the sources
    that were gathered, which bounds their error.
    """

    exact_match: Array
    informed: Array | None
    converged: bool = True
    least: Array | None = None

    def of(self, intruder: Intruder) -> Array:
        """Return the risk from one intruder."""
        if intruder == EXACT_MATCH or self.informed is None:
            return self.exact_match
        return self.informed


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


@dataclass(frozen=True, eq=False)
class ReleasedCells:
    """The occupied cells of a released file, and the method that estimates their risk."""

    sight: Sight
    method: Method
    sampled_by: InclusionBy = "true"
    _kept: dict[tuple[int, float], tuple[LogLinear, CellRisk]] = field(
        default_factory=dict, init=False, repr=False
    )
    _fitted_once: dict[int, tuple[LogLinear, FittedMeans, bool]] = field(
        default_factory=dict, init=False, repr=False
    )

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

    def risk(self, model: LogLinear, phi: float, intruder: Intruder) -> CellRisk:
        """Return the risk of every occupied released cell under one model, worked out once.

        That from an informed intruder brings that of exact matching with it.
        """
        key = id(model), phi
        if key not in self._kept or (intruder == INFORMED and self._kept[key][1].informed is None):
            # The model is kept too, so that no other one can have its number.
            found = self._risk(model, phi, informed=intruder == INFORMED)
            self._kept[key] = model, self._capped(found)
        return self._kept[key][1]

    def _capped(self, found: CellRisk) -> CellRisk:
        """Return risks of which none exceeds one in the number of records that share the cell."""
        most = 1 / self.table.records
        exact = np.minimum(found.exact_match, most)
        if found.informed is None:
            return replace(found, exact_match=exact)
        # The largest of several chances is no smaller than one of them, but for rounding.
        informed = np.maximum(exact, np.minimum(found.informed, most))
        return replace(found, exact_match=exact, informed=informed)

    def _risk(self, model: LogLinear, phi: float, *, informed: bool) -> CellRisk:
        codes, mechanism = self.table.codes, self.sight.mechanism
        if self.method == "paper" or not mechanism.factors:
            count, lam = self.table.records.astype(np.float64), model.population_mean(codes)
            inverse = expected_inverse_of(count, lam, pi=self.pi, phi=phi)
            stay = mechanism.stay(codes)
            return CellRisk(stay * inverse, stay * inverse)
        if self.method == "expected":
            return self._given_sample(self._sources(model.means), phi, informed=informed)
        return self._given_release(model, informed=informed)

    def _blocks(self, sources: Sources, phi: float) -> Iterator[tuple[Integers, Cells, Places]]:
        """Yield targets with their sources: all of them, or the likeliest if there are too many."""
        if one_by_one(self.grid):
            return sources.blocks()
        return Gathered.of(sources, phi=phi).blocks(phi=phi)

    def _given_sample(self, sources: Sources, phi: float, *, informed: bool) -> CellRisk:
        """Return the risk given the original sample."""
        exact_match, likeliest, least = np.zeros((3, len(self.pi)))
        for targets, cells, own in self._blocks(sources, phi):
            if not informed:
                exact_match[targets] = match_given_sample(cells, own, phi=phi)
                continue
            exact_match[targets], likeliest[targets] = risk_given_sample(cells, own, phi=phi)
            if not one_by_one(self.grid):
                fewer = without_gathered(cells)
                least[targets] = risk_given_sample(fewer, own, phi=phi).informed
        if not informed:
            return CellRisk(exact_match, None)
        effect = self._margin_effect(sources)
        return CellRisk(
            exact_match, likeliest * effect, least=None if one_by_one(self.grid) else least
        )

    def _margin_effect(self, sources: Sources) -> Array:
        """Return by how much the informed risk of each cell grows because a margin is known."""
        effect, grid = np.ones(len(self.pi)), self.grid
        factor = known_margin(self.sight.mechanism)
        if factor is None or factor.margin is None:
            return effect
        columns = np.flatnonzero(factor.exchanged[factor.stratum(grid.examples)])
        count, lam, pi = (one[:, columns] for one in (sources.count, sources.lam, sources.pi))
        here = factor.exchanged[factor.stratum(self.table.codes)]
        uniques = np.searchsorted(columns, grid.column[here & (self.table.records == 1)])
        effect[here] = margin_effect(count.sum(axis=0), pi * lam, (1 - pi) * lam, uniques)
        return effect

    def _given_release(self, model: LogLinear, *, informed: bool) -> CellRisk:
        """Return the risk given the released file alone, with Poisson cells."""
        records = self.table.records.astype(np.float64)
        unique = records == 1

        def match(means: FittedMeans) -> Array:
            return match_given_release(self._sources(means), records)

        means, converged = self._originals(model, lambda means: float(match(means)[unique].sum()))
        if not informed:
            return CellRisk(match(means), None, converged)
        likeliest, least = np.zeros((2, len(records)))
        for targets, cells, _ in self._blocks(self._sources(means), 0.0):
            likeliest[targets] = informed_given_release(cells)
            if not one_by_one(self.grid):
                least[targets] = informed_given_release(without_gathered(cells))
        bound = None if one_by_one(self.grid) else least
        return CellRisk(match(means), likeliest, converged, bound)

    def _originals(
        self, model: LogLinear, risk: Callable[[FittedMeans], float]
    ) -> tuple[FittedMeans, bool]:
        """Return the means of the true cells behind the released ones, fitted once for a model."""
        if id(model) not in self._fitted_once:
            self._fitted_once[id(model)] = model, *fit_originals(self.grid, model, risk)
        return self._fitted_once[id(model)][1:]

    def _sources(self, means: FittedMeans) -> Sources:
        """Return the true cells behind the released ones, with counts of the fitted file."""
        grid, codes = self.grid, self._grid_codes
        pi = self.fitted.inclusion(codes)
        lam = population_mean(means.at(codes), pi, self.fitted)
        recorded = self.pi if self.sampled_by == "recorded" else None
        return Sources(grid, self._counts, grid.table(lam), grid.table(pi), recorded)

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
        search=search,
        method=method,
        every=by_record,
        tau1=search.tau1,
        tau2=search.tau2,
        cautions=(*cautions(search, uniques=len(sight.uniques)), *more),
        household=household,
        unprotected=sight.unprotected,
        intruder=intruder,
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
    """Return the estimate with the root mean square error of whole searches on drawn samples."""
    errors = bootstrap_errors(risk.search, replications=how.replications, seed=how.seed)
    half = _scaled(Z * float(np.hypot(errors.mean(), errors.std())), risk)
    return risk.total - half, risk.total + half


def _scaled(half: float, risk: EstimatedRisk) -> float:
    """Return a half-width for tau2 as one for the adjusted total, which is smaller or larger."""
    return half * risk.total / risk.tau2 if risk.tau2 else half
