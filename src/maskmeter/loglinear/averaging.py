"""What a search found: its path, the models it would use and how they are weighed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from maskmeter import chart
from maskmeter.display import InWords, listed
from maskmeter.loglinear import gamma
from maskmeter.loglinear.goodness import Goodness
from maskmeter.loglinear.model import LogLinear
from maskmeter.plurals import counted

if TYPE_CHECKING:
    from maskmeter.page import Table


_NAMED = 12  # skipped terms that a summary names

Method = Literal["score", "forward"]
Found = Literal["score", "forward", "given"]
Stop = Literal["settled", "whole population", "most terms", "no terms left"]


@dataclass(frozen=True)
class Step:
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


@dataclass(frozen=True)
class Weighted:
    """A model with its share in the estimate, and the phi of its cells (0: Poisson)."""

    model: LogLinear
    phi: float
    weight: float
    estimate: str  # "A" or "B"


@dataclass(frozen=True, eq=False)
class LogLinearSearch(InWords):
    """The path of a search, the model nearest to z2 = 0 and those that an estimate averages.

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

    method: Found
    path: tuple[Step, ...]
    nearest: LogLinear
    weighted: tuple[Weighted, ...]
    stop: Stop = "settled"
    too_large: tuple[str, ...] = ()
    too_slow: tuple[str, ...] = ()
    enough: float = 0.0
    most_terms: int = 40

    @classmethod
    def of(cls, model: LogLinear) -> LogLinearSearch:
        """Return a model that was given as a search that ended where it began."""
        only = Weighted(model, 0.0, 1.0, "A")
        return cls("given", (step_of(model, ""),), model, (only,))

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
    def skipped(self) -> tuple[str, ...]:
        """Terms that were not tried, for whatever reason."""
        return self.too_large + self.too_slow

    @property
    def exhausted(self) -> bool:
        """Whether the search ended for want of terms, not because it had found enough."""
        return self.stop in ("most terms", "no terms left")

    @property
    def stopped(self) -> str:
        """Why the search stopped before it had found enough, in words; empty if it had."""
        added = len(self.path) - 1
        so_far = f"The search stopped after adding {counted(added, 'term')}"
        if self.stop == "most terms":
            return f"{so_far}, the maximum allowed."
        if self.stop == "no terms left":
            return f"{so_far}: no other term could be tried."
        return ""

    @property
    def goodness(self) -> Goodness:
        """Goodness of fit of the nearest model."""
        return self.nearest.goodness

    @cached_property
    def tau1(self) -> float:
        """Expected number of sample uniques that are population uniques."""
        return self._averaged[0]

    @cached_property
    def tau2(self) -> float:
        """Expected number of correct matches among sample uniques."""
        return self._averaged[1]

    @cached_property
    def _averaged(self) -> tuple[float, float]:
        sums = [unadjusted(one.model, phi=one.phi) for one in self.weighted]
        weights = [one.weight for one in self.weighted]
        tau1, tau2 = np.average(sums, axis=0, weights=weights).tolist()
        return tau1, tau2

    def to_frame(self) -> pl.DataFrame:
        """Return the path, a row for each model."""
        shown = [field.name for field in fields(Step) if field.name != "model"]
        columns = {name: [getattr(step, name) for step in self.path] for name in shown}
        return pl.DataFrame(columns)

    def _tables(self) -> Iterator[Table]:
        """Yield the path."""
        named = pl.col("added").replace("", "independence")
        yield listed(self.to_frame().with_columns(named), self._shown)

    def summary(self) -> str:
        """Return a short account in words."""
        good = self.goodness
        given = self.method == "given"
        found = (
            (
                "Model: "
                if given
                else f"{self.method.capitalize()} search over {counted(len(self.path), 'model')}"
            )
            + ("" if given else ". Nearest to a perfect fit: ")
            + f"{', '.join(self.terms)} ({counted(self.nearest.parameters, 'parameter')}"
            + (")." if isnan(good.z2) else f", z1 {good.z1:.2f}, z2 {good.z2:.2f}).")
        )
        lines = [found]
        if good.draws:
            lines.append(
                f"Sums over all cells were estimated from {good.draws:,} random draws; z2 has a"
                f" standard error of {good.error:.2f}."
            )
        if len(self.weighted) > 1:
            lines.append(self._average())
        if self.exhausted:
            lines.append(self.stopped)
        lines += self._untried()
        return "\n".join(lines)

    def _untried(self) -> Iterator[str]:
        """Yield how many terms were not tried for each reason, with their names."""
        large, slow = ("its table is", "their tables are"), ("it is", "they are")
        for terms, nouns, why in (
            (self.too_large, large, "too large to fit"),
            (self.too_slow, slow, "too slow to fit"),
        ):
            if terms:
                one = len(terms) == 1
                named = ", ".join(terms[:_NAMED]) + (", ..." if len(terms) > _NAMED else "")
                yield (
                    f"{counted(len(terms), 'term was', 'terms were')} not tried because"
                    f" {nouns[not one]} {why}: {named}."
                )

    def _average(self) -> str:
        """Return what the estimate averages, in words."""
        around = [one.model.parameters for one in self.weighted if one.estimate == "A"]
        (best,) = [one for one in self.weighted if one.estimate == "B"]
        where = "models around" if len(around) > 1 else "model nearest to"
        varied = f", overdispersion phi {best.phi:.2f}" if best.phi else ""
        if around == [best.model.parameters] and not best.phi:
            return "That model also has the lowest BIC, so the estimate uses it alone."
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
            self.to_frame().with_columns(model=pl.Series(names)),
            title="Search for a log-linear model",
            subtitle=f"{counted(len(self.path), 'model')}; the fit is good where z2 is within ±1.96 (band)",
        )


def step_of(model: LogLinear, added: str) -> Step:
    """Return a step of a path with all its figures."""
    good = model.goodness
    return Step(
        added,
        model,
        model.parameters,
        model.deviance,
        model.bic,
        good.z1,
        good.z2,
        *unadjusted(model, phi=0.0),
    )


def unadjusted(model: LogLinear, *, phi: float) -> tuple[float, float]:
    """Return tau1 and tau2, the sums of h1 and h2 over the sample uniques of the fitted file."""
    lam, pi = model.at(model.observed.uniques)
    h1 = gamma.chance_of_uniqueness(lam, pi=pi, phi=phi)
    h2 = gamma.expected_inverse(lam, pi=pi, phi=phi)
    return float(h1.sum()), float(h2.sum())
