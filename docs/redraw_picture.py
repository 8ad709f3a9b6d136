"""The picture of the page on redrawing: python docs/redraw_picture.py draws it."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import polars as pl
from small_png import save

import maskmeter as mm
from maskmeter.chart.look import SERIES, titled

PICTURE = Path(__file__).parent / "_static" / "redraw.png"
KEYS = ["lad", "sex", "age", "marital", "ethnicity", "activity"]
INFORMED, EXACT = "informed intruder", "exact matching"


def aimed(most: float, rest: float) -> mm.Swap:
    """Return a swap with one rate for the largest ethnic group and another for all others."""
    return mm.Swap("lad", rate=mm.by("ethnicity", {"White British": most}, otherwise=rest))


DESIGNS = {
    "random swap": {f"{r} %": mm.Swap("lad", rate=r / 100) for r in (5, 10, 20, 30)},
    "targeted swap": {
        "5 %": aimed(0.0, 0.4),
        "10 %": aimed(0.0, 0.8),
        "20 %": aimed(0.07, 1.0),
        "30 %": aimed(0.2, 1.0),
    },
    "redraw of the rare": {
        f"< {t:,}": mm.Redraw("lad", rarer_than=t) for t in (10, 20, 50, 120, 300, 600, 2000)
    },
}
# What is written beside a point: its design and step, then the words, where they stand, and whether bold.
WORDS = (
    ("random swap", "20 %", "random swap", "left", 6, -12, True),
    ("targeted swap", "20 %", "targeted swap", "left", 6, -12, True),
    ("redraw of the rare", "< 600", "redraw of the rare", "left", 6, -12, True),
    ("redraw of the rare", "< 50", "< 50", "left", 6, -7, False),
    ("redraw of the rare", "< 120", "< 120", "left", 6, -7, False),
    ("redraw of the rare", "< 300", "< 300", "right", -6, 9, False),
)


def measured() -> pl.DataFrame:
    """Return the correct matches that each design leaves in a 1 % sample of the synthetic census."""
    census = mm.synthetic_census()
    population = mm.count(census, keys=KEYS)
    people = mm.bernoulli_sample(census, fraction=0.01, rng=2010)
    sample = mm.read(people, keys=population.space, fraction=0.01)
    start = mm.exact_risk(sample, population).total
    rows = []
    for design, steps in DESIGNS.items():
        rows += [(design, "", 0.0, who, start) for who in (INFORMED, EXACT)]
        for label, step in steps.items():
            release = step.apply(sample, rng=2010)
            changed = float(release.changed.mean())
            informed = mm.exact_risk(release, population, intruder="informed").total
            matched = mm.exact_risk(release, population).total
            rows += [
                (design, label, changed, INFORMED, informed),
                (design, label, changed, EXACT, matched),
            ]
    return pl.DataFrame(rows, schema=["design", "label", "changed", "who", "matches"], orient="row")


def drawn(frame: pl.DataFrame) -> alt.LayerChart:
    """Return the chart: a colour for each design, full lines against an informed intruder."""
    designs = list(DESIGNS)
    colors = alt.Scale(domain=designs, range=list(SERIES[: len(designs)]))
    at = {
        "x": alt.X(
            "changed:Q",
            title="Records changed",
            axis=alt.Axis(format="%", tickCount=6),
            scale=alt.Scale(domain=[0, 0.32], nice=False),
        ),
        "y": alt.Y("matches:Q", title="Correct matches left", scale=alt.Scale(domain=[0, 400])),
        "color": alt.Color("design:N", scale=colors, legend=None),
    }
    dashes = alt.Scale(domain=[INFORMED, EXACT], range=[[1, 0], [5, 4]])
    key = alt.Legend(title=None, orient="top", symbolStrokeColor="black", symbolSize=400)
    base = alt.Chart(frame)
    lines = base.mark_line().encode(
        **at,
        strokeDash=alt.StrokeDash("who:N", scale=dashes, legend=key),
        opacity=alt.condition(alt.datum.who == INFORMED, alt.value(1.0), alt.value(0.6)),
    )
    informed = base.transform_filter(alt.datum.who == INFORMED)
    points = informed.mark_point(filled=True, size=45, opacity=1).encode(**at)
    layers = [lines, points]
    for design, label, text, align, dx, dy, bold in WORDS:
        here = informed.transform_filter(
            (alt.datum.design == design) & (alt.datum.label == label)
        ).mark_text(
            text=text,
            align=align,
            dx=dx,
            dy=dy,
            fontSize=12 if bold else 10.5,
            fontWeight="bold" if bold else "normal",
        )
        layers.append(here.encode(**at))
    return titled(
        alt.layer(*layers),
        "Redrawing a few rare records protects more than moving many",
        "District of residence in a 1 % sample of the synthetic census: 382 correct matches before",
        height=330,
    )


if __name__ == "__main__":
    save(drawn(measured()), PICTURE, scale=2)
