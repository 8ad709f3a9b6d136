"""What a search found: its path, and the models whose estimates are averaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from math import isnan
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import polars as pl

from maskmeter import chart
from maskmeter.data.frames import as_kind
from maskmeter.display import InWords, listed
from maskmeter.loglinear.goodness import Goodness
from maskmeter.loglinear.model import CellModel, LogLinear
from maskmeter.page import Table
from maskmeter.plurals import counted, plural

_NAMED = 12  # untried terms that a summary names

ModelT = TypeVar("ModelT", bound=CellModel)

ModelName = Literal["shrunk", "score-path", "forward"]
SearchMethod = Literal["score-path", "forward"]
FoundBy = Literal["score-path", "forward", "given"]
Stop = Literal["settled", "whole population", "most terms", "no terms left"]


@dataclass(frozen=True)
class PathStep:
    """A model on the path of a search, and the term that was added last."""

    added: str
    model: LogLinear
    parameters: int
    deviance: float
    bic: float
    z1: float
    z2: float
    tau1: float
    tau2: float

    @classmethod
    def of(cls, model: LogLinear, added: str = "", good: Goodness | None = None) -> PathStep:
        """Return a model and its last term with all figures; the goodness of fit may be known."""
        fit, good = (model.parameters, model.deviance, model.bic), good or model.goodness
        return cls(added, model, *fit, good.z1, good.z2, *model.taus())


@dataclass(frozen=True)
class WeightedModel(Generic[ModelT]):
    """A model with its weight in the estimate.

    `phi` is the overdispersion of its cells (0: Poisson). `estimate` is "A" for a Poisson model
    near z2 = 0, and "B" for the Poisson-gamma model with the lowest BIC.
    """

    model: ModelT
    phi: float = 0.0
    weight: float = 1.0
    estimate: Literal["A", "B"] = "A"


@dataclass(frozen=True, eq=False)
class LogLinearSearch(InWords):
    """The path of a search, the model nearest to z2 = 0 and the models that an estimate averages.

    `too_large` names the terms that were not tried because of the size of their tables, `too_slow`
    those that would take too long to fit.
    """

    _shown = (
        ("added", "term added", ""),
        ("parameters", "parameters", ","),
        ("bic", "BIC", ",.0f"),
        ("z1", "z1", ".2f"),
        ("z2", "z2", ".2f"),
        ("tau1", "tau1", ",.1f"),
        ("tau2", "tau2", ",.1f"),
    )

    method: FoundBy
    path: tuple[PathStep, ...]
    nearest: LogLinear
    weighted: tuple[WeightedModel[LogLinear], ...]
    stop: Stop = "settled"
    too_large: tuple[str, ...] = ()
    too_slow: tuple[str, ...] = ()
    enough: float = 0.0
    most_terms: int = 40
    instead: str = ""  # why it takes the place of the default model, in words

    @classmethod
    def of(cls, model: LogLinear) -> LogLinearSearch:
        """Return a given model as a search that ended where it began."""
        return cls("given", (PathStep.of(model),), model, (WeightedModel(model),))

    @property
    def name(self) -> ModelName:
        """The name that makes it; the default's where it takes its place, or was given."""
        return "shrunk" if self.instead or self.method == "given" else self.method

    def __repr__(self) -> str:
        """Return the nearest model: no cell is shown."""
        return (
            f"LogLinearSearch({self.method}, {counted(len(self.path), 'model')}; nearest"
            f" {', '.join(self.terms)}: z2 {self.goodness.z2:.2f})"
        )

    @property
    def terms(self) -> tuple[str, ...]:
        """Largest terms of the nearest model, in words."""
        return self.nearest.terms

    @property
    def goodness(self) -> Goodness:
        """Goodness of fit of the nearest model."""
        return self.nearest.goodness

    @property
    def exhausted(self) -> bool:
        """Whether the search ended for lack of terms, before the fit was good."""
        return self.stop in ("most terms", "no terms left")

    @property
    def stopped(self) -> str:
        """Why the search ended before the fit was good, in words; empty if it was."""
        if not self.exhausted:
            return ""
        why = {
            "most terms": ", the maximum allowed",
            "no terms left": ": no other term could be tried",
        }[self.stop]
        return f"The search stopped after adding {counted(len(self.path) - 1, 'term')}{why}."

    @property
    def tau1(self) -> float:
        """Expected number of sample uniques that are population uniques."""
        return self._averaged[0]

    @property
    def tau2(self) -> float:
        """Expected number of correct matches among sample uniques."""
        return self._averaged[1]

    @cached_property
    def _averaged(self) -> tuple[float, float]:
        taus = [one.model.taus(phi=one.phi) for one in self.weighted]
        tau1, tau2 = np.average(taus, axis=0, weights=[one.weight for one in self.weighted])
        return float(tau1), float(tau2)

    def to_frame(self) -> Any:
        """Return the path, a row for each model."""
        return as_kind(self._frame(), self.nearest.data.frame_kind)

    def _frame(self) -> pl.DataFrame:
        shown = [field.name for field in fields(PathStep) if field.name != "model"]
        return pl.DataFrame({name: [getattr(step, name) for step in self.path] for name in shown})

    def _tables(self) -> Iterator[Table]:
        """Yield the path."""
        named = pl.col("added").replace("", "independence")
        yield listed(self._frame().with_columns(named), self._shown)

    def summary(self) -> str:
        """Return a short account in words."""
        return "\n".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        good, models = self.goodness, counted(len(self.path), "model")
        if self.instead:
            yield self.instead
        name = "Forward search" if self.method == "forward" else "Score path"
        search = f"{name} over {models}. Nearest to a perfect fit"
        fit = "" if isnan(good.z2) else f", z1 {good.z1:.2f}, z2 {good.z2:.2f}"
        yield (
            f"{'Model' if self.method == 'given' else search}: {', '.join(self.terms)}"
            f" ({counted(self.nearest.parameters, 'parameter')}{fit})."
        )
        if good.draws:
            yield (
                f"Sums over all cells were estimated from {good.draws:,} random draws; z2 has a"
                f" standard error of {good.error:.2f}."
            )
        if len(self.weighted) > 1:
            yield self._average()
        if self.exhausted:
            yield self.stopped
        for terms, one, several in (
            (self.too_large, "its table is too large", "their tables are too large"),
            (self.too_slow, "it is too slow", "they are too slow"),
        ):
            if terms:
                named = ", ".join(terms[:_NAMED]) + (", ..." if len(terms) > _NAMED else "")
                yield (
                    f"{counted(len(terms), 'term was', 'terms were')} not tried because"
                    f" {plural(len(terms), one, several)} to fit: {named}."
                )

    def _average(self) -> str:
        """Return what the estimate averages, in words."""
        around = [one.model.parameters for one in self.weighted if one.estimate == "A"]
        (best,) = [one for one in self.weighted if one.estimate == "B"]
        if around == [best.model.parameters] and not best.phi:
            return "That model also has the lowest BIC, so the estimate uses it alone."
        where = "models around" if len(around) > 1 else "model nearest to"
        varied = f", overdispersion phi {best.phi:.2f}" if best.phi else ""
        return (
            f"The estimate averages the {where} z2 = 0 ({' and '.join(f'{n:,}' for n in around)}"
            f" parameters) and the one with the lowest BIC ({counted(best.model.parameters, 'parameter')}"
            f"{varied})."
        )

    def plot(self) -> Any:
        """Return an Altair chart of z2 and tau2 along the path."""
        names = [
            f"{number} {step.added or 'independence'}" for number, step in enumerate(self.path)
        ]
        return chart.path(
            self._frame().with_columns(model=pl.Series(names)),
            title="Search for a log-linear model",
            subtitle=f"{counted(len(self.path), 'model')}; the fit is good where z2 is within ±1.96 (band)",
        )
