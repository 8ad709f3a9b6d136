"""A page with every kind of block and every chart."""

from __future__ import annotations

import numpy as np
import polars as pl

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


def releases():
    """Return sixteen releases, some of them close to each other."""
    labels = [f"{kind}{rate}" for kind in ("RS", "RP", "TS", "TP") for rate in (2, 5, 10, 20)]
    risk = [385, 372, 343, 287, 384, 371, 344, 290, 371, 345, 310, 262, 369, 347, 308, 266]
    loss = [1.9, 4.4, 8.1, 14.9, 2.1, 4.7, 8.6, 15.8, 2.2, 5.3, 9.4, 16.3, 2.5, 5.6, 9.9, 17.2]
    points = list(zip(risk, loss, strict=True))
    best = [not any(a < x and b < y for a, b in points) for x, y in points]
    return pl.DataFrame(
        {
            "label": labels,
            "risk": [float(one) for one in risk],
            "share": [one / 2780 for one in risk],
            "loss": loss,
            "changed": [int(label[2:]) / 100 for label in labels],
            "risk_sd": 3.0,
            "loss_sd": 0.15,
            "frontier": best,
        }
    )


def charts():
    """Return a chart of every kind by its name."""
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
        "frontier": chart.frontier(releases(), x="Loss (100 - RAAD)", y="Expected correct matches", **words),
        "frontier with a target": chart.frontier(
            releases(), x="Loss (100 - RAAD)", y="Expected correct matches", chosen="TS20", target=(278.0, "Target: 10 % of uniques"), **words
        ),
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
