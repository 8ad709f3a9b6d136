"""What an .xlsx workbook may hold: an archive of pages that do not swell, and cells that are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from maskmeter.bounds import most_entries, most_unpacked, swollen
from maskmeter.errors import FileError

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
_FREE, _FEW = 1 << 21, 200_000  # bytes and cells: pages take ten times as long to read as records
_REMEDY = "If it is genuine, save the sheet as .csv."


def check_archive(path: Path) -> None:
    """Refuse an archive of files that would be far larger than itself, by the sizes it declares.

    The reader stops at a declared size, so that a false one cannot make it read more.
    """
    with ZipFile(path) as archive:
        held = sum(one.file_size for one in archive.infolist())
    if held > most_unpacked(path.stat().st_size, free=_FREE):
        raise swollen(path, f"{held:,} bytes", _REMEDY)


def check_cells(pairs: Iterator[tuple[Any, Any]], path: Path) -> Iterator[tuple[Any, Any]]:
    """Yield rows as long as there may be so many: one far down or right stands for all before it."""
    seen, most = 0, most_entries(path.stat().st_size, few=_FEW)
    for row, pair in enumerate(pairs, start=1):
        seen += 1 + len(pair[0])
        if row > MOST_ROWS or len(pair[0]) > MOST_COLUMNS:
            raise FileError(
                f"Cannot read {path.name!r}: it has more than the {MOST_ROWS:,} rows and"
                f" {MOST_COLUMNS:,} columns of a sheet, so Excel did not save it. Save it in Excel."
            )
        if seen > most:
            raise swollen(path, f"over {most:,} cells", _REMEDY)
        yield pair
