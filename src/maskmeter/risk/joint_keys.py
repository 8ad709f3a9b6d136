"""The exact risk of households: (2.4) on the keys of all members together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import check_choice
from maskmeter.data.households import Homes, HouseholdTable
from maskmeter.data.microdata import Microdata
from maskmeter.data.varying import By
from maskmeter.errors import (
    Caution,
    InputError,
    LargeHouseholdWarning,
    MaskmeterWarning,
    PopulationMismatchWarning,
    UnusedMarginWarning,
    warn,
)
from maskmeter.mechanism import JointOdds, joint_odds
from maskmeter.perturb import Release
from maskmeter.plurals import counted, plural
from maskmeter.risk.cautions import weighted_unevenly
from maskmeter.risk.formulas import ratio
from maskmeter.risk.households import HouseholdRisk, bounded_by_members, unique_before
from maskmeter.risk.intruder import EXACT_MATCH, INFORMED, Intruder
from maskmeter.risk.result import Risk
from maskmeter.risk.view import Errors, View
from maskmeter.types import Array, Integers

_ASSUMED: dict[Intruder, str] = {
    "exact-match": "the intruder claims a match when exactly one household agrees on all members",
    "informed": (
        "the intruder knows the method and its rates, and names the likeliest household for each"
        " unique one"
    ),
}
_WHOLE = "whole households are sampled and released, and members are changed one by one"


def household_risk(
    data: Release | Microdata,
    population: HouseholdTable | None = None,
    *,
    household: str = "hid",
    intruder: Intruder = EXACT_MATCH,
    misclassification: Errors = None,
) -> HouseholdRisk:
    """Return the risk of households, from an intruder who knows all their members.

    With a population of households it is exact, (2.4) on the joint keys of all members. Without
    one it lies between what members one by one tell and the number of unique households.

    Parameters
    ----------
    data
        A release, or a sample as it was recorded; whole households must have been sampled.
    population
        Joint keys of the population's households, from `mm.count_households`.
    household
        The column of the file that names households.
    intruder
        "exact-match" claims a match when exactly one household agrees on all members. "informed"
        knows the method and its rates, and names the likeliest household.
    misclassification
        For a file that was recorded with error: what is known about the errors.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"hid": [1, 1, 2, 2, 3, 3], "age": [30, 40, 40, 30, 30, 30]})
    >>> population = mm.count_households(people, keys=["age"])
    >>> sample = mm.read(people[2:], keys=population.space, fraction=2 / 3)
    >>> mm.household_risk(sample, population).by_household
    array([0.5, 1. ])
    """
    check_choice(intruder, Intruder, name="intruder")
    if population is None:
        view = View.of(data, errors=misclassification)
        Homes.of(view.sight.released, household)  # refused before the work, if at all
        risk = view.risk(intruder=intruder, interval="none")
        found = bounded_by_members(view, household, risk, risk.cautions)
    else:
        if not isinstance(population, HouseholdTable):
            raise InputError(
                "Give the population as households (mm.count_households), not as a"
                f" {type(population).__name__}."
            )
        view = View.of(data, counts=population.persons, errors=misclassification)
        table = households_of(view, population)
        why = why_not_exact(view, table)
        if why:
            raise InputError(why)
        found = exact_households(view, household, table, intruder)
    warn(found.cautions)
    return found


def households_at_risk(
    view: View, household: str, population: HouseholdTable | None, risk: Risk
) -> HouseholdRisk:
    """Return the risk of households from the intruder of a risk: exact where that can be, else bounds.

    A caution says why a population of households is not used.
    """
    if population is None:
        return bounded_by_members(view, household, risk, ())
    table = households_of(view, population)
    why = why_not_exact(view, table)
    if not why:
        return exact_households(view, household, table, risk.intruder)
    text = f"The risk of households has bounds only. {why}"
    return bounded_by_members(view, household, risk, (Caution(MaskmeterWarning, text, ""),))


def households_of(view: View, population: HouseholdTable) -> HouseholdTable:
    """Return a population of households by the keys of a view, with the codes of its release."""
    recoded, recorded = view.release.recoded(population), view.sight.recorded
    view.checked(recoded.persons)  # refuses one that cannot hold the sample
    return recoded.onto(recorded.space)


def why_not_exact(view: View, table: HouseholdTable) -> str:
    """Return why the risk of households cannot be exact; nothing if it can.

    A household is included as a whole: all members must be released, with one probability.
    """
    if view.release.thinned:
        return (
            "Not all records are released, so that households are not whole and their joint keys do"
            " not tell. Leave out the population of households, or the subsample."
        )
    recorded = view.sight.recorded
    if not view.mechanism.factors or not isinstance(recorded.fraction, By):
        return ""
    pi = recorded.inclusion(table.codes, space=table.space)
    start = np.cumsum(table.members) - table.members
    uneven = np.logical_or.reduceat(pi != np.repeat(pi[start], table.members), start)
    if not uneven.any():
        return ""
    number = int(table.counts[uneven].sum())
    return (
        f"In {number:,} of {counted(table.total, 'household')} of the population the sampling"
        " fraction differs between members, but whole households must have been sampled. Give a"
        " fraction that varies by keys which all members share."
    )


def exact_households(
    view: View, household: str, table: HouseholdTable, intruder: Intruder
) -> HouseholdRisk:
    """Return the risk of each unique household when the households of the population are known."""
    sight = view.sight
    homes = Homes.of(sight.released, household)
    inside = homes.unique[homes.place]
    number = np.cumsum(homes.unique) - 1
    place, codes = number[homes.place[inside]], sight.released.codes[inside]
    released = HouseholdTable.of(table.space, codes, place=place)  # in the order of their keys
    values, own, bounded = _measured(view, table, released, intruder)
    by_household = np.full(len(homes), np.nan)
    unique = np.flatnonzero(homes.unique)
    by_household[unique[np.argsort(homes.key[unique])]] = values
    informed = intruder == INFORMED
    return HouseholdRisk(
        f"Exact risk of households{', informed intruder' if informed else ' (2.4)'}",
        sight.released,
        household,
        homes,
        by_household,
        exact=True,
        assumptions=(
            sight.premise,
            "households of the population known",
            _ASSUMED[intruder],
            _WHOLE,
        ),
        unprotected=unique_before(view, household),
        without_target=int((own == 0).sum()),
        bounded=int(bounded.sum()),
        cautions=(
            *weighted_unevenly(sight),
            *_mismatch(view, table, household),
            *_large(int(bounded.sum())),
            *_margin(view, informed=informed),
        ),
        intruder=intruder,
    )


def _measured(
    view: View, table: HouseholdTable, released: HouseholdTable, intruder: Intruder
) -> tuple[Array, Integers, NDArray[np.bool_]]:
    """Return the risk of each released joint key, its households in the population, what is bounded."""
    own = table.lookup(released)
    if not view.mechanism.factors:
        return ratio(np.ones(len(own)), own.astype(np.float64)), own, np.zeros(len(own), dtype=bool)
    mechanism = view.mechanism.on(table.space)
    first = table.codes[np.cumsum(table.members) - table.members]
    pi = view.sight.recorded.inclusion(first, space=table.space)
    odds = joint_odds(mechanism, table, released, pi=pi)
    if intruder == INFORMED:
        values, most = likeliest_household_probability(odds), np.ones(len(own))
    else:
        values = household_match_probability(odds)
        most = ratio(np.ones(len(own)), own.astype(np.float64))
    return np.where(odds.unsummed, most, values), own, odds.unsummed


def household_match_probability(odds: JointOdds) -> Array:
    """Return Pr(A = B) for a unique household, eq. (2.4) on joint keys.

    `o_JJ / sum over households H of o_J,K(H)`, `o_JK = pi_K M_JK / (1 - pi_K M_JK)`. A household
    that is sampled and released as J for sure leaves no chance to one that is not.
    """
    among_certain = ratio(odds.own_certain.astype(np.float64), odds.certain)
    return np.where(odds.certain > 0, among_certain, ratio(odds.own, odds.total))


def likeliest_household_probability(odds: JointOdds) -> Array:
    """Return the chance that a unique household is the one it most likely is.

    `max over K with a household of o_JK / sum over households H of o_J,K(H)`.
    """
    among_certain = ratio(np.ones(len(odds.total)), odds.certain)
    return np.where(odds.certain > 0, among_certain, ratio(odds.likeliest, odds.total))


def _mismatch(view: View, table: HouseholdTable, household: str) -> Iterator[Caution]:
    """Yield the caution that the population cannot hold the households of the sample."""
    truth = view.sight.truth
    if truth is None:
        return
    place = truth.groups(household)
    sample = HouseholdTable.of(table.space, truth.codes, place=place)
    short = int((sample.counts > table.lookup(sample)).sum())
    if short:
        text = (
            f"{counted(short, 'joint key')} of the sample's households"
            f" {plural(short, 'is', 'are')} rarer in the population than in the sample, so the"
            " sample does not hold whole households of it and the risks may be wrong. Count the"
            " sample's own population, and sample all members of a household."
        )
        yield Caution(PopulationMismatchWarning, text)


def _large(bounded: int) -> Iterator[Caution]:
    """Yield the caution that some households are too large to measure."""
    if bounded:
        text = (
            f"{counted(bounded, 'household')} of more than twelve members could have been released"
            f" in too many ways to sum over: {plural(bounded, 'it counts', 'they count')} with the"
            " most that the risk can be."
        )
        yield Caution(LargeHouseholdWarning, text)


def _margin(view: View, *, informed: bool) -> Iterator[Caution]:
    """Yield the caution that the counts of exchanged values tell more than is included."""
    if informed and view.sight.exchanged:
        text = (
            "The informed risk of households leaves out what the counts of the exchanged values tell,"
            " and may be some percent too low."
        )
        yield Caution(UnusedMarginWarning, text)
