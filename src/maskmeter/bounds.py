"""How much may be read: regular files alone, plans of a few megabytes, and nothing that swells."""

from __future__ import annotations

import errno
from pathlib import Path

from maskmeter.errors import FileError

PLAN = 1 << 20  # bytes of a plan
PROVENANCE = 1 << 26  # bytes of a provenance, in which matrices are written out
LINE = 1 << 24  # bytes of a line of text
FREE = 1 << 24  # bytes that any file may unpack to
RATIO = 200  # times its own size that a larger one may unpack to; real data stay below 50
FEW = 100_000  # entries, such as texts or rows, that any file may have
PER_BYTE = 20  # entries for each byte that a larger one may have


def read_small(path: Path, *, most: int) -> bytes:
    """Return the bytes of a plan or a provenance; what cannot be one is an OSError that says why."""
    if _is_special(path):
        raise OSError(errno.EINVAL, "it is not a regular file")
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        size = f"it has {path.stat().st_size:,} bytes, and at most {most:,} are read"
        raise OSError(errno.EFBIG, size)
    return content


def check_regular(path: Path) -> None:
    """Refuse a device or a pipe, which may never end and cannot be read twice."""
    if _is_special(path):
        raise FileError(
            f"Cannot read {str(path)!r}: it is not a regular file. Save what a device or a pipe"
            " gives in a file first."
        )


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def most_unpacked(packed: int, *, free: int = FREE) -> int:
    """Return the bytes that a file of some size may unpack to; to the first of them any may.

    >>> most_unpacked(1_000), most_unpacked(1_000_000)
    (16777216, 200000000)
    """
    return max(free, RATIO * packed)


def most_entries(packed: int, *, few: int = FEW) -> int:
    """Return the entries that a file of some size may have; any may have a `few`.

    >>> most_entries(1_000), most_entries(1_000_000)
    (100000, 20000000)
    """
    return max(few, PER_BYTE * packed)


def swollen(path: Path, held: str, remedy: str) -> FileError:
    """Return the refusal of a file that holds far more than its size can account for."""
    return FileError(
        f"Cannot read {path.name!r}: its {path.stat().st_size:,} bytes stand for {held}, far more than"
        f" real data take, as in files made to fill a computer's memory. {remedy}"
    )
