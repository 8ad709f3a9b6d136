"""The cells of a Stata file where they stand: all else is copied as it is, byte for byte."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskmeter.formats.stata_texts import LongTexts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from maskmeter.formats.scanned import Change

_TAGGED = {117: 2, 118: 2, 119: 4}  # releases with tags, and the bytes that number a column there
_FIXED = {113: 12, 114: 49, 115: 49}  # earlier ones, and the bytes of a display format there
_LONG_TEXT = 32768
_WIDTHS = {65526: 8, 65527: 4, 65528: 4, 65529: 2, 65530: 1, _LONG_TEXT: 8}
_OLD_WIDTHS = {251: 1, 252: 2, 253: 4, 254: 4, 255: 8}
_ENDING = "</data>"
_LAST = b"</value_labels></stata_dta>"


@dataclass(frozen=True)
class _Layout:
    """Where the records begin, the bytes of each column, and where the sort order stands."""

    start: int
    widths: tuple[int, ...]
    sorting: int
    order: str
    number: int  # bytes that number a column in the sort order
    texts: LongTexts | None = None  # kept apart from the records
    end: int | None = None  # where they end, if the file says so
    fixed: tuple[int, ...] = ()  # the columns of texts that stand among the records

    def size(self, records: int) -> int:
        """Return the bytes of all records."""
        return records * sum(self.widths)


def rewritten(content: bytes, records: int, changes: dict[int, Change]) -> bytes | None:
    """Return a Stata file with some columns changed, or None when its layout is not a known one.

    `changes` are by the position of their column.
    """
    layout = _layout(content)
    if layout is None or layout.end not in {None, layout.start + layout.size(records)}:
        return None
    ends = np.cumsum(layout.widths)
    shape, size = (records, int(ends[-1])), layout.size(records)
    cells = np.frombuffer(content, np.uint8, size, layout.start).reshape(shape).copy()
    places = [
        slice(int(end) - width, int(end)) for end, width in zip(ends, layout.widths, strict=True)
    ]
    for column, change in changes.items():
        cells[:, places[column]] = cells[change.sources, places[column]]
    for column in layout.fixed:
        _clear_ends(cells[:, places[column]])
    head, tail = bytearray(content[: layout.start]), content[layout.start + size :]
    _forget_sorting(head, layout, changes)
    texts = layout.texts
    changed = texts is not None and texts.columns & set(changes)
    if texts is not None and (changed or texts.unused(content, cells, places)):
        tail = texts.renumbered(content, cells, places, head)
    return bytes(head) + cells.tobytes() + tail


def _clear_ends(texts: NDArray[np.uint8]) -> None:
    """Clear what stands behind the end of each text, which may be the rest of a former, longer one."""
    texts[np.logical_or.accumulate(texts == 0, axis=1)] = 0


def beyond(content: bytes, records: int) -> bytes:
    """Return the bytes of a Stata file that belong neither to its records nor to what describes them.

    A file whose layout is not a known one, which is never copied, has none.
    """
    layout = _layout(content)
    if layout is None:
        return b""
    end = layout.start + layout.size(records)
    if layout.texts is None or layout.end is None:
        return content[_labels_end(content, end, layout.order) :]
    if layout.end != end:
        return content[min(end, layout.end) : max(end, layout.end)]
    return content[layout.texts.labels_end(content) :].removeprefix(_LAST)


def _labels_end(content: bytes, at: int, order: str) -> int:
    """Return where the labels of values end that begin at `at`."""
    while at + 48 <= len(content):
        (length, labels, size) = struct.unpack_from(f"{order}i36x2i", content, at)
        if length != 8 + 8 * labels + size or min(labels, size) < 0:
            break
        at += 40 + length
    return at


def _forget_sorting(head: bytearray, layout: _Layout, columns: Iterable[int]) -> None:
    """End the sort order before the first column that was changed: Stata would trust it."""
    kind = f"{layout.order}{'H' if layout.number == 2 else 'I'}"  # noqa: PLR2004 - bytes
    changed = {column + 1 for column in columns}  # columns are numbered from one there
    ended = False
    for position in range(len(layout.widths)):
        at = layout.sorting + position * layout.number
        ended = ended or struct.unpack_from(kind, head, at)[0] in changed
        if ended:
            struct.pack_into(kind, head, at, 0)


def _layout(content: bytes) -> _Layout | None:
    if content.startswith(b"<stata_dta>"):
        return _tagged(content, int(content[28:31]))
    return _fixed(content) if content[0] in _FIXED else None


def _tagged(content: bytes, release: int) -> _Layout | None:
    if release not in _TAGGED:
        return None
    order = "<" if content[52:55] == b"LSF" else ">"
    number = _TAGGED[release]
    (columns,) = struct.unpack_from(f"{order}{'H' if number == 2 else 'I'}", content, 70)  # noqa: PLR2004 - bytes
    places_at = _map(content, release, 70 + number, order)
    places = struct.unpack_from(f"{order}14q", content, places_at)
    types = struct.unpack_from(f"{order}{columns}H", content, places[2] + len("<variable_types>"))
    widths = tuple(_WIDTHS.get(one, one) for one in types)
    start, sorting = places[9] + len("<data>"), places[4] + len("<sortlist>")
    apart = {column for column, kind in enumerate(types) if kind == _LONG_TEXT}
    fixed = tuple(column for column, kind in enumerate(types) if kind < _LONG_TEXT)
    texts = LongTexts(release, order, frozenset(apart), places_at, places)
    return _Layout(start, widths, sorting, order, number, texts, places[10] - len(_ENDING), fixed)


def _map(content: bytes, release: int, at: int, order: str) -> int:
    """Return where the table of places stands, behind the number of columns, which ends at `at`.

    A search could find its tag in the label of the file.
    """
    old = release == 117  # noqa: PLR2004 - the first release with tags has shorter fields
    at += len("</K><N>") + (4 if old else 8) + len("</N><label>")
    (length,) = struct.unpack_from("B" if old else f"{order}H", content, at)
    at += (1 if old else 2) + length + len("</label><timestamp>")
    return at + 1 + content[at] + len("</timestamp></header><map>")


def _fixed(content: bytes) -> _Layout:
    order = ">" if content[1] == 1 else "<"
    (columns,) = struct.unpack_from(f"{order}H", content, 4)
    types = content[109 : 109 + columns]
    sorting = 109 + columns + 33 * columns
    at = sorting + 2 * (columns + 1) + (_FIXED[content[0]] + 33 + 81) * columns
    while True:  # fields of notes and the like, until an empty one
        kind, length = struct.unpack_from(f"{order}bi", content, at)
        at += 5 + length
        if not kind and not length:
            break
    widths = tuple(_OLD_WIDTHS.get(one, one) for one in types)
    fixed = tuple(column for column, kind in enumerate(types) if kind not in _OLD_WIDTHS)
    return _Layout(at, widths, sorting, order, 2, fixed=fixed)
