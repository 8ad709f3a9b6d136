"""Check what an SPSS file says of its columns: a false place or byte there would end the reader.

The reader does not return from a label of a column that is not there, from numbers as labels of a
text, or from a labelled text in another encoding: the whole program ends, without a word.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Iterator
from math import ceil
from pathlib import Path

from maskmeter.errors import FileError

HEADER, VARIABLE, VALUE_LABELS, LABELLED, DOCUMENT, EXTENSION, END = 176, 2, 3, 4, 6, 7, 999
_COUNTED = {LABELLED: 4, DOCUMENT: 80}  # bytes of each of so many parts
_MARKS = (b"$FL2", b"$FL3")
_CODE_PAGE, _ENCODING = 3, 20  # kinds of extensions
_UTF_8 = 65001
_TEXT_FORMATS = (1, 2)  # A and AHEX


def order_of(content: bytes) -> str:
    """Return the byte order of an SPSS file, as `struct` writes it."""
    return "<" if content[64:68] in {b"\2\0\0\0", b"\3\0\0\0"} else ">"


def pieces(content: bytes, order: str) -> Iterator[tuple[int, int, int]]:
    """Yield the kind, the beginning and the end of each piece; the last is END, or one not known."""
    at, kind = HEADER, VARIABLE

    def number(place: int) -> int:
        return int(struct.unpack_from(f"{order}i", content, place)[0])

    while kind != END:
        kind, end = number(at), at
        if kind == END:
            end += 8
        elif kind == VARIABLE:
            end += 32 + (4 + ceil(number(at + 32) / 4) * 4 if number(at + 8) else 0)
            end += 8 * abs(number(at + 12))
        elif kind == VALUE_LABELS:
            end += 8
            for _ in range(number(at + 4)):
                end += 8 + ceil((content[end + 8] + 1) / 8) * 8
        elif kind in _COUNTED:
            end += 8 + _COUNTED[kind] * number(at + 4)
        elif kind == EXTENSION:
            end += 16 + number(at + 8) * number(at + 12)
        yield kind, at, max(at, end)
        if end <= at:  # a kind that is not known, or a negative length
            return
        at = end


def check_dictionary(path: Path, encoding: str | None) -> None:
    """Refuse a file whose columns and labels do not fit each other; others are left to the reader."""
    with path.open("rb") as file:
        if file.read(4) not in _MARKS:
            return
    content = path.read_bytes()
    order = order_of(content)
    try:
        known = list(pieces(content, order))
        columns = [
            struct.unpack_from(f"{order}5i", content, at + 4)
            for kind, at, _ in known
            if kind == VARIABLE
        ]
        widths = [column[0] for column in columns]
        shown = all(map(_is_shown, columns))
        codec = encoding or _encoding(content, order, known)
        sound = shown and _whole(widths) and _labels_fit(content, order, known, widths, codec)
    except (struct.error, IndexError, LookupError, UnicodeError):
        sound = False
    if not sound:
        raise FileError(
            f"Cannot read {path.name!r}: its labels do not fit its columns, or are not in the encoding"
            " that it names. Save it again in SPSS, or give its encoding."
        )


def _is_shown(column: tuple[int, ...]) -> bool:
    """Return whether a number is shown as one: the reader takes what is shown as a text for one."""
    width, _, _, *formats = column
    return width != 0 or not any((one >> 16) & 0xFF in _TEXT_FORMATS for one in formats)


def _whole(widths: list[int]) -> bool:
    """Return whether every text has as many parts as it is wide: -1 stands for a further part."""
    left = 0
    for width in widths:
        if not -1 <= width <= 255 or (width == -1) != (left > 0):
            return False
        left = left - 1 if width == -1 else max(0, ceil(width / 8) - 1)
    return left == 0


def _labels_fit(
    content: bytes, order: str, known: list[tuple[int, int, int]], widths: list[int], codec: str
) -> bool:
    """Return whether labels are of columns of one kind, and those of texts can be decoded."""
    for (kind, at, end), (_, before, _) in zip(known[1:], known, strict=False):
        if kind != LABELLED:
            continue
        columns = struct.unpack_from(f"{order}{(end - at - 8) // 4}i", content, at + 8)
        if not all(1 <= one <= len(widths) and widths[one - 1] >= 0 for one in columns):
            return False
        texts = {widths[one - 1] > 0 for one in columns}
        if len(texts) > 1:
            return False
        if texts == {True}:
            for value in _values(content, order, before):
                value.decode(codec)
    return True


def _values(content: bytes, order: str, at: int) -> Iterator[bytes]:
    """Yield the values that a piece labels."""
    (count,) = struct.unpack_from(f"{order}i", content, at + 4)
    place = at + 8
    for _ in range(count):
        yield content[place : place + 8]
        place += 8 + ceil((content[place + 8] + 1) / 8) * 8


def _encoding(content: bytes, order: str, known: list[tuple[int, int, int]]) -> str:
    """Return the encoding that a file names, or the one that is tried if it names none."""
    named, page = "", _UTF_8
    for kind, at, end in known:
        if kind == EXTENSION:
            (which,) = struct.unpack_from(f"{order}i", content, at + 4)
            if which == _ENCODING:
                named = content[at + 16 : end].decode("ascii").strip("\0 ")
            elif which == _CODE_PAGE:
                (page,) = struct.unpack_from(f"{order}i", content, at + 16 + 28)
    return codecs.lookup(named or ("utf-8" if page in {_UTF_8, 2, 3} else f"cp{page}")).name
