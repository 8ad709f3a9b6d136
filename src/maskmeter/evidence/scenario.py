"""The risk in one scenario: an intruder who knows some keys, before and after protection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from maskmeter.checks import Progress
from maskmeter.data.households import HouseholdTable
from maskmeter.errors import Caution
from maskmeter.risk import HouseholdRisk, Risk
from maskmeter.risk.by_keys import KeyCurve, KeySubset
from maskmeter.risk.intruder import EXACT_MATCH, INFORMED, Intruder
from maskmeter.risk.joint_keys import households_at_risk
from maskmeter.risk.known import Formula, approximate, correctly_classified
from maskmeter.risk.left_out import summed
from maskmeter.risk.view import View

BANDS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)  # of the risk of single records
MOST_KEYS = 40  # of which each is left out in turn
MOST_FITTED = 15  # the same where each time a model is fitted anew: with more it would take minutes
_NOTICEABLE = 1.02


@dataclass(frozen=True, eq=False)
class ScenarioRisk:
    """The risk when an intruder knows some keys, before and after protection.

    `after` and `before` have it for both intruders; the latter is None where nothing was changed.
    `intruder` is the one who decides. `others` are further measures of the same risk, by their
    equation; `without_one` has the risk with all keys first, then with each of them left out, when
    that was asked for and there are not too `many` keys.
    """

    name: str
    intruder: Intruder
    after: Mapping[Intruder, Risk]
    before: Mapping[Intruder, Risk] | None
    others: tuple[tuple[str, str, Risk], ...]
    without_one: KeyCurve | None
    perturbed: tuple[str, ...] = ()
    households: HouseholdRisk | None = None
    many: bool = False

    @property
    def risk(self) -> Risk:
        """The risk from the intruder who decides."""
        return self.after[self.intruder]

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Cautions about the risk of records, then about that of households."""
        more = () if self.households is None else self.households.cautions
        return (*self.risk.cautions, *(one for one in more if one not in self.risk.cautions))

    @property
    def left_out(self) -> list[tuple[str, KeySubset]]:
        """Each key with the risk when it is the one that is not known."""
        if self.without_one is None:
            return []
        whole, *rest = self.without_one.subsets
        return [(next(key for key in whole.keys if key not in one.keys), one) for one in rest]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that are known."""
        return self.risk.data.space.names

    @property
    def summed(self) -> bool:
        """Whether the risk without a key comes from the model of all keys."""
        return any(one.summed for _, one in self.left_out)

    @property
    def driving(self) -> list[tuple[str, KeySubset]]:
        """Each key with the risk when it is not known, those that carry most of the risk first."""
        return sorted(self.left_out, key=lambda pair: pair[1].risk)

    @property
    def better_without(self) -> list[tuple[str, KeySubset]]:
        """Perturbed keys that an intruder would do better to ignore, those that mislead most first.

        That is so where noticeably more matches would be right.
        """
        if self.without_one is None:
            return []
        whole = self.without_one.subsets[0]
        ignored = [
            pair
            for pair in self.left_out
            if pair[0] in self.perturbed and pair[1].risk > whole.risk * _NOTICEABLE
        ]
        return sorted(ignored, key=lambda pair: -pair[1].risk)

    def bands(self) -> pl.DataFrame:
        """Return how many sample uniques have a risk over `low` and up to `high`, for each band."""
        place = np.searchsorted(BANDS[1:-1], self.risk.by_unique, side="left")
        counts = np.bincount(place, minlength=len(BANDS) - 1)
        return pl.DataFrame({"low": BANDS[:-1], "high": BANDS[1:], "count": counts})


def scenario_risk(
    name: str,
    view: View,
    household: str | None,
    *,
    intruder: Intruder,
    drop_one: bool,
    households: HouseholdTable | None = None,
    progress: Progress = lambda *_: None,
) -> ScenarioRisk:
    """Return the risk before and after protection, then the risk without each key.

    `households` are those of the population, if they are known.
    """
    bare = view.before()
    after, before = {}, {}
    for number, one in enumerate((INFORMED, EXACT_MATCH)):  # the first brings the second with it
        progress(f"Measuring the risk: {name}", number, 2)
        after[one] = view.risk(intruder=one, household=household)
        if view.release.protected:
            before[one] = bare.risk(intruder=one)
    without, many = (
        None,
        len(view.keys) > (MOST_KEYS if summed(view) else min(MOST_KEYS, MOST_FITTED)),
    )
    if drop_one and not many:
        known = before[intruder].total if before else None
        whole = KeySubset.of(view, after[intruder], without_error=known, intruder=intruder)
        keys = view.keys if len(view.keys) > 1 else ()
        rest = []
        for number, key in enumerate(keys):
            progress(f"Measuring the risk without {key}", number, len(keys))
            rest.append(KeySubset.without(view, key, intruder=intruder))
        without = KeyCurve((whole, *rest), frame_kind=view.release.frame_kind)
    return ScenarioRisk(
        name,
        intruder,
        after,
        before or None,
        tuple(approximations(view)),
        without,
        view.mechanism.touched,
        None
        if household is None
        else households_at_risk(view, household, households, after[intruder]),
        many,
    )


def approximations(view: View) -> Iterator[tuple[str, str, Risk]]:
    """Yield the paper's approximations beside the exact risk."""
    if view.population is None or not view.mechanism.factors:
        return
    named: tuple[tuple[Formula, str], ...] = (
        ("2.5", "approximation, small fraction"),
        ("2.6", "approximation, small error rate"),
        ("2.7", "approximation, diagonal only"),
    )
    for formula, words in named:
        near = approximate(view.uniques, formula, "expected")
        yield f"({formula})", "does not apply here" if near.negative else words, near
    if view.sight.truth is not None:
        yield "(2.9)", "tau*_CC, knowing who moved", correctly_classified(view.uniques)
