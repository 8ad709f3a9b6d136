"""Controls of the page as HTML: each names an action, and its value is what the browser sends.

They have no id, and none but radio buttons has a name: by these Shiny would take them for its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from htmltools import Tag, TagChild, TagList, tags

from maskmeter.errors import InputError
from maskmeter.formats.numbers import number_in


def button(words: str, do: str, value: str = "", *, kind: str = "", **more: Any) -> Tag:
    """Return a button; `kind` is "main" for what most people want next, "quiet" for the rest."""
    return tags.button(
        words, type="button", class_=f"button {kind}".strip(), data_do=do, data_value=value, **more
    )


def link(words: str, tab: str) -> Tag:
    """Return a link to another tab."""
    return tags.a(words, href=f"#{tab}")


def tick(words: TagChild, do: str, value: str, *, on: bool, **more: Any) -> Tag:
    """Return a box to tick; it sends its value and whether it is ticked."""
    box = tags.input(
        {"checked": "checked"} if on else {},
        type="checkbox",
        data_do=do,
        data_value=value,
        **more,
    )
    return tags.label(box, tags.span(words), class_="tick")


def radio(words: TagChild, do: str, value: str, *, on: bool) -> Tag:
    """Return one of several choices."""
    box = tags.input(
        {"checked": "checked"} if on else {}, type="radio", name=do, data_do=do, data_value=value
    )
    return tags.label(box, tags.span(words), class_="tick")


def choice(
    words: str,
    do: str,
    options: Mapping[str, str] | Iterable[str],
    *,
    chosen: str = "",
    note: str = "",
) -> Tag:
    """Return a list to choose one of; it sends the name of the option."""
    named = options if isinstance(options, Mapping) else {one: one for one in options}
    listed = [
        tags.option({"selected": "selected"} if value == chosen else {}, shown, value=value)
        for value, shown in named.items()
    ]
    return _field(words, tags.select(*listed, data_do=do), note)


def entry(words: str, do: str, value: str = "", *, note: str = "", **more: Any) -> Tag:
    """Return a line to write on; it sends its text when the reader leaves it or presses Enter."""
    line = tags.input(
        type="text", data_do=do, value=value, autocomplete="off", spellcheck="false", **more
    )
    return _field(words, line, note)


def number(
    words: str,
    do: str,
    value: float | None = None,
    *,
    note: str = "",
    step: str = "any",
    **more: Any,
) -> Tag:
    """Return a field for a number."""
    shown = "" if value is None else f"{value:g}"
    line = tags.input(type="number", data_do=do, value=shown, step=step, **more)
    return _field(words, line, note)


def slider(
    words: str,
    do: str,
    value: float,
    *,
    low: float,
    high: float,
    step: float,
    unit: str = "",
    rest: str = "",
) -> Tag:
    """Return a slider that sends its value while it moves, and writes it beside its name.

    When it comes to rest it asks for the action `rest`, if it has one.
    """
    line = tags.input(
        type="range",
        data_do=do,
        data_unit=unit,
        data_rest=rest or None,
        value=f"{value:g}",
        min=f"{low:g}",
        max=f"{high:g}",
        step=f"{step:g}",
    )
    shown = tags.output(f"{value:g}{unit}", data_of=do)
    return tags.label(tags.span(words, " ", shown), line, class_="field slider")


def given_number(value: object, *, else_say: str = "Give a number.") -> float:
    """Return the number that a reader gave.

    >>> given_number("2,5"), given_number(3)
    (2.5, 3.0)
    """
    found = number_in(str(value))
    if found is None or not isfinite(found):
        raise InputError(else_say)
    return found


def given_numbers(text: str) -> tuple[float, ...]:
    """Return the numbers of a list, with commas, semicolons or spaces between them.

    >>> given_numbers("0, 16; 30 65"), given_numbers(" ")
    ((0.0, 16.0, 30.0, 65.0), ())
    """
    words = "Give numbers with commas between them, such as 0, 16, 30."
    parts = (one for one in re.split(r"[,;\s]+", text) if one)
    return tuple(given_number(one, else_say=words) for one in parts)


def _field(words: str, control: Tag, note: str = "") -> Tag:
    parts: list[TagChild] = [tags.span(words), control]
    if note:
        parts.append(tags.small(note))
    return tags.label(*parts, class_="field")


def group(title: str, *parts: TagChild) -> Tag:
    """Return controls that belong together, under a title that screen readers say with each."""
    return tags.fieldset(tags.legend(title), *parts)


def missing(words: str, to: str, tab: str) -> TagList:
    """Return what a tab says that cannot show anything yet, and the way to what it needs."""
    return TagList(tags.p(words, class_="aside"), tags.p(link(to, tab), class_="next"))


def onward(words: str, tab: str) -> Tag:
    """Return the link to the next step."""
    return tags.p(tags.a(words, href=f"#{tab}", class_="button main"), class_="next")
