"""Outputs of the page: HTML, and our Altair charts, which Vega draws in the browser.

Shiny prints the traceback of an output that fails, and the text of an error may hold values of the
file: here an error is caught, and the page says that there was one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import isawaitable
from typing import Any

from htmltools import Tag, tags
from shiny import render
from shiny.render.renderer import Jsonifiable, Renderer
from shiny.types import SilentException

from maskmeter.app.work import fault_words
from maskmeter.page import spec_of


class render_part(render.ui):  # noqa: N801 - it decorates a function, as Shiny's own do
    """Show the HTML that a function returns, or that it failed."""

    def __call__(self, _fn: Callable[[], Any]) -> Any:
        """Take the function."""
        return super().__call__(_careful(_fn, _said))


class render_chart(Renderer[Any]):  # noqa: N801
    """Send an Altair chart to the browser, or that it failed; None leaves its place empty."""

    def __call__(self, _fn: Callable[[], Any]) -> Any:
        """Take the function."""
        return super().__call__(_careful(_fn, _Fault))

    def auto_output_ui(self) -> Tag:
        """Return the place of the chart."""
        return chart_place(self.output_id)

    async def transform(self, value: Any) -> Jsonifiable:
        """Return the specification of a chart."""
        if isinstance(value, _Fault):
            return {"fault": str(value)}
        spec: Jsonifiable = spec_of(value)
        return spec


def chart_place(name: str, *, click: str = "", drag: str = "") -> Tag:
    """Return the place of a chart.

    A click on a point of it asks for the action `click`; whoever drags in it moves the slider of
    the action `drag`, whose range is that of the vertical axis.
    """
    return tags.div(id=name, class_="chart-place", data_click=click or None, data_drag=drag or None)


class _Fault(str):
    """What is shown in place of a chart that could not be drawn."""

    __slots__ = ()


def _said(words: str) -> Tag:
    return tags.p(words, class_="aside caution")


def _careful(make: Callable[[], Any], say: Callable[[str], Any]) -> Callable[[], Awaitable[Any]]:
    """Return a function that returns what another makes, or says how it failed."""

    @wraps(make)
    async def careful() -> Any:
        try:
            made = make()
            return await made if isawaitable(made) else made
        except SilentException:  # nothing is wrong: Shiny leaves the output as it is
            raise
        except Exception as error:  # noqa: BLE001 - its text may hold values of the file
            return say(fault_words(error))

    return careful
