"""The occupied cells of a released file, and their risk under a model of the population."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.errors import InputError
from maskmeter.loglinear import OneModel
from maskmeter.loglinear.expectations import expected_inverse_of
from maskmeter.loglinear.marginal import MarginalModel
from maskmeter.loglinear.observed import Observed
from maskmeter.mechanism import Grid
from maskmeter.mechanism.grid import LARGEST_GRID
from maskmeter.risk.expected import (
    Cells,
    Places,
    Sources,
    informed_given_release,
    match_given_release,
    match_given_sample,
    one_by_one,
    own_origin,
    risk_given_sample,
)
from maskmeter.risk.gathered import Gathered, without_gathered
from maskmeter.risk.intruder import EXACT_MATCH, INFORMED, InclusionBy, Intruder
from maskmeter.risk.margins import known_margin, margin_effect
from maskmeter.risk.originals import true_model
from maskmeter.risk.shared_estimate import shared_factors
from maskmeter.risk.sight import Sight
from maskmeter.risk.told_counts import told_by_model
from maskmeter.types import Array, Integers

Method = Literal["expected", "paper", "em"]
SomeModel: TypeAlias = OneModel | MarginalModel


@dataclass(frozen=True, eq=False)
class CellRisk:
    """The risk of every occupied released cell under one model, and whether EM converged.

    `informed` is None where it was not asked for. `least` is the informed risk without the sources
    that were gathered, which bounds their error. `undefined` counts cells of several records in
    which fewer units are expected than there are records: their risk is that of a single one.
    """

    exact_match: Array
    informed: Array | None
    converged: bool = True
    least: Array | None = None
    undefined: int = 0

    def of(self, intruder: Intruder) -> Array:
        """Return the risk from one intruder."""
        if intruder == EXACT_MATCH or self.informed is None:
            return self.exact_match
        return self.informed


@dataclass(frozen=True, eq=False)
class ReleasedCells:
    """The occupied cells of a released file, and the method that estimates their risk."""

    sight: Sight
    method: Method
    sampled_by: InclusionBy = "true"
    _kept: dict[tuple[int, float], tuple[SomeModel, CellRisk]] = field(
        default_factory=dict, init=False, repr=False
    )
    _originals: dict[tuple[int, float], tuple[OneModel, OneModel, bool]] = field(
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

    def risk(self, model: SomeModel, phi: float, intruder: Intruder) -> CellRisk:
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

    def _risk(self, model: SomeModel, phi: float, *, informed: bool) -> CellRisk:
        codes, mechanism = self.table.codes, self.sight.mechanism
        if self.method == "paper" or not mechanism.factors:
            count, (lam, pi) = self.table.records.astype(np.float64), model.at(codes)
            inverse = expected_inverse_of(count, lam, pi=pi, phi=phi)
            stay = mechanism.stay(codes)
            return CellRisk(stay * inverse, stay * inverse)
        if self.method == "expected":
            return self._given_sample(self._sources(model), phi, informed=informed)
        if isinstance(model, MarginalModel):
            raise TypeError("True counts are traced back with a model that was fitted.")
        return self._given_release(model, phi, informed=informed)

    def _blocks(self, sources: Sources, phi: float) -> Iterator[tuple[Integers, Cells, Places]]:
        """Yield targets with their sources: all of them, or the likeliest if there are too many."""
        if one_by_one(self.grid):
            return sources.blocks()
        return Gathered.of(sources, phi=phi).blocks(phi=phi)

    def _given_sample(self, sources: Sources, phi: float, *, informed: bool) -> CellRisk:
        """Return the risk given the original sample."""
        exact_match, likeliest, least = np.zeros((3, len(self.table.codes)))
        undefined = 0
        for targets, cells, own in self._blocks(sources, phi):
            records = self.table.records[targets]
            shared = shared_factors(cells, own, records=records, informed=informed)
            undefined += shared.undefined
            if not informed:
                exact_match[targets] = shared.exact_match * match_given_sample(cells, own, phi=phi)
                continue
            exact_match[targets], likeliest[targets] = risk_given_sample(cells, own, phi=phi)
            exact_match[targets] *= shared.exact_match
            likeliest[targets] *= shared.informed
            if not one_by_one(self.grid):
                fewer = without_gathered(cells)
                least[targets] = risk_given_sample(fewer, own, phi=phi).informed
        if not informed:
            return CellRisk(exact_match, None, undefined=undefined)
        effect = self._margin_effect(sources)
        bound = None if one_by_one(self.grid) else least * effect
        return CellRisk(exact_match, likeliest * effect, least=bound, undefined=undefined)

    def _margin_effect(self, sources: Sources) -> Array:
        """Return by how much the informed risk of each cell grows because a margin is known."""
        effect, grid = np.ones(len(self.table.codes)), self.grid
        factor = known_margin(self.sight.mechanism)
        if factor is None or factor.margin is None:
            return effect
        columns = np.flatnonzero(factor.exchanged[factor.stratum(grid.examples)])
        count, lam, pi = (one[:, columns] for one in (sources.count, sources.lam, sources.pi))
        here = factor.exchanged[factor.stratum(self.table.codes)]
        uniques = np.searchsorted(columns, grid.column[here & (self.table.records == 1)])
        effect[here] = margin_effect(count.sum(axis=0), pi * lam, (1 - pi) * lam, uniques)
        return effect

    def _given_release(self, model: OneModel, phi: float, *, informed: bool) -> CellRisk:
        """Return the risk given the released file alone; from an informed intruder in Poisson cells."""
        records = self.table.records.astype(np.float64)
        unique = records == 1

        def match(true: OneModel) -> Array:
            return match_given_release(self._sources(true), records, phi=phi)

        key = id(model), phi
        if key not in self._originals:  # the model is kept too, so that no other has its number
            found = true_model(self.grid, model, lambda true: float(match(true)[unique].sum()))
            self._originals[key] = model, *found
        _, true, converged = self._originals[key]
        if not informed:
            return CellRisk(match(true), None, converged)
        likeliest, least = np.zeros((2, len(records)))
        for targets, cells, _ in self._blocks(self._sources(true), 0.0):
            likeliest[targets] = informed_given_release(cells)
            if not one_by_one(self.grid):
                least[targets] = informed_given_release(without_gathered(cells))
        bound = None if one_by_one(self.grid) else least
        return CellRisk(match(true), likeliest, converged, bound)

    def moved(self, model: OneModel) -> float:
        """Return the share of the sample uniques that were moved into their cells.

        It is known where the truth is, else estimated.
        """
        sight = self.sight
        unique = self.table.records == 1
        if not sight.mechanism.factors or not unique.any():
            return 0.0
        if self.method == "em":
            true = self._originals[id(model), 0.0][1]
            return float(1 - own_origin(self._sources(true))[unique].mean())
        if sight.truth is None:  # the paper's form knows no more than the chance to stay
            return float(1 - sight.mechanism.stay(self.table.codes[unique]).mean())
        same = (sight.recorded.codes == sight.released.codes).all(axis=1)
        return float(1 - same[sight.uniques].mean())

    def _sources(self, model: SomeModel) -> Sources:
        """Return the true cells behind the released ones, with counts of the fitted file."""
        grid, codes = self.grid, self._grid_codes
        lam, pi = model.at(codes)
        known = self._counts, grid.table(lam), grid.table(pi)
        if self.sampled_by == "recorded":
            return Sources(grid, *known, recorded=model.at(self.table.codes)[1])
        told = told_by_model(grid.mechanism, model.population, self.sight.recorded)
        return Sources(grid, *known, told=grid.table(told.given(codes, pi)))

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
