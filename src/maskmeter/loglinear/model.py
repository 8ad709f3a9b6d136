"""LogLinear: a fitted model of the key table, with its goodness of fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Literal

import polars as pl

from maskmeter.checks import check_choice, is_number, shown
from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata, check_microdata
from maskmeter.display import InWords
from maskmeter.errors import ConvergenceWarning, InputError, ModelWarning, ParametersWarning
from maskmeter.loglinear.cell_sums import (
    DRAWS,
    FEW_DRAWS,
    MOST_CELLS,
    AllCells,
    population_mean,
)
from maskmeter.loglinear.fit import fit_means
from maskmeter.loglinear.goodness import Goodness, goodness_of_fit
from maskmeter.loglinear.means import FittedMeans
from maskmeter.loglinear.observed import Observed, parts_of
from maskmeter.loglinear.terms import Words, parse_terms, spell
from maskmeter.perturb import Release
from maskmeter.plurals import counted
from maskmeter.types import Array

Counts = Literal["original", "released"]


@dataclass(frozen=True, eq=False)
class LogLinear(InWords):
    """A hierarchical log-linear model, fitted to the keys of a file by maximum likelihood.

    With weights the model is fitted to the weighted table (pseudo maximum likelihood).
    """

    _shown = (("term", "term", ""), ("parameters", "parameters", ","))

    data: Microdata
    counts: Counts
    means: FittedMeans
    observed: Observed

    def __repr__(self) -> str:
        """Return the terms and the fit: no cell is shown."""
        return (
            f"LogLinear({', '.join(self.terms)}: {counted(self.parameters, 'parameter')},"
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
        return self.observed.deviance(self.means.at(self.observed.codes))

    @property
    def bic(self) -> float:
        """Deviance plus log(n) for every parameter; a weighted table counts as its n records."""
        scale = self.observed.size / self.observed.total
        return scale * self.deviance + log(self.observed.size) * self.parameters

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
        return population_mean(self.means.at(codes), self.data.inclusion(codes), self.data)

    def at(self, codes: Codes) -> tuple[Array, Array]:
        """Return lambda and pi, the inclusion probability, of each cell."""
        return self.population_mean(codes), self.data.inclusion(codes)

    def all_cells(self, *, draws: int = DRAWS) -> AllCells:
        """Return what sums over all cells run over, empty cells included."""
        return AllCells.of(self.means, self.data, draws)

    @cached_property
    def goodness(self) -> Goodness:
        """Minimum-error statistics b1, b2, z1, z2 (and robust ones)."""
        return self._goodness(DRAWS)

    @property
    def rough_goodness(self) -> Goodness:
        """The same from fewer draws, where there are draws: enough to rank models."""
        exact = self.data.space.size <= MOST_CELLS
        return self.goodness if exact else self._goodness(FEW_DRAWS)

    def _goodness(self, draws: int) -> Goodness:
        lam, pi = self.at(self.observed.codes)
        cells = self.all_cells(draws=draws)
        return goodness_of_fit(cells, self.observed.records, lam, pi, size=self.data.space.size)

    def summary(self) -> str:
        """Return a short account in words."""
        good = self.goodness
        return (
            f"Log-linear model {', '.join(self.terms)}: {counted(self.parameters, 'parameter')}, deviance"
            f" {self.deviance:,.1f}, z1 {good.z1:.2f}, z2 {good.z2:.2f}."
        )

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each term of the model, parts included, with its parameters."""
        terms = sorted(parts_of(self.means.generators) - {()}, key=lambda term: (len(term), term))
        return pl.DataFrame(
            {
                "term": [spell(term, self.data.space) for term in terms],
                "parameters": [self.observed.degrees(term) for term in terms],
            }
        )


def fit_loglinear(
    data: Release | Microdata,
    terms: Words,
    *,
    counts: Counts = "original",
    tolerance: float = 1e-5,
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
    chosen = chosen_file(data, counts)
    generators = parse_terms(terms, chosen.space)
    if not is_number(tolerance) or not 0 < tolerance < 1:
        raise InputError(
            f"`tolerance` must be a number above 0 and below 1, not {shown(tolerance)}."
        )
    observed = Observed.of(chosen)
    means = fit_means(observed, generators, tolerance=tolerance)
    model = LogLinear(chosen, counts, means, observed)
    for caution in fit_cautions(model):
        warnings.warn(caution, stacklevel=2)
    return model


def chosen_file(data: Release | Microdata, counts: Counts) -> Microdata:
    """Return the file of a release whose counts are asked for; a sample is its own."""
    check_choice(counts, Counts, name="counts")
    if isinstance(data, Release):
        return data.original if counts == "original" else data.released
    check_microdata(data)
    if not len(data):
        raise InputError("The file has no records to fit a model to.")
    return data


def fit_cautions(model: LogLinear) -> Iterator[ModelWarning]:
    """Yield a warning of a fit that did not settle, or has too many parameters to mean much."""
    if not model.converged:
        message = (
            f"The fit did not converge in {counted(model.sweeps, 'sweep')}: fitted and observed margins"
            f" differ by {model.deviation:.1e} of the records. Use a larger `tolerance` or fewer terms."
        )
        yield ConvergenceWarning(message)
    occupied = len(model.observed.counts)
    interacting = any(len(term) > 1 for term in model.means.generators)
    if interacting and model.parameters > occupied:
        message = (
            f"The model has {counted(model.parameters, 'parameter')} for"
            f" {counted(occupied, 'occupied cell')}: it"
            " overfits the sample and understates the risk. Use fewer terms or coarser keys."
        )
        yield ParametersWarning(message)
