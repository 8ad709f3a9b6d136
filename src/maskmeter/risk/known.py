"""Risk when the population counts are known: section 2 of Shlomo and Skinner (2010)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from maskmeter._checks import check_choice
from maskmeter._random import RandomSource, seed_of
from maskmeter.errors import (
    CategoryError,
    InputError,
    NegativeRiskWarning,
    PopulationMismatchWarning,
)
from maskmeter.microdata import Microdata
from maskmeter.misclassification import (
    Mechanism,
    Misclassification,
    Rivals,
    as_mechanism,
    moved_in,
    rivals,
)
from maskmeter.perturb import Release
from maskmeter.risk import formulas
from maskmeter.risk.result import Risk
from maskmeter.table import KeyTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from maskmeter.keys import Codes

Formula = Literal["2.5", "2.6", "2.7"]
InSampleFormula = Literal["2.2", "2.4"]
ReleasedCounts = Literal["expected", "realised"]
Errors: TypeAlias = "Misclassification | Mechanism | Mapping[Any, Any] | None"

_UNITS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class _Uniques:
    """The sample uniques of a file, and all that the equations need to know about their cells."""

    data: Microdata
    original: Microdata | None
    mechanism: Mechanism
    counts: KeyTable  # of the population, or of the sample for an intruder who knows who is in it
    records: NDArray[np.int64]

    @property
    def cells(self) -> Codes:
        return self.data.codes[self.records]

    @property
    def own(self) -> NDArray[np.float64]:
        return self.counts.lookup(self.cells).astype(np.float64)

    @property
    def stay(self) -> NDArray[np.float64]:
        return self.mechanism.stay(self.cells)

    @property
    def moved_in(self) -> NDArray[np.float64]:
        return moved_in(self.mechanism, self.counts, self.cells)

    def rivals(self, pi: NDArray[np.float64]) -> Rivals:
        return rivals(self.mechanism, self.counts, self.cells, pi=pi)

    def risk(self, measure: str, values: NDArray[np.float64], *assumptions: str) -> Risk:
        without = int((self.own == 0).sum())
        return Risk(measure, self.data, self.records, values, without, assumptions)


def exact_risk(
    data: Release | Microdata, population: KeyTable, *, misclassification: Errors = None
) -> Risk:
    """Return the probability that a unique match is right, eq. (2.4), and its sum tau, eq. (2.8).

    A plain sample without misclassification gives 1 / F_j and its sum tau*.

    Parameters
    ----------
    data
        A release, or a sample as it was recorded.
    population
        Counts of the true keys in the population, from `mm.count`.
    misclassification
        For a sample that was recorded with error: what is known about the errors.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"age": [1, 1, 1, 2, 2, 3], "sex": ["f", "m", "m", "f", "f", "m"]})
    >>> population = mm.count(people, keys=["age", "sex"])
    >>> sample = mm.read(people[[0, 3]], keys=population.space, fraction=1 / 3)
    >>> mm.exact_risk(sample, population).by_cell
    array([1. , 0.5])
    """
    uniques = _uniques(data, population, misclassification)
    pi = uniques.data.inclusion(uniques.cells)
    own, stay = uniques.own, uniques.stay
    values = formulas.match_probability(stay, own, uniques.rivals(pi), pi=pi)
    return uniques.risk(
        "Exact risk (2.4)",
        formulas.no_target_no_risk(values, own),
        "population counts known",
        "misclassification matrix known",
        "the intruder does not know who is in the sample",
    )


def approximate_risk(
    data: Release | Microdata,
    population: KeyTable,
    *,
    formula: Formula = "2.5",
    released_counts: ReleasedCounts = "expected",
    misclassification: Errors = None,
    rng: RandomSource = None,
) -> Risk:
    """Return one of the paper's approximations to the exact risk.

    All need the population's released counts F~_j: "expected" under the misclassification, or
    "realised" by misclassifying once all units outside the sample (this takes `rng`).

    Parameters
    ----------
    formula
        "2.5" for small sampling fractions, "2.6" and "2.7" for small misclassification.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"age": [1, 1, 1, 2, 2, 3]})
    >>> population = mm.count(people, keys=["age"])
    >>> sample = mm.read(people[[0, 3]], keys=population.space, fraction=1 / 3)
    >>> errors = mm.Misclassification({"age": [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]})
    >>> mm.approximate_risk(sample, population, misclassification=errors).by_cell.round(4)
    array([0.2963, 0.4   ])
    """
    check_choice(formula, Formula, name="formula")
    check_choice(released_counts, ReleasedCounts, name="released_counts")
    uniques = _uniques(data, population, misclassification)
    own, stay = uniques.own, uniques.stay
    if released_counts == "expected":
        released = own * stay + uniques.moved_in
    else:
        released = _realised(uniques, rng)
    if formula == "2.5":
        values = formulas.simple_match_probability(stay, released)
        assumed = "small sampling fraction"
    else:
        pi = uniques.data.inclusion(uniques.cells)
        small = formulas.small_error_probability
        equation = small if formula == "2.6" else formulas.diagonal_match_probability
        values = equation(stay, own, released, pi=pi)
        assumed = "small misclassification"
    # Realised counts have every released unique in them, so (2.5) is defined at all of these.
    if formula != "2.5" or released_counts == "expected":
        values = formulas.no_target_no_risk(values, own)
    risk = uniques.risk(
        f"Approximate risk ({formula}), {released_counts} released counts",
        values,
        "population counts known",
        "diagonal of the misclassification matrix known",
        assumed,
    )
    if risk.negative:
        message = (
            f"{risk.negative:,} of {risk.uniques:,} values of approximation (2.6) are negative:"
            " misclassification is not small in those cells. Use exact_risk, or formula 2.5 or 2.7."
        )
        warnings.warn(message, NegativeRiskWarning, stacklevel=2)
    return risk


def correctly_classified_risk(data: Release | Microdata, population: KeyTable) -> Risk:
    """Return 1 / F_j for sample uniques that were not changed, eq. (2.9): tau*_CC is the total.

    It needs the truth, so it takes a release (or a sample that was recorded without error).

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"age": [1, 1, 1, 2, 2, 3]})
    >>> population = mm.count(people, keys=["age"])
    >>> sample = mm.read(people[[0, 3]], keys=population.space, fraction=1 / 3)
    >>> moved = sample.with_codes([[0], [2]])
    >>> release = mm.Release(sample, moved, {"age": mm.stay_or_move(3, stay=0.8)})
    >>> mm.correctly_classified_risk(release, population).by_cell.round(4)
    array([0.3333, 0.    ])
    """
    uniques = _uniques(data, population, None)
    kept = np.ones(len(uniques.data)) if isinstance(data, Microdata) else ~data.changed
    values = formulas.ratio(kept[uniques.records].astype(np.float64), uniques.own)
    return uniques.risk(
        "Risk of correctly classified uniques (2.9)",
        values,
        "population counts known",
        "it is known which records were changed",
    )


def in_sample_risk(
    data: Release | Microdata,
    *,
    formula: InSampleFormula = "2.2",
) -> Risk:
    """Return the risk from an intruder who knows that the target is in the sample.

    "2.2" is the measure of Gouweleeuw et al.; "2.4" the exact risk with pi_j = 1 and the original
    sample in place of the population. Both need the original sample, so they take a release (or a
    sample that was recorded without error).

    >>> import polars as pl, maskmeter as mm
    >>> sample = mm.read(pl.DataFrame({"age": [1, 2]}), keys=["age"])
    >>> release = mm.Release(sample, sample, {"age": mm.stay_or_move(2, stay=0.8)})
    >>> mm.in_sample_risk(release, formula="2.2").by_cell
    array([0.8, 0.8])
    """
    check_choice(formula, InSampleFormula, name="formula")
    original = data.original if isinstance(data, Release) else data
    counts = KeyTable.of(original.space, original.codes)
    uniques = _uniques(data, counts, None)
    own, stay = uniques.own, uniques.stay
    if formula == "2.2":
        values = formulas.in_sample_match_probability(stay, own, uniques.moved_in)
    else:
        one = np.ones(len(own))
        values = formulas.match_probability(stay, own, uniques.rivals(one), pi=one)
    return uniques.risk(
        f"Risk to a target known to be in the sample ({formula})",
        formulas.no_target_no_risk(values, own),
        "the intruder knows that the target is in the sample",
        "original sample and misclassification matrix known",
    )


def _uniques(
    data: Release | Microdata, population: KeyTable, misclassification: Errors
) -> _Uniques:
    """Return the sample uniques of the released file, on the population's categories."""
    if not isinstance(data, Release | Microdata):
        message = f"Give a release or a sample (mm.read), not a {type(data).__name__}."
        raise InputError(message)
    if not isinstance(population, KeyTable):
        message = f"Give the population as counts (mm.count), not as a {type(population).__name__}."
        raise InputError(message)
    if isinstance(data, Release):
        if misclassification is not None:
            message = "A release knows its misclassification: leave `misclassification` out."
            raise InputError(message)
        released, misclassification = data.released, data.misclassification
        original: Microdata | None = data.original
    else:
        released = data
        original = data if misclassification is None else None
    counts = population.onto(released.space)
    _check_covers(counts, released if original is None else original)
    if original is not None:
        _warn_if_short(counts, original)
    _, row, times = np.unique(
        released.space.number(released.codes), return_index=True, return_counts=True
    )
    records = np.sort(row[times == 1])
    return _Uniques(
        released, original, as_mechanism(misclassification, counts.space), counts, records
    )


def _check_covers(population: KeyTable, sample: Microdata) -> None:
    """Refuse a population in which nobody has a category that is seen in the sample."""
    codes = population.codes
    for position, key in enumerate(sample.space.keys):
        size = population.space.keys[position].size
        seen = np.bincount(sample.codes[:, position], minlength=size) > 0
        lost = int((seen & (np.bincount(codes[:, position], minlength=size) == 0)).sum())
        if lost:
            message = (
                f"Nobody in the population has {lost} of the {int(seen.sum())} categories of"
                f" {key.name!r} that are seen in the sample. Count the population that the sample"
                " was drawn from, and hold the column as the same type in both files (text and"
                " numbers never match)."
            )
            raise CategoryError(message)


def _unsampled(population: KeyTable, sample: Microdata) -> NDArray[np.int64]:
    """Return the units of each population cell that are not in the sample, negative if too few."""
    place, there = population.find(sample.codes)
    rest = population.counts - np.bincount(place[there], minlength=len(population))
    return np.append(rest, -np.ones(int((~there).sum()), dtype=np.int64))


def _warn_if_short(population: KeyTable, sample: Microdata) -> None:
    short = int((_unsampled(population, sample) < 0).sum())
    if short:
        message = (
            f"In {short:,} cells the population has fewer units than the sample: it is not the"
            " population that the sample was drawn from, and risks are only as good as its counts."
        )
        warnings.warn(message, PopulationMismatchWarning, stacklevel=4)


def _realised(uniques: _Uniques, rng: RandomSource) -> NDArray[np.float64]:
    """Return the released counts of one misclassified population.

    Sampled units keep their released values (a unique is one of its own cell); the others are
    drawn once.
    """
    if uniques.original is None:
        message = (
            "Realised counts need the true keys of the sampled units, which are not known for a"
            ' sample recorded with error: use released_counts="expected".'
        )
        raise InputError(message)
    outside = _unsampled(uniques.counts, uniques.original)
    if (outside < 0).any():
        message = "Realised counts need a population that contains the sample, cell by cell."
        raise InputError(message)
    seed, codes, ends = seed_of(rng), uniques.counts.codes, np.cumsum(outside)
    space = uniques.counts.space
    wanted, order = np.unique(space.number(uniques.cells), return_inverse=True)
    total = np.ones(len(wanted))
    for start in range(0, int(ends[-1]), _UNITS_AT_ONCE):
        stop = min(start + _UNITS_AT_ONCE, int(ends[-1]))
        units = codes[np.searchsorted(ends, np.arange(start, stop), side="right")]
        drawn = space.number(
            uniques.mechanism.draw(units, rng=seed, label="population", start=start)
        )
        place = np.minimum(np.searchsorted(wanted, drawn), len(wanted) - 1)
        total += np.bincount(place[wanted[place] == drawn], minlength=len(wanted))
    return total[order]
