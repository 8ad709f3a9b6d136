"""The paper, whole: its tables and figures on the synthetic census, beside the published ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from maskmeter import chart
from maskmeter.checks import Progress
from maskmeter.data.microdata import Microdata
from maskmeter.data.reading import read
from maskmeter.data.table import count
from maskmeter.files import whole_folder
from maskmeter.page import Block, Figure, Section, Table, Text, Top, render
from maskmeter.perturb import Pram, Redraw, Swap
from maskmeter.risk.by_keys import KeyCurve
from maskmeter.risk.intruder import EXACT_MATCH
from maskmeter.riskutility import RiskUtilityMap, compare
from maskmeter.streams import RandomSource, generator, seed_of
from maskmeter.studies.binary_keys import binary_keys_experiment
from maskmeter.studies.census import PAPER_SIZE, bernoulli_sample, synthetic_census
from maskmeter.studies.paper import findings
from maskmeter.studies.paper.tables import (
    BINS,
    METHODS,
    RATES,
    REDRAWN,
    RELEASED,
    Study,
    aimed,
    designs,
    published,
)

FRACTION = 0.01
STEPS = (
    "Building the census",
    "Table 1: risk, exact and estimated",
    "Table 2: risk of single records",
    "Table 3: information loss",
    "Figure 2: the risk-utility map",
    "Figure 3: many keys",
)
FIGURES, KINDS = ("records", "map", "many_keys"), ("png", "svg")
FILES = (
    "paper.html",
    "paper.json",
    *(f"{name}.{kind}" for name in FIGURES for kind in KINDS),
)
THETAS = (0.0, 0.01, 0.05, 0.1)
KEYS = (5, 8, 11, 15, 20, 24, 28, 30)


@dataclass(frozen=True, eq=False)
class Paper:
    """All tables and figures, ours; `published` are the paper's."""

    study: Study
    table1: dict[str, dict[str, list[float]]]
    table2: dict[str, Any]
    table3: dict[str, dict[str, list[float]]]
    releases: RiskUtilityMap
    many_keys: KeyCurve

    @cached_property
    def published(self) -> dict[str, Any]:
        """The paper's figures."""
        return published()

    @cached_property
    def findings(self) -> dict[str, list[findings.Finding]]:
        """What the paper found, and whether it holds here."""
        return {
            "table1": [
                *findings.of_table1(self.table1),
                findings.of_reading(self.table1, self.published["table1"]),
            ],
            "table2": findings.of_table2(self.table2),
            "table3": findings.of_table3(self.table3),
            "map": findings.of_map(self.releases),
            "many_keys": findings.of_many_keys(self.many_keys),
        }

    def as_data(self) -> dict[str, Any]:
        """Return all figures under the names of the published ones."""
        tau_star = self.study.tau_star
        figures = {
            "design": {
                "N": self.study.population.total,
                "n": len(self.study.sample),
                "K": self.study.sample.space.size,
            },
            "table1": {"tau_star": tau_star, "columns": list(METHODS), **self.table1},
            "table2_cross_classification_20pct_random_swap": self.table2,
            "table3_information_loss": {"columns": list(METHODS), **self.table3},
            "risk_utility_map": self.releases.to_frame().to_dicts(),
            "many_keys": self.many_keys.to_frame().to_dicts(),
            "many_keys_figure_facts": {
                "sample_uniques": {
                    str(one.number): one.uniques for one in self.many_keys.subsets if not one.theta
                }
            },
            "findings": [
                {"part": part, "claim": one.claim, "holds": one.holds, "figure": one.figure}
                for part, found in self.findings.items()
                for one in found
            ],
        }
        return dict(_plain(figures))

    def charts(self) -> dict[str, Any]:
        """Return the three figures."""
        column = self.study.columns["20%"]["random swap"]
        points = pl.DataFrame(
            {"exact": column.exact.by_unique, "estimate": column.paper_estimate.by_unique}
        )
        scatter = chart.scatter(
            points,
            x="Exact risk (2.4)",
            y="Estimated risk, the paper's form",
            title="Risk of single records, 20 % random swap",
            subtitle=f"{len(points):,} sample uniques; Spearman {self.table2['spearman']:.2f} over"
            " those with a target",
        )
        drawn = (scatter, self.releases.plot(), self.many_keys.plot())
        return dict(zip(FIGURES, drawn, strict=True))

    def sections(self) -> list[Section]:
        """Return the page's sections."""
        charts = self.charts()
        captions = {
            "records": "Figure 1. Exact and estimated risk of every sample unique.",
            "map": "Figure 2. Risk-utility map of the paper's sixteen releases and a redraw of rare"
            " records, mean of three draws each; the broken line is the frontier of an intruder who"
            " knows the method.",
            "many_keys": "Figure 3. Risk against the number of binary keys.",
        }
        drawn = {name: Figure(captions[name], one) for name, one in charts.items()}
        one, three = ([part(rate) for rate in RATES] for part in (self._risks, self._losses))
        return [
            Section(
                "Table 1. Risk and its estimates", (self._before(), *one, *self._said("table1"))
            ),
            Section(
                "Table 2. Risk of single records",
                (*self._crossed(), drawn["records"], *self._said("table2")),
            ),
            Section("Table 3. Information loss", (*three, *self._said("table3"))),
            Section("The risk-utility map", (drawn["map"], self._mapped(), *self._said("map"))),
            Section("Many keys", (drawn["many_keys"], self._numbers(), *self._said("many_keys"))),
        ]

    def _mapped(self) -> Table:
        rows = (
            (
                p.label,
                f"{p.risk:,.1f}",
                f"{p.informed:,.1f}",
                f"{p.loss:.2f}",
                f"{p.changed:.1%}",
                *("yes" if p.label in on else "" for on in self.releases.frontiers.values()),
            )
            for p in self.releases.points
        )
        frontiers = ("frontier", "informed frontier")
        head = ("release", "tau (2.8)", "informed", "100 - RAAD", "changed", *frontiers)
        return Table("Risk and loss of the releases, mean of three draws", head, tuple(rows))

    def _numbers(self) -> Table:
        facts = self.published["many_keys_figure_facts"]
        printed = facts["sample_uniques"] if self._full else {}
        thetas = sorted({one.theta for one in self.many_keys.subsets})
        rows = []
        for number in sorted({one.number for one in self.many_keys.subsets}):
            alike = {one.theta: one for one in self.many_keys.subsets if one.number == number}
            risks = (f"{alike[theta].risk:,.1f}" for theta in thetas)
            uniques = f"{alike[thetas[0]].uniques:,}"
            rows.append((f"{number} keys", uniques, str(printed.get(str(number), "")), *risks))
        head = ("keys", "uniques", "paper", *(f"tau, theta {theta:g}" for theta in thetas))
        return Table("Sample uniques beside the paper's, and exact risk", head, tuple(rows))

    def _said(self, part: str) -> list[Block]:
        found = self.findings[part]
        return [Text(one.words, "Holds" if one.holds else "Differs") for one in found]

    @property
    def _full(self) -> bool:
        """Whether the census has the paper's size: otherwise totals cannot be compared."""
        return self.study.population.total == PAPER_SIZE

    def _before(self) -> Text:
        size = (
            ""
            if self._full
            else f" This census is {self.study.population.total / PAPER_SIZE:.3g} times the size of"
            " the paper's, so the table shows ratios to tau*, here and in the paper."
        )
        return Text(
            f"Before misclassification, tau* is {self.study.tau_star:.1f}"
            f' (paper {self.published["table1"]["tau_star"]:.1f}). The row "{RELEASED}" uses the'
            ' released count F~_j in place of F_j in (2.6). "informed intruder" is the risk from'
            " somebody who knows the matrix; it is not in the paper. The last rows are maskmeter's"
            " defaults: balanced swap matrix, empirical-Bayes model, expected risk." + size
        )

    def _risks(self, rate: str) -> Table:
        """Return a half of table 1: totals, or ratios to tau* for a census of another size."""
        ours, printed = self.table1[rate], self.published["table1"]
        theirs = printed[rate] | {RELEASED: printed[rate]["(2.6)"]}
        if self._full:
            return _beside(f"{rate} perturbed, beside the published figures", ours, theirs)
        rows = []
        for name, figures in ours.items():
            rows.append((name, *_ratios(figures, self.study.tau_star)))
            if name in theirs:
                rows.append(("  paper", *_ratios(theirs[name], printed["tau_star"])))
        caption = f"{rate} perturbed: ratios to tau*, beside the published ratios"
        return Table(caption, ("measure", *METHODS), tuple(rows))

    def _losses(self, rate: str) -> Table:
        theirs = self.published["table3_information_loss"][rate]
        return _beside(f"{rate} perturbed, beside the published figures", self.table3[rate], theirs)

    def _crossed(self) -> list[Block]:
        theirs = self.published["table2_cross_classification_20pct_random_swap"]
        totals = (1, 1) if self._full else (max(self.table2["total"], 1), theirs["total"])
        unit, shown = ("", ",.0f") if self._full else (", as shares of all", ".1%")
        rows = []
        for name, ours, printed in zip(BINS, self.table2["counts"], theirs["counts"], strict=True):
            pairs = zip(ours, printed, strict=True)
            cells = (f"{a / totals[0]:{shown}} ({b / totals[1]:{shown}})" for a, b in pairs)
            rows.append((name, *cells))
        caption = (
            f"Sample uniques by exact risk (rows) and the paper's estimate (columns){unit};"
            " published in brackets"
        )
        ranks = (
            f"Spearman here {self.table2['spearman']:.2f} (paper {theirs['spearman']:.2f}); uniques"
            f" {self.table2['total']:,} (paper {theirs['total']:,})."
        )
        return [Table(caption, ("exact risk", *BINS), tuple(rows)), Text(ranks)]

    def write(self, folder: str | Path) -> list[Path]:
        """Write the page, the figures as PNG and SVG, and the JSON; return what was written.

        The folder must be new or empty.
        """
        out = Path(folder).expanduser()
        lead = (
            "Every table and figure of Shlomo and Skinner (2010) on a synthetic census of"
            f" {self.study.population.total:,} invented people, a sample of"
            f" {len(self.study.sample):,}."
        )
        under = (
            "The paper's census extract is not public, so patterns can be compared but figures cannot"
            " be equal."
        )
        texts = {
            "paper.html": render("The paper, re-run", Top(lead, under=under), self.sections()),
            "paper.json": json.dumps(self.as_data(), indent=1),
        }
        with whole_folder(out) as new:
            for name, text in texts.items():
                (new / name).write_text(text, encoding="utf-8")
            for name, one in self.charts().items():
                for kind in KINDS:
                    one.save(str(new / f"{name}.{kind}"), format=kind)
        return [out / name for name in FILES]


def run_paper(
    *,
    scale: float = 1.0,
    rng: RandomSource = 2010,
    progress: Progress = lambda *_: None,
) -> Paper:
    """Return every table and figure of the paper, for a sample of the synthetic census.

    `progress` is called with each of STEPS as it begins, and within the longer ones.
    """
    seed = seed_of(rng)
    progress(STEPS[0], 0, len(STEPS))
    census = synthetic_census(size=max(round(PAPER_SIZE * scale), 1000))
    population = count(census, keys=census.columns)
    people = bernoulli_sample(census, fraction=FRACTION, rng=seed)
    study = Study(read(people, keys=population.space, fraction=FRACTION), population, seed)
    progress(STEPS[1], 1, len(STEPS))
    table1 = dict(study.table1(progress))
    progress(STEPS[2], 2, len(STEPS))
    table2 = study.table2()
    progress(STEPS[3], 3, len(STEPS))
    table3 = study.table3()
    progress(STEPS[4], 4, len(STEPS))
    releases = compare(
        study.sample,
        map_candidates(study.sample),
        loss=("lad", "ethnicity"),
        measure="raad",
        associations=0,
        population=population,
        intruder=EXACT_MATCH,
        replications=3,
        rng=seed,
        progress=progress,
    )
    progress(STEPS[5], 5, len(STEPS))
    draws = generator(seed, "many keys").integers(2**63)
    size = max(round(100_000 * scale), 1000)
    curve = binary_keys_experiment(
        population=size,
        sample=size // 50,
        keys=KEYS,
        thetas=THETAS,
        rng=int(draws),
        progress=progress,
    )
    return Paper(study, table1, table2, table3, releases, curve)


def _beside(caption: str, ours: dict[str, list[float]], published: dict[str, list[float]]) -> Table:
    """Return figures with the published ones, and the differences, below."""
    rows = []
    for name, figures in ours.items():
        rows.append((name, *(f"{figure:,.1f}" for figure in figures)))
        if name in published:
            pairs = zip(figures, published[name], strict=True)
            rows.append(("  paper", *(f"{printed:,.1f}" for printed in published[name])))
            rows.append(
                ("  difference", *(f"{figure - printed:+,.1f}" for figure, printed in pairs))
            )
    return Table(caption, ("measure", *METHODS), tuple(rows))


def _ratios(figures: list[float], tau_star: float) -> list[str]:
    return [f"{figure / tau_star:.3f}" if tau_star else "none" for figure in figures]


def _plain(figures: Any) -> Any:
    """Return figures as JSON can hold them: what is not a number is null."""
    if isinstance(figures, dict):
        return {name: _plain(one) for name, one in figures.items()}
    if isinstance(figures, list):
        return [_plain(one) for one in figures]
    return None if isinstance(figures, float) and not np.isfinite(figures) else figures


def map_candidates(sample: Microdata) -> dict[str, Any]:
    """Return the sixteen releases of the paper's map, labelled as there, and one that it does not have.

    Targeted ones of 2 % and 5 % move the minority groups at the rate over their share.
    """
    position = sample.space.index("ethnicity")
    majority = sample.space["ethnicity"].code("White British")
    share = float(np.mean(sample.codes[:, position] != majority))
    candidates: dict[str, Any] = {REDRAWN: Redraw("lad", rarer_than=120)}
    for percent in (2, 5):
        rate = percent / 100
        first = min(rate / share, 1.0)
        candidates[f"RS{percent}"] = Swap("lad", rate=rate)
        candidates[f"RP{percent}"] = Pram("lad", stay=1 - rate)
        candidates[f"TS{percent}"] = Swap("lad", rate=aimed(0.0, first))
        candidates[f"TP{percent}"] = Pram("lad", stay=aimed(1.0, 1 - first))
    for rate_in_words, methods in designs().items():  # those of table 1
        for label, step in zip(("RS", "RP", "TS", "TP"), methods.values(), strict=True):
            candidates[label + rate_in_words.rstrip("%")] = step
    return candidates
