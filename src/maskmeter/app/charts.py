"""Charts on the page: our Altair charts, drawn in the browser by Vega that the page serves itself."""

from __future__ import annotations

from typing import Any

from htmltools import Tag, tags
from shiny.render.renderer import Jsonifiable, Renderer

from maskmeter.page import spec_of


class render_chart(Renderer[Any]):  # noqa: N801 - it decorates a function, as Shiny's own do
    """Send an Altair chart to the browser; None leaves its place empty."""

    def auto_output_ui(self) -> Tag:
        """Return the place of the chart."""
        return chart_place(self.output_id)

    async def transform(self, value: Any) -> Jsonifiable:
        """Return the specification of a chart."""
        spec: Jsonifiable = spec_of(value)
        return spec


def chart_place(name: str, *, click: str = "") -> Tag:
    """Return the place of a chart; a click on a point of it asks for the action `click`."""
    return tags.div(id=name, class_="chart-place", data_click=click or None)
