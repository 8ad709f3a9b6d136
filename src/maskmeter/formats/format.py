"""A file format: how its files are read and written, and what they can hold."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.errors import FileError
from maskmeter.formats.codebook import EMPTY, Codebook, Longest
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.replacement import Replacement, Rows


class Feature(Enum):
    """What a file may say beside its values, and not every format can hold; in words."""

    VARIABLE_LABELS = "variable labels"
    VALUE_LABELS = "value labels"
    LABELS_OF_ANY_VALUE = "labels of values that are not whole numbers"
    MISSING_VALUES = "missing-value declarations"
    EXTENDED_MISSING = "extended missing values"
    TIME_FORMATS = "display formats for times"
    FILE_LABEL = "file label"
    NOTES = "notes"


@dataclass(frozen=True, repr=False)
class Header:
    """What a file says of its columns before any record is read.

    `listed` is False where a first row names the columns: it may be a record, and is not shown
    then. `named` is False when it does not even look like names.
    """

    names: tuple[str, ...]
    codebook: Codebook = EMPTY
    dialect: Dialect = field(default_factory=Dialect)
    named: bool = True
    listed: bool = True


class Rewrite(Protocol):
    """How a format copies its files."""

    def __call__(
        self,
        source: Path,
        target: Path,
        *,
        header: Header,
        replacements: Sequence[Replacement],
        rows: Rows | None,
        drop: Sequence[str],
    ) -> bool:
        """Write a copy with some columns replaced or left out; return False when that cannot be done.

        `rows` are the records that are written, in order; None for all as they stand.
        """


ReadHeader: TypeAlias = "Callable[[Path, Dialect], Header]"
ReadRows: TypeAlias = "Callable[[Path, Header, Sequence[str]], pl.LazyFrame]"
Write: TypeAlias = "Callable[[nw.DataFrame[Any], Path, Codebook], None]"


def _refuse(_frame: nw.DataFrame[Any], path: Path, _codebook: Codebook) -> None:
    raise FileError(f"Cannot write {path.name!r}: files of this format are only read.")


@dataclass(frozen=True, repr=False)
class Format:
    """A family of files with the same layout, told by the ending of their names.

    `header` checks a file and says what its columns are; `rows` reads some of them; `write` makes a
    file of a frame. `rewrite` copies a file with a few columns replaced, all else as it stands;
    `same_layout` says between which endings it can.
    """

    name: str
    endings: tuple[str, ...]
    header: ReadHeader
    rows: ReadRows
    advice: str  # on a file that cannot be read
    write: Write = _refuse
    keeps: frozenset[Feature] = frozenset()
    rewrite: Rewrite | None = None
    same_layout: Callable[[str, str], bool] = operator.eq
    rebuilt: str = ""  # what is lost when a file of this format is written anew
    read_only: Mapping[str, str] = field(default_factory=dict)  # endings, and why
    zero: date = date(1970, 1, 1)  # the day that numbers of dates are counted from
    dates: Mapping[str, int] = field(default_factory=dict)  # display formats, and milliseconds
    times: tuple[str, ...] = ()  # display formats of times that stay numbers elsewhere
    longest: Longest | None = None  # labels
    optimizations: pl.QueryOptFlags = field(default_factory=pl.QueryOptFlags)

    def __repr__(self) -> str:
        """Return the name."""
        return f"Format({self.name})"

    def copies(self, source: Path, target: Path) -> bool:
        """Return True when a file of this format can be copied to a path with columns replaced."""
        endings = source.suffix.lower(), target.suffix.lower()
        known = self.rewrite is not None and endings[1] in self.endings
        return known and self.same_layout(*endings)
