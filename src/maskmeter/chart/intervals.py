"""Estimates with their intervals, one below another."""

from __future__ import annotations

import polars as pl

from maskmeter.chart.look import CHOSEN, INK, SOFT, Chart, named_rows, titled


def intervals(
    frame: pl.DataFrame, *, x: str, title: str, subtitle: str, target: float | None = None
) -> Chart:
    """Return a row for each `name`: its `risk`, the line from `low` to `high`, and the target."""
    import altair as alt

    base = alt.Chart(frame)
    axis, high = named_rows(frame["name"].to_list())
    rows = alt.Y("name:N", title=None, sort=None, axis=axis)
    told = [alt.Tooltip(f"{name}:Q", format=",.1f") for name in ("risk", "low", "high")]
    line = base.mark_rule(color=SOFT, strokeWidth=2).encode(x="low:Q", x2="high:Q", y=rows)
    dots = base.mark_point(color=INK, filled=True, size=90, opacity=1).encode(
        x=alt.X("risk:Q", title=x, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5)),
        y=rows,
        tooltip=told,
    )
    figures = base.mark_text(dy=-11, color=INK, fontSize=12).encode(
        x="risk:Q", y=rows, text=alt.Text("risk:Q", format=",.1f")
    )
    layers = [line, dots, figures]
    if target is not None:
        aim = alt.Chart().mark_rule(color=CHOSEN, strokeDash=[4, 4]).encode(x=alt.datum(target))
        layers.insert(0, aim)
        subtitle = f"{subtitle}; the dashed line is the target"
    return titled(alt.layer(*layers), title, subtitle, height=(high + 14) * len(frame))
