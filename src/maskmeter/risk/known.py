"""Risk when the population counts are known: section 2 of Shlomo and Skinner (2010)."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np

from maskmeter.checks import check_choice
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import NegativeRiskWarning
from maskmeter.perturb import Release
from maskmeter.plurals import plural
from maskmeter.risk import formulas
from maskmeter.risk.result import Risk
from maskmeter.risk.uniques import Errors, Uniques, check_data, population_of, warn_if_short
from maskmeter.streams import RandomSource
from maskmeter.types import Array

Formula = Literal["2.5", "2.6", "2.6 released", "2.7"]
InSampleFormula = Literal["2.2", "2.4"]
ReleasedCounts = Literal["expected", "realised"]

_BY_RELEASED_COUNTS = ("2.5", "2.6 released")  # no F_j in them


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
        For a file that was recorded with error: what is known about the errors. Those of a release
        come before its own misclassification.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"age": [1, 1, 1, 2, 2, 3], "sex": ["f", "m", "m", "f", "f", "m"]})
    >>> population = mm.count(people, keys=["age", "sex"])
    >>> sample = mm.read(people[[0, 3]], keys=population.space, fraction=1 / 3)
    >>> mm.exact_risk(sample, population).by_cell
    array([1. , 0.5])
    """
    uniques = _uniques(data, population, misclassification)
    pi = uniques.pi
    values = formulas.match_probability(
        stay=uniques.stay, population=uniques.own, rivals=uniques.rivals(pi), pi=pi
    )
    return uniques.risk(
        "Exact risk (2.4)",
        formulas.no_target_no_risk(values, uniques.own),
        "population counts known",
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
        "2.6 released" has F~_j wherever (2.6) has F_j: with it the paper's first table was
        computed, as its rows (2.5) and (2.6) show for swaps at random.

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
    realised = released_counts == "realised"
    released = uniques.realised(rng) if realised else uniques.expected
    # Realised counts have every released unique in them: what needs no F_j is defined at all.
    ruled = not (realised and formula in _BY_RELEASED_COUNTS)
    values = _approximation(formula, uniques, released)
    risk = uniques.risk(
        f"Approximate risk ({formula}), {released_counts} released counts",
        formulas.no_target_no_risk(values, uniques.own) if ruled else values,
        "population counts known",
        "small sampling fraction" if formula == "2.5" else "small misclassification",
        ruled=ruled,
    )
    if risk.negative:
        message = (
            f"{risk.negative:,} of {risk.uniques:,} values of approximation ({formula})"
            f" {plural(risk.negative, 'is', 'are')} negative: misclassification is not small there."
            " Use mm.exact_risk, or formula 2.5 or 2.7."
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
    kept = ~data.changed if isinstance(data, Release) else np.ones(len(data))
    return uniques.risk(
        "Risk of correctly classified uniques (2.9)",
        formulas.ratio(kept[uniques.records].astype(np.float64), uniques.own),
        "population counts known",
        "it is known which records were changed",
    )


def in_sample_risk(data: Release | Microdata, *, formula: InSampleFormula = "2.2") -> Risk:
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
    check_data(data)
    original = data.original if isinstance(data, Release) else data
    uniques = Uniques.against(KeyTable.of(original.space, original.codes), data)
    own, stay = uniques.own, uniques.stay
    if formula == "2.2":
        values = formulas.in_sample_match_probability(
            stay=stay, sample=own, moved_in=uniques.moved_in
        )
    else:
        one = np.ones(len(own))
        values = formulas.match_probability(
            stay=stay, population=own, rivals=uniques.rivals(one), pi=one
        )
    return uniques.risk(
        f"Risk to a target known to be in the sample ({formula})",
        formulas.no_target_no_risk(values, own),
        "original sample known",
        "the intruder knows that the target is in the sample",
    )


def _uniques(data: Release | Microdata, population: KeyTable, errors: Errors) -> Uniques:
    """Return the sample uniques, after the checks that known population counts need."""
    check_data(data)
    uniques = Uniques.against(population_of(data, population), data, errors)
    if uniques.original is not None:
        warn_if_short(uniques.counts, uniques.original)
    return uniques


def _approximation(formula: Formula, uniques: Uniques, released: Array) -> Array:
    """Return the values of one of the approximations."""
    own, stay = uniques.own, uniques.stay
    if formula == "2.5":
        return formulas.simple_match_probability(stay=stay, released=released)
    if formula == "2.7":
        equation = formulas.diagonal_match_probability
    else:
        equation = formulas.small_error_probability
    population = released if formula == "2.6 released" else own
    return equation(stay=stay, population=population, released=released, pi=uniques.pi)
