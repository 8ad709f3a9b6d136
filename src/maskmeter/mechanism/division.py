"""Which stratum a combination of keys belongs to, for matrices that depend on other keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import locked
from maskmeter.types import Array, Integers


class Division(Protocol):
    """The stratum of every combination of some keys, whether anybody has it or not."""

    def of(self, codes: Sequence[NDArray[np.integer[Any]]]) -> Integers:
        """Return the stratum of combinations: the codes of each key, which may broadcast.

        A code one beyond a key's own stands for categories that the key lacks; -1 is no stratum.
        """

    def moved(self, places: Sequence[Integers]) -> Division:
        """Return the division of keys with other codes; `places` has the old code of each new one."""

    def same(self, other: Division) -> bool:
        """Return True when two divisions of the same keys tell the same strata apart."""

    def seen_by(self, known: Sequence[int]) -> tuple[Division, Array] | None:
        """Return the division to somebody who knows some of its keys, by their places, and mixtures.

        The mixtures have a row for each stratum of the new division: the chance of each stratum of
        this one. None where that is best averaged over the records.
        """

    def described(self, names: Sequence[Sequence[str]], stratum: int) -> str:
        """Return a stratum in words; `names` has the categories of each key."""


@dataclass(frozen=True, eq=False, repr=False)
class ListedDivision:
    """A division whose strata are listed, in a table with an axis for each key.

    Its axes are one longer than their keys: the last place is for categories that the keys lack,
    and holds -1 where nothing is known of them.
    """

    table: Integers

    def of(self, codes: Sequence[NDArray[np.integer[Any]]]) -> Integers:
        """Return the stratum of combinations: the codes of each key, which may broadcast."""
        found: Integers = self.table[tuple(codes)]
        return found

    def moved(self, places: Sequence[Integers]) -> ListedDivision:
        """Return the division of keys with other codes; `places` has the old code of each new one."""
        return ListedDivision(locked(self.table[np.ix_(*places)])) if places else self

    def same(self, other: Division) -> bool:
        """Return True when two divisions of the same keys tell the same strata apart."""
        return isinstance(other, ListedDivision) and np.array_equal(self.table, other.table)

    def seen_by(self, known: Sequence[int]) -> tuple[Division, Array] | None:
        """Return None: what depends on unknown keys is averaged over the records."""
        del known
        return None

    def described(self, names: Sequence[Sequence[str]], stratum: int) -> str:
        """Return the combinations of a stratum."""
        known = self.table[tuple(slice(-1) for _ in names)]
        listed = zip(*(known == stratum).nonzero(), strict=True) if names else ()
        return "; ".join(
            ", ".join(names[key][code] for key, code in enumerate(one)) for one in listed
        )

    def lacks_some(self) -> bool:
        """Return True when a combination of categories that the keys have is in no stratum."""
        return bool((self.table[tuple(slice(-1) for _ in self.table.shape)] < 0).any())
