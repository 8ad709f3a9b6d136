"""LogLinear: a fitted model of the key table, with its goodness of fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log
from typing import Any

import polars as pl

from maskmeter.checks import check_number
from maskmeter.data.frames import as_kind
from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.display import InWords
from maskmeter.errors import Caution, ConvergenceWarning, ParametersWarning, warn
from maskmeter.loglinear.cell_sums import (
    DRAWS,
    FEW_DRAWS,
    MOST_ON_PATH,
    AllCells,
    drawn_cells,
    every_cell,
    summed_exactly,
)
from maskmeter.loglinear.expectations import chance_of_uniqueness, expected_inverse
from maskmeter.loglinear.fit import MOST_SWEEPS, fit_means
from maskmeter.loglinear.goodness import Goodness, goodness_of_fit
from maskmeter.loglinear.means import FittedMeans, Means
from maskmeter.loglinear.observed import (
    BothFiles,
    Counted,
    Counts,
    Observed,
    Weighting,
    check_weighting,
    chosen_file,
    parts_of,
)
from maskmeter.loglinear.population import Population
from maskmeter.loglinear.terms import Term, Words, parse_terms, spell
from maskmeter.plurals import counted
from maskmeter.types import Array

_TOLERANCE = 1e-5
_STEP = 2  # sweeps towards counts that are about to change


@dataclass(frozen=True, eq=False)
class CellModel(InWords):
    """A model of the keys of a file: means of all cells, fitted to the counts of its records.

    Where weights say how many units each record stands for, `unsampled` are the fitted means of
    those that were not sampled.
    """

    data: Microdata
    means: Means
    observed: Observed
    unsampled: Means | None = field(default=None, kw_only=True)

    @property
    def terms(self) -> tuple[str, ...]:
        """Terms of the model, in words."""
        raise NotImplementedError

    @cached_property
    def population(self) -> Population:
        """What the model says of the population."""
        return Population(self.data, self.means, self.unsampled, self.observed.pseudo)

    def population_mean(self, codes: Codes) -> Array:
        """Return lambda, the fitted mean of each cell in the population."""
        return self.at(codes)[0]

    def at(self, codes: Codes) -> tuple[Array, Array]:
        """Return lambda and pi, the inclusion probability, of each cell."""
        return self.population.at(codes)

    def at_seen(self) -> tuple[Array, Array]:
        """Return lambda and pi of the occupied cells of the file."""
        observed = self.observed
        return self.population.of(self.means.at_counted(observed), observed.codes)

    def taus(self, *, phi: float = 0.0) -> tuple[float, float]:
        """Return tau1 and tau2, the sums of h1 and h2 over the sample uniques of the file."""
        unique = self.observed.records == 1
        lam, pi = (one[unique] for one in self.at_seen())
        h1 = chance_of_uniqueness(lam, pi=pi, phi=phi)
        h2 = expected_inverse(lam, pi=pi, phi=phi)
        return float(h1.sum()), float(h2.sum())

    @property
    def exact_sums(self) -> bool:
        """Whether sums over all cells are worked out, not estimated by draws."""
        return summed_exactly(self.data.space)

    def all_cells(self, *, draws: int = DRAWS, exact: bool = True) -> AllCells:
        """Return what sums over all cells run over, empty cells included."""
        if exact and self.exact_sums:
            return every_cell(self.population)
        return drawn_cells(self.population, draws)

    @cached_property
    def goodness(self) -> Goodness:
        """Minimum-error statistics b1, b2, z1, z2 (and robust ones)."""
        return self._goodness(DRAWS)

    @property
    def rough_goodness(self) -> Goodness:
        """The same from fewer draws, where there are draws: enough to rank models."""
        return self.goodness if self.exact_sums else self._goodness(FEW_DRAWS)

    @property
    def path_goodness(self) -> Goodness:
        """The same, from draws where the table is large: enough to follow a search."""
        if not self.exact_sums or self.data.space.size <= MOST_ON_PATH:
            return self.goodness
        return self._goodness(DRAWS, exact=False)

    def _goodness(self, draws: int, *, exact: bool = True) -> Goodness:
        lam, pi = self.at_seen()
        cells = self.all_cells(draws=draws, exact=exact)
        return goodness_of_fit(cells, self.observed.records, lam, pi, size=self.data.space.size)


@dataclass(frozen=True, eq=False, repr=False)
class LogLinear(CellModel):
    """A hierarchical log-linear model, fitted to the keys of a file by maximum likelihood.

    With weights the same terms are fitted to the units that were not sampled; or, by pseudo maximum
    likelihood, one model to the weighted table.
    """

    _shown = (("term", "term", ""), ("parameters", "parameters", ","))

    means: FittedMeans
    unsampled: FittedMeans | None = field(default=None, kw_only=True)

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
        return self.observed.deviance(self.means.at_counted(self.observed))

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

    def towards(self, sampled: Counted, unsampled: Counted | None) -> LogLinear:
        """Return the model after a step of fitting its terms to other counts."""

        def step(counts: Counted | None, start: FittedMeans | None) -> FittedMeans | None:
            if counts is None or start is None:
                return None
            return fit_means(
                counts, start.generators, start=start, tolerance=_TOLERANCE, most_sweeps=_STEP
            )

        means = step(sampled, self.means) or self.means
        return replace(self, means=means, unsampled=step(unsampled, self.unsampled))

    def summary(self) -> str:
        """Return a short account in words."""
        good = self.goodness
        return (
            f"Log-linear model {', '.join(self.terms)}: {counted(self.parameters, 'parameter')}, deviance"
            f" {self.deviance:,.1f}, z1 {good.z1:.2f}, z2 {good.z2:.2f}."
        )

    def to_frame(self) -> Any:
        """Return a row for each term of the model, parts included, with its parameters."""
        return as_kind(self._frame(), self.data.frame_kind)

    def _frame(self) -> pl.DataFrame:
        terms = sorted(parts_of(self.means.generators) - {()}, key=lambda term: (len(term), term))
        return pl.DataFrame(
            {
                "term": [spell(term, self.data.space) for term in terms],
                "parameters": [self.observed.degrees(term) for term in terms],
            }
        )


def fitted_model(
    data: Microdata,
    observed: Observed,
    generators: tuple[Term, ...],
    *,
    start: LogLinear | None = None,
    tolerance: float = _TOLERANCE,
    most_sweeps: int = MOST_SWEEPS,
) -> LogLinear:
    """Return the model of some terms, of the records and of the units that weights stand for."""

    def fitted(counts: Counted, first: FittedMeans | None) -> FittedMeans:
        return fit_means(
            counts, generators, start=first, tolerance=tolerance, most_sweeps=most_sweeps
        )

    means = fitted(observed, None if start is None else start.means)
    rest = None
    if observed.unsampled is not None:
        rest = fitted(observed.unsampled, None if start is None else start.unsampled)
    return LogLinear(data, means, observed, unsampled=rest)


def fit_loglinear(
    data: BothFiles | Microdata,
    terms: Words,
    *,
    counts: Counts = "original",
    weighting: Weighting = "unsampled",
    tolerance: float = _TOLERANCE,
) -> LogLinear:
    """Return a hierarchical log-linear model with these terms, fitted to the keys of a file.

    Parameters
    ----------
    data
        A sample, or a release: then `counts` says which of its files.
    terms
        "independence", "all-two-way", "all-three-way", or a list of terms such as "age:marital";
        main effects, and all parts of a term, are always in the model.
    weighting
        What weights are for. "unsampled": the model describes the records, and the same terms are
        fitted to the units that they stand for beside themselves, `sum of (w - 1)`. "pseudo" fits
        one model to the weighted table (pseudo maximum likelihood) and takes one sampling fraction
        for all records: it is biased when sampling depends on the keys.
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
    check_number(tolerance, name="tolerance", above=0, below=1)
    check_weighting(chosen, weighting)
    observed = Observed.of(chosen, weighting)
    model = fitted_model(chosen, observed, generators, tolerance=tolerance)
    warn(fit_cautions(model))
    return model


def fit_cautions(model: LogLinear) -> Iterator[Caution]:
    """Yield a caution about a fit that did not converge, or has more parameters than cells."""
    if not model.converged:
        text = (
            f"The fit did not converge in {counted(model.sweeps, 'sweep')}: fitted and observed margins"
            f" differ by {model.deviation:.1e} of the records. Use a larger `tolerance` or fewer terms."
        )
        yield Caution(ConvergenceWarning, text)
    occupied = len(model.observed.counts)
    interacting = any(len(term) > 1 for term in model.means.generators)
    if interacting and model.parameters > occupied:
        text = (
            f"The model has {counted(model.parameters, 'parameter')} for"
            f" {counted(occupied, 'occupied cell')}: it"
            " overfits the sample and understates the risk. Use fewer terms or coarser keys."
        )
        yield Caution(ParametersWarning, text)
