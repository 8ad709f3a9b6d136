"""Draw how time and memory grow, one picture for each axis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from growth import AXES

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "_static"
CROWDED = (10**5, 10**7)  # ticks that would be too close to their neighbours


def picture(axis: str) -> Path:
    """Return where the picture of an axis is kept."""
    return FOLDER / f"growth_{axis}.png"


def draw(points: list[dict[str, Any]]) -> None:
    """Write the picture of every axis."""
    for axis in AXES:
        chart(axis, [one for one in points if one["axis"] == axis]).save(
            picture(axis), scale_factor=2
        )


def chart(axis: str, points: list[dict[str, Any]]) -> Any:
    """Return time and memory side by side, with a colour and a shape for each work."""
    import altair as alt
    import polars as pl

    from maskmeter.chart.look import SERIES, SHAPES, words

    works = list(AXES[axis].works)
    frame = pl.DataFrame(points)
    series: dict[str, Any] = {
        "color": alt.Color(
            "work:N",
            scale=alt.Scale(domain=works, range=list(SERIES[: len(works)])),
            legend=alt.Legend(title=None, orient="top"),
        ),
        "shape": alt.Shape(
            "work:N", scale=alt.Scale(domain=works, range=list(SHAPES[: len(works)]))
        ),
    }
    panels = []
    for value, title in (("seconds", "Seconds"), ("peak", "Peak memory of the process, MB")):
        base = alt.Chart(frame).encode(x=_across(axis), y=_up(frame[value], value, title), **series)
        panels.append(
            (base.mark_line() + base.mark_point(filled=True, size=55)).properties(
                width=255, height=240
            )
        )
    return alt.hconcat(*panels, spacing=28).properties(
        **words(
            f"Time and memory against the number of {AXES[axis].title}",
            AXES[axis].file[0].upper() + AXES[axis].file[1:],
        )
    )


def _across(axis: str) -> Any:
    """Return the horizontal axis: powers of ten, but plain numbers of keys."""
    import altair as alt

    sizes = AXES[axis].sizes
    title = f"Number of {AXES[axis].title}"
    if axis == "keys":
        ticks = alt.Axis(values=sizes, grid=False, labelFlush=False)
        return alt.X("size:Q", title=title, axis=ticks, scale=alt.Scale(domain=[0, max(sizes)]))
    ticks = alt.Axis(
        values=sizes if len(sizes) < 6 else [one for one in sizes if one not in CROWDED],
        labelExpr="'1e' + round(log(datum.value) / LN10)",
        labelFlush=False,
        labelOverlap=False,
        grid=False,
    )
    scale = alt.Scale(type="log", domain=[min(sizes), max(sizes)], nice=False)
    return alt.X("size:Q", title=title, axis=ticks, scale=scale)


def _up(values: Any, name: str, title: str) -> Any:
    """Return a vertical axis from the tick below all values to the one above."""
    import altair as alt

    steps = (1, 2, 5) if values.max() < 100 * values.min() else (1,)
    marks = [step * 10.0**power for power in range(-4, 6) for step in steps]
    low = max(mark for mark in marks if mark <= values.min())
    high = min(mark for mark in marks if mark >= values.max())
    axis = alt.Axis(values=[mark for mark in marks if low <= mark <= high], format=",~g")
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    return alt.Y(f"{name}:Q", title=title, axis=axis, scale=scale)
