"""What every result shows of itself: an account in words, and in notebooks its table and chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl

from maskmeter import chart
from maskmeter.chart.svg import Picture, picture
from maskmeter.page import Table
from maskmeter.page.notebook import fragment

SIZES = ("1", "2", "3", "4", "5 or more")  # of cells, in records
_MOST_ROWS = 12


class InWords:
    """A result with an account in words; notebooks show it with a small table and a chart.

    `_frame` is the Polars frame that tables and charts are made of; `to_frame()` returns it in the
    caller's kind. `_shown` has the columns of it that notebooks show, each with its head and format.
    It is empty unless a result fills it: a frame may hold records, and a notebook may go astray.
    """

    _shown: ClassVar[tuple[tuple[str, str, str], ...]] = ()

    def summary(self) -> str:
        """Return a short account."""
        raise NotImplementedError

    def _frame(self) -> pl.DataFrame:
        """Return the figures as a Polars frame."""
        raise NotImplementedError

    def _tables(self) -> Iterable[Table]:
        """Return the small tables that notebooks show: figures about the file, and no record."""
        if self._shown:
            yield listed(self._frame(), self._shown)

    def _repr_html_(self) -> str:
        """Return the first line of the summary, the table, the chart and the rest for notebooks."""
        lead, *notes = self.summary().splitlines() or [""]
        return fragment(lead, tuple(self._tables()), self._picture(), notes)

    def _drawn(self) -> Any:
        """Return the chart that notebooks show."""
        return self.plot()  # type: ignore[attr-defined]

    def _picture(self) -> Picture | None:
        """Return the chart, if there is one: what cannot be drawn is still worth its words."""
        try:
            return picture(self._drawn()) if hasattr(self, "plot") else None
        except Exception:  # noqa: BLE001 - whatever the drawing library raises
            return None


def facts(*pairs: tuple[str, str]) -> Table:
    """Return a table of names and what they are, without a head."""
    return Table("", ("", ""), tuple(pairs))


def listed(frame: pl.DataFrame, columns: Sequence[tuple[str, str, str]]) -> Table:
    """Return the first rows of a frame: columns with their heads and formats, if they hold a value.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"label": ["RS20"], "risk": [299.21], "theta": [float("nan")]})
    >>> listed(frame, [("label", "release", ""), ("risk", "matches", ",.1f"), ("theta", "theta", "")])
    Table(caption='', head=('release', 'matches'), rows=(('RS20', '299.2'),))
    """
    told = [column for column in columns if _filled(frame, column[0])]
    rows = tuple(
        tuple(_cell(value, how) for value, (_, _, how) in zip(row, told, strict=True))
        for row in frame.select(name for name, _, _ in told).iter_rows()
    )
    return shortened(Table("", tuple(head for _, head, _ in told), rows))


def shortened(table: Table) -> Table:
    """Return the first rows of a table; its caption then says how many there are.

    >>> shortened(Table("Cells", ("cell",), tuple((str(one),) for one in range(30)))).caption
    'The first 12 of 30 rows; to_frame() has them all.'
    """
    if len(table.rows) <= _MOST_ROWS:
        return table
    caption = f"The first {_MOST_ROWS} of {len(table.rows):,} rows; to_frame() has them all."
    return replace(table, caption=caption, rows=table.rows[:_MOST_ROWS])


def _filled(frame: pl.DataFrame, name: str) -> bool:
    return name in frame.columns and any(_cell(value, "") for value in frame[name])


def _cell(value: Any, how: str) -> str:
    """Return a value as a table shows it; nothing for what is missing or not a number."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    return format(value, how)


def cell_table(counts: Mapping[str, tuple[int, ...]]) -> Table:
    """Return how many records, say, are in cells of each size.

    >>> cell_table({"records": (1, 2, 3, 0, 4)}).rows
    (('records', '1 (10.0%)', '2 (20.0%)', '3 (30.0%)', '0 (0.0%)', '4 (40.0%)'),)
    """
    rows = tuple(
        (name, *(f"{number:,} ({number / max(sum(numbers), 1):.1%})" for number in numbers))
        for name, numbers in counts.items()
    )
    return Table("", ("in cells of", *SIZES), rows)


def cell_chart(unit: str, counts: Mapping[str, tuple[int, ...]]) -> Any:
    """Return an Altair chart of how many records are in cells of each size, in one file or two."""
    import polars as pl

    frame = pl.DataFrame({"size": SIZES} | {name: list(one) for name, one in counts.items()})
    told = "; ".join(
        f"{numbers[0]:,} alone in theirs" + (f" ({name})" if len(counts) > 1 else "")
        for name, numbers in counts.items()
    )
    words = {
        "x": unit.capitalize(),
        "y": "Size of the cell",
        "title": f"{unit.capitalize()} by the size of their cell",
        "subtitle": told,
    }
    if len(counts) == 1:
        return chart.signed_bars(frame, **words)
    first, second = counts
    return chart.paired_dots(frame, names=(first, second), **words)
