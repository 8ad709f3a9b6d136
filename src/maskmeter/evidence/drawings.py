"""The charts of a report, drawn from its figures."""

from __future__ import annotations

from typing import Any

import polars as pl
from msgspec.structs import asdict

from maskmeter import chart
from maskmeter.evidence.model_figures import ModelFigures
from maskmeter.evidence.schema import Figures, MapFigures
from maskmeter.evidence.wording import listed_figures
from maskmeter.plurals import counted
from maskmeter.riskutility.riskmap import map_chart


def risk_chart(figures: Figures) -> Any:
    """Return the expected correct matches of every scenario, with their intervals and the target.

    A risk that is not assessable has no point.
    """
    rows = []
    for name, risks in figures.risks:
        for intruder in ("exact-match",) if risks.same else ("exact-match", "informed"):
            risk = risks.of(intruder)
            held = listed_figures(risk)
            total = held["correct matches"]
            ends = (held["lower end of the interval"], held["upper end of the interval"])
            low, high = (total, total) if risk.interval is None else ends
            rows.append((name if risks.same else f"{name}, {intruder}", total, low, high))
    kinds = {"name": pl.String} | dict.fromkeys(("risk", "low", "high"), pl.Float64)
    return chart.intervals(
        pl.DataFrame(rows, schema=kinds, orient="row"),
        x="Expected correct matches",
        title="Expected correct matches",
        subtitle="exact: the population is known"
        if figures.population_known
        else "with the approximate 95 % interval",
        target=_line(figures),
    )


def _line(figures: Figures) -> float | None:
    """Return the correct matches that the target allows, if it is about these."""
    target = figures.target
    return None if target is None or target.max_record is not None else target.allowed


def option_frame(known: MapFigures) -> pl.DataFrame:
    """Return the releases of a map, a row for each."""
    return pl.DataFrame([asdict(one) for one in known.releases])


def map_drawing(known: MapFigures, *, chosen: str = "") -> Any:
    """Return the risk-utility map of some releases."""
    return map_chart(
        option_frame(known),
        measure=known.measure,
        exact=known.population_known,
        intruder=known.intruder,
        chosen=chosen,
        target=known.target,
    )


def drivers_chart(figures: Figures) -> Any:
    """Return the risk with all keys known, and with one of them not known."""
    worst = figures.worst
    return chart.paired_dots(
        pl.DataFrame(
            [
                (figures.title(one.key), worst.risk.total, one.total)
                for one in worst.without_one_key
            ],
            schema=["key", "all", "without"],
            orient="row",
        ),
        names=("all keys known", "this key not known"),
        x="Expected correct matches",
        y="Key",
        title="Which keys drive the risk",
        subtitle="The further left a key's dot, the more of the risk depends on that key",
    )


def raad_chart(figures: Figures) -> Any:
    """Return the RAAD of every two-way table of the keys."""
    lowest = min(figures.pairs, key=lambda one: one.raad)
    return chart.matrix(
        pl.DataFrame([asdict(one) for one in figures.pairs]),
        value="raad",
        title="Information loss of all two-way tables",
        subtitle="RAAD, 100 is unchanged; lowest"
        f" {lowest.rows} x {lowest.columns} ({lowest.raad:.1f})",
    )


def path_chart(model: ModelFigures) -> Any:
    """Return z2 and tau2 along the path of the search for a model."""
    names = [f"{place} {one.added or 'independence'}" for place, one in enumerate(model.path)]
    return chart.path(
        pl.DataFrame([asdict(one) for one in model.path]).with_columns(model=pl.Series(names)),
        title="Search for a log-linear model",
        subtitle=f"{counted(len(names), 'model')}; the fit is good where z2 is within ±1.96 (band)",
    )
