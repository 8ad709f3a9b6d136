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
