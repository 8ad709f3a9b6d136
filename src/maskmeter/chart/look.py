"""What charts have in common: colours, sizes, titles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from itertools import cycle as endless
from itertools import islice
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

from maskmeter.chart.labels import distinct, shorten

if TYPE_CHECKING:
    import altair as alt

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
TITLE, SUBTITLE = 70, 90  # letters that titles have in a line
LETTERS, LINES = 20, 2  # of a name beside its row
MANY = 15  # rows, from which on each name has one line


def titled(drawn: Chart, title: str, *subtitles: str, height: int, width: int = WIDTH) -> Chart:
    """Return a chart with its titles, and with them as what a screen reader says of it."""
    return drawn.properties(**words(title, *subtitles), width=width, height=height)


def words(title: str, *subtitles: str) -> dict[str, Any]:
    """Return the titles of a chart, and all of them as what a screen reader says of it.

    Titles that are wider than a chart go over several lines.
    """
    import altair as alt

    said = [one for one in subtitles if one]
    under = said[0] if len(said) == 1 else _sentences(said)
    drawn = alt.Title(_wrapped(title, TITLE), subtitle=_wrapped(under, SUBTITLE), anchor="start")
    return {"title": drawn, "description": _sentences([title, *said])}


def _sentences(said: Iterable[str]) -> str:
    return " ".join(f"{one.rstrip('.')}." for one in said if one)


def _wrapped(text: str, letters: int) -> str | list[str]:
    lines = wrap(text, letters)
    return lines if len(lines) > 1 else text


def tip(title: str) -> str:
    r"""Return a title for a tooltip: Vega-Lite writes it into a program, where a \ begins an escape.

    >>> print(tip("and\\or"))
    and\\or
    """
    return " ".join(title.replace("\\", "\\\\").split())


def at_ticks(values: Sequence[float], **others: Any) -> alt.Axis:
    """Return an axis with these ticks: Vega leaves some out unless it is told how many there are."""
    import altair as alt

    return alt.Axis(values=values, tickCount=len(values), format=",.4~f", **others)


def named_rows(names: Sequence[str]) -> tuple[alt.Axis, int]:
    """Return the axis of a chart with a row for each name, and how high a row is.

    Long names go over two lines, or one if there are many, without their middle if need be: tables
    have them in full.
    """
    letters, lines = (LETTERS, LINES) if len(names) <= MANY else (LETTERS + 4, 1)
    written = distinct(names, lambda name, end: over_lines(name, letters, lines, end))
    high = 36 if any(len(one) > 1 for one in written.values()) else 22
    return row_axis(written), high


def row_axis(written: Mapping[str, list[str]]) -> alt.Axis:
    """Return an axis that writes such lines for each name, their middle at its tick."""
    import altair as alt

    high = [name for name, lines in written.items() if len(lines) > 1]
    test = f"indexof({json.dumps(high)}, datum.value) >= 0"
    offset = {"condition": {"test": test, "value": -7}, "value": 0}
    return alt.Axis(labelExpr=called(written), labelOffset=offset, labelLimit=0)


def over_lines(name: str, letters: int, lines: int, end: float = 0.35) -> list[str]:
    """Return a name over no more than so many lines, without its middle where it is longer.

    >>> over_lines("The City and County of Somewhere", 20, 2)
    ['The City and County', 'of Somewhere']
    >>> over_lines("Place of residence at the time of the second interview", 20, 2)
    ['Place of residence', 'at the…ond interview']
    >>> over_lines("economic_activity_of_the_reference_person", 24, 1)
    ['economic_activi…e_person']
    """
    for most in range(letters * lines, letters - 1, -1):
        found = _broken(shorten(" ".join(name.split()), most, end), letters)
        if len(found) <= lines:
            break
    return found


def _broken(name: str, letters: int) -> list[str]:
    """Return a name over lines that end after a word or, in names of columns, after a _."""
    lines = [""]
    for word in re.split(r"(?<=[_ ])", name):
        if lines[-1] and len((lines[-1] + word).rstrip()) > letters:
            lines.append("")
        lines[-1] += word
    return [part for line in lines for part in wrap(line, letters) or [""]]


def called(written: Mapping[str, list[str]]) -> str:
    """Return the expression that writes such lines for each value of an axis."""
    names, lines = json.dumps(list(written)), json.dumps(list(written.values()))
    return f"{lines}[indexof({names}, datum.value)]"


def cycle(choices: Sequence[str], values: Sized) -> list[str]:
    """Return a choice for each value, over again once all are taken.

    >>> cycle(("circle", "square"), [0.1, 0.2, 0.3])
    ['circle', 'square', 'circle']
    """
    return list(islice(endless(choices), len(values)))
