"""Arrow IPC, also known as Feather."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.formats.category_order import in_declared_order, in_polars
from maskmeter.formats.codebook import Codebook
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.rebuild import rebuild_frame
from maskmeter.formats.scanned import Scanned

NAME = "Arrow"
ENDINGS = (".arrow", ".feather")
KEEPS = frozenset({"extended missing values"})
ADVICE = "it is not a complete Arrow file (Feather of version 2)."


def scan(path: Path, _dialect: Dialect) -> Scanned:
    """Return a lazy frame; the file's footer is read at once, so a cut-off file fails here."""
    frame = pl.scan_ipc(path, glob=False)
    return Scanned(in_declared_order(frame, path, "feather"))


def write(frame: nw.DataFrame[Any], path: Path, _codebook: Codebook) -> None:
    """Write a frame of any kind; Arrow writes the memory of a column, so that is made anew."""
    rebuild_frame(in_polars(frame)).write_ipc(path)
