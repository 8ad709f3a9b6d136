"""Released cells beside the population counts of theirs: all that the equations need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.data.varying import By
from maskmeter.errors import CategoryError, InputError
from maskmeter.mechanism import Inclusion, Mechanism, Rivals, moved_in, rivals
from maskmeter.risk.intruder import InclusionBy
from maskmeter.risk.margins import ExchangedPopulation
from maskmeter.risk.sight import Sight
from maskmeter.risk.told_counts import given_counts, told_keys
from maskmeter.streams import RandomSource, seed_of
from maskmeter.types import Array

_UNITS_AT_ONCE = 1 << 20
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Uniques:
    """The sample uniques of a file, and the counts that their cells are held against.

    `counts` are those of the population, or of the original sample when the intruder knows who is
    in it, with the category codes of the released file. `sampled_by` says whose inclusion
    probability counts: that of the true cell or that of the recorded one.
    """

    sight: Sight
    counts: KeyTable
    sampled_by: InclusionBy = "true"

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism, with the categories that only the population has."""
        return self.sight.mechanism.on(self.counts.space)

    @property
    def cells(self) -> Codes:
        """Codes of the cells."""
        return self.sight.cells

    @cached_property
    def own(self) -> Array:
        """F_j: how many units truly are in the cell."""
        return self.counts.lookup(self.cells).astype(np.float64)

    @cached_property
    def stay(self) -> Array:
        """M_jj: the probability of being recorded there."""
        return self.mechanism.stay(self.cells)

    @property
    def pi(self) -> Array:
        """Inclusion probability of the cells."""
        return self.inclusion.targets

    @cached_property
    def inclusion(self) -> Inclusion:
        """Inclusion probabilities, given the counts that matrices tell."""
        if self.sampled_by == "recorded":
            return self.meant
        recorded = self.sight.recorded
        return given_counts(
            self.meant, self.mechanism, self.counts, sample=recorded, cells=self.cells
        )

    @property
    def told(self) -> frozenset[str]:
        """The keys of matrices that tell the counts of their categories."""
        if self.sampled_by == "recorded":
            return frozenset()
        return told_keys(self.mechanism)

    @cached_property
    def meant(self) -> Inclusion:
        """Inclusion probabilities by the fraction, which do not matter without misclassification."""
        mechanism, recorded = self.mechanism, self.sight.recorded
        if not mechanism.factors:
            return Inclusion(np.zeros(len(self.cells)))
        targets, fraction = recorded.inclusion(self.cells), recorded.fraction
        varying = fraction.keys if isinstance(fraction, By) else ()
        if self.sampled_by == "recorded" or not set(varying) & set(mechanism.touched):
            return Inclusion(targets)
        return Inclusion(targets, recorded.inclusion(self.counts.codes, space=self.counts.space))

    @cached_property
    def moved_in(self) -> Array:
        """Units to expect in the released cell that come from other cells."""
        return moved_in(self.mechanism, self.counts, self.cells)

    @property
    def expected(self) -> Array:
        """F~_j to expect: `sum_k F_k M_jk`."""
        return self.own * self.stay + self.moved_in

    def rivals(self, *, likeliest: bool = False) -> Rivals:
        """Return the rivals of a correct match, and the likeliest of them if asked for."""
        return rivals(
            self.mechanism, self.counts, self.cells, pi=self.inclusion, likeliest=likeliest
        )

    @cached_property
    def exchanged(self) -> ExchangedPopulation | None:
        """The population beside records that exchanged their values, if all of a stratum did."""
        odds, sources = np.ones(len(self.counts)), self.meant.sources
        if sources is not None:
            odds = sources / np.maximum(1 - sources, _TINY)
        return ExchangedPopulation.of(self.mechanism, self.counts, self.sight.released, odds)

    def realised(self, rng: RandomSource) -> Array:
        """Return the released counts of one misclassified population.

        Sampled units keep their released values (a unique is one of its own cell); the others are
        drawn once.
        """
        if self.sight.truth is None:
            raise InputError(
                "Realised counts need the true keys of the sampled units, which are unknown for a"
                ' sample recorded with error. Use released_counts="expected".'
            )
        outside = unsampled(self.counts, self.sight.truth)
        if (outside < 0).any():
            raise InputError(
                "Realised counts need a population with at least as many units as records in every cell."
            )
        seed, space, codes = seed_of(rng), self.counts.space, self.counts.codes
        wanted, order = np.unique(space.number(self.cells), return_inverse=True)
        total, ends = np.ones(len(wanted)), np.cumsum(outside)
        for start in range(0, int(ends[-1]) if len(wanted) else 0, _UNITS_AT_ONCE):
            stop = min(start + _UNITS_AT_ONCE, int(ends[-1]))
            units = codes[np.searchsorted(ends, np.arange(start, stop), side="right")]
            drawn = self.mechanism.draw(units, rng=seed, label="population", start=start)
            numbers = space.number(drawn)
            place = np.minimum(np.searchsorted(wanted, numbers), len(wanted) - 1)
            total += np.bincount(place[wanted[place] == numbers], minlength=len(wanted))
        return total[order]


def population_of(
    sample: Microdata, population: KeyTable, recording: Callable[[], Mechanism] | None = None
) -> KeyTable:
    """Return the population with the sample's keys and category codes, if it may hold the sample.

    Everybody in the sample has categories that somebody in the population has, unless errors made
    them: `recording` gives what is known about these.
    """
    counts = population.onto(sample.space)
    for position, key in enumerate(sample.space.keys):
        size = counts.space.keys[position].size
        seen = np.bincount(sample.codes[:, position], minlength=size) > 0
        there = np.bincount(counts.codes[:, position], minlength=size) > 0
        lost, made = seen & ~there, None
        if recording is not None and lost.any() and (seen & there).any():
            made = recordable(recording().on(counts.space), counts, position)
            lost &= True if made is None else ~made
        if lost.any():
            raise _nobody_has(key.name, int(lost.sum()), int(seen.sum()), errors=made is not None)
    return counts


def recordable(
    recording: Mechanism, population: KeyTable, position: int
) -> NDArray[np.bool_] | None:
    """Return which categories of a key somebody in the population may be recorded with.

    Those j with `P[k, j] > 0` for a category k that somebody truly has, in the strata where they
    have it. None when the key is recorded without error.

    >>> import maskmeter as mm
    >>> age = mm.KeySpace([mm.Key("age", ["young", "old", "unknown"])])
    >>> errors = mm.Misclassification({"age": [[0.9, 0, 0.1], [0, 1, 0], [0.5, 0.5, 0]]}).on(age)
    >>> recordable(errors, mm.KeyTable.of(age, [[0], [1]]), 0).tolist()
    [True, True, True]
    >>> recordable(errors, mm.KeyTable.of(age, [[1], [1]]), 0).tolist()
    [False, True, False]
    """
    for factor in recording.factors:
        if position in factor.columns:
            codes = population.codes
            rows = np.unique(factor.stratum(codes) * factor.size + factor.code(codes))
            reached = (factor.P.reshape(-1, factor.size)[rows] > 0).any(axis=0)
            own = factor.columns.index(position)
            others = tuple(axis for axis in range(len(factor.sizes)) if axis != own)
            return np.asarray(np.any(reached.reshape(factor.sizes), axis=others))
    return None


def _nobody_has(name: str, lost: int, seen: int, *, errors: bool) -> CategoryError:
    """Return the error for recorded categories that nobody has, or that `errors` do not make."""
    lacking = (
        f"Nobody in the population has {lost} of the {seen} categories of {name!r} that occur in the"
        " sample"
    )
    if errors:
        return CategoryError(
            f"{lacking}, and the recording errors rule out that anybody was recorded so. Give the"
            " misclassification that made this file, or count the population that the sample was"
            " drawn from."
        )
    return CategoryError(
        f"{lacking}. Count the population that the sample was drawn from, and store the column with"
        " the same values in both files."
    )


def unsampled(population: KeyTable, sample: Microdata) -> NDArray[np.int64]:
    """Return the units of each population cell that are not in the sample, negative if too few."""
    place, there = population.find(sample.codes)
    rest = population.counts - sample.tally(place[there], len(population), rows=there)
    lost = len(np.unique(population.space.number(sample.codes[~there])))
    return np.append(rest, -np.ones(lost, dtype=np.int64))
