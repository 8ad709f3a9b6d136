"""What a model of a sample says of the population: lambda and pi of every cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.loglinear.means import Means
from maskmeter.loglinear.terms import Term
from maskmeter.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """Fitted means of the records, and what is known of the units that were not sampled.

    Where weights say how many these are, `unsampled` are their fitted means nu: then
    `lambda = mu + nu` and `pi = mu / lambda`, whatever the weights depend on. Else `pi` is the
    sampling fraction and `lambda = mu / pi`; but where the weighted table was fitted (`pseudo`
    maximum likelihood), the means are those of the population already.
    """

    data: Microdata
    means: Means
    unsampled: Means | None = None
    pseudo: bool = False

    def at(self, codes: Codes) -> tuple[Array, Array]:
        """Return lambda and pi of each cell."""
        return self.of(self.means.at(codes), codes)

    def of(self, fitted: Array, codes: Codes) -> tuple[Array, Array]:
        """Return lambda and pi of cells whose fitted means are known."""
        if self.unsampled is not None:
            return self.joined(fitted, self.unsampled.at(codes))
        return self.scaled(fitted, self.data.inclusion(codes))

    def margin(self, keys: Term, codes: Codes) -> tuple[Array, Array]:
        """Return lambda and pi of the cells of a margin, whose codes hold all keys that pi goes by."""
        fitted = self.means.margin(keys).ravel()
        if self.unsampled is not None:
            return self.joined(fitted, self.unsampled.margin(keys).ravel())
        return self.scaled(fitted, self.data.inclusion(codes))

    def scaled(self, fitted: Array, pi: Array) -> tuple[Array, Array]:
        """Return lambda and pi of cells, from their fitted means and the sampling fraction."""
        return fitted if self.pseudo else fitted / pi, pi

    def joined(self, fitted: Array, unsampled: Array) -> tuple[Array, Array]:
        """Return lambda and pi of cells, from the means of both parts of the population."""
        lam = fitted + unsampled
        return lam, np.divide(fitted, lam, out=np.ones_like(lam), where=lam > 0)
