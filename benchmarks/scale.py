"""The tables of docs/scale.md: what was measured with many rows, and what the rates imply for more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
START, END = "<!-- written by benchmarks/run.py -->", "<!-- end of what it writes -->"
ROWS, SHARED = 1e8, 5e6  # that were measured


def page(kept: Mapping[str, Any], text: str) -> str:
    """Return the page with its tables made anew from the figures that were kept."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return "\n".join([f"{before}{START}", *tables(kept), f"{END}{after}"])


def tables(kept: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of both tables."""
    large, engines = (kept[name]["values"] for name in ("hundred_million", "engines"))
    yield "| 100 million rows, six keys, two cores | time | over bare Polars | peak memory |"
    yield "|---|---|---|---|"
    for work, name, peer in (
        ("count (`mm.count`)", "count", "polars_count"),
        ("PRAM of one key: draw and write", "draw", "polars_write"),
        ("`maskmeter protect`, all of it", "protect", "polars_write"),
        ("`maskmeter assess` with the PRAM", "assess", ""),
    ):
        over = f"{large[f'{name}_seconds'] / large[peer]:.1f}" if peer else ""
        peak = f"{large[f'{name}_peak']:,.0f} MB"
        yield f"| {work} | {large[f'{name}_seconds']:.0f} s | {over} | {peak} |"
    yield ""
    yield "| rows | count in Polars | protect in Polars | count in Spark | PRAM in Spark |"
    yield "|---|---|---|---|---|"
    measured = (
        large["count_seconds"] / ROWS,
        large["protect_seconds"] / ROWS,
        engines["spark_count"] / SHARED,
        engines["spark_pram"] / SHARED,
    )
    for rows in (1e9, 1e10):
        yield f"| {rows:.0e} | {' | '.join(_long(rate * rows) for rate in measured)} |"


def _long(seconds: float) -> str:
    """Return a time that was not measured but follows from a rate.

    >>> _long(40.0), _long(600.0), _long(90_000.0)
    ('40 s', '10 min', '25 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.0f} h"
