"""Self-contained pages: titles, tables and charts in, one offline HTML file out.

Nothing of ours is known here. The chart library is inlined once, a policy in the page forbids every
request and every script but the page's own, and charts can be saved as pictures only.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from typing import Any, TypeAlias

from maskmeter.chart import DARK
from maskmeter.page.library import chart_library

SEVERAL = 3  # sections, from which on a list of contents helps


@dataclass(frozen=True)
class Text:
    """A paragraph; `mark` is a word before it, such as "Holds". "Caution" and "Note" stand out."""

    words: str
    mark: str = ""


@dataclass(frozen=True)
class Points:
    """A list of sentences: assumptions, say."""

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Terms:
    """Terms and what they mean: a glossary."""

    meanings: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Rows of words under a head; the first column names the row, indented if it belongs to the last.

    Columns that hold only figures stand to the right.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def figures(self) -> tuple[bool, ...]:
        """Return for each column whether it holds figures.

        >>> Table("", ("release", "risk", "why"), (("RS20", "299.2", "20 % moved"),)).figures()
        (False, True, False)
        """
        return tuple(
            place > 0 and all(_is_figure(row[place]) for row in self.rows)
            for place in range(len(self.head))
        )


@dataclass(frozen=True)
class Figure:
    """An Altair chart with a caption; its own description is what a screen reader says of it."""

    caption: str
    chart: Any


@dataclass(frozen=True)
class Fold:
    """Blocks that a reader opens with a click on a title, and that paper leaves out; no charts."""

    title: str
    blocks: tuple[Text | Points | Terms | Table, ...]


@dataclass(frozen=True)
class Beside:
    """Two blocks, the wider first, beside each other where there is room."""

    wider: Figure | Table
    other: Figure | Table


Block: TypeAlias = Text | Points | Terms | Table | Figure | Fold | Beside


@dataclass(frozen=True)
class Fact:
    """A figure of the first screen: what it is, the figure, and what stands below it."""

    name: str
    figure: str
    note: str = ""


@dataclass(frozen=True)
class Top:
    """The first screen: a mark such as "met", the sentence to read if only one is read, and the rest.

    `tone` colours the mark: "good", "bad" or "" for neither. `facts` stand in a row below the
    words, `blocks` below them.
    """

    lead: str
    mark: str = ""
    tone: str = ""
    under: str = ""
    facts: tuple[Fact, ...] = ()
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: tuple[Block, ...] = field(default_factory=tuple)


def filled(parts: Iterable[tuple[str, Iterable[Block]]]) -> list[Section]:
    """Return sections of titles and blocks, without those that have nothing to say.

    >>> [section.title for section in filled([("One", [Text("Words.")]), ("Two", [])])]
    ['One']
    """
    listed = [Section(title, tuple(blocks)) for title, blocks in parts]
    return [section for section in listed if section.blocks]


def render(
    title: str,
    top: Top | str,
    sections: Sequence[Section],
    *,
    classification: str = "",
    footer: str = "",
) -> str:
    """Return a page as one HTML file that needs nothing else.

    Parameters
    ----------
    top
        The first screen, or only its lead.
    classification
        Who may see the page: on top of it, and at the foot of every printed sheet.
    footer
        A line at the end.

    >>> page = render("A title", "What it is.", [Section("One", (Text("Words & more."),))])
    >>> "Words &amp; more." in page and "https:" not in page
    True
    """
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.tests["of"] = lambda block, kind: type(block).__name__ == kind
    environment.filters["in_line"] = lambda words: (
        words if isinstance(words, str) else " ".join(words)
    )
    top = Top(top) if isinstance(top, str) else top
    blocks = [*top.blocks, *(block for section in sections for block in section.blocks)]
    specs = [spec_of(figure.chart) for figure in figures(blocks)]
    scripts = []
    if specs:
        shown = environment.from_string(_asset("page.js")).render(specs=specs)
        scripts = [chart_library(), drawing_script() + shown]
    return environment.from_string(_asset("page.html")).render(
        title=title,
        top=top,
        classification=classification,
        footer=footer,
        sections=sections,
        contents=len(sections) >= SEVERAL,
        specs=specs,
        style=style_sheet(classification),
        scripts=scripts,
        hashes=[b64encode(sha256(one.encode()).digest()).decode() for one in scripts],
    )


def figures(blocks: Sequence[Block]) -> list[Figure]:
    """Return the charts of some blocks, in order."""
    inside = [
        part
        for block in blocks
        for part in ((block.wider, block.other) if isinstance(block, Beside) else (block,))
    ]
    return [part for part in inside if isinstance(part, Figure)]


def _asset(name: str) -> str:
    """Return one of the files that a page is made of."""
    return files("maskmeter.page").joinpath(name).read_text(encoding="utf-8")


def _is_figure(cell: str) -> bool:
    """Return whether a cell is a number, several or none, rather than words."""
    if not cell.strip(" -–—"):  # noqa: RUF001 - any dash stands for "none"
        return True
    return bool(re.match(r"\s*[-+−~<>≤≥(]*\d", cell)) and not re.search(r"[^\W\d_]{3}", cell)  # noqa: RUF001 - the minus sign too


def drawing_script() -> str:
    """Return the script that draws a chart into an element, in the colours of the style sheet."""
    # Each colour of a chart is a style, or its like on a dark page.
    colours = {light: f"var(--chart-{place})" for place, light in enumerate(DARK)}
    return f"const colours = {json.dumps(colours)};\n{_asset('draw.js')}"


def style_sheet(classification: str = "") -> str:
    """Return the style sheet, with the colours of charts and the words at the foot of sheets."""
    light, dark = (
        "; ".join(f"--chart-{place}: {colour}" for place, colour in enumerate(colours))
        for colours in (DARK, DARK.values())
    )
    # As code points, so that no sign of it can end the string that it is put into.
    words = "".join(f"\\{ord(letter):06x}" for letter in classification)
    sheet = _asset("page.css")
    for name, value in (("LIGHT", light), ("DARK", dark), ("CLASSIFICATION", words)):
        sheet = sheet.replace(f"/* {name} */", value)
    return sheet


def spec_of(chart: Any) -> dict[str, Any]:
    """Return a chart for the page."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # tests do
    spec.pop("$schema", None)  # an address, which nothing here may need
    return spec
