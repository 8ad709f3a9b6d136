"""Charts of one frame each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskmeter.chart.look import (
    INK,
    LINES,
    SERIES,
    SHAPES,
    SOFT,
    WIDTH,
    cycle,
    row_height,
    tip,
    titled,
    words,
)

if TYPE_CHECKING:
    import polars as pl

    from maskmeter.chart.look import Chart


def bars(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Chart:
    """Return a histogram of the bins `low` to `high` with their `count`, from bottom to top.

    Most sample uniques have a risk near 0, and bars of the few risky ones are too short to see. So
    each bar has its count printed beside it, and the axis stays linear: lengths can be compared.
    """
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

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
    return titled(drawn + counts, title, subtitle, height=17 * len(frame))


def path(frame: pl.DataFrame, *, title: str, subtitle: str) -> Chart:
    """Return z2 above tau2 along the `model`s of a search, each named by the term it added."""
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    base = alt.Chart(frame, width=WIDTH, height=160)
    ticks = [-100, -10, -2, 0, 2, 10, 100, 1000]
    rows = []
    for name, named, axis, scale, shown in (
        (
            "z2",
            "z2, log scale",
            alt.Axis(values=ticks, labelOverlap="greedy", format="d"),
            alt.Scale(type="symlog"),
            False,
        ),
        ("tau2", "tau2", alt.Axis(tickCount=5), alt.Scale(zero=False), True),
    ):
        line = base.mark_line(color=INK, point={"color": INK}).encode(
            x=alt.X(
                "model:N",
                sort=None,
                title="Term added" if shown else None,
                axis=alt.Axis(labels=shown, ticks=shown, labelAngle=-40),
            ),
            y=alt.Y(f"{name}:Q", title=named, axis=axis, scale=scale),
            tooltip=[
                alt.Tooltip("model:N", title="added"),
                alt.Tooltip("z2:Q", format=".2f"),
                alt.Tooltip("tau2:Q", format=",.1f"),
                alt.Tooltip("bic:Q", title="BIC", format=",.0f"),
                alt.Tooltip("parameters:Q", format=","),
            ],
        )
        zero = base.mark_rule(color=SOFT, strokeDash=[4, 4]).encode(y=alt.datum(0))
        rows.append(line if shown else zero + line)
    return alt.vconcat(*rows).properties(**words(title, subtitle))


def scatter(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Chart:
    """Return a point for each row, of its first column and its second, with the line of equality."""
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

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
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    kinds = frame["error"].unique(maintain_order=True).to_list()
    key = alt.Legend(title=None, symbolStrokeWidth=2)
    steps = [digit * 10**power for power in range(7) for digit in (1, 3)]
    drawn = (
        alt.Chart(frame)
        .mark_line(point={"size": 50})
        .encode(
            x=alt.X("number:Q", title=x, axis=alt.Axis(tickMinStep=1, grid=False)),
            y=alt.Y(
                "max(matches):Q",
                title=y,
                scale=alt.Scale(type="symlog"),
                axis=alt.Axis(values=[0, *steps], format=",d"),
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


def signed_bars(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Chart:
    """Return a horizontal bar to either side of 0 for each row: first its name, then its value."""
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    name, value = frame.columns
    drawn = (
        alt.Chart(frame)
        .mark_bar(color=INK)
        .encode(
            x=alt.X(f"{value}:Q", title=x, axis=alt.Axis(tickCount=5)),
            y=alt.Y(f"{name}:N", title=y or None, sort=None, axis=alt.Axis(labelExpr=LINES)),
            tooltip=[
                alt.Tooltip(f"{name}:N", title=tip(y or name)),
                alt.Tooltip(f"{value}:Q", title=tip(x), format=".3g"),
            ],
        )
    )
    return titled(drawn, title, subtitle, height=row_height(frame[name]) * len(frame))


def paired_dots(
    frame: pl.DataFrame, *, names: tuple[str, str], x: str, y: str, title: str, subtitle: str
) -> Chart:
    """Return two joined dots for each row: first the row's name, then the values called `names`.

    For one, the risk with all keys beside the risk once a key is left out.
    """
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    row, *values = frame.columns
    called = dict(zip(values, names, strict=True))
    long = frame.rename(called).unpivot(index=row, variable_name="which", value_name="value")
    key = alt.Legend(title=None)
    base = alt.Chart(long).encode(
        x=alt.X("value:Q", title=x, axis=alt.Axis(tickCount=5)),
        y=alt.Y(f"{row}:N", title=y or None, sort=None, axis=alt.Axis(grid=True, labelExpr=LINES)),
    )
    lines = base.mark_line(color=SOFT, strokeWidth=2).encode(detail=f"{row}:N")
    dots = base.mark_point(size=90, filled=True, opacity=1).encode(
        color=alt.Color("which:N", legend=key, scale=alt.Scale(domain=names, range=[SOFT, INK])),
        shape=alt.Shape(
            "which:N", legend=key, scale=alt.Scale(domain=names, range=["diamond", "circle"])
        ),
        tooltip=[
            alt.Tooltip(f"{row}:N", title=tip(y or row)),
            alt.Tooltip("which:N", title="risk"),
            alt.Tooltip("value:Q", title=tip(x), format=",.4~g"),
        ],
    )
    return titled(lines + dots, title, subtitle, height=(6 + row_height(frame[row])) * len(frame))


def matrix(frame: pl.DataFrame, *, value: str, title: str, subtitle: str) -> Chart:
    """Return a square for each pair of `rows` and `columns`, shaded and labelled by its value."""
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    base = alt.Chart(frame).encode(
        x=alt.X("columns:N", title=None, sort=None, axis=alt.Axis(labelAngle=-40, labelExpr=LINES)),
        y=alt.Y("rows:N", title=None, sort=None, axis=alt.Axis(labelExpr=LINES)),
    )
    low, high = float(frame[value].min()), float(frame[value].max())  # type: ignore[arg-type]
    dark = low + (high - low) / 4  # white can be read on the darkest quarter only
    squares = base.mark_rect().encode(
        color=alt.Color(f"{value}:Q", scale=alt.Scale(scheme="blues", reverse=True), legend=None),
        tooltip=["rows:N", "columns:N", alt.Tooltip(f"{value}:Q", format=".1f")],
    )
    labels = base.mark_text().encode(
        text=alt.Text(f"{value}:Q", format=".1f"),
        color=alt.condition(f"datum['{value}'] <= {dark}", alt.value("white"), alt.value("black")),
    )
    wide = min(64 * frame["columns"].n_unique(), WIDTH)
    return titled(
        squares + labels,
        title,
        subtitle,
        width=wide,
        height=max(32, row_height(frame["rows"])) * frame["rows"].n_unique(),
    )
