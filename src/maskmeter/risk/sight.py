"""What can be seen of a file: its released records, the truth behind them and the way between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.mechanism import Mechanism
from maskmeter.plurals import plural

_ENOUGH = 30  # records of a category whose mean weight tells something
_UNEVEN = 1.3  # times: how far mean weights may differ
NOTHING_MISCLASSIFIED = "nothing misclassified"


@dataclass(frozen=True, eq=False)
class Sight:
    """A released file, the true keys of its records if they are known, and the mechanism between.

    `recorded` is the file as it was before protection, with the released keys and records; it is
    the truth unless it was recorded with error. `unprotected` is the number of sample uniques of
    the whole file before protection.
    """

    released: Microdata
    recorded: Microdata
    mechanism: Mechanism
    unprotected: int
    with_error: bool = False
    exchanged: bool = False  # whether all rare records exchanged a key, so that their counts tell
    erring: tuple[str, ...] = ()  # keys that were recorded with error
    others: Codes | None = None  # cells that are looked at in place of those of the sample uniques

    @property
    def truth(self) -> Microdata | None:
        """The true keys of the records; None when they were recorded with error."""
        return None if self.with_error else self.recorded

    @property
    def uniques(self) -> NDArray[np.int64]:
        """Rows of the records that are alone in their released cell."""
        return self.released.unique_rows

    @cached_property
    def cells(self) -> Codes:
        """Codes of the cells of the sample uniques, or of the others that are looked at."""
        return self.released.codes[self.uniques] if self.others is None else self.others

    def at(self, cells: Codes) -> Sight:
        """Return the same file, looked at in some of its cells."""
        return replace(self, others=cells)

    @cached_property
    def unevenly_weighted(self) -> list[str]:
        """Misclassified keys whose categories were sampled at clearly different rates, by the weights.

        Nothing but the weights tells it: then one fraction stands for all records.
        """
        recorded = self.recorded
        if recorded.fraction is not None or recorded.weights is None:
            return []
        uneven = []
        for name in self.mechanism.touched:
            codes = recorded.codes[:, recorded.space.index(name)]
            number = recorded.tally(codes)
            held = number >= _ENOUGH
            mean = np.bincount(codes, recorded.amounts)[held] / number[held]
            if len(mean) > 1 and mean.max() > _UNEVEN * mean.min():
                uneven.append(name)
        return uneven

    @property
    def premise(self) -> str:
        """What every measure takes for known about the mechanism."""
        if not self.mechanism.factors:
            return NOTHING_MISCLASSIFIED
        if not self.erring:
            return "misclassification matrix known"
        names, were = " and ".join(self.erring), plural(len(self.erring), "was", "were")
        return f"misclassification matrix known, with the errors that {names} {were} recorded with"
