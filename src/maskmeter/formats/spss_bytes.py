"""The cells of an SPSS file where they stand: all else is copied as it is, byte for byte.

A record is a row of segments of eight bytes. Compressed, a segment is one command byte, and where
that says so the eight bytes follow the block of eight commands; the blocks may be deflated as well.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.bounds import most_unpacked
from maskmeter.formats.replacement import Replacement, Rows
from maskmeter.formats.spss_dictionary import END, VARIABLE, order_of, pieces

_Moves: TypeAlias = "list[tuple[Replacement, slice]]"
_Padding: TypeAlias = "list[tuple[int, int]]"

_LITERAL, _IGNORED, _FINISHED = 253, 0, 252
_PLAIN, _PACKED, _DEFLATED = 0, 1, 2
_LONGEST, _PART = 255, 252  # a longer text is stored in parts, 252 bytes of it in each


def rewritten(
    content: bytes,
    records: int,
    widths: Sequence[int],
    changes: dict[int, Replacement],
    rows: Rows | None = None,
) -> bytes | None:
    """Return an SPSS file with some cells changed, or None when its layout is not the usual one.

    `widths` has the bytes of each column, `changes` are by the position of theirs, and `rows` is a
    new order of the records.
    """
    order = order_of(content)
    start, segments = _dictionary(content, order)
    ends = np.cumsum([_segments(width) for width in widths])
    if ends[-1] != segments:
        return None
    places = {
        column: slice(int(ends[column]) - _segments(widths[column]), int(ends[column]))
        for column in changes
    }
    moves = [(change, places[column]) for column, change in changes.items()]
    padding = list(_padding(widths))
    (compression,) = struct.unpack_from(f"{order}i", content, 72)
    head, data = content[:start], content[start:]
    if compression == _PLAIN:
        return head + _plain(data, (records, segments), _Changes(moves, rows, padding))
    if compression == _PACKED:
        packed = _packed(data, (records, segments), _Changes(moves, rows, padding))
        return None if packed is None else head + packed
    if compression != _DEFLATED:
        return None
    trailer = _Trailer.of(content, start, order)
    changed = _Changes(moves, rows, padding)
    packed = _packed(trailer.inflated(content), (records, segments), changed)
    return None if packed is None else head + trailer.deflated(packed, start)


def beyond(content: bytes, records: int) -> bytes:
    """Return the bytes of an SPSS file that belong neither to its records nor to what describes them.

    A file whose layout is not the usual one, which is never copied, has none.
    """
    order = order_of(content)
    start, segments = _dictionary(content, order)
    (compression,) = struct.unpack_from(f"{order}i", content, 72)
    cells = records * segments
    if cells < 0 or compression not in {_PLAIN, _PACKED, _DEFLATED}:
        return b""
    if compression == _PLAIN:
        return content[start + 8 * cells :]
    if compression == _PACKED:
        return _beyond_cells(content[start:], cells)
    trailer = _Trailer.of(content, start, order)
    return content[start + trailer.length :] or _beyond_cells(trailer.inflated(content), cells)


def _beyond_cells(data: bytes, cells: int) -> bytes:
    """Return what follows the packed cells, without the commands that say that nothing does."""
    at, left, block = 0, cells, b""
    while left > 0 and at < len(data):
        block = data[at : at + 8]
        left -= len(block) - block.count(_IGNORED)
        at += 8 + 8 * block.count(_LITERAL)
    behind = block.replace(bytes([_IGNORED]), b"")[left:] if left < 0 else b""
    return (behind + data[at:]).strip(bytes([_IGNORED, _FINISHED]))


def _dictionary(content: bytes, order: str) -> tuple[int, int]:
    """Return where the records begin and how many segments each has."""
    known = list(pieces(content, order))
    kind, _, end = known[-1]
    segments = sum(one == VARIABLE for one, _, _ in known)
    return end, segments if kind == END else -1  # fits no column


def _parts(width: int) -> list[int]:
    """Return the bytes of each part of a number or a text, all but the last of the same size."""
    parts = ceil(width / _PART) if width > _LONGEST else 1
    return [*[_LONGEST] * (parts - 1), width - (parts - 1) * _PART]


def _segments(width: int) -> int:
    """Return how many segments a number or a text takes."""
    return sum(max(1, ceil(part / 8)) for part in _parts(width))


def _padding(widths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield each segment that a text does not fill, and how many of its bytes the text has."""
    end = 0
    for part in chain.from_iterable(map(_parts, widths)):
        end += _segments(part)
        if part % 8:
            yield end - 1, part % 8


@dataclass(frozen=True)
class _Changes:
    """What is changed in the cells: columns that take other values, the order, unused bytes."""

    moves: _Moves
    rows: Rows | None
    padding: _Padding

    def made(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return the cells of the records that are written, or their commands."""
        changed = cells.copy() if self.rows is None else cells[self.rows]
        for change, place in self.moves:
            changed[:, place] = cells[change.sources, place]
        return changed

    def clear_padding(self, cells: NDArray[Any]) -> None:
        """Put spaces behind the last byte of a text: other programs may show what stands there."""
        octets = cells.view(np.uint8).reshape(*cells.shape, 8)
        for segment, held in self.padding:
            octets[:, segment, held:] = ord(" ")


def _plain(data: bytes, shape: tuple[int, int], changes: _Changes) -> bytes:
    held = np.frombuffer(data, dtype="V8", count=shape[0] * shape[1]).reshape(shape)
    cells = changes.made(held)
    changes.clear_padding(cells)
    return cells.tobytes() + data[cells.nbytes :]


def _packed(data: bytes, shape: tuple[int, int], changes: _Changes) -> bytes | None:
    """Return packed records with some cells changed: a cell takes its commands and bytes along."""
    commands, literals = _unpack(data)
    count = shape[0] * shape[1]
    places = np.flatnonzero(commands != _IGNORED)[:count]  # some writers fill up every record
    if len(places) < count:
        return None
    for held in (commands, literals):
        cells = changes.made(held[places].reshape(shape))
        if held is literals:
            changes.clear_padding(cells)
        held[places] = cells.ravel()
    return _pack(commands, literals)


def _unpack(data: bytes) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the commands, and eight bytes for each, of which only literals have any."""
    starts, at = [], 0
    while at < len(data):
        starts.append(at)
        at += 8 + 8 * data.count(_LITERAL, at, at + 8)
    padded = np.frombuffer(data + bytes(8), dtype=np.uint8)
    begin = np.array(starts, dtype=np.int64)[:, None]
    commands = padded[begin + np.arange(8)]
    literal = commands == _LITERAL
    place = (begin + 8 * literal.cumsum(axis=1))[literal]
    literals = np.zeros(commands.size, dtype="V8")
    literals[literal.ravel()] = padded[place[:, None] + np.arange(8)].view("V8").ravel()
    return commands.ravel(), literals


def _pack(commands: NDArray[Any], literals: NDArray[Any]) -> bytes:
    """Return commands in blocks of eight, each followed by the bytes of its literals."""
    blocks = commands.reshape(-1, 8)
    literal = blocks == _LITERAL
    sizes = 8 + 8 * literal.sum(axis=1)
    begin = (np.cumsum(sizes) - sizes)[:, None]
    packed = np.zeros(int(sizes.sum()), dtype=np.uint8)
    packed[begin + np.arange(8)] = blocks
    place = (begin + 8 * literal.cumsum(axis=1))[literal]
    packed[place[:, None] + np.arange(8)] = literals[literal.ravel()].view(np.uint8).reshape(-1, 8)
    return packed.tobytes()


@dataclass(frozen=True)
class _Trailer:
    """The table of deflated blocks that ends a .zsav."""

    order: str
    first: int  # minus the bias of the commands
    size: int
    blocks: tuple[tuple[int, int, int, int], ...]  # places and sizes: unpacked, in the file

    @classmethod
    def of(cls, content: bytes, start: int, order: str) -> _Trailer:
        _, at, _ = struct.unpack_from(f"{order}3q", content, start)
        first, _, size, count = struct.unpack_from(f"{order}2q2i", content, at)
        table = [
            struct.unpack_from(f"{order}2q2i", content, at + 24 + 24 * n) for n in range(count)
        ]
        if sum(held for *_, held, _ in table) > most_unpacked(len(content)):
            raise ValueError("the blocks would hold more than real data do")
        return cls(order, first, size, tuple((a, b, c, d) for a, b, c, d in table))

    @property
    def length(self) -> int:
        """The bytes of all blocks, with what stands before and behind them."""
        return 24 + sum(size for *_, size in self.blocks) + 24 + 24 * len(self.blocks)

    def inflated(self, content: bytes) -> bytes:
        """Return what the blocks hold, each to the size that the table gives it."""
        return b"".join(
            zlib.decompressobj().decompress(content[place : place + size], max(1, held))
            for _, place, held, size in self.blocks
        )

    def deflated(self, packed: bytes, start: int) -> bytes:
        parts = [packed[at : at + self.size] for at in range(0, len(packed), self.size)]
        deflated = [zlib.compress(part) for part in parts]
        table, place, unpacked = [], start + 24, start
        for part, small in zip(parts, deflated, strict=True):
            table.append(struct.pack(f"{self.order}2q2i", unpacked, place, len(part), len(small)))
            place += len(small)
            unpacked += len(part)
        length = 24 + 24 * len(table)
        head = struct.pack(f"{self.order}3q", start, place, length)
        first = struct.pack(f"{self.order}2q2i", self.first, 0, self.size, len(table))
        return head + b"".join(deflated) + first + b"".join(table)
