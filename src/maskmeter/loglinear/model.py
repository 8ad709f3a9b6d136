"""LogLinear: a fitted model of the key table, with its goodness of fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskmeter._checks import check_choice
from maskmeter.errors import InputError
from maskmeter.loglinear.fit import FittedMeans, Observed, fit_means
from maskmeter.loglinear.goodness import MOST_CELLS, Goodness, goodness_of_fit
from maskmeter.loglinear.terms import parse_terms, spell
from maskmeter.microdata import Microdata, check_microdata
from maskmeter.perturb import Release
from maskmeter.table import KeyTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskmeter.keys import Codes
    from maskmeter.loglinear.terms import Words

    Array = NDArray[np.float64]

Counts = Literal["original", "released"]


@dataclass(frozen=True, eq=False)
class LogLinear:
    """A hierarchical log-linear model, fitted to the keys of a file by maximum likelihood.

    With weights the model is fitted to the weighted table (pseudo maximum likelihood).
    """

    data: Microdata
    counts: Counts
    means: FittedMeans
    observed: Observed

    def __repr__(self) -> str:
        """Return the terms and the fit: no cell is shown."""
        return (
            f"LogLinear({', '.join(self.terms)}: {self.parameters} parameters,"
            f" deviance {self.deviance:,.1f})"
        )

    @property
    def terms(self) -> tuple[str, ...]:
        """Largest terms of the model, in words."""
        return tuple(spell(term, self.data.space) for term in self.means.generators)

    @cached_property
    def parameters(self) -> int:
        """Number of parameters, counting only margins that occur."""
        return self.observed.parameters(self.means.generators)

    @cached_property
    def deviance(self) -> float:
        """Twice the log-likelihood ratio against the observed table."""
        counts = self.observed.counts
        return float(2 * (counts * np.log(counts / self.means.at(self.observed.codes))).sum())

    @property
    def sweeps(self) -> int:
        """Sweeps of proportional fitting; 0 when the fit has a closed form."""
        return self.means.sweeps

    @property
    def deviation(self) -> float:
        """How far fitted margins are from the observed ones, as a share of the total."""
        return self.means.deviation

    @property
    def converged(self) -> bool:
        """Whether fitting stopped because margins or likelihood had settled."""
        return self.means.converged

    @property
    def boundary(self) -> float:
        """Largest share of a component's cells that the fit leaves empty."""
        return self.means.boundary

    def population_mean(self, codes: Codes) -> Array:
        """Return lambda, the fitted mean of each cell in the population."""
        fitted = self.means.at(codes)
        return fitted if self.data.weights is not None else fitted / self.data.inclusion(codes)

    @cached_property
    def goodness(self) -> Goodness:
        """Minimum-error statistics b1, b2, z1, z2 (and robust ones)."""
        space = self.data.space
        if space.size > MOST_CELLS:
            message = (
                f"Goodness of fit sums over all {space.size:,} cells; at most {MOST_CELLS:,} can be"
                " gone through. Use fewer or coarser keys."
            )
            raise InputError(message)
        table = KeyTable.of(space, self.data.codes)
        return goodness_of_fit(
            space,
            table.codes,
            table.counts,
            lambda codes: (self.population_mean(codes), self.data.inclusion(codes)),
        )


def fit_loglinear(
    data: Release | Microdata,
    terms: Words,
    *,
    counts: Counts = "original",
    tolerance: float = 1e-6,
) -> LogLinear:
    """Return a hierarchical log-linear model with these terms, fitted to the keys of a file.

    Parameters
    ----------
    data
        A sample, or a release: then `counts` says which of its files.
    terms
        "independence", "all-two-way", "all-three-way", or a list of terms such as "age:marital";
        main effects, and all parts of a term, are always in the model.
    tolerance
        Fitting stops when the margins are off by less than this share of the records, or when the
        log-likelihood changes by less in ten sweeps.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"age": [1, 1, 2, 2, 2], "sex": ["f", "m", "f", "f", "m"]})
    >>> sample = mm.read(people, keys=["age", "sex"], fraction=0.1)
    >>> mm.fit_loglinear(sample, "independence")
    LogLinear(age, sex: 3 parameters, deviance 0.1)
    """
    check_choice(counts, Counts, name="counts")
    if isinstance(data, Release):
        data = data.original if counts == "original" else data.released
    check_microdata(data)
    generators = parse_terms(terms, data.space)
    numbers = data.space.number(data.codes)
    cells, place = np.unique(numbers, return_inverse=True)
    table = np.bincount(place, weights=data.weights).astype(np.float64)
    observed = Observed(data.space, data.space.codes(cells), table)
    return LogLinear(data, counts, fit_means(observed, generators, tolerance=tolerance), observed)
