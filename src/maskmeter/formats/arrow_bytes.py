"""Check the sizes that an Arrow file states: the reader believes them, and would end the program.

An Arrow file ends with a table of its batches; each begins with a table of its buffers. The tables
are flatbuffers: a field of a table is found by the offsets in another table, before it.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskmeter.bounds import most_unpacked

_MARK = b"ARROW1"
_DICTIONARIES, _BATCHES = 2, 3  # fields of the table that ends a file
_HEADER_KIND, _HEADER, _BODY = 1, 2, 3  # fields of a message
_DICTIONARY_BATCH = 2
_BUFFERS, _COMPRESSION = 2, 3  # fields of a batch
_BLOCK = np.dtype([("at", "<i8"), ("head", "<i4"), ("", "<i4"), ("body", "<i8")])
_BUFFER = np.dtype([("at", "<i8"), ("size", "<i8")])


def check_sizes(path: Path) -> None:
    """Raise a ValueError, or one of another kind, unless all sizes fit the file."""
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        (length,) = struct.unpack_from("<i", content, size - 10)
        if content[-6:] != _MARK or not 0 < length <= size - 10:
            raise ValueError("the table of batches is not there")
        footer = _Table.root(content[size - 10 - length : size - 10])
        unpacked = 0
        for field in (_DICTIONARIES, _BATCHES):
            blocks = footer.vector(field, _BLOCK)
            ends = [blocks["at"], blocks["head"], blocks["body"]]
            if any(((one < 0) | (one > size)).any() for one in ends) or np.any(sum(ends) > size):
                raise ValueError("a batch lies outside of the file")
            unpacked += sum(_unpacked(content, *block) for block in blocks[["at", "head", "body"]])
        if unpacked > most_unpacked(size):
            raise ValueError("the buffers would hold more than real data do")


@dataclass(frozen=True)
class _Table:
    """A table of a flatbuffer, and where it begins."""

    content: bytes
    at: int

    @classmethod
    def root(cls, content: bytes) -> _Table:
        return cls(content, *struct.unpack_from("<I", content))

    def place(self, field: int) -> int | None:
        """Return where a field stands, None when it is not there."""
        (back,) = struct.unpack_from("<i", self.content, self.at)
        size, offset = struct.unpack_from("<H", self.content, self.at - back)[0], 0
        if 4 + 2 * field < size:
            (offset,) = struct.unpack_from("<H", self.content, self.at - back + 4 + 2 * field)
        return self.at + offset if offset else None

    def number(self, field: int, kind: str) -> int:
        place = self.place(field)
        return 0 if place is None else int(struct.unpack_from(f"<{kind}", self.content, place)[0])

    def table(self, field: int) -> _Table | None:
        place = self.place(field)
        return None if place is None else _Table(self.content, place + self.number(field, "I"))

    def vector(self, field: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return a list of structs."""
        there = self.table(field)
        if there is None:
            return np.empty(0, kind)
        (count,) = struct.unpack_from("<I", self.content, there.at)
        return np.frombuffer(self.content, kind, count, there.at + 4)


def _unpacked(content: mmap.mmap, at: int, head: int, body: int) -> int:
    """Return the bytes that the buffers of a batch unpack to; all must lie inside of it."""
    mark, length = struct.unpack_from("<ii", content, at)
    begin = at + (8 if mark == -1 else 4)
    message = _Table.root(content[begin : begin + (length if mark == -1 else mark)])
    batch = message.table(_HEADER)
    if batch is not None and message.number(_HEADER_KIND, "B") == _DICTIONARY_BATCH:
        batch = batch.table(1)
    if batch is None or message.number(_BODY, "q") > body:
        raise ValueError("a batch has no buffers")
    buffers = batch.vector(_BUFFERS, _BUFFER)
    places, sizes = buffers["at"], buffers["size"]
    if ((places < 0) | (sizes < 0) | (places > body) | (sizes > body - places)).any():
        raise ValueError("a buffer lies outside of its batch")
    if batch.place(_COMPRESSION) is None:
        return 0
    starts = [at + head + int(place) for place in places[sizes >= 8]]
    held = [struct.unpack_from("<q", content, start)[0] for start in starts]
    if min(held, default=0) < -1:
        raise ValueError("a buffer has a negative size")
    return sum(max(0, one) for one in held)
