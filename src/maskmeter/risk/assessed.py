"""A file under estimation: its released cells, what its model must describe, and the method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskmeter.errors import InputError
from maskmeter.loglinear import gamma
from maskmeter.loglinear.observed import Observed
from maskmeter.misclassification import Grid
from maskmeter.misclassification.grid import LARGEST_GRID
from maskmeter.risk.expected import (
    MOST_PAIRS,
    Sources,
    expected_match_probability,
    expected_match_probability_unseen,
)
from maskmeter.risk.traced import shared_out, traced_back

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskmeter.loglinear import LogLinear
    from maskmeter.microdata import Microdata
    from maskmeter.misclassification import Mechanism

    Array = NDArray[np.float64]

Method = Literal["expected", "paper", "em"]


@dataclass(frozen=True, eq=False)
class Assessed:
    """A released file, the file whose counts the model describes, and the mechanism between."""

    released: Microdata
    fitted: Microdata
    mechanism: Mechanism
    method: Method

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
        codes, count = self.table.codes, self.table.records.astype(np.float64)
        pi = self.fitted.inclusion(codes)
        if self.method == "paper" or not self.mechanism.factors:
            lam = model.population_mean(codes)
            inverse = gamma.expected_inverse_of(count, lam, pi=pi, phi=phi)
            return self.mechanism.stay(codes) * inverse
        if self.method == "expected":
            seen = self.grid.fill(self._original.codes, self._original.records)
            return expected_match_probability(self._sources(model, seen), pi=pi, phi=phi)
        return self._risk_unseen(model, count, pi)

    def _risk_unseen(self, model: LogLinear, count: Array, pi: Array) -> Array:
        grid, codes = self.grid, self.table.codes
        if grid.rows * len(codes) > MOST_PAIRS:
            message = (
                f"Each of {len(codes):,} released cells may come from {grid.rows:,} others, too many"
                ' to trace back. Use method="paper", or let fewer keys be misclassified.'
            )
            raise InputError(message)
        model = traced_back(grid, model)
        means = grid.table(model.means.at(grid.codes()))
        units = shared_out(grid, grid.fill(codes, count), means)
        return expected_match_probability_unseen(self._sources(model, units), count, means, pi=pi)

    def _sources(self, model: LogLinear, seen: Array) -> Sources:
        grid, codes = self.grid, self.grid.codes()
        lam, pi = model.population_mean(codes), self.fitted.inclusion(codes)
        return Sources(grid, seen, grid.table(lam), grid.table(pi))

    @cached_property
    def _original(self) -> Observed:
        return Observed.of(self.fitted)

    @cached_property
    def grid(self) -> Grid:
        """All true cells that the occupied cells may come from."""
        size = Grid.size_for(self.mechanism, self.table.codes)
        if size > LARGEST_GRID:
            message = (
                f"The released cells may come from {size:,} true cells; at most {LARGEST_GRID:,} fit"
                ' in memory. Use method="paper", or let fewer keys be misclassified.'
            )
            raise InputError(message)
        return Grid.of(self.mechanism, self.table.codes)
