"""Columns of the open file as codes, each encoded once, so that every tick is answered at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import polars as pl

from maskmeter.app.readings import file_state
from maskmeter.app.results import FileColumn, KeyCounts, KeyWarning, OpenedFile
from maskmeter.data.bands import MANY
from maskmeter.data.keys import Key, KeySpace
from maskmeter.data.microdata import Microdata
from maskmeter.data.reading import read
from maskmeter.data.source import Source
from maskmeter.errors import MaskmeterError, without_warnings
from maskmeter.formats.codebook import Variable
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.numbers import numbers_in
from maskmeter.plan import Plan
from maskmeter.plan.key_choice import tells
from maskmeter.plan.missing_codes import Suggestion, suggestion
from maskmeter.plan.number_bands import number_bands
from maskmeter.plan.schema import Data
from maskmeter.plurals import counted, plural

_CLOSE = (
    0.9  # share of the errors in guessing a column that another one spares, so that it tells it
)
_KEPT = 1000  # categories of a column that stays in the file, beyond which it is not looked at
_NO_TELLERS = {"identifier", "weights", "constant", "household", "personal"}


class EncodedColumns:
    """The columns of a file as codes, as a plan reads them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: dict[tuple[str, str], tuple[Key, Any]] = {}
        self._source: tuple[Dialect, Source] | None = None
        self._state = file_state(path)
        self._told: dict[tuple[str, str, str, str], float] = {}
        self._suggested: dict[tuple[str, str], Suggestion | None] = {}
        self._lock = RLock()

    def sample(self, keys: Sequence[str], data: Data) -> Microdata:
        """Return the records with some keys; those without a value have a category of their own."""
        with self._lock:
            self._forget_another_state()
            new = [name for name in keys if (name, _way(name, data)) not in self._held]
            if new:
                self._encode(new, data)
            found = [self._held[name, _way(name, data)] for name in keys]
        codes = np.stack([codes for _, codes in found], axis=1)
        return Microdata(KeySpace([key for key, _ in found]), codes)

    def _forget_another_state(self) -> None:
        """Forget what was read of the file before it was written anew."""
        state = file_state(self._path)
        if state != self._state:
            self._state, self._source = state, None
            self._held.clear()
            self._told.clear()
            self._suggested.clear()

    def _encode(self, names: list[str], data: Data) -> None:
        own = {
            entry: {name: said for name, said in getattr(data, entry).items() if name in names}
            for entry in ("bands", "missing_codes")
        }
        with without_warnings():  # too many categories are told of in words
            made = read(
                self._as(data),
                names,
                missing="category",
                bands=own["bands"] or None,
                missing_codes=own["missing_codes"] or None,
            )
        # A column is held as it was read last: bands that were tried before are forgotten.
        self._held = {way: one for way, one in self._held.items() if way[0] not in names}
        for place, name in enumerate(names):
            self._held[name, _way(name, data)] = (made.space.keys[place], made.codes[:, place])

    def _as(self, data: Data) -> Source:
        """Return the file as a plan reads it; its rows are looked through once."""
        dialect = Dialect(data.encoding, data.delimiter, data.decimal)
        if self._source is None or self._source[0] != dialect:
            self._source = (dialect, Source.of(self._path, dialect))
        return self._source[1]

    def _values(self, column: str, data: Data) -> pl.Series:
        return self._as(data).columns([column]).to_polars()[column]

    def labels(self, column: str, data: Data) -> Variable:
        """Return what the file says of a column."""
        return self._as(data).codebook[column]

    def tells(self, column: str, other: str, data: Data) -> bool:
        """Return True when a column tells another one of nearly every record."""
        asked = (column, _way(column, data), other, _way(other, data))
        if asked not in self._told:
            both = self.sample([column, other], data)
            frame = pl.DataFrame({"a": both.codes[:, 0], "b": both.codes[:, 1]})
            self._told[asked] = tells(frame, "a", "b")
        return self._told[asked] >= _CLOSE

    def codes(self, column: str, data: Data) -> Suggestion | None:
        """Return values of a column that may be codes for missing; None if none seem so."""
        asked = (column, str((data.encoding, data.delimiter)))
        with self._lock:
            self._forget_another_state()
            if asked not in self._suggested:
                found = suggestion(self._values(column, data), self.labels(column, data))
                self._suggested[asked] = found
            return self._suggested[asked]

    def bands(self, column: str, data: Data) -> tuple[float, ...]:
        """Return bounds of bands for a column of numbers; none where it holds something else."""
        numbers = numbers_in(self._values(column, data).cast(pl.String).drop_nulls())
        if numbers.null_count():
            return ()
        return tuple(number_bands(numbers.cast(pl.Float64).to_numpy()))


def _way(name: str, data: Data) -> str:
    """Return how a column is read."""
    return repr(
        (
            data.bands.get(name),
            data.missing_codes.get(name),
            data.encoding,
            data.delimiter,
            data.decimal,
        )
    )


def key_counts(columns: EncodedColumns, keys: Sequence[str], data: Data, records: int) -> KeyCounts:
    """Return how far some keys tell the records apart."""
    listed = tuple(dict.fromkeys(keys))
    if not listed:
        return KeyCounts((), records, 0, (0, 0, 0, 0, records), 0.0)
    sample = columns.sample(listed, data)
    sizes = tuple(sample.cell_sizes)
    return KeyCounts(listed, len(sample), sample.uniques, sizes, sample.unique_share)


def key_warnings(
    columns: EncodedColumns, keys: Sequence[str], plan: Plan, file: OpenedFile
) -> tuple[KeyWarning, ...]:
    """Return why some of the ticked columns may be no good keys."""
    data = plan.data
    apart = {*plan.release.drop, data.weights, data.household, data.id}
    ticked = [one for one in map(file.column, dict.fromkeys(keys)) if one is not None]
    kept = [one for one in file.columns if one not in ticked and one.name not in apart]
    others = [one for one in kept if _may_tell(one)]
    found = [warning for one in ticked for warning in _alone(one, columns, data)]
    for one in ticked:
        found += _among(one, ticked, columns, data)
        found += _kept(one, others, columns, data)
    return tuple(found)


def _may_tell(column: FileColumn) -> bool:
    return 1 < column.categories <= _KEPT and column.role not in _NO_TELLERS


def _alone(one: FileColumn, columns: EncodedColumns, data: Data) -> Iterator[KeyWarning]:
    """Yield what is wrong with a column by itself."""
    if one.categories < 2:
        yield KeyWarning("constant", one.name, f"{one.title} has the same value in every record.")
    banded = one.name in data.bands
    if one.categories > MANY and not banded and one.name not in data.codes:
        bands = one.bands or (columns.bands(one.name, data) if one.numeric else ())
        mend = "put it into bands" if bands else "recode it, or leave it out"
        text = f"{one.title} has {one.categories:,} categories: nearly every record may be unique;"
        yield KeyWarning("many", one.name, f"{text} {mend}.", bands=bands)
    coded = None if one.name in data.missing_codes else _coded(one, columns, data)
    if coded is not None:
        listed, have = ", ".join(map(str, coded.codes)), plural(coded.records, "has", "have")
        text = (
            f"{one.title} may have codes for missing values: {listed} ({coded.why}), which"
            f" {counted(coded.records, 'record')} {have}."
        )
        yield KeyWarning("codes", one.name, text, codes=coded.codes)
    if one.missing:
        have = plural(one.missing, "has", "have")
        text = f"{counted(one.missing, 'record')} {have} no value of {one.title}: a category of its own."
        yield KeyWarning("missing", one.name, text)


def _coded(one: FileColumn, columns: EncodedColumns, data: Data) -> Suggestion | None:
    try:
        return columns.codes(one.name, data)
    except MaskmeterError:  # what has no categories has no codes
        return None


def _among(
    one: FileColumn, ticked: Sequence[FileColumn], columns: EncodedColumns, data: Data
) -> Iterator[KeyWarning]:
    """Yield which other ticked columns a column tells."""
    for other in ticked:
        if other.name == one.name or not (_may_tell(one) and _may_tell(other)):
            continue
        if _tells(columns, one.name, other.name, data):
            text = (
                f"{one.title} tells {other.title}: changing only one of them shows who was changed."
            )
            yield KeyWarning("determines", one.name, text, other=other.name)


def _kept(
    one: FileColumn, others: Sequence[FileColumn], columns: EncodedColumns, data: Data
) -> Iterator[KeyWarning]:
    """Yield which columns that stay in the file tell a ticked one."""
    if not _may_tell(one):
        return
    for other in others:
        if _tells(columns, other.name, one.name, data):
            text = (
                f"{other.title} stays in the file and tells {one.title}: drop it, or let it travel"
                " with the key when the release is checked."
            )
            yield KeyWarning("kept", one.name, text, other=other.name)


def _tells(columns: EncodedColumns, column: str, other: str, data: Data) -> bool:
    try:
        return columns.tells(column, other, data)
    except MaskmeterError:  # a column that makes no categories tells nothing
        return False
