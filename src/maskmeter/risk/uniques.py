"""The sample uniques of a file, and all that the equations need to know about their cells."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import CategoryError, InputError, MatrixError, PopulationMismatchWarning
from maskmeter.mechanism import (
    Mechanism,
    Misclassification,
    Rivals,
    as_mechanism,
    moved_in,
    rivals,
)
from maskmeter.perturb import Release
from maskmeter.plurals import counted, plural
from maskmeter.risk.result import Risk
from maskmeter.streams import RandomSource, seed_of
from maskmeter.types import Array

Errors: TypeAlias = "Misclassification | Mechanism | Mapping[Any, Any] | None"

_UNITS_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Uniques:
    """Cells that hold one record of the released file, beside the counts they are held against.

    `counts` are those of the population, or of the original sample when the intruder knows who is
    in it, with the category codes of the released file. `original` is None when the true keys of the records are not known.
    """

    released: Microdata
    original: Microdata | None
    mechanism: Mechanism
    counts: KeyTable
    records: NDArray[np.int64]
    unprotected: int | None = None  # uniques of the unprotected file

    @classmethod
    def against(cls, counts: KeyTable, data: Release | Microdata, errors: Errors = None) -> Uniques:
        """Return the uniques of a release, or of a sample that may be recorded with errors."""
        released, original, mechanism = known_mechanism(data, errors)
        mechanism = mechanism.on(counts.space)
        numbers = released.space.number(released.codes)
        _, row, times = np.unique(numbers, return_index=True, return_counts=True)
        before = data.original.uniques if isinstance(data, Release) else None
        return cls(released, original, mechanism, counts, np.sort(row[times == 1]), before)

    @cached_property
    def cells(self) -> Codes:
        """Codes of the cells."""
        return self.released.codes[self.records]

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
        """Inclusion probability; without misclassification it does not matter."""
        if not self.mechanism.factors:
            return np.zeros(len(self.records))
        return (self.original or self.released).inclusion(self.cells)

    @property
    def expected(self) -> Array:
        """F~_j to expect: `sum_k F_k M_jk`."""
        return self.own * self.stay + self.moved_in

    @property
    def moved_in(self) -> Array:
        """The part of it that comes from other cells."""
        return moved_in(self.mechanism, self.counts, self.cells)

    def rivals(self, pi: Array) -> Rivals:
        """Return the rivals of a correct match in (2.4)."""
        return rivals(self.mechanism, self.counts, self.cells, pi=pi)

    def risk(self, measure: str, values: Array, *assumptions: str, ruled: bool = True) -> Risk:
        """Return the result of a measure; `ruled` says that no target meant no risk."""
        known = (
            "misclassification matrix known" if self.mechanism.factors else "nothing misclassified"
        )
        return Risk(
            measure,
            self.released,
            self.records,
            values,
            without_target=int((self.own == 0).sum()),
            ruled=ruled,
            assumptions=(known, *assumptions),
            unprotected=self.unprotected,
        )

    def realised(self, rng: RandomSource) -> Array:
        """Return the released counts of one misclassified population.

        Sampled units keep their released values (a unique is one of its own cell); the others are
        drawn once.
        """
        if self.original is None:
            raise InputError(
                "Realised counts need the true keys of the sampled units, which are unknown for a"
                ' sample recorded with error. Use released_counts="expected".'
            )
        outside = unsampled(self.counts, self.original)
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


def known_mechanism(
    data: Release | Microdata, errors: Errors
) -> tuple[Microdata, Microdata | None, Mechanism]:
    """Return the released file, the original if it is known, and the mechanism between them.

    The mechanism is on the sample's own keys, so that an array follows the categories its user
    sees. A sample that was recorded without error is its own original. `errors` of a release are
    those its original was recorded with: they come first, and the truth is not known then.
    """
    if not isinstance(data, Release):
        return data, data if errors is None else None, as_mechanism(errors, data.space)
    if errors is None:
        return data.released, data.original, data.mechanism
    recorded = as_mechanism(errors, data.released.space)
    return data.released, None, recorded.then(data.mechanism.declared)


def check_possible(released: Microdata, mechanism: Mechanism) -> None:
    """Refuse a misclassification by which nobody can be recorded as some records are."""
    codes = released.codes
    for factor in mechanism.factors:
        reached = factor.P.sum(axis=1)[factor.stratum(codes), factor.code(codes)]
        if (reached == 0).any():
            raise MatrixError(
                f"{(lost := int((reached == 0).sum())):,} of {counted(len(codes), 'record')}"
                f" {plural(lost, 'has', 'have')} a value of {factor.name!r} that the misclassification rules out. Give the"
                " misclassification that made this file."
            )


def check_data(data: object) -> None:
    """Refuse what is neither a release nor a sample."""
    if not isinstance(data, Release | Microdata):
        raise InputError(f"Give a release or a sample (mm.read), not a {type(data).__name__}.")


def check_counts(population: object) -> KeyTable:
    """Return a population that was counted."""
    if not isinstance(population, KeyTable):
        raise InputError(
            f"Give the population as counts (mm.count), not as a {type(population).__name__}."
        )
    return population


def population_of(data: Release | Microdata, population: object) -> KeyTable:
    """Return the population with the sample's category codes, if it may hold the sample."""
    table = check_counts(population)
    sample = data.original if isinstance(data, Release) else data
    counts = table.onto(sample.space)
    for position, key in enumerate(sample.space.keys):
        size = counts.space.keys[position].size
        seen = np.bincount(sample.codes[:, position], minlength=size) > 0
        there = np.bincount(counts.codes[:, position], minlength=size) > 0
        lost = int((seen & ~there).sum())
        if lost:
            raise CategoryError(
                f"Nobody in the population has {lost} of the {int(seen.sum())} categories of"
                f" {key.name!r} that occur in the sample. Count the population that the sample was"
                " drawn from, and store the column with the same type in both files (text never"
                " matches numbers)."
            )
    return counts


def warn_if_short(population: KeyTable, sample: Microdata) -> None:
    """Warn when the population cannot hold the sample."""
    short = int((unsampled(population, sample) < 0).sum())
    if short:
        message = (
            f"In {counted(short, 'cell')} the population has fewer units than the sample, so the sample"
            " was not drawn from it and the risks may be wrong. Count the sample's own population."
        )
        warnings.warn(message, PopulationMismatchWarning, stacklevel=4)


def unsampled(population: KeyTable, sample: Microdata) -> NDArray[np.int64]:
    """Return the units of each population cell that are not in the sample, negative if too few."""
    place, there = population.find(sample.codes)
    rest = population.counts - np.bincount(place[there], minlength=len(population))
    lost = len(np.unique(population.space.number(sample.codes[~there])))
    return np.append(rest, -np.ones(lost, dtype=np.int64))
