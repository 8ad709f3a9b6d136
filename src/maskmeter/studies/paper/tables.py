"""Tables 1 to 3 of Shlomo and Skinner (2010), for a sample of the synthetic census."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

from maskmeter.checks import Progress
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.data.varying import By, by
from maskmeter.errors import without_warnings
from maskmeter.loglinear import ShrunkLogLinear, search_loglinear, shrink_loglinear
from maskmeter.loss import information_loss
from maskmeter.perturb import Pram, Release, Swap, protect
from maskmeter.perturb.step import Step
from maskmeter.risk import (
    EstimatedRisk,
    Risk,
    approximate_risk,
    correctly_classified_risk,
    estimate_risk,
    exact_risk,
    in_sample_risk,
)
from maskmeter.risk.intruder import INFORMED
from maskmeter.risk.known import Formula

T = TypeVar("T")

METHODS = ("random swap", "random PRAM", "targeted swap", "targeted PRAM")
RATES = ("10%", "20%")
RELEASED = "(2.6) with F~_j"  # in place of F_j: the reading behind the printed row (2.6)
REDRAWN = "redraw (not in the paper)"  # on the map: the district of rare records
BINS = ("0.00-0.09", "0.10-0.49", "0.50-1.00")
_EDGES = (0.0, 0.1, 0.5, 1.0 + 1e-9)


def published() -> dict[str, Any]:
    """Return the paper's figures."""
    text = files("maskmeter.studies.paper").joinpath("published.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def aimed(white_british: float, other: float) -> By[float]:
    """Return a value for the majority and one for all other groups."""
    return by("ethnicity", {"White British": white_british}, otherwise=other)


def designs(description: str = "balanced") -> dict[str, dict[str, Step]]:
    """Return the paper's eight designs, by rate and method; swaps with the named matrix."""
    kind: Any = description
    return {
        "10%": {
            "random swap": Swap("lad", rate=0.10, description=kind),
            "random PRAM": Pram("lad", stay=0.90, blend=0.55),
            "targeted swap": Swap("lad", rate=aimed(0.0, 0.75), description=kind),
            "targeted PRAM": Pram("lad", stay=aimed(1.0, 0.25), blend=0.85),
        },
        "20%": {
            "random swap": Swap("lad", rate=0.20, description=kind),
            "random PRAM": Pram("lad", stay=0.80, blend=0.55),
            "targeted swap": Swap("lad", rate=aimed(0.07, 1.0), description=kind),
            "targeted PRAM": Pram("lad", stay=aimed(0.93, 0.0), blend=1.0),
        },
    }


@dataclass(frozen=True, eq=False)
class DesignColumn:
    """One design: the release with the paper's matrix, and with ours, of the same moves."""

    nominal: Release
    balanced: Release
    population: KeyTable

    @cached_property
    def exact(self) -> Risk:
        """(2.4) with the paper's matrix."""
        return exact_risk(self.nominal, self.population, inclusion="recorded")

    @cached_property
    def informed(self) -> Risk:
        """The risk from an intruder who knows the paper's matrix."""
        return exact_risk(self.nominal, self.population, intruder=INFORMED, inclusion="recorded")

    @cached_property
    def paper_estimate(self) -> EstimatedRisk:
        """The paper's: forward search of the released counts, times the chance to stay."""
        model = search_loglinear(self.nominal, method="forward", counts="released")
        return estimate_risk(self.nominal, model, method="paper", interval="none")

    @property
    def approximations(self) -> dict[str, float]:
        """(2.5) to (2.7), and (2.6) as it was computed for the printed table."""
        formulas: dict[str, Formula] = {
            "(2.5)": "2.5",
            "(2.6)": "2.6",
            RELEASED: "2.6 released",
            "(2.7)": "2.7",
        }
        return {
            row: approximate_risk(self.nominal, self.population, formula=formula).total
            for row, formula in formulas.items()
        }

    def rows(self, model: ShrunkLogLinear) -> dict[str, float]:
        """Return the paper's eight rows, (2.6) in both readings, then the informed intruder and ours.

        `model` is the default model of the original.
        """
        nominal, population = self.nominal, self.population
        ours = estimate_risk(self.balanced, model)
        low, high = ours.interval or (0.0, 0.0)
        return {
            "tau (2.8)": self.exact.total,
            **self.approximations,
            "tau*_CC (2.9)": correctly_classified_risk(nominal, population).total,
            "(2.2)": in_sample_risk(nominal).total,
            "naive": self.paper_estimate.naive,
            "adjusted": self.paper_estimate.total,
            "informed intruder": self.informed.total,
            "tau, balanced matrix": exact_risk(self.balanced, population).total,
            "estimate, default": ours.total,
            "interval, low": low,
            "interval, high": high,
            "informed, balanced matrix": exact_risk(
                self.balanced, population, intruder=INFORMED
            ).total,
            "informed estimate, default": estimate_risk(
                self.balanced, model, intruder=INFORMED, interval="none"
            ).total,
        }


@dataclass(frozen=True, eq=False)
class Study:
    """A sample of the census under the eight designs."""

    sample: Microdata
    population: KeyTable
    seed: int

    @cached_property
    def model(self) -> ShrunkLogLinear:
        """The default model of the original sample, which serves every design."""
        return shrink_loglinear(self.sample)

    @cached_property
    def columns(self) -> dict[str, dict[str, DesignColumn]]:
        """The eight designs, by rate and method."""
        nominal, balanced = designs("nominal"), designs()
        return {
            rate: {
                method: DesignColumn(
                    _quiet(protect, self.sample, [nominal[rate][method]], rng=self.seed),
                    _quiet(protect, self.sample, [balanced[rate][method]], rng=self.seed),
                    self.population,
                )
                for method in METHODS
            }
            for rate in RATES
        }

    def table1(
        self, progress: Progress = lambda *_: None
    ) -> Iterator[tuple[str, dict[str, list[float]]]]:
        """Yield each rate with its rows, a figure for each method."""
        for column, rate in enumerate(RATES):
            found = []
            for number, method in enumerate(METHODS, start=column * len(METHODS)):
                progress(f"Table 1: {method}, {rate}", number, len(RATES) * len(METHODS))
                found.append(_quiet(self.columns[rate][method].rows, self.model))
            yield rate, {name: [rows[name] for rows in found] for name in found[0]}

    @property
    def tau_star(self) -> float:
        """Risk before misclassification."""
        return exact_risk(self.sample, self.population).total

    def table2(self) -> dict[str, Any]:
        """Return the cross-classification of exact and estimated risk, 20 % random swap."""
        column = self.columns["20%"]["random swap"]
        exact, paper = column.exact, column.paper_estimate
        ours = _quiet(estimate_risk, column.balanced, self.model, interval="none")
        target = exact.by_unique > 0
        counts = np.histogram2d(exact.by_unique, paper.by_unique, [_EDGES, _EDGES])[0]
        return {
            "bins": list(BINS),
            "counts": counts.astype(int).tolist(),
            "total": exact.uniques,
            "spearman": _rank(exact.by_unique[target], paper.by_unique[target]),
            "spearman, all uniques": _rank(exact.by_unique, paper.by_unique),
            "spearman, default": _rank(exact.by_unique, ours.by_unique),
            "default counts": np.histogram2d(exact.by_unique, ours.by_unique, [_EDGES, _EDGES])[0]
            .astype(int)
            .tolist(),
        }

    def table3(self) -> dict[str, dict[str, list[float]]]:
        """Return information loss, a figure for each method."""
        table: dict[str, dict[str, list[float]]] = {}
        for rate in RATES:
            rows: dict[str, list[float]] = {}
            for method in METHODS:
                release = self.columns[rate][method].nominal
                groups = information_loss(release, rows="lad", columns="ethnicity")
                work = information_loss(release, rows="lad", columns="activity")
                figures = {
                    "RAAD lad x ethnicity": groups.raad,
                    "RAAD lad x economic activity": work.raad,
                    "RCV lad x ethnicity": groups.rcv,
                    "RCV lad x economic activity": work.rcv,
                    "BVR White British": groups.bvr["White British"],
                    "BVR Indian": groups.bvr.get("Indian", float("nan")),
                }
                for name, figure in figures.items():
                    rows.setdefault(name, []).append(float(figure))
            table[rate] = rows
        return table


def _rank(one: Any, other: Any) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(one, other).statistic)


def _quiet(action: Callable[..., T], *args: object, **options: object) -> T:
    """Return what an action gives, without its warnings: the page says what is to be said."""
    with without_warnings():
        return action(*args, **options)
