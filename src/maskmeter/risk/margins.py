"""What the exact counts of exchanged values tell an informed intruder.

Records of a stratum that all exchanged their values of a key at random are released with values
that say nothing of whose they are. But their counts are those of the sampled people, so that each
value k has its own weight theta_k: people with a value that is common in the sample, for their
number in the population, are likelier to be in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import CellNumbers, Codes
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import Caution, UnusedMarginWarning
from maskmeter.mechanism import Factor, Mechanism
from maskmeter.risk.formulas import ratio
from maskmeter.risk.sight import Sight
from maskmeter.streams import generator
from maskmeter.types import Array, Integers

_MOST_SWEEPS = 1000
_SETTLED, _ROUGHLY = 1e-10, 1e-4  # change of the weights, the largest of which is 1
_TINY = 1e-300
# Populations that the effect of a margin is averaged over: fewer where they have many cells, for
# each of them then tells more.
_MOST_POPULATIONS, _FEWEST_POPULATIONS, _CELLS = 20, 3, 1 << 21


def known_margin(mechanism: Mechanism) -> Factor | None:
    """Return the factor whose values were all exchanged within a stratum, if there is one.

    Where other keys are misclassified too, what a margin tells is not worked out; and once another
    change has met the factor, its margin is no longer known.
    """
    (factor,) = mechanism.factors if len(mechanism.factors) == 1 else (None,)
    return None if factor is None or factor.margin is None else factor


def unused_margin(sight: Sight) -> Iterator[Caution]:
    """Yield the caution that a margin tells more than the informed risk includes."""
    if sight.exchanged and known_margin(sight.mechanism) is None:
        text = (
            "Other steps or recording errors came before or after a redraw: the informed risk leaves out what the counts"
            " of the exchanged values tell, and may be some percent too low."
        )
        yield Caution(UnusedMarginWarning, text)


@dataclass(frozen=True, eq=False)
class Exchanged:
    """The sampled combinations of other keys, the rows, in a stratum whose values were exchanged.

    `records` are those of each row, `margin` their values. `row`, `value` and `odds` are those of
    population cells in these rows: the odds of a unit to be sampled.
    """

    records: Array
    margin: Array | None
    row: Integers
    value: Integers
    odds: Array

    def risk(self, units: Array, *, settled: float = _SETTLED) -> Array:
        """Return the chance of the likeliest person behind a record of each row.

        `max over k with F_gk >= 1 of theta_k / sum_l F_gl theta_l`, for units F of the cells.
        """
        occupied = units > 0
        held, units = self._at(occupied), units[occupied]
        weight = held.odds * held.weights(units, settled=settled)[held.value]
        best = np.zeros(len(self.records))
        np.maximum.at(best, held.row, weight)
        return ratio(best, held.by_row(units * weight))

    def likeliest(self, units: Array, among: NDArray[np.bool_]) -> tuple[Integers, Array]:
        """Return which of some cells a record of each row most likely comes from, and its chance.

        The chance is that of one of its units; -1 and 0 where none of these cells is in the row.
        """
        weight = self.odds * self.weights(units)[self.value]
        total = self.by_row(units * weight)
        weight = np.where(among, weight, 0.0)
        found = np.full(len(self.records), -1)
        rising = np.argsort(weight, kind="stable")  # the last one written stays
        rising = rising[weight[rising] > 0]
        found[self.row[rising]] = rising
        return found, np.where(found >= 0, ratio(weight[found], total), 0.0)

    def even(self) -> Exchanged:
        """Return the same for an intruder who knows no margin: every value has the same weight."""
        return replace(self, margin=None)

    def weights(self, units: Array, *, settled: float = _SETTLED) -> Array:
        """Return theta by proportional fitting: rows to their records, values to their margin."""
        if self.margin is None:
            return np.ones(int(self.value.max(initial=0)) + 1, dtype=np.float64)
        theta = np.asarray(self.margin > 0, dtype=np.float64)
        cells = units * self.odds
        for _ in range(_MOST_SWEEPS):
            scale = ratio(self.records, self.by_row(cells * theta[self.value]))
            arrived = np.bincount(self.value, cells * scale[self.row], len(theta))
            new = ratio(self.margin, arrived.astype(np.float64))
            new /= max(float(new.max()), _TINY)
            change, theta = float(np.abs(new - theta).max(initial=0.0)), new
            if change <= settled:
                break
        return theta

    def _at(self, cells: NDArray[np.bool_]) -> Exchanged:
        """Return the same with some of the cells."""
        return replace(self, row=self.row[cells], value=self.value[cells], odds=self.odds[cells])

    def by_row(self, amounts: Array) -> Array:
        """Return the sums of amounts of the cells over each row."""
        return np.bincount(self.row, amounts, len(self.records)).astype(np.float64)


def margin_effect(records: Array, sampled: Array, unsampled: Array, uniques: Integers) -> float:
    """Return how much more the best intruder finds because he knows the margin: a factor, 1 or more.

    The mean over a few populations drawn from a model, in tables with a row for each value and a
    column for each combination of other keys: the `records` of a combination take values in
    proportion to the `sampled` means, and Poisson units of the mean `unsampled` are added. Values
    that the file really has would not do: where the model is wrong about them, the margin would
    seem to tell more than it does. `uniques` are the combinations of the records that count.
    """
    rng, without, with_margin = generator(0, "margin effect"), 0.0, 0.0
    value, row = (one.ravel() for one in np.indices(sampled.shape))
    share = ratio(sampled, np.broadcast_to(sampled.sum(axis=0), sampled.shape)).T
    share[~share.any(axis=1)] = 1 / share.shape[1]  # where the model expects nobody
    odds = np.where(unsampled > 0, ratio(sampled, unsampled), 1.0).ravel()  # of being sampled
    number = _CELLS // sampled.size
    for _ in range(min(max(number, _FEWEST_POPULATIONS), _MOST_POPULATIONS)):
        drawn = rng.multinomial(records.astype(np.int64), share).T.astype(np.float64)
        units = (drawn + rng.poisson(unsampled)).ravel()
        exchanged = Exchanged(records, drawn.sum(axis=1), row, value, odds)
        with_margin += float(exchanged.risk(units, settled=_ROUGHLY)[uniques].sum())
        without += float(exchanged.even().risk(units)[uniques].sum())
    return max(with_margin / without, 1.0) if without else 1.0


@dataclass(frozen=True, eq=False)
class ExchangedPopulation:
    """A population beside the released records whose values were exchanged.

    `rows` are the numbers of the sampled combinations of other keys, and `held` says which of the
    population's cells have one of them.
    """

    mechanism: Mechanism
    factor: Factor
    rows: CellNumbers
    held: NDArray[np.bool_]
    units: Array
    exchanged: Exchanged

    @classmethod
    def of(
        cls, mechanism: Mechanism, population: KeyTable, released: Microdata, odds: Array
    ) -> ExchangedPopulation | None:
        """Return it for the records of a file; None where no margin is known.

        `odds` are those of a unit of each population cell to be sampled.
        """
        factor = known_margin(mechanism)
        if factor is None or factor.margin is None:
            return None
        inside = factor.exchanged[factor.stratum(released.codes)]
        numbers = mechanism.untouched_number(released.codes[inside])
        rows, place = np.unique(numbers, return_inverse=True)
        times = released.tally(place, rows=inside)
        there = mechanism.untouched_number(population.codes)
        row = np.minimum(np.searchsorted(rows, there), len(rows) - 1)
        held = rows[row] == there
        value = factor.code(population.codes[held])
        margin = factor.margin.sum(axis=0).astype(np.float64)
        exchanged = Exchanged(times.astype(np.float64), margin, row[held], value, odds[held])
        units = population.counts[held].astype(np.float64)
        return cls(mechanism, factor, rows, held, units, exchanged)

    def inside(self, cells: Codes) -> tuple[NDArray[np.bool_], Integers]:
        """Return which released cells are in the stratum, and the row of each of those."""
        here = self.factor.exchanged[self.factor.stratum(cells)]
        return here, np.searchsorted(self.rows, self.mechanism.untouched_number(cells[here]))

    def risk(self, cells: Codes) -> tuple[NDArray[np.bool_], Array]:
        """Return which released cells are in the stratum, and the informed risk of those."""
        here, row = self.inside(cells)
        return here, self.exchanged.risk(self.units)[row]

    def likeliest(
        self, cells: Codes, among: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], Integers, Array]:
        """Return which released cells are in the stratum, and of those the likeliest source.

        That is a place among the population cells, -1 for none, and the chance of a unit of it.
        """
        here, row = self.inside(cells)
        found, chance = self.exchanged.likeliest(self.units, among[self.held])
        place = np.where(found >= 0, np.flatnonzero(self.held)[found], -1)
        return here, place[row], chance[row]
