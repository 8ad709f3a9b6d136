"""The risk-utility map: releases by what they protect and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskmeter.chart.labels import LETTER, Box, place
from maskmeter.chart.look import CHOSEN, INK, SOFT, WIDTH, titled

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from maskmeter.chart.look import Chart

HEIGHT = 360
NARROW = 240  # how wide the map is on a small screen
ROOM = 0.08  # of the axis, beyond its outermost points
ON, OFF = "on the frontier", "not on it"
TOLD = {"risk": ",.1f", "upper": ",.1f", "share": ".1%", "loss": ".2f", "changed": ".1%"}


def frontier(
    frame: pl.DataFrame,
    *,
    x: str,
    y: str,
    title: str,
    subtitle: str,
    chosen: str = "",
    target: tuple[float, str] | None = None,
) -> Chart:
    """Return points of `loss` and `risk` with their spread, joined along the frontier.

    `chosen` is the label of the release to stand out; `target` a level of risk to draw a line at,
    and what to write on it. A line goes up to the `upper` end of a risk that is not known exactly.
    Labels stand where they meet no other. The chosen release and those
    on the frontier are the first to be named; those for which there is no room have a tooltip.
    """
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    level = [] if target is None else [target[0]]
    level += frame["upper"].to_list() if "upper" in frame.columns else []
    across, up = _domain(frame, "loss"), _domain(frame, "risk", *level)
    base = alt.Chart(_labelled(frame, across, up, chosen=chosen, target=target))
    at = {
        "x": alt.X("loss:Q", title=x, scale=_exactly(across), axis=alt.Axis(tickCount=6)),
        "y": alt.Y("risk:Q", title=y, scale=_exactly(up), axis=alt.Axis(tickCount=6)),
    }
    line = (
        base.transform_filter("datum.frontier")
        .mark_line(color=INK, interpolate="step-after", opacity=0.5)
        .encode(**at)
    )
    told = [one for one in TOLD if one in frame.columns]
    layers = [line, *_spreads(base, at), *_points(base, at, told), *_names(base, at)]
    if "upper" in frame.columns and (frame["upper"] > frame["risk"]).any():
        layers.insert(1, _uppers(base, at))
    if target is not None:
        layers += _target(base, *target)
    return titled(alt.layer(*layers), title, subtitle, width=WIDTH, height=HEIGHT)


def _points(base: Chart, at: dict[str, Any], told: list[str]) -> list[Chart]:
    """Return the points, full on the frontier and hollow off it, and a ring around the chosen one."""
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    kinds = [ON, OFF]
    key = alt.Legend(title=None)
    points = base.mark_point(size=60, strokeWidth=2, opacity=1).encode(
        **at,
        color=alt.Color("kind:N", legend=key, scale=alt.Scale(domain=kinds, range=[INK, SOFT])),
        fill=alt.Fill(
            "kind:N", legend=key, scale=alt.Scale(domain=kinds, range=[INK, "transparent"])
        ),
        tooltip=["label:N", *(alt.Tooltip(f"{one}:Q", format=TOLD[one]) for one in told)],
    )
    ring = base.transform_filter("datum.chosen").mark_point(
        size=260, strokeWidth=2.5, color=CHOSEN, opacity=1
    )
    return [points, ring.encode(**at)]


def _names(base: Chart, at: dict[str, Any]) -> list[Chart]:
    """Return the labels, twice: for a wide chart and for a narrow one."""
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    layers = []
    for which, seen in (("wide", f"width >= {WIDTH}"), ("narrow", f"width < {WIDTH}")):
        shown = base.transform_filter(f"datum.{which} != null")
        names = shown.mark_text(
            align=alt.expr(f"datum.{which}.align"),
            dx=alt.expr(f"datum.{which}.dx * (datum.chosen ? 1.4 : 1)"),  # clear of the ring
            dy=alt.expr(f"datum.{which}.dy"),
            baseline="middle",
            fontSize=12,
            fontWeight=alt.expr("datum.chosen ? 'bold' : 'normal'"),
            opacity=alt.expr(f"{seen} ? 1 : 0"),
        )
        color = alt.condition("datum.frontier", alt.value(INK), alt.value(SOFT))
        layers.append(names.encode(**at, text="written:N", color=color).properties(name=which))
    return layers


def _target(base: Chart, risk: float, words: str) -> list[Chart]:
    """Return a line at a level of risk with what it means, on the left, where risks are high."""
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    one = base.transform_aggregate(n="count()")  # one row: a line, not one for each release
    line = one.mark_rule(color=CHOSEN, strokeDash=[6, 4], strokeWidth=1.5)
    label = one.mark_text(align="left", baseline="bottom", dx=4, dy=-3, color=CHOSEN, fontSize=12)
    return [
        line.encode(y=alt.datum(risk)),
        label.encode(x=alt.value(0), y=alt.datum(risk), text=alt.value(words)),
    ]


def _uppers(base: Chart, at: dict[str, Any]) -> Chart:
    """Return a line from each point to the upper end of its risk, with a tick on top."""
    rules = base.mark_rule(color=SOFT, opacity=0.8).encode(**at, y2="upper:Q")
    top = at["y"].copy()
    top.shorthand = "upper:Q"
    return rules + base.mark_tick(orient="horizontal", color=SOFT, opacity=0.8, size=8).encode(
        **{**at, "y": top}
    )


def _spreads(base: Chart, at: dict[str, Any]) -> list[Chart]:
    """Return a rule of one standard deviation to either side of each point, on both axes."""
    rules = []
    for field, along, end in (("risk", "y", "y2"), ("loss", "x", "x2")):
        ends = {
            "low": f"datum.{field} - datum.{field}_sd",
            "high": f"datum.{field} + datum.{field}_sd",
        }
        titled = at[along].copy()
        titled.shorthand = "low:Q"
        rule = base.transform_calculate(**ends).mark_rule(color=SOFT, opacity=0.7)
        rules.append(rule.encode(**{**at, along: titled, end: "high:Q"}))
    return rules


def _domain(frame: pl.DataFrame, field: str, *levels: float) -> list[float]:
    """Return the ends of an axis with room around its points and their spread.

    It begins at 0 unless that would leave its lower half empty.
    """
    spread = frame[f"{field}_sd"].fill_nan(0).fill_null(0)
    ends = [*(frame[field] - spread), *(frame[field] + spread), *levels]
    low, high = min(ends), max(ends)
    low = min(low, 0.0) if low < high / 2 else low
    room = ROOM * ((high - low) or abs(high) or 1.0)
    return [low - room if low else 0.0, high + room]


def _exactly(domain: list[float]) -> alt.Scale:
    """Return a scale with these ends: labels were placed for them."""
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    return alt.Scale(domain=domain, nice=False, zero=False)


def _labelled(
    frame: pl.DataFrame,
    across: list[float],
    up: list[float],
    *,
    chosen: str,
    target: tuple[float, str] | None,
) -> pl.DataFrame:
    """Return the releases with what is written beside them, and where, on wide and narrow maps."""
    import polars as pl  # noqa: PLC0415 - loaded once a chart is asked for

    frame = frame.with_columns(
        chosen=pl.col("label") == chosen,
        kind=pl.when("frontier").then(pl.lit(ON)).otherwise(pl.lit(OFF)),
        written=pl.col("label")
        + pl.when(pl.col("label") == chosen).then(pl.lit(" (chosen)")).otherwise(pl.lit("")),
    ).sort("chosen", "frontier", descending=True, maintain_order=True)
    heights = [HEIGHT * (up[1] - risk) / (up[1] - up[0]) for risk in frame["risk"]]
    taken = []
    if target is not None:
        line = HEIGHT * (up[1] - target[0]) / (up[1] - up[0])
        taken.append(Box(0, line - 20, 8 + LETTER * len(target[1]), line + 2))
    for which, wide in (("wide", WIDTH), ("narrow", NARROW)):
        places = [wide * (loss - across[0]) / (across[1] - across[0]) for loss in frame["loss"]]
        points = list(zip(places, heights, strict=True))
        spots = place(points, frame["written"].to_list(), size=(wide, HEIGHT), taken=taken)
        placed = [None if spot is None else vars(spot) for spot in spots]
        frame = frame.with_columns(
            pl.Series(
                which,
                placed,
                dtype=pl.Struct({"dx": pl.Float64, "dy": pl.Float64, "align": pl.String}),
            )
        )
    return frame
