"""Fields of text in a Stata file beside its records: names, display formats, labels and notes.

A text ends with a zero byte. Behind that Stata leaves what its memory held before, such as former
names and pieces of commands.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Field: TypeAlias = "tuple[int, int, int]"  # where it stands, how many stand in a row, bytes of each


def clear_fields(content: bytearray, fields: Iterable[Field]) -> None:
    """Clear what stands behind the texts of some fields of a file."""
    for at, count, width in fields:
        clear_ends(np.frombuffer(content, np.uint8, count * width, at).reshape(count, width))


def clear_ends(texts: NDArray[np.uint8]) -> None:
    """Clear what stands behind the end of each text.

    >>> texts = np.array([[65, 0, 66], [65, 66, 67]], dtype=np.uint8)
    >>> clear_ends(texts)
    >>> texts.tolist()
    [[65, 0, 0], [65, 66, 67]]
    """
    texts[np.logical_or.accumulate(texts == 0, axis=1)] = 0


def name_bytes(release: int) -> int:
    """Return the bytes of a name: since release 118 a letter may take four."""
    return 33 if release <= 117 else 129


def tagged_fields(
    content: bytes, release: int, order: str, columns: int, places: Sequence[int]
) -> Iterator[Field]:
    """Yield the fields before the records of a file with tags; `places` are those of its parts."""
    name = name_bytes(release)
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
        (length,) = struct.unpack_from(f"{order}i", content, at + 4)
        yield from _note(at + 8, length, name)
        at += 8 + length + len("</ch>")


def fixed_fields(content: bytes, order: str, columns: int, shown: int) -> Iterator[Field]:
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
        kind, length = struct.unpack_from(f"{order}bi", content, at)
        yield from _note(at + 5, length, 33)
        at += 5 + length
        if not kind and not length:
            break
    yield at, 0, 0


def _note(at: int, length: int, name: int) -> Iterator[Field]:
    """Yield what a note belongs to, its name and its text."""
    if length > 2 * name:
        yield at, 2, name
        yield at + 2 * name, 1, length - 2 * name


def label_names(content: bytes, at: int, order: str, release: int) -> Iterator[Field]:
    """Yield the names of the tables of value labels that begin at `at`, and last where they end."""
    opening, closing = (b"<lbl>", b"</lbl>") if release >= 117 else (b"", b"")
    name = name_bytes(release) + 3  # they are filled up
    while content.startswith(opening, at) and at + name + 12 <= len(content):
        place = at + len(opening) + 4
        length, labels, size = struct.unpack_from(f"{order}i{name}x2i", content, place - 4)
        if length != 8 + 8 * labels + size or min(labels, size) < 0:
            break
        yield place, 1, name
        at = place + name + length + len(closing)
    yield at, 0, 0
