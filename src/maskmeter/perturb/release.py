"""Release: a file before and after misclassification, and the mechanism that lies between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskmeter.errors import InputError, MatrixError
from maskmeter.misclassification import Mechanism, Misclassification, as_mechanism

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from maskmeter.microdata import Microdata


@dataclass(frozen=True, init=False, eq=False)
class Release:
    """The original file, the released one, and the misclassification that made it.

    >>> import polars as pl, maskmeter as mm
    >>> sample = mm.read(pl.DataFrame({"sex": ["f", "m"]}), keys=["sex"], fraction=0.1)
    >>> errors = mm.Misclassification({"sex": [[0.0, 1.0], [1.0, 0.0]]}).on(sample)
    >>> release = mm.Release(sample, sample.with_codes(errors.draw(sample.codes, rng=1)), errors)
    >>> release.changed
    array([ True,  True])
    """

    original: Microdata
    released: Microdata
    misclassification: Mechanism

    def __init__(
        self,
        original: Microdata,
        released: Microdata,
        misclassification: Mechanism | Misclassification | Mapping[Any, Any],
    ) -> None:
        if original.space != released.space or len(original) != len(released):
            message = "The original and the released file must have the same keys and records."
            raise InputError(message)
        mechanism = as_mechanism(misclassification, original.space)
        object.__setattr__(self, "original", original)
        object.__setattr__(self, "released", released)
        object.__setattr__(self, "misclassification", mechanism)
        chance = mechanism.prob(released=released.codes, true=original.codes)
        if (chance == 0).any():
            message = (
                f"{int((chance == 0).sum()):,} of {len(original):,} records changed in a way that"
                " the misclassification rules out. Give the one that made this release."
            )
            raise MatrixError(message)

    def __repr__(self) -> str:
        """Return sizes and names: no record is shown."""
        return f"Release({len(self.original):,} records, {self.misclassification!r})"

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Whether each record differs from the original in any key."""
        changed: NDArray[np.bool_] = (self.original.codes != self.released.codes).any(axis=1)
        return changed
