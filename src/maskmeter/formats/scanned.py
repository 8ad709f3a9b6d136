"""What reading a file gives, and what writing it again takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.formats.codebook import EMPTY, Codebook
from maskmeter.formats.csv_dialect import Dialect


@dataclass(frozen=True, eq=False, repr=False)
class Scanned:
    """The rows of a file, not yet read where its format allows that, and what it says of them.

    `listed` is False where a first row names the columns: it may be a record, and is not shown
    then. `named` is False when it does not even look like names.
    """

    frame: pl.LazyFrame
    codebook: Codebook = EMPTY
    dialect: Dialect | None = None
    named: bool = True
    listed: bool = True


@dataclass(frozen=True)
class Source:
    """The file that records were read from, as it was then."""

    path: Path
    columns: tuple[str, ...]
    records: int
    codebook: Codebook = EMPTY
    dialect: Dialect | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Change:
    """A column with new values: the category of each record, and a row of the file that holds it.

    `donors` has that row for every category, -1 where no record of the file has it; the text is
    written then. Every record takes its cell from a donor, also where its value stays: two ways of
    writing one value, such as with quotes and without, would tell which cells were changed.
    """

    column: str
    codes: NDArray[np.int64]
    texts: tuple[str, ...]
    donors: NDArray[np.int64]

    @property
    def sources(self) -> NDArray[np.int64]:
        """For each record, a row of the file that holds its new value, or -1."""
        return self.donors[self.codes]
