"""A page with every kind of block and every chart."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from maps import MAPS
from maskmeter import chart
from maskmeter.page import (
    Beside,
    Fact,
    Figure,
    Fold,
    Points,
    Section,
    Table,
    Terms,
    Text,
    Top,
    render,
)

LONG = "A verdict that a committee reads first: 299 of 2,780 unique records would be matched correctly."


def risk_map(name, **words):
    """Return the map of that name."""
    frame, chosen, target = MAPS[name]
    return chart.frontier(frame, **words, chosen=chosen, target=target)


@cache
def charts():
    """Return a chart of every type by name, including those that are hard to draw."""
    draws = np.random.default_rng(1)
    edges = np.linspace(0, 1, 21)
    counts = np.histogram(draws.beta(0.4, 4, 2780), edges)[0]
    steps = [
        "independence",
        *(f"lad:{one}" for one in ("ethnicity", "age", "sex", "marital", "work")),
    ]
    areas = ["City and County of the Long Name", "North", "<b>East</b>", "West", "South"]
    words = {"title": "A title of the chart", "subtitle": "What it shows, in 1,234 words"}
    axes = {"x": "Across", "y": "Up"}
    unit = draws.random(400)
    numbers = pl.DataFrame({"number": [5, 10, 15, 20, 25, 30]})
    kinds = pl.DataFrame(
        {
            "error": ["no error", "theta 0.01", "theta 0.05", "theta 0.1"],
            "k": [0.0, 0.01, 0.05, 0.1],
        }
    )
    curves = numbers.join(kinds, how="cross").with_columns(
        matches=2000 * (1 - (-pl.col("number") / 6).exp()) * (1 - pl.col("k")) ** pl.col("number")
    )
    pairs = [(a, b) for place, a in enumerate(areas) for b in areas[place + 1 :]]
    many = [f"Neighbourhood of residence at the time of interview {place}" for place in range(20)]
    return {
        "bars": chart.bars(pl.DataFrame({"low": edges[:-1], "high": edges[1:], "count": counts}), **axes, **words),
        "path": chart.path(
            pl.DataFrame(
                {"model": [f"{place} {step}" for place, step in enumerate(steps)], "z2": [55.0, 21.0, 6.1, 1.4, -0.3, -2.2],
                 "tau2": [220.0, 301.0, 330.0, 341.0, 344.0, 351.0], "bic": 1e5, "parameters": 120}
            ),
            **words,
        ),
        "scatter": chart.scatter(pl.DataFrame({"exact": unit, "estimate": np.clip(unit + draws.normal(0, 0.1, 400), 0, 1)}), **axes, **words),
        "curves": chart.curves(curves, **axes, **words),
        "signed_bars": chart.signed_bars(pl.DataFrame({"area": areas, "change": [-3.0, 2.0, 0.4, -0.1, 5.0]}), **axes, **words),
        "paired_dots": chart.paired_dots(
            pl.DataFrame({"key": ["lad", "age", "ethnicity", "sex"], "all": 299.2, "without": [14.8, 88.1, 141.0, 203.5]}),
            names=("with all keys", "without this key"), **axes, **words,
        ),
        "matrix": chart.matrix(
            pl.DataFrame({"rows": [a for a, _ in pairs], "columns": [b for _, b in pairs], "raad": np.linspace(60, 100, len(pairs))}),
            value="raad", **words,
        ),
        "ranked": chart.ranked(pl.DataFrame({"rank": [1, 50, 2780], "risk": [0.04, 0.01, 0.002]}), **axes, **words),
        "long path": chart.path(
            pl.DataFrame({"model": [f"{place} lad:age" for place in range(41)], "z2": np.geomspace(6e4, 1, 41), "tau2": np.linspace(200, 240, 41)})
            .with_columns(bic=1e5, parameters=120),
            **words,
        ),
        "many dots": chart.paired_dots(
            pl.DataFrame({"key": many, "all": 299.2, "without": np.linspace(5, 280, len(many))}), names=("with all keys", "without this key"), **axes, **words
        ),
        "large matrix": chart.matrix(
            pl.DataFrame({"rows": many[:-1], "columns": many[1:], "raad": np.linspace(90, 100, len(many) - 1)}), value="raad", **words
        ),
        **{f"map of {name}": risk_map(name, **axes, **words) for name in ("sixteen", "forty", "a far end", "a crowd")},
    }  # fmt: skip


def page():
    """Return the page."""
    wide = tuple(f"measure {place}" for place in range(10))
    blocks = (
        Text("An ordinary paragraph with <b>signs</b> & more."),
        Text("The model fits poorly.", mark="Caution"),
        Text("Figures are rounded.", mark="Note"),
        Text("More is moved.", mark="Holds"),
        Text("Less is moved.", mark="Differs"),
        Points(("The fraction is known.", "No one else in the household is known.")),
        Terms((("sample unique", "The only record of the file with its keys."), ("risk", "Chance that a match is right."))),
        Table("A table that is wider than a small screen", ("release", *wide), tuple((f"RS{row}", *["1,234.5"] * 10) for row in range(4))),
        Table("Words and figures", ("step", "what it does", "rate"), (("swap", "Exchanges districts between pairs", "20 %"), ("  within", "the same sex", "-"))),
    )  # fmt: skip
    figures = tuple(Figure(f"Figure: {name}.", one) for name, one in charts().items())
    return render(
        "Every kind of block",
        Top(
            LONG,
            "Target met",
            "good",
            "What stands below it: how it was found, in a sentence or two.",
            (Fact("Matches", "69", "62 to 76"), Fact("Target", "at most 138")),
            (Beside(figures[0], blocks[-1]),),
        ),
        [
            Section("Words", (*blocks, Fold("What is folded away", blocks[:-1]))),
            Section("Charts", figures[1:]),
            Section("An end", (Text("The end."),)),
        ],
        classification="Confidential: for the agency only",
        footer="Written by maskmeter.",
    )
