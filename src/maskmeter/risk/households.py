"""HouseholdRisk: what an intruder who knows whole households matches correctly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskmeter import chart
from maskmeter.checks import locked
from maskmeter.data.households import Homes
from maskmeter.data.microdata import Microdata
from maskmeter.display import InWords, facts
from maskmeter.errors import Caution
from maskmeter.page import Table
from maskmeter.plurals import counted, plural
from maskmeter.risk.intruder import EXACT_MATCH, Intruder
from maskmeter.risk.result import Risk, risk_bins
from maskmeter.risk.view import View
from maskmeter.types import Array


@dataclass(frozen=True, eq=False)
class HouseholdRisk(InWords):
    """Households that an intruder who knows all their members matches correctly.

    With a population of households it is exact: `total` is the expected number among the unique
    households, those whose members together no other household of the file has. Without one
    `total` is None, and `at_least` and `at_most` are bounds. `by_household` has the risk of each
    household in order of appearance, or what it is at least, and NaN where it is not unique.
    """

    measure: str
    data: Microdata
    household: str
    homes: Homes = field(repr=False)
    by_household: Array = field(repr=False)
    exact: bool
    assumptions: tuple[str, ...]
    unprotected: int  # unique households of the unprotected file
    without_target: int = 0  # unique households whose joint key none in the population has
    bounded: int = 0  # those too large to measure, which count with the most their risk can be
    cautions: tuple[Caution, ...] = ()
    intruder: Intruder = EXACT_MATCH

    def __post_init__(self) -> None:
        """Make the array read-only."""
        object.__setattr__(self, "by_household", locked(self.by_household))

    def __repr__(self) -> str:
        """Return the headline: no household is shown."""
        number = f"total {self.at_least:.1f}" if self.exact else self._between
        return f"HouseholdRisk({self.measure}: {number}, {self._uniques})"

    @property
    def total(self) -> float | None:
        """Expected number of unique households that are matched correctly; None if not known."""
        return self.at_least if self.exact else None

    @property
    def at_least(self) -> float:
        """The fewest correct matches to expect: the total, or what members one by one tell."""
        return float(np.nansum(self.by_household))

    @property
    def at_most(self) -> float:
        """The most correct matches to expect: the total, or all unique households."""
        return self.at_least if self.exact else float(self.uniques)

    @property
    def uniques(self) -> int:
        """Number of households of the released file whose joint key no other one has."""
        return int(self.homes.unique.sum())

    @property
    def households(self) -> int:
        """Number of households in the released file."""
        return len(self.homes)

    @property
    def share(self) -> float | None:
        """Total as a share of the unique households of the unprotected file; None if not known."""
        if not self.exact:
            return None
        return self.at_least / self.unprotected if self.unprotected else 0.0

    @property
    def _between(self) -> str:
        return f"at least {self.at_least:.1f}, at most {self.uniques:,}"

    @property
    def _uniques(self) -> str:
        return f"{self.uniques:,} unique of {counted(self.households, 'household')}"

    def summary(self) -> str:
        """Return a short account that names no household."""
        number = f"{self.at_least:.1f}" if self.exact else self._between
        part = "" if self.share is None else f" ({self.share:.1%})"
        lines = [f"{self.measure}: {number} expected correct matches{part}; {self._uniques}."]
        if self.without_target and self.intruder == EXACT_MATCH:
            lines.append(
                f"{self.without_target:,} of the unique households"
                f" {plural(self.without_target, 'has', 'have')} members that together no household"
                " of the population has: no target, no risk."
            )
        lines.append(f"Assumed: {'; '.join(self.assumptions)}.")
        return "\n".join([*lines, *(f"Caution: {one}" for one in self.cautions)])

    def to_frame(self) -> Any:
        """Return a row per unique household: its name, `members`, and `risk`, or `at_least`.

        The frame is of the user's kind.
        """
        unique = self.homes.unique
        risk = {"risk" if self.exact else "at_least": self.by_household[unique]}
        columns = {"members": self.homes.members[unique], **risk}
        return self.data.groups_to_frame(self.household, self.homes.first[unique], after=columns)

    def plot(self, *, title: str = "", subtitle: str = "") -> Any:
        """Return an Altair histogram of the risk of the unique households."""
        what = "Probability of a correct match" + ("" if self.exact else ", at least")
        return chart.bars(
            risk_bins(self.by_household[self.homes.unique]),
            x=what,
            y="Unique households",
            title=title or self.measure,
            subtitle=subtitle or self._uniques,
        )

    def _tables(self) -> Iterator[Table]:
        """Yield the total or its bounds, and the number of unique households: none is shown."""
        ends = (("at least", f"{self.at_least:,.1f}"), ("at most", f"{self.uniques:,}"))
        yield facts(
            *((("expected correct matches", f"{self.at_least:,.1f}"),) if self.exact else ends),
            ("unique households", f"{self.uniques:,}"),
            ("households", f"{self.households:,}"),
            ("records", f"{len(self.data):,}"),
        )


def bounded_by_members(
    view: View, household: str, risk: Risk, cautions: tuple[Caution, ...]
) -> HouseholdRisk:
    """Return the bounds that the risk of single records sets to that of households.

    At most all unique households are matched correctly.
    """
    homes = Homes.of(view.sight.released, household)
    least = risk.least_of(homes)
    return HouseholdRisk(
        f"Bounds of the risk of households, {risk.intruder} intruder",
        view.sight.released,
        household,
        homes,
        np.where(homes.unique, least, np.nan),
        exact=False,
        assumptions=risk.assumptions,
        unprotected=unique_before(view, household),
        cautions=cautions,
        intruder=risk.intruder,
    )


def unique_before(view: View, household: str) -> int:
    """Return the number of unique households before protection."""
    original = view.release.original
    seen = original if view.keys == original.space.names else original.project(view.keys)
    return int(Homes.of(seen, household).unique.sum())
