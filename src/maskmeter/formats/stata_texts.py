"""Long texts of Stata, which stand behind the records, numbered by the column and record that held them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_COLUMN_BYTES = {117: 4, 118: 2, 119: 3}  # of the eight of a cell; the others number the record
_OPENING, _CLOSING = b"<strls>", b"</strls>"


@dataclass(frozen=True)
class LongTexts:
    """Where the long texts of a file stand, and which columns have them."""

    release: int
    order: str
    columns: frozenset[int]
    places_at: int
    places: tuple[int, ...]  # of the parts of the file, as its map has them

    def unused(self, content: bytes, cells: NDArray[np.uint8], places: list[slice]) -> bool:
        """Return True when the file keeps a text that no record holds."""
        columns = (np.ascontiguousarray(cells[:, places[column]]) for column in self.columns)
        used = {cell.tobytes() for column in columns for cell in np.unique(column.view(np.uint64))}
        return any(number not in used for number, _ in self._read(content))

    def renumbered(
        self, content: bytes, cells: NDArray[np.uint8], places: list[slice], whole: bytearray
    ) -> bytes:
        """Return what follows the records once these were changed, and correct the map in `whole`.

        The old numbers tell which record held a text before. Each text gets the number of the first
        record that holds it now, and one that nobody holds any more is left out.
        """
        held, first = dict(self._read(content)), {}  # type: dict[bytes, bytes], dict[bytes, tuple[int, int]]
        for row in range(len(cells)):
            for column in sorted(self.columns):
                number = cells[row, places[column]].tobytes()
                if number == bytes(8):
                    continue  # an empty text
                place = first.setdefault(held[number], (column + 1, row + 1))
                cells[row, places[column]] = list(self._cell(*place))
        kind = f"{self.order}I{'I' if self.release == 117 else 'Q'}"
        made = b"".join(b"GSO" + struct.pack(kind, *place) + text for text, place in first.items())
        grown = len(made) - self._size
        for part in range(11, 14):  # labels of values and the end of the file have moved
            at = self.places_at + 8 * part
            struct.pack_into(f"{self.order}q", whole, at, self.places[part] + grown)
        until = self.places[11] - len(_CLOSING)
        return b"</data>" + _OPENING + made + bytes(whole[until:])

    @property
    def labels_at(self) -> int:
        """Where the labels of values begin."""
        return self.places[11] + len("<value_labels>")

    @property
    def _size(self) -> int:
        """The bytes of all texts."""
        return self.places[11] - self.places[10] - len(_OPENING) - len(_CLOSING)

    def _read(self, content: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield each text as it stands, after the cell that refers to it."""
        kind = f"{self.order}3xI{'I' if self.release == 117 else 'Q'}BI"
        at = self.places[10] + len(_OPENING)
        end = at + self._size
        while at < end:
            column, row, _, length = struct.unpack_from(kind, content, at)
            body = at + struct.calcsize(kind) - 5  # its kind and length belong to a text
            at = body + 5 + length
            yield self._cell(column, row), content[body:at]

    def _cell(self, column: int, row: int) -> bytes:
        """Return the eight bytes of a cell that refers to a text."""
        wide = _COLUMN_BYTES[self.release]
        order = "little" if self.order == "<" else "big"
        return column.to_bytes(wide, order) + row.to_bytes(8 - wide, order)  # type: ignore[arg-type]
