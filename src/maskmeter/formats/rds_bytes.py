"""The bytes of an R file, unpacked as far as real data go."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from maskmeter.bounds import RATIO, most_entries, most_unpacked, swollen
from maskmeter.errors import FileError

REMEDY = "If it is genuine, save it from R as .csv or .parquet."

_PACKED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
_PIECE = 1 << 20
_SOON = 1 << 28  # bytes after which the part that was read tells enough of the file
_LARGEST = 1 << 32  # bytes that are held in memory
# What begins each text, each NULL and, in files of plain text, each number: all take long to read.
_ENTRIES = {b"X": (b"\0\t", b"\0\xfe"), b"B": (b"\t\0", b"\xfe\0"), b"A": (b"\n",)}


def unpacked(path: Path) -> bytearray:
    """Return what a file saved with saveRDS holds; refuse one that holds more than real data do."""
    with path.open("rb") as packed:
        first = packed.read(6)
        packed.seek(0)
        opened = next((way for mark, way in _PACKED.items() if first.startswith(mark)), None)
        content = _read(path, packed if opened is None else opened(packed), packed)
    entries = sum(map(content.count, _ENTRIES[bytes(content[:1])]))
    if entries > most_entries(path.stat().st_size):
        raise swollen(path, f"some {entries:,} texts", REMEDY)
    return content


def _read(path: Path, file: IO[bytes], packed: IO[bytes]) -> bytearray:
    """Return all that a file holds; `packed` is the file below it."""
    size, content = path.stat().st_size, bytearray()
    while piece := file.read(_PIECE):
        content += piece
        if content[1:2] != b"\n" or bytes(content[:1]) not in _ENTRIES:
            raise FileError(f"Cannot read {path.name!r}: it was not saved with saveRDS().")
        soon = len(content) > _SOON and len(content) > RATIO * packed.tell()
        if soon or len(content) > most_unpacked(size):
            raise swollen(path, f"over {len(content):,} bytes", REMEDY)
        if len(content) > _LARGEST:
            raise FileError(
                f"Cannot read {path.name!r}: it holds over {_LARGEST:,} bytes, which R files are read"
                " up to. Save it from R as .parquet."
            )
    return content
