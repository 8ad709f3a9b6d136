"""Charts as PNG files of moderate size, for the scripts that draw the pictures of the pages."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_START = b"\x89PNG\r\n\x1a\n"


def save(chart: Any, path: Path, *, scale: float = 1.5) -> None:
    """Write a chart, at a third of the size that the drawing library leaves it at."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        loose = Path(folder) / "chart.png"
        chart.save(loose, scale_factor=scale)
        path.write_bytes(packed(loose.read_bytes()))
    print(f"Wrote {path.name}, {path.stat().st_size / 1000:.0f} kB")


def packed(png: bytes) -> bytes:
    """Return the same picture with its pixels compressed as far as zlib can."""
    chunks = list(_chunks(png))
    pixels = b"".join(body for kind, body in chunks if kind == b"IDAT")
    small = (b"IDAT", zlib.compress(zlib.decompress(pixels), 9))
    before = [one for one in chunks if one[0] not in {b"IDAT", b"IEND"}]
    return _START + b"".join(map(_chunk, [*before, small, (b"IEND", b"")]))


def _chunks(png: bytes) -> Any:
    at = len(_START)
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        at += 12 + size  # its length, kind and checksum


def _chunk(one: tuple[bytes, bytes]) -> bytes:
    kind, body = one
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
