"""Charts of one frame each."""

from __future__ import annotations

from math import log1p
from typing import TYPE_CHECKING, Any

import polars as pl

from maskmeter.chart.labels import shorten
from maskmeter.chart.look import (
    INK,
    SERIES,
    SHAPES,
    SOFT,
    WIDTH,
    Chart,
    at_ticks,
    called,
    cycle,
    tip,
    titled,
    words,
)

if TYPE_CHECKING:
    import altair as alt

Z95 = 1.96  # a model whose z2 is nearer to 0 is not rejected at 5 %
WIDE = 7.5  # a log scale, in powers of e, on which only powers of ten have room
NAMED = 12  # models whose terms can be read along an axis


def bars(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Chart:
    """Return a histogram of the bins `low` to `high` with their `count`, from bottom to top.

    Most sample uniques have a risk near 0, and bars of the few risky ones are too short to see. So
    each bar has its count printed beside it, and the axis stays linear: lengths can be compared.
    """
    import altair as alt

    largest = max(int(frame["count"].max() or 0), 1)  # type: ignore[arg-type]
    base = alt.Chart(frame).transform_calculate(middle="(datum.low + datum.high) / 2")
    # Room for the longest count beyond the longest bar.
    scale = alt.Scale(domain=[0, largest * 1.18], nice=False)
    drawn = base.mark_bar(color=INK).encode(
        y=alt.Y("low:Q", title=x, bin="binned", axis=alt.Axis(format=".2~f", tickCount=10)),
        y2="high:Q",
        x=alt.X("count:Q", title=y, scale=scale, axis=alt.Axis(format=",d", tickCount=5)),
        tooltip=[
            alt.Tooltip("low:Q", title="from", format=".2f"),
            alt.Tooltip("high:Q", title="to", format=".2f"),
            alt.Tooltip("count:Q", title=tip(y), format=","),
        ],
    )
    counts = base.mark_text(align="left", dx=4, color=SOFT, fontSize=11).encode(
        y="middle:Q", x="count:Q", text=alt.Text("count:Q", format=",")
    )
    return titled(drawn + counts, title, subtitle, height=14 * len(frame))


def ranked(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Chart:
    """Return the curve of `risk` against `rank`, for risks that mostly fall into one bin."""
    import altair as alt

    base = alt.Chart(frame).encode(
        x=alt.X(
            "rank:Q",
            title=x,
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(values=[1, 10, 100, 1_000, 10_000, 100_000, 1_000_000], format=",d"),
        ),
        y=alt.Y("risk:Q", title=y, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5)),
        tooltip=[
            alt.Tooltip("rank:Q", title=tip(x), format=","),
            alt.Tooltip("risk:Q", title=tip(y), format=".3g"),
        ],
    )
    points = base.mark_point(color=INK, filled=True, size=18, opacity=1)
    drawn = base.mark_area(color=INK, opacity=0.2, line={"color": INK}) + points
    return titled(drawn, title, subtitle, height=240)


def falling(
    frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str, line: float | None = None
) -> Chart:
    """Return `risk` against `rank` as steps from the most to the least, with a line at a level.

    Wide marks that nobody sees carry the `label` of each step, for pages on which it is clicked.
    """
    import altair as alt

    base = alt.Chart(frame).encode(
        x=alt.X("rank:Q", title=x, scale=alt.Scale(nice=False), axis=alt.Axis(format=",d")),
        y=alt.Y("risk:Q", title=y, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5)),
        tooltip=[
            alt.Tooltip("rank:Q", title=tip(x), format=","),
            alt.Tooltip("risk:Q", title=tip(y), format=".3g"),
        ],
    )
    shape: Any = {"color": INK}
    drawn: Any = base.mark_area(color=INK, opacity=0.2, line=shape, interpolate="step-after")
    drawn += base.mark_point(opacity=0, size=200, filled=True)
    if line is not None:
        rule = alt.Chart(frame).transform_aggregate(n="count()")
        drawn += rule.mark_rule(color=SOFT, strokeDash=[4, 4]).encode(y=alt.datum(line))
    return titled(drawn, title, subtitle, height=240)


def path(frame: pl.DataFrame, *, title: str, subtitle: str) -> Chart:
    """Return z2 above tau2 along the `model`s of a search, each named by the term it added.

    A band shows where z2 says that a model fits. Many models are numbered, not named.
    """
    import altair as alt

    base = alt.Chart(frame, width=WIDTH, height=130)
    band = base.transform_aggregate(n="count()").mark_rect(color=INK, opacity=0.15)
    band = band.encode(y=alt.datum(-Z95), y2=alt.datum(Z95))
    zero = base.mark_rule(color=SOFT, strokeDash=[4, 4]).encode(y=alt.datum(0))
    found = frame["z2"].drop_nulls().drop_nans()
    ends = [1.2 * one for one in (-Z95, Z95, *found)]
    scale = alt.Scale(type="symlog", domain=[min(ends), max(ends)], nice=False)
    axis = at_ticks(z_ticks(min(ends), max(ends)), labelOverlap="greedy", grid=True)
    fit = alt.Y("z2:Q", title="z2, log scale", axis=axis, scale=scale)
    risk = alt.Y("tau2:Q", title="tau2", axis=alt.Axis(tickCount=5), scale=alt.Scale(zero=False))
    rows = [
        band + zero + _along(base, fit, _models(frame, shown=False)),
        _along(base, risk, _models(frame, shown=True)),
    ]
    return alt.vconcat(*rows).properties(**words(title, subtitle))


def _along(base: Chart, y: alt.Y, x: alt.X) -> Chart:
    """Return a line of a figure along the models of a search."""
    import altair as alt

    return base.mark_line(color=INK, point={"color": INK}).encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("model:N", title="added"),
            alt.Tooltip("z2:Q", format=".2f"),
            alt.Tooltip("tau2:Q", format=",.1f"),
            alt.Tooltip("bic:Q", title="BIC", format=",.0f"),
            alt.Tooltip("parameters:Q", format=","),
        ],
    )


def _models(frame: pl.DataFrame, *, shown: bool) -> alt.X:
    """Return the axis of the models: the term that each added or, of many, how many were added."""
    import altair as alt

    models = frame["model"].to_list()
    if len(models) <= NAMED:
        title, written = "Term added", {one: [shorten(one, 24)] for one in models}
        axis = alt.Axis(labelAngle=-40, labelLimit=0)
    else:
        title, written = "Terms added", {one: [str(place)] for place, one in enumerate(models)}
        axis = alt.Axis(labelAngle=0, labelOverlap="parity", labelSeparation=6)
    axis.labels, axis.labelExpr = shown, called(written)
    return alt.X("model:N", sort=None, title=title if shown else None, axis=axis)


def z_ticks(low: float, high: float) -> list[float]:
    """Return ticks for z2 on its log scale: 0, the ends of the band and round numbers beyond.

    >>> z_ticks(-2.35, 61.0)
    [-1.96, 0.0, 1.96, 10.0, 30.0]
    """
    wide = log1p(high) + log1p(-low)
    digits = (1, 3) if wide < WIDE else (1,)
    far = [float(f"{digit}e{power}") for power in range(1, 12) for digit in digits]
    sides = [Z95, *([5.0] if wide < WIDE / 2 else []), *far]
    return [
        one for one in (*(-side for side in reversed(sides)), 0.0, *sides) if low <= one <= high
    ]


def scatter(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Chart:
    """Return a point for each row, of its first column and its second, with the line of equality."""
    import altair as alt

    first, second = frame.columns
    unit = alt.Scale(domain=[0, 1])
    points = (
        alt.Chart(frame)
        .mark_point(color=INK, filled=True, opacity=0.35, size=18)
        .encode(
            x=alt.X(f"{first}:Q", title=x, scale=unit, axis=alt.Axis(tickCount=5)),
            y=alt.Y(f"{second}:Q", title=y, scale=unit, axis=alt.Axis(tickCount=5)),
            tooltip=[
                alt.Tooltip(f"{first}:Q", title=tip(x), format=".3f"),
                alt.Tooltip(f"{second}:Q", title=tip(y), format=".3f"),
            ],
        )
    )
    line = alt.Chart().mark_rule(color=SOFT, strokeDash=[4, 4])
    line = line.encode(x=alt.datum(0), y=alt.datum(0), x2=alt.datum(1), y2=alt.datum(1))
    return titled(line + points, title, subtitle, width=420, height=420)


def curves(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Chart:
    """Return a line of `matches` against `number` for each kind of `error`."""
    import altair as alt

    kinds = frame["error"].unique(maintain_order=True).to_list()
    key = alt.Legend(title=None, symbolStrokeWidth=2)
    numbers = sorted(frame["number"].unique().to_list())
    whole = at_ticks(numbers, labelOverlap="greedy", labelSeparation=4, grid=False)
    steps = [digit * 10**power for power in range(7) for digit in (1, 3)]
    drawn = (
        alt.Chart(frame)
        .mark_line(point={"size": 50})
        .encode(
            x=alt.X("number:Q", title=x, scale=alt.Scale(zero=False), axis=whole),
            y=alt.Y(
                "max(matches):Q",
                title=f"{y}, log scale",
                scale=alt.Scale(type="symlog"),
                axis=at_ticks([0, *steps], labelOverlap="greedy"),
            ),
            color=alt.Color(
                "error:N", legend=key, scale=alt.Scale(domain=kinds, range=cycle(SERIES, kinds))
            ),
            shape=alt.Shape(
                "error:N", legend=key, scale=alt.Scale(domain=kinds, range=cycle(SHAPES, kinds))
            ),
            tooltip=[
                "error:N",
                "number:Q",
                alt.Tooltip("max(matches):Q", title=tip(y), format=",.1f"),
            ],
        )
    )
    return titled(drawn, title, subtitle, height=300)
