"""Charts for the public: they hold no more than they show."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maskmeter.page import Figure

if TYPE_CHECKING:
    from maskmeter.page import Section


def discreet(section: Section) -> Section:
    """Return a section whose charts hold only the columns they draw, in three digits."""
    blocks = tuple(
        replace(block, chart=_pruned(block.chart)) if isinstance(block, Figure) else block
        for block in section.blocks
    )
    return replace(section, blocks=blocks)


def _pruned(chart: Any) -> Any:  # noqa: ANN401 - Altair charts
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    spec = chart.to_dict()
    drawn = json.dumps({name: part for name, part in spec.items() if name != "datasets"})
    spec["datasets"] = {
        name: [
            {column: _rounded(value) for column, value in row.items() if column in drawn}
            for row in rows
        ]
        for name, rows in spec.get("datasets", {}).items()
    }
    return alt.Chart.from_dict(spec)


def _rounded(value: Any) -> Any:  # noqa: ANN401 - what a chart holds
    """Return a figure with three digits; a whole number, or a word, as it is.

    >>> _rounded(123.456), _rounded(0.012345), _rounded(2752), _rounded("RS20")
    (123.0, 0.0123, 2752, 'RS20')
    """
    return float(f"{value:.3g}") if isinstance(value, float) else value
