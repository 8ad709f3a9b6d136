"""The risk-utility map: releases by what they protect and what they cost."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import polars as pl

from maskmeter.chart.axes import Scale
from maskmeter.chart.labels import FONT, LINE, Spot
from maskmeter.chart.layout import ARROW, HEIGHT, RANGES, Layout, drawn_label
from maskmeter.chart.look import CHOSEN, INK, SOFT, WIDTH, Chart, titled

Placed: TypeAlias = dict[str, dict[int | None, Spot]]

TOLD = {
    "risk": ",.1f",
    "other": ",.1f",
    "upper": ",.1f",
    "share": ".1%",
    "loss": ".2f",
    "changed": ".1%",
}
ON, OFF = "on the frontier", "not on it"
LOG = ", log scale"


def frontier(
    frame: pl.DataFrame,
    *,
    x: str,
    y: str,
    title: str,
    subtitle: str,
    other: str = "",
    chosen: str = "",
    target: tuple[float, str] | None = None,
) -> Chart:
    """Return points of `loss` and `risk` with their spread, joined along the frontier.

    Where the frame has another risk of each release, `other`, it is drawn as a small diamond below
    or above the point, joined along its own frontier, `other_frontier`; the argument says what it
    is. `chosen` is the label of the release to stand out; `target` a level of risk to draw a line at,
    and what to write on it. A line goes up to the `upper` end of a risk that is not known exactly,
    and ends in an arrow where that is far beyond the others. A scale on which most releases could
    not be told apart is logarithmic.

    The chosen release is always named, those on the frontier where there is room; the others have a
    tooltip. No label stands on another, on a point or on a line.
    """
    import altair as alt

    layout = Layout.of(frame, chosen, target)
    placed = {one.name: layout.placed(one) for one in RANGES}
    base = alt.Chart(_labelled(layout.frame, placed))
    at = {
        "x": _axis(alt.X, "loss:Q", x, layout.across),
        "y": _axis(alt.Y, "risk:Q", y, layout.up),
    }
    told = [one for one in TOLD if one in frame.columns]
    layers = [_line(base, at)]
    notes = []
    if "other" in frame.columns:
        layers += _others(base, at)
        notes.append(f"Diamonds and the broken line: {other}.")
    if layout.uncertain:
        layers += _uppers(base, at)
        notes.append("Vertical lines reach the upper end of the interval.")
    if layout.cut:
        layers += _arrows(base, at)
        notes.append("Arrows mark upper ends beyond the axis.")
    layers += [*_spreads(base, at, layout), *_leaders(base, at, placed)]
    layers += [*_points(base, at, told), *_names(base, at)]
    if target is not None:
        layers += _target(base, target[0], placed)
    return titled(alt.layer(*layers), title, subtitle, " ".join(notes), width=WIDTH, height=HEIGHT)


def _labelled(frame: pl.DataFrame, placed: Placed) -> pl.DataFrame:
    """Return the releases with the label of each, a column for each range of widths."""
    import polars as pl

    numbers = dict.fromkeys(("dx", "dy", "fromX", "fromY", "toX", "toY"), pl.Float64)
    kind = pl.Struct({"text": pl.String, "align": pl.String, "far": pl.Boolean, **numbers})
    columns = [
        pl.Series(
            name,
            [drawn_label(found[one]) if one in found else None for one in range(len(frame))],
            dtype=kind,
        )
        for name, found in placed.items()
    ]
    return frame.with_columns(columns)


def _axis(kind: Any, field: str, title: str, scale: Scale) -> Any:
    title = title if scale.unit is None else title + LOG
    return kind(field, title=title, scale=scale.drawn(), axis=scale.axis())


def _line(base: Chart, at: dict[str, Any]) -> Chart:
    """Return the line along the frontier, in steps."""
    best = base.transform_filter("datum.frontier")
    line = best.mark_line(color=INK, interpolate="step-after", opacity=0.5)
    return line.encode(**at).properties(name="frontier")


def _others(base: Chart, at: dict[str, Any]) -> list[Chart]:
    """Return the other risk of each release, and the line along its frontier."""
    across = {**at, "y": at["y"].copy()}
    across["y"].shorthand = "other:Q"
    line = base.transform_filter("datum.other_frontier").mark_line(
        color=SOFT, interpolate="step-after", strokeDash=[4, 3], opacity=0.8
    )
    marks = base.mark_point(shape="diamond", size=28, strokeWidth=1.5, color=SOFT, opacity=1)
    return [line.encode(**across).properties(name="other_frontier"), marks.encode(**across)]


def _points(base: Chart, at: dict[str, Any], told: list[str]) -> list[Chart]:
    """Return the points, full on the frontier and hollow off it, and a ring around the chosen one."""
    import altair as alt

    kinds = [ON, OFF]
    key = alt.Legend(title=None, orient="top")
    points = base.transform_calculate(kind=f"datum.frontier ? '{ON}' : '{OFF}'").mark_point(
        size=60, strokeWidth=2, opacity=1
    )
    points = points.encode(
        **at,
        color=alt.Color("kind:N", legend=key, scale=alt.Scale(domain=kinds, range=[INK, SOFT])),
        fill=alt.Fill(
            "kind:N", legend=key, scale=alt.Scale(domain=kinds, range=[INK, "transparent"])
        ),
        tooltip=[
            alt.Tooltip("label:N"),
            *(alt.Tooltip(f"{one}:Q", format=TOLD[one]) for one in told),
        ],
    )
    ring = base.transform_filter("datum.chosen").mark_point(
        size=260, strokeWidth=2.5, color=CHOSEN, opacity=1
    )
    return [points, ring.encode(**at)]


def _names(base: Chart, at: dict[str, Any]) -> list[Chart]:
    """Return the labels, once for each layout: the width of the chart says which is seen."""
    import altair as alt

    layers = []
    for wide in RANGES:
        one = f"datum.{wide.name}"
        drawn = base.transform_filter(f"{one} != null").mark_text(
            text=alt.expr(f"{wide.seen} ? {one}.text : ''"),
            align=alt.expr(f"{one}.align"),
            dx=alt.expr(f"{one}.dx"),
            dy=alt.expr(f"{one}.dy"),
            baseline="middle",
            fontSize=FONT,
            fontWeight=alt.expr("datum.chosen ? 'bold' : 'normal'"),
        )
        color = alt.ColorValue(SOFT, condition={"test": "datum.frontier", "value": INK})
        drawn = drawn.encode(**at, color=color)
        layers.append(drawn.properties(name=f"label_{wide.name}"))
    return layers


def _leaders(base: Chart, at: dict[str, Any], placed: Placed) -> list[Chart]:
    """Return a line from a point to its label, where that stands further away."""
    import altair as alt

    layers = []
    for wide in RANGES:
        if not any(spot.far for spot in placed[wide.name].values()):
            continue
        one = f"datum.{wide.name}"
        line = base.transform_filter(f"{one} != null && {one}.far").mark_rule(
            color=SOFT,
            xOffset=alt.expr(f"{one}.fromX"),
            yOffset=alt.expr(f"{one}.fromY"),
            x2Offset=alt.expr(f"{one}.toX"),
            y2Offset=alt.expr(f"{one}.toY"),
            opacity=alt.expr(f"{wide.seen} ? 1 : 0"),
        )
        layers.append(line.encode(**at, x2=alt.X2("loss:Q"), y2=alt.Y2("risk:Q")))
    return layers


def _target(base: Chart, risk: float, placed: Placed) -> list[Chart]:
    """Return a line at a level of risk, and what it means where nothing else is drawn."""
    import altair as alt

    one = base.transform_aggregate(n="count()")  # one row: a line, not one for each release
    line = one.mark_rule(color=CHOSEN, strokeDash=[6, 4], strokeWidth=1.5)
    layers = [line.encode(y=alt.YDatum(risk)).properties(name="target")]
    for wide in RANGES:
        spot = placed[wide.name][None]
        lines = spot.text.split("\n")
        label = one.mark_text(
            text=alt.expr(f"{wide.seen} ? {json.dumps(lines)} : ''"),
            align=spot.align,
            dx=spot.dx,
            dy=spot.dy - LINE * (len(lines) - 1) / 2,  # of the first line
            baseline="middle",
            lineHeight=LINE,
            color=CHOSEN,
            fontSize=FONT,
        )
        across = alt.XValue(alt.expr(f"{spot.share} * width"))  # type: ignore[no-untyped-call]
        drawn = label.encode(x=across, y=alt.YDatum(risk))
        layers.append(drawn.properties(name=f"label_target_{wide.name}"))
    return layers


def _uppers(base: Chart, at: dict[str, Any]) -> list[Chart]:
    """Return a line from each point to the upper end of its risk, with a tick on top."""
    import altair as alt

    rules = base.mark_rule(color=SOFT, opacity=0.8).encode(**at, y2=alt.Y2("shown:Q"))
    top = at["y"].copy()
    top.shorthand = "shown:Q"
    ticks = base.transform_filter("!datum.beyond").mark_tick(
        orient="horizontal", color=SOFT, opacity=0.8, size=8
    )
    return [rules, ticks.encode(**{**at, "y": top})]


def _arrows(base: Chart, at: dict[str, Any]) -> list[Chart]:
    """Return an arrow at the top of the map for each upper end that is beyond it."""
    import altair as alt

    arrows = base.transform_filter("datum.beyond").mark_point(
        shape="triangle-up", size=60, filled=True, color=SOFT, opacity=1
    )
    top = alt.YValue(ARROW)  # type: ignore[no-untyped-call]
    return [arrows.encode(**{**at, "y": top})]


def _spreads(base: Chart, at: dict[str, Any], layout: Layout) -> list[Chart]:
    """Return a rule of one standard deviation to either side of each point, on both axes."""
    import altair as alt

    rules = []
    for field, along, end, scale in (
        ("risk", "y", alt.Y2, layout.up),
        ("loss", "x", alt.X2, layout.across),
    ):
        ends = {
            "low": f"max(datum.{field} - datum.{field}_sd, {scale.low})",
            "high": f"datum.{field} + datum.{field}_sd",
        }
        titled = at[along].copy()
        titled.shorthand = "low:Q"
        rule = base.transform_calculate(**ends).mark_rule(color=SOFT, opacity=0.7)
        rules.append(rule.encode(**{**at, along: titled, f"{along}2": end("high:Q")}))
    return rules
