"""What charts have in common: colours, sizes, titles."""

from __future__ import annotations

from itertools import cycle as endless
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Sized

Chart: TypeAlias = Any  # one of Altair's classes, which its own types do not tell apart

INK, SOFT, CHOSEN = "#1f5673", "#66727a", "#b3450b"
# In this order they are told apart by eyes that confuse red and green; shapes differ too.
SERIES = ("#0069a6", CHOSEN, "#00755a", "#97407a", SOFT, "#7d5f00")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
# What each colour becomes on a dark page.
DARK = {
    INK: "#7fb8d8",
    SOFT: "#a3afb6",
    CHOSEN: "#f59a5f",
    SERIES[0]: "#6cb6ec",
    SERIES[2]: "#46c7a2",
    SERIES[3]: "#e09cc8",
    SERIES[5]: "#d9bb55",
}
WIDTH = 560  # without the axes; a page draws it narrower where there is less room
# Long names go over several lines of so many letters.
LETTERS = 20
LINES = rf"split(trim(replace(datum.label, /(.{{1,{LETTERS}}})(\s+|$)/g, '$1\n')), '\n')"


def titled(drawn: Chart, title: str, subtitle: str, *, height: int, width: int = WIDTH) -> Chart:
    """Return a chart with its titles, and with both as what a screen reader says of it."""
    return drawn.properties(**words(title, subtitle), width=width, height=height)


def words(title: str, subtitle: str) -> dict[str, Any]:
    """Return the titles of a chart, and both as what a screen reader says of it."""
    import altair as alt  # noqa: PLC0415 - loaded once a chart is asked for

    told = " ".join(f"{one.rstrip('.')}." for one in (title, subtitle) if one)
    return {"title": alt.Title(title, subtitle=subtitle, anchor="start"), "description": told}


def tip(title: str) -> str:
    r"""Return a title for a tooltip: Vega-Lite writes it into a program, where a \ begins an escape.

    >>> print(tip("and\\or"))
    and\\or
    """
    return " ".join(title.replace("\\", "\\\\").split())


def row_height(names: Iterable[object]) -> int:
    """Return how high a row of a chart is, whose names may need two lines.

    >>> row_height(["North", "South"]), row_height(["The City and County of Somewhere"])
    (22, 36)
    """
    return 36 if any(len(str(name)) > LETTERS for name in names) else 22


def cycle(choices: Sequence[str], values: Sized) -> list[str]:
    """Return a choice for each value, over again once all are taken.

    >>> cycle(("circle", "square"), [0.1, 0.2, 0.3])
    ['circle', 'square', 'circle']
    """
    return list(islice(endless(choices), len(values)))
