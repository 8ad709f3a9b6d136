"""Risk when the population counts are known: section 2 of Shlomo and Skinner (2010)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.table import KeyTable
from maskmeter.errors import Caution, NegativeRiskWarning, PopulationMismatchWarning
from maskmeter.mechanism import Inclusion, likeliest_sources, rivals
from maskmeter.plurals import counted, plural
from maskmeter.risk import formulas
from maskmeter.risk.cautions import weighted_unevenly
from maskmeter.risk.intruder import ASSUMED, EXACT_MATCH, INFORMED, Intruder
from maskmeter.risk.margins import unused_margin
from maskmeter.risk.population import Uniques, unsampled
from maskmeter.risk.result import Risk
from maskmeter.risk.shared import largest_shared
from maskmeter.risk.sight import Sight
from maskmeter.streams import RandomSource
from maskmeter.types import Array, Integers

Formula = Literal["2.5", "2.6", "2.6 released", "2.7"]
InSampleFormula = Literal["2.2", "2.4"]
ReleasedCounts = Literal["expected", "realised"]

_BY_RELEASED_COUNTS = ("2.5", "2.6 released")  # no F_j in them


def exact(uniques: Uniques, intruder: Intruder = EXACT_MATCH) -> Risk:
    """Return the risk of each sample unique when the population is known.

    (2.4) for an intruder who matches exactly; the chance of the likeliest person for one who knows
    the method.
    """
    informed = intruder == INFORMED
    values = _match(uniques, intruder)
    return _risk(
        uniques,
        "Exact risk, informed intruder" if informed else "Exact risk (2.4)",
        values,
        "population counts known",
        "the intruder does not know who is in the sample",
        ASSUMED[intruder],
        ruled=not informed,
        cautions=(
            *_short(uniques),
            *weighted_unevenly(uniques.sight, told=uniques.told),
            *(unused_margin(uniques.sight) if informed else ()),
        ),
        intruder=intruder,
        shared=partial(_shared, uniques, intruder),
    )


def _match(uniques: Uniques, intruder: Intruder) -> Array:
    """Return the chance that the match of each cell is right."""
    informed = intruder == INFORMED and bool(uniques.mechanism.factors)
    matched, likeliest = _chances(uniques, informed=informed)
    return _with_margin(uniques, matched, likeliest) if informed else matched


def _chances(uniques: Uniques, *, informed: bool) -> tuple[Array, Array]:
    """Return (2.4) of each cell and, if asked for, the chance of the likeliest person."""
    found = uniques.rivals(likeliest=informed)
    stay, own, pi = uniques.stay, uniques.own, uniques.pi
    matched = formulas.match_probability(stay=stay, population=own, rivals=found, pi=pi)
    matched = formulas.no_target_no_risk(matched, own)
    if not informed:
        return matched, matched
    likeliest = formulas.likeliest_probability(stay=stay, population=own, rivals=found, pi=pi)
    return matched, likeliest


def _with_margin(uniques: Uniques, matched: Array, likeliest: Array) -> Array:
    """Return the informed risk, with what the margin tells where values were exchanged."""
    if uniques.exchanged is None:
        return likeliest
    here, by_margin = uniques.exchanged.risk(uniques.cells)
    values = likeliest.copy()
    values[here] = np.maximum(by_margin, matched[here])
    return values


def likeliest_people(uniques: Uniques, among: NDArray[np.bool_]) -> tuple[Integers, Array]:
    """Return whom an informed intruder names for each sample unique, and the chance that he is right.

    `among` says of which population cells he knows somebody. A place among these cells, and the
    chance of one of its people; -1 and 0 where nobody he knows can be the record.
    """
    mechanism, counts, cells = uniques.mechanism, uniques.counts, uniques.cells
    place = likeliest_sources(mechanism, counts, cells, pi=uniques.inclusion, among=among)
    certain, total = formulas.all_weights(
        stay=uniques.stay, population=uniques.own, rivals=uniques.rivals(), pi=uniques.pi
    )
    sources = uniques.inclusion.sources
    share = uniques.pi if sources is None else sources[place]
    x = share * mechanism.prob(released=cells, true=counts.codes[place])
    weight = formulas.ratio(x, (1 - x) * uniques.pi)  # odds over the target's pi, as all weights
    chance = np.where(
        certain > 0,
        formulas.ratio(np.asarray(x >= 1, np.float64), certain),
        formulas.ratio(weight, total),
    )
    chance = np.where(place >= 0, chance, 0.0)
    if uniques.exchanged is not None:
        here, by_margin, known = uniques.exchanged.likeliest(cells, among)
        place[here], chance[here] = by_margin, known
    return place, chance


def _shared(uniques: Uniques, intruder: Intruder) -> float:
    """Return the largest risk of a record that shares its cell with others, R(m) of m records.

    It exceeds neither 1/m nor the chance of the likeliest person behind a single record: the more
    records there are, the less the largest odds tell. What a known margin tells is for single
    records, and at most 1/m.
    """
    sight = uniques.sight
    table = KeyTable.of(sight.released.space, sight.released.codes, counts=sight.released.times)
    several = table.counts > 1
    if not several.any():
        return 0.0
    cells = replace(uniques, sight=sight.at(table.codes[several]))
    records = table.counts[several].astype(np.float64)
    if not cells.mechanism.factors:
        return float(np.minimum(_match(cells, intruder), 1 / records).max())
    informed, by_margin = intruder == INFORMED, 0.0
    matched, bound = _chances(cells, informed=True)
    bound = np.minimum(bound, 1 / records)
    if informed and cells.exchanged is not None:
        here, _ = cells.exchanged.inside(cells.cells)
        told = np.minimum(_with_margin(cells, matched, bound), 1 / records)
        by_margin, bound[here] = float(told[here].max(initial=0.0)), 0.0
    return max(by_margin, largest_shared(cells, records, bound=bound, informed=informed))


def approximate(
    uniques: Uniques, formula: Formula, released_counts: ReleasedCounts, rng: RandomSource = None
) -> Risk:
    """Return one of the paper's approximations to the exact risk."""
    realised = released_counts == "realised"
    released = uniques.realised(rng) if realised else uniques.expected
    # Realised counts have every released unique in them: what needs no F_j is defined at all.
    ruled = not (realised and formula in _BY_RELEASED_COUNTS)
    values = _approximation(formula, uniques, released)
    values = formulas.no_target_no_risk(values, uniques.own) if ruled else values
    return _risk(
        uniques,
        f"Approximate risk ({formula}), {released_counts} released counts",
        values,
        "population counts known",
        "small sampling fraction" if formula == "2.5" else "small misclassification",
        ruled=ruled,
        cautions=(*_short(uniques), *_negative(values, formula)),
    )


def correctly_classified(uniques: Uniques) -> Risk:
    """Return 1 / F_j for sample uniques that were not changed, eq. (2.9)."""
    sight = uniques.sight
    kept = (sight.recorded.codes == sight.released.codes).all(axis=1)[sight.uniques]
    return _risk(
        uniques,
        "Risk of correctly classified uniques (2.9)",
        formulas.ratio(kept.astype(np.float64), uniques.own),
        "population counts known",
        "it is known which records were changed",
        cautions=tuple(_short(uniques)),
    )


def in_sample(sight: Sight, formula: InSampleFormula) -> Risk:
    """Return the risk from an intruder who knows that the target is in the sample."""
    recorded = sight.recorded
    counts = KeyTable.of(recorded.space, recorded.codes, counts=recorded.times)
    uniques = Uniques(sight, counts)
    own, stay = uniques.own, uniques.stay
    if formula == "2.2":
        values = formulas.in_sample_match_probability(
            stay=stay, sample=own, moved_in=uniques.moved_in
        )
    else:
        one = np.ones(len(own))
        found = rivals(uniques.mechanism, uniques.counts, uniques.cells, pi=Inclusion(one))
        values = formulas.match_probability(stay=stay, population=own, rivals=found, pi=one)
    return _risk(
        uniques,
        f"Risk to a target known to be in the sample ({formula})",
        formulas.no_target_no_risk(values, own),
        "original sample known",
        "the intruder knows that the target is in the sample",
    )


def _risk(
    uniques: Uniques,
    measure: str,
    values: Array,
    *assumptions: str,
    ruled: bool = True,
    cautions: tuple[Caution, ...] = (),
    intruder: Intruder = EXACT_MATCH,
    shared: Callable[[], float] | None = None,
) -> Risk:
    """Return the result of a measure; `ruled` says that no target meant no risk."""
    sight = uniques.sight
    return Risk(
        measure,
        sight.released,
        sight.uniques,
        values,
        without_target=int((uniques.own == 0).sum()),
        ruled=ruled,
        assumptions=(sight.premise, *assumptions),
        unprotected=sight.unprotected,
        cautions=cautions,
        intruder=intruder,
        shared=shared,
    )


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
    pi = uniques.meant.targets
    return equation(stay=stay, population=population, released=released, pi=pi)


def _negative(values: Array, formula: Formula) -> Iterator[Caution]:
    """Yield the caution that an approximation does not apply to some uniques."""
    negative = int((values < 0).sum())
    if negative:
        text = (
            f"{negative:,} of {counted(len(values), 'value')} of approximation ({formula})"
            f" {plural(negative, 'is', 'are')} negative: misclassification is not small there."
            " Use mm.exact_risk, or formula 2.5 or 2.7."
        )
        yield Caution(NegativeRiskWarning, text)


def _short(uniques: Uniques) -> Iterator[Caution]:
    """Yield the caution that the population cannot hold the sample."""
    if uniques.sight.truth is None:
        return
    short = int((unsampled(uniques.counts, uniques.sight.truth) < 0).sum())
    if short:
        text = (
            f"In {counted(short, 'cell')} the population has fewer units than the sample, so the sample"
            " was not drawn from it and the risks may be wrong. Count the sample's own population."
        )
        yield Caution(PopulationMismatchWarning, text)
