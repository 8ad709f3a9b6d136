"""A file under estimation: its released cells, what its model must describe, and the method."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.errors import ConvergenceWarning, InputError, ModelWarning
from maskmeter.loglinear import LogLinear, gamma
from maskmeter.loglinear.cell_sums import population_mean
from maskmeter.loglinear.means import FittedMeans
from maskmeter.loglinear.observed import Observed
from maskmeter.mechanism import Grid, Mechanism
from maskmeter.mechanism.grid import LARGEST_GRID
from maskmeter.risk.em import shared_out, traced_back
from maskmeter.risk.expected import (
    Sources,
    expected_match_probability,
    expected_match_probability_unseen,
    one_by_one,
)
from maskmeter.types import Array

Method = Literal["expected", "paper", "em"]


@dataclass(frozen=True, eq=False)
class Assessed:
    """A released file, the file whose counts the model describes, and the mechanism between."""

    released: Microdata
    fitted: Microdata
    mechanism: Mechanism
    method: Method
    cautions: list[ModelWarning] = field(default_factory=list)  # what was met while assessing

    @cached_property
    def table(self) -> Observed:
        """Occupied cells of the released file."""
        return Observed.of(self.released)

    @property
    def records(self) -> NDArray[np.int64]:
        """Rows of the sample uniques."""
        return np.flatnonzero(self.table.records[self.table.place] == 1)

    def risk(self, model: LogLinear, phi: float) -> Array:
        """Return the risk of every occupied released cell under one model."""
        codes = self.table.codes
        pi = self.fitted.inclusion(codes)
        if self.method == "paper" or not self.mechanism.factors:
            lam = model.population_mean(codes)
            inverse = gamma.expected_inverse_of(self._count, lam, pi=pi, phi=phi)
            return self.mechanism.stay(codes) * inverse
        if self.method == "expected":
            seen = self.grid.fill(self._original.codes, self._original.records)
            sources = self._sources(model.means, seen)
            return expected_match_probability(sources, pi=pi, phi=phi)
        return self._risk_unseen(model, pi)

    def _risk_unseen(self, model: LogLinear, pi: Array) -> Array:
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
        if not settled and not self.cautions:
            message = (
                "The estimated original counts did not converge. Read the risk as approximate, or"
                ' use method="paper".'
            )
            self.cautions.append(ConvergenceWarning(message))
        return risk(means)

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
        size = Grid.size_for(self.mechanism, self.table.codes)
        if size > LARGEST_GRID:
            raise InputError(
                f"The released cells may come from {size:,} true cells; at most {LARGEST_GRID:,} fit"
                ' in memory. Use method="paper", or let fewer keys be misclassified.'
            )
        return Grid.of(self.mechanism, self.table.codes)
