"""The cells of a Stata file where they stand: all else is copied as it is, byte for byte.

A text ends with a zero byte. Behind that Stata leaves what its memory held before, such as former
names and pieces of commands; there and in the fields beside the records (names, display formats,
labels and notes) such bytes are cleared.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.formats.replacement import Replacement, Rows

_Field: TypeAlias = (
    "tuple[int, int, int]"  # where it stands, how many stand in a row, bytes of each
)

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

    release: int
    order: str
    start: int
    widths: tuple[int, ...]
    short: tuple[int, ...]  # the columns of texts that stand among the records
    sorting: int
    number: int  # bytes that number a column in the sort order
    fields: tuple[_Field, ...]  # texts before the records
    end: int | None = None  # where the records end, if the file says so
    labels_at: int | None = None  # where the labels of values begin, if the file says so
    long_texts: bool = False  # some texts stand behind the records

    def size(self, records: int) -> int:
        """Return the bytes of all records."""
        return records * sum(self.widths)

    def label_names(self, content: bytes, records: int) -> list[_Field]:
        """Return the names of the tables of value labels, and last where these end."""
        behind = self.start + self.size(records)
        at = behind if self.labels_at is None else self.labels_at
        return list(_label_names(content, at, self.order, self.release))


def rewritten(
    content: bytes, records: int, changes: dict[int, Replacement], rows: Rows | None = None
) -> bytes | None:
    """Return a Stata file with some columns changed, or None when it cannot be copied.

    `changes` are by the position of their column, `rows` is a new order of the records. A file of an unknown layout is not copied, nor is
    one with long texts (strL): those are numbered by the record that first held them, and stay in
    the file when no record holds them any more.
    """
    layout = _layout(content)
    if layout is None or layout.end not in {None, layout.start + layout.size(records)}:
        return None
    if layout.long_texts:
        return None
    whole, ends = bytearray(content), np.cumsum(layout.widths)
    _clear_fields(whole, (*layout.fields, *layout.label_names(content, records)))
    shape, size = (records, int(ends[-1])), layout.size(records)
    cells = np.frombuffer(whole, np.uint8, size, layout.start).reshape(shape)
    places = [
        slice(int(end) - width, int(end)) for end, width in zip(ends, layout.widths, strict=True)
    ]
    held = cells.copy()
    if rows is not None:
        cells[:] = held[rows]
    for column, change in changes.items():
        cells[:, places[column]] = held[change.sources, places[column]]
    for column in layout.short:
        _clear_ends(cells[:, places[column]])
    _forget_sorting(whole, layout, changes if rows is None else range(len(layout.widths)))
    return bytes(whole)


def beyond(content: bytes, records: int) -> bytes:
    """Return the bytes of a Stata file that belong neither to its records nor to what describes them.

    A file whose layout is not a known one, which is never copied, has none.
    """
    layout = _layout(content)
    if layout is None:
        return b""
    end = layout.start + layout.size(records)
    if layout.end is not None and layout.end != end:
        return content[min(end, layout.end) : max(end, layout.end)]
    *_, (last, _, _) = layout.label_names(content, records)
    return content[last:].removeprefix(b"" if layout.labels_at is None else _LAST)


def _forget_sorting(head: bytearray, layout: _Layout, columns: Iterable[int]) -> None:
    """End the sort order before the first column that was changed: Stata would trust it."""
    kind = f"{layout.order}{'H' if layout.number == 2 else 'I'}"
    changed = {0, *(column + 1 for column in columns)}  # numbered from one; what follows 0 is old
    ended = False
    for position in range(len(layout.widths) + 1):
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
    (columns,) = struct.unpack_from(f"{order}{'H' if number == 2 else 'I'}", content, 70)
    places_at = _map(content, release, 70 + number, order)
    places = struct.unpack_from(f"{order}14q", content, places_at)
    types = struct.unpack_from(f"{order}{columns}H", content, places[2] + len("<variable_types>"))
    widths = tuple(_WIDTHS.get(one, one) for one in types)
    start, sorting = places[9] + len("<data>"), places[4] + len("<sortlist>")
    short = tuple(column for column, kind in enumerate(types) if kind < _LONG_TEXT)
    fields = tuple(_tagged_fields(content, release, order, columns, places))
    end, labels_at = places[10] - len(_ENDING), places[11] + len("<value_labels>")
    apart = _LONG_TEXT in types
    return _Layout(
        release, order, start, widths, short, sorting, number, fields, end, labels_at, apart
    )


def _map(content: bytes, release: int, at: int, order: str) -> int:
    """Return where the table of places stands, behind the number of columns, which ends at `at`.

    A search could find its tag in the label of the file.
    """
    old = release == 117
    at += len("</K><N>") + (4 if old else 8) + len("</N><label>")
    (length,) = struct.unpack_from("B" if old else f"{order}H", content, at)
    at += (1 if old else 2) + length + len("</label><timestamp>")
    return at + 1 + content[at] + len("</timestamp></header><map>")


def _fixed(content: bytes) -> _Layout:
    release, order = content[0], ">" if content[1] == 1 else "<"
    (columns,) = struct.unpack_from(f"{order}H", content, 4)
    types = content[109 : 109 + columns]
    sorting = 109 + columns + 33 * columns
    *fields, (start, _, _) = _fixed_fields(content, order, columns, _FIXED[release])
    widths = tuple(_OLD_WIDTHS.get(one, one) for one in types)
    short = tuple(column for column, kind in enumerate(types) if kind not in _OLD_WIDTHS)
    return _Layout(release, order, start, widths, short, sorting, 2, tuple(fields))


def _clear_fields(content: bytearray, fields: Iterable[_Field]) -> None:
    """Clear what stands behind the texts of some fields of a file."""
    for at, count, width in fields:
        _clear_ends(np.frombuffer(content, np.uint8, count * width, at).reshape(count, width))


def _clear_ends(texts: NDArray[np.uint8]) -> None:
    """Clear what stands behind the end of each text.

    >>> texts = np.array([[65, 0, 66], [65, 66, 67]], dtype=np.uint8)
    >>> _clear_ends(texts)
    >>> texts.tolist()
    [[65, 0, 0], [65, 66, 67]]
    """
    texts[np.logical_or.accumulate(texts == 0, axis=1)] = 0


def _name_bytes(release: int) -> int:
    """Return the bytes of a name: since release 118 a letter may take four."""
    return 33 if release <= 117 else 129


def _tagged_fields(
    content: bytes, release: int, order: str, columns: int, places: Sequence[int]
) -> Iterator[_Field]:
    """Yield the fields before the records of a file with tags; `places` are those of its parts."""
    name = _name_bytes(release)
    shown, label = (49, 81) if release == 117 else (57, 321)
    labels_at = places[6] + len("<value_label_names></value_label_names>") + columns * name
    for at, tag, width in (
        (places[3], b"<varnames>", name),
        (places[5], b"<formats>", shown),
        (places[6], b"<value_label_names>", name),
        (labels_at, b"<variable_labels>", label),  # Stata 13 does not fill in their place
    ):
        if content.startswith(tag, at):
            yield at + len(tag), columns, width
    at = places[8] + len("<characteristics>")
    while content.startswith(b"<ch>", at):
        (length,) = struct.unpack_from(f"{order}I", content, at + 4)  # never negative: at rises
        yield from _note(at + 8, length, name)
        at += 8 + length + len("</ch>")


def _fixed_fields(content: bytes, order: str, columns: int, shown: int) -> Iterator[_Field]:
    """Yield the fields before the records of an earlier file, and last where the records begin.

    `shown` is the number of bytes of a display format.
    """
    yield 10, 1, 81  # the label of the file
    yield 91, 1, 18  # when it was written
    at = 109 + columns
    yield at, columns, 33
    at += 33 * columns + 2 * (columns + 1)  # the sort order
    for width in (shown, 33, 81):
        yield at, columns, width
        at += width * columns
    while True:
        kind, length = struct.unpack_from(f"{order}bI", content, at)  # as above
        yield from _note(at + 5, length, 33)
        at += 5 + length
        if not kind and not length:
            break
    yield at, 0, 0


def _note(at: int, length: int, name: int) -> Iterator[_Field]:
    """Yield what a note belongs to, its name and its text."""
    if length > 2 * name:
        yield at, 2, name
        yield at + 2 * name, 1, length - 2 * name


def _label_names(content: bytes, at: int, order: str, release: int) -> Iterator[_Field]:
    """Yield the names of the tables of value labels that begin at `at`, and last where they end."""
    opening, closing = (b"<lbl>", b"</lbl>") if release >= 117 else (b"", b"")
    name = _name_bytes(release) + 3  # they are filled up
    while content.startswith(opening, at) and at + name + 12 <= len(content):
        place = at + len(opening) + 4
        length, labels, size = struct.unpack_from(f"{order}i{name}x2i", content, place - 4)
        if length != 8 + 8 * labels + size or min(labels, size) < 0:
            break
        yield place, 1, name
        at = place + name + length + len(closing)
    yield at, 0, 0
