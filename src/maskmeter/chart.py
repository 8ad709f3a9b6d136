"""Charts: a frame and titles in, an Altair chart out. Nothing is computed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskmeter._optional import need

if TYPE_CHECKING:
    import polars as pl

INK = "#1f5673"


def bars(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Any:  # noqa: ANN401 - an Altair chart
    """Return a histogram of the bins `low` to `high` with their `count`."""
    alt = need("altair", extra="plot")
    return (
        alt.Chart(frame, title=alt.Title(title, subtitle=subtitle, anchor="start"))
        .mark_bar(color=INK)
        .encode(
            x=alt.X("low:Q", title=x, bin="binned"),
            x2="high:Q",
            y=alt.Y("count:Q", title=y),
            tooltip=[
                alt.Tooltip("low:Q", title="from", format=".2f"),
                alt.Tooltip("high:Q", title="to", format=".2f"),
                alt.Tooltip("count:Q", title=y, format=","),
            ],
        )
        .properties(width=480, height=240, description=f"{title}. {subtitle}.")
    )


def path(frame: pl.DataFrame, *, title: str, subtitle: str) -> Any:  # noqa: ANN401 - an Altair chart
    """Return z2 above tau2 along the `model`s of a search, each named by the term it added."""
    alt = need("altair", extra="plot")
    base = alt.Chart(frame, width=480, height=160)
    ticks = [-100, -10, -2, 0, 2, 10, 100]
    rows = []
    for name, axis, scale, shown in (
        ("z2", alt.Axis(values=ticks, labelOverlap=False), alt.Scale(type="symlog"), False),
        ("tau2", alt.Axis(), alt.Scale(zero=False), True),
    ):
        line = base.mark_line(color=INK, point={"color": INK}).encode(
            x=alt.X(
                "model:N",
                sort=None,
                title="Term added" if shown else None,
                axis=alt.Axis(labels=shown, ticks=shown, labelAngle=-40),
            ),
            y=alt.Y(f"{name}:Q", title=name, axis=axis, scale=scale),
            tooltip=[
                alt.Tooltip("model:N", title="added"),
                alt.Tooltip("z2:Q", format=".2f"),
                alt.Tooltip("tau2:Q", format=",.1f"),
                alt.Tooltip("bic:Q", title="BIC", format=",.0f"),
                alt.Tooltip("parameters:Q", format=","),
            ],
        )
        zero = base.mark_rule(color="#888", strokeDash=[4, 4]).encode(y=alt.datum(0))
        rows.append(line if shown else zero + line)
    return alt.vconcat(*rows, title=alt.Title(title, subtitle=subtitle, anchor="start")).properties(
        description=f"{title}. {subtitle}."
    )


def scatter(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Any:  # noqa: ANN401 - an Altair chart
    """Return a point for each row, of its first column and its second, with the line of equality."""
    alt = need("altair", extra="plot")
    first, second = frame.columns
    unit = alt.Scale(domain=[0, 1])
    base = alt.Chart(frame, title=alt.Title(title, subtitle=subtitle, anchor="start"))
    points = base.mark_point(color=INK, filled=True, opacity=0.25, size=18).encode(
        x=alt.X(f"{first}:Q", title=x, scale=unit),
        y=alt.Y(f"{second}:Q", title=y, scale=unit),
        tooltip=[
            alt.Tooltip(f"{first}:Q", title=x, format=".3f"),
            alt.Tooltip(f"{second}:Q", title=y, format=".3f"),
        ],
    )
    line = alt.Chart().mark_rule(color="#888", strokeDash=[4, 4])
    line = line.encode(x=alt.datum(0), y=alt.datum(0), x2=alt.datum(1), y2=alt.datum(1))
    drawn = (line + points).properties(width=420, height=420, description=f"{title}. {subtitle}.")
    return drawn.interactive()


def curves(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Any:  # noqa: ANN401 - an Altair chart
    """Return a line of `matches` against `number` for each kind of `error`."""
    alt = need("altair", extra="plot")
    return (
        alt.Chart(frame, title=alt.Title(title, subtitle=subtitle, anchor="start"))
        .mark_line(point=True)
        .encode(
            x=alt.X("number:Q", title=x, axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("max(matches):Q", title=y, scale=alt.Scale(type="symlog")),
            color=alt.Color("error:N", title=None, scale=alt.Scale(scheme="viridis")),
            tooltip=["error:N", "number:Q", alt.Tooltip("max(matches):Q", title=y, format=",.1f")],
        )
        .properties(width=520, height=300, description=f"{title}. {subtitle}.")
        .interactive()
    )


def signed_bars(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Any:  # noqa: ANN401 - an Altair chart
    """Return a horizontal bar to either side of 0 for each row: first its name, then its value."""
    alt = need("altair", extra="plot")
    name, value = frame.columns
    return (
        alt.Chart(frame, title=alt.Title(title, subtitle=subtitle, anchor="start"))
        .mark_bar(color=INK)
        .encode(
            x=alt.X(f"{value}:Q", title=x),
            y=alt.Y(f"{name}:N", title=y, sort=None),
            tooltip=[alt.Tooltip(f"{name}:N", title=y), alt.Tooltip(f"{value}:Q", format=".3g")],
        )
        .properties(width=480, description=f"{title}. {subtitle}.")
    )


def matrix(frame: pl.DataFrame, *, value: str, title: str, subtitle: str) -> Any:  # noqa: ANN401 - an Altair chart
    """Return a square for each pair of `rows` and `columns`, shaded and labelled by its value."""
    alt = need("altair", extra="plot")
    base = alt.Chart(frame, title=alt.Title(title, subtitle=subtitle, anchor="start")).encode(
        x=alt.X("columns:N", title=None, sort=None, axis=alt.Axis(labelAngle=-40)),
        y=alt.Y("rows:N", title=None, sort=None),
    )
    middle = (frame[value].min() + frame[value].max()) / 2  # type: ignore[operator]
    squares = base.mark_rect().encode(
        color=alt.Color(f"{value}:Q", scale=alt.Scale(scheme="blues", reverse=True), legend=None),
        tooltip=["rows:N", "columns:N", alt.Tooltip(f"{value}:Q", format=".1f")],
    )
    labels = base.mark_text().encode(
        text=alt.Text(f"{value}:Q", format=".1f"),
        color=alt.condition(f"datum['{value}'] < {middle}", alt.value("white"), alt.value("black")),
    )
    return (squares + labels).properties(
        width=alt.Step(56), height=alt.Step(32), description=f"{title}. {subtitle}."
    )


def frontier(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Any:  # noqa: ANN401 - an Altair chart
    """Return labelled points of `loss` and `risk` with their spread, joined along the frontier."""
    alt = need("altair", extra="plot")
    base = alt.Chart(frame, width=520, height=360)
    at = {"x": alt.X("loss:Q", title=x), "y": alt.Y("risk:Q", title=y)}
    best = {
        "color": alt.Color(
            "frontier:N",
            scale=alt.Scale(domain=[True, False], range=[INK, "#9aa5ad"]),
            legend=alt.Legend(title="On the frontier", labelExpr="datum.value ? 'yes' : 'no'"),
        )
    }
    line = (
        base.transform_filter("datum.frontier")
        .mark_line(color=INK, interpolate="step-after", opacity=0.5)
        .encode(**at)
    )
    points = base.mark_point(filled=True, size=60).encode(
        **at,
        **best,
        tooltip=[
            "label:N",
            alt.Tooltip("risk:Q", format=",.1f"),
            alt.Tooltip("share:Q", format=".1%"),
            alt.Tooltip("loss:Q", format=".2f"),
            alt.Tooltip("changed:Q", format=".1%"),
        ],
    )
    names = base.mark_text(align="left", dx=7, dy=-6).encode(**at, text="label:N")
    drawn = alt.layer(line, *_spreads(base, at, best), points, names).properties(
        title=alt.Title(title, subtitle=subtitle, anchor="start"),
        description=f"{title}. {subtitle}.",
    )
    return drawn.interactive()


def _spreads(base: Any, at: dict[str, Any], best: dict[str, Any]) -> list[Any]:  # noqa: ANN401 - Altair's own
    """Return a rule of one standard deviation to either side of each point, on both axes."""
    rules = []
    for axis, along, end in (("risk", "y", "y2"), ("loss", "x", "x2")):
        ends = {"low": f"datum.{axis} - datum.{axis}_sd", "high": f"datum.{axis} + datum.{axis}_sd"}
        titled = at[along].copy()
        titled.shorthand = "low:Q"
        rule = base.transform_calculate(**ends).mark_rule(opacity=0.6)
        rules.append(rule.encode(**{**at, along: titled, end: "high:Q"}, **best))
    return rules
