"""Charts with a row for each name: bars, dots and the matrix of all pairs."""

from __future__ import annotations

import polars as pl

from maskmeter.chart.labels import distinct, shorten, text_width
from maskmeter.chart.look import INK, SOFT, WIDTH, Chart, called, named_rows, row_axis, tip, titled

MOST = 40  # bars that can be taken in
KEYS = 12  # of a matrix that a small screen has room for
NUMBERED = 8  # keys of a matrix with room for a number in each square, or nearly so
SQUARE = 30  # pixels that a number needs
AXIS = 11 / 12  # size of the title of an axis, of that of labels
LOWEST = 15  # pairs that stand for a larger matrix


def signed_bars(frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str) -> Chart:
    """Return a horizontal bar to either side of 0 for each row: first its name, then its value.

    Of very many only those furthest from 0 are drawn.
    """
    import altair as alt

    name, value = frame.columns
    note = f"The {MOST} furthest from 0 of {len(frame):,}." if len(frame) > MOST else ""
    if note:
        far = frame[value].abs().fill_nan(None).rank("ordinal", descending=True)
        frame = frame.filter(far <= MOST)
    axis, high = named_rows([str(one) for one in frame[name]])
    room = y and AXIS * text_width(y, bold=True) <= high * len(frame)  # else it would be cut
    drawn = (
        alt.Chart(frame)
        .mark_bar(color=INK)
        .encode(
            x=alt.X(f"{value}:Q", title=x, axis=alt.Axis(tickCount=5)),
            y=alt.Y(f"{name}:N", title=y if room else None, sort=None, axis=axis),
            tooltip=[
                alt.Tooltip(f"{name}:N", title=tip(y or name)),
                alt.Tooltip(f"{value}:Q", title=tip(x), format=".3g"),
            ],
        )
    )
    return titled(drawn, title, subtitle, note, height=high * len(frame))


def paired_dots(
    frame: pl.DataFrame, *, names: tuple[str, str], x: str, y: str, title: str, subtitle: str
) -> Chart:
    """Return two joined dots for each row: first the row's name, then the values called `names`.

    For one, the risk with all keys beside the risk once a key is left out.
    """
    import altair as alt

    row, *values = frame.columns
    called = dict(zip(values, names, strict=True))
    long = frame.rename(called).unpivot(index=row, variable_name="which", value_name="value")
    axis, high = named_rows([str(one) for one in frame[row]])
    axis.grid = True
    key = alt.Legend(title=None)
    base = alt.Chart(long).encode(
        x=alt.X("value:Q", title=x, axis=alt.Axis(tickCount=5)),
        y=alt.Y(f"{row}:N", title=y or None, sort=None, axis=axis),
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
    return titled(lines + dots, title, subtitle, height=(high + 2) * len(frame))


def matrix(frame: pl.DataFrame, *, value: str, title: str, subtitle: str) -> Chart:
    """Return a square for each pair of `rows` and `columns`, shaded and labelled by its value.

    Where there are too many to read, the pairs with the lowest values stand for all.
    """
    import altair as alt

    rows = frame["rows"].unique(maintain_order=True).to_list()
    columns = frame["columns"].unique(maintain_order=True).to_list()
    many = len({*rows, *columns})
    if many > KEYS:
        return _lowest(frame, value, title, subtitle)
    axis, high = named_rows(rows)
    short = distinct(columns, lambda name, end: [shorten(name, 18, end)])
    across = alt.Axis(labelAngle=-40, labelExpr=called(short))
    base = alt.Chart(frame).encode(
        x=alt.X("columns:N", title=None, sort=None, axis=across),
        y=alt.Y("rows:N", title=None, sort=None, axis=axis),
    )
    low, most = float(frame[value].min()), float(frame[value].max())  # type: ignore[arg-type]
    dark = low + (most - low) / 4  # white can be read on the darkest quarter only
    key = None if many <= NUMBERED else alt.Legend(title=None, orient="top", format=".1f")
    squares = base.mark_rect().encode(
        color=alt.Color(f"{value}:Q", scale=alt.Scale(scheme="blues", reverse=True), legend=key),
        tooltip=["rows:N", "columns:N", alt.Tooltip(f"{value}:Q", format=".1f")],
    )
    number = f"bandwidth('x') < {SQUARE} ? '' : format(datum['{value}'], '.1f')"
    labels = base.mark_text(text=alt.expr(number)).encode(
        color=alt.condition(f"datum['{value}'] <= {dark}", alt.value("white"), alt.value("black"))
    )
    wide = min(64 * len(columns), WIDTH)
    drawn = squares + labels
    return titled(drawn, title, subtitle, width=wide, height=max(32, high) * len(rows))


def _lowest(frame: pl.DataFrame, value: str, title: str, subtitle: str) -> Chart:
    """Return a dot for each of the pairs with the lowest values."""
    import altair as alt
    import polars as pl

    low = frame.sort(value, maintain_order=True)[:LOWEST]
    low = low.with_columns(pair=pl.format("{} x {}", "rows", "columns"))
    pairs = low.select("pair", "rows", "columns").iter_rows()
    written = {pair: [shorten(one, 24), f"x {shorten(other, 22)}"] for pair, one, other in pairs}
    axis = row_axis(written)
    axis.grid = True
    base = alt.Chart(low).encode(
        x=alt.X(
            f"{value}:Q",
            title=None,
            scale=alt.Scale(zero=False, padding=30),
            axis=alt.Axis(tickCount=5),
        ),
        y=alt.Y(
            "pair:N",
            title=None,
            sort=None,
            axis=axis,
        ),
        tooltip=["rows:N", "columns:N", alt.Tooltip(f"{value}:Q", format=".1f")],
    )
    dots = base.mark_point(color=INK, filled=True, size=90, opacity=1)
    numbers = base.mark_text(color=SOFT, dy=-11).encode(text=alt.Text(f"{value}:Q", format=".1f"))
    note = f"The {len(low)} lowest of {len(frame):,}."
    return titled(dots + numbers, title, subtitle, note, height=36 * len(low))
