"""Source: the file or data frame behind the records, which can be counted, read in part and copied."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter import formats
from maskmeter.checks import check_choice
from maskmeter.data.encoding import Column, encode_column
from maskmeter.data.engines import Engine, engine_of
from maskmeter.data.engines.files import EngineName, files_of, names_several, open_files
from maskmeter.data.frames import (
    POLARS,
    Frame,
    FrameKind,
    as_frame,
    careful,
    distinct,
    replace_values,
    without_unused,
)
from maskmeter.errors import (
    ColumnNotFoundError,
    FileError,
    FormatWarning,
    InputError,
    MaskmeterError,
)
from maskmeter.files import whole
from maskmeter.formats.codebook import EMPTY, Codebook
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.format import Feature, Header
from maskmeter.formats.replacement import Replacement, Rows


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """The file or the user's frame behind the records; of a file only what is asked for is read.

    Three verbs are what an engine must offer: `count`, `columns` and `write_with`. Every pass over
    a file is a `scan` or a `write_with`, and the file must still be as it was when it was opened.

    >>> people = Source.of(pl.DataFrame({"sex": ["f", "m", "m"], "age": [30, 40, 50]}))
    >>> people.columns(["sex"])["sex"].to_list()
    ['f', 'm', 'm']
    """

    header: Header
    path: Path | None = None
    frame: Frame | None = None
    state: tuple[tuple[int, int], ...] = ()  # size and time of change of the files
    engine: Engine | None = None  # which holds the records, if they are not read into memory
    _encoded: dict[str, Column | None] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls,
        given: Any,
        dialect: Dialect | None = None,
        *,
        codebook: Codebook = EMPTY,
        engine: EngineName | None = None,
        master: str | None = None,
    ) -> Source:
        """Return the source that a path, a pattern, a folder or a frame of any kind stands for."""
        if isinstance(given, Source):
            return given
        _check_engine(engine, master)
        if not isinstance(given, str | Path):
            if engine is not None:
                raise InputError("`engine` is for files: a data frame stays in its own.")
            frame = as_frame(given)
            held = engine_of(frame)
            header = Header(tuple(frame.collect_schema().names()), codebook)
            return cls(header, frame=frame, engine=held)
        if engine is not None or names_several(given):
            files = files_of(given)
            states = tuple(_state(path) for path in files if path.is_file())
            how = engine or "polars"
            held, header = open_files(files, how, master=master, dialect=dialect or Dialect())
            return cls(header, state=states, engine=held)
        path = Path(given).expanduser()
        state = (_state(path),) if path.is_file() else ()
        header = formats.read_header(path, dialect)
        # The working directory may change before the file is read again.
        return cls(header, path.absolute(), state=state)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.header.names

    @property
    def codebook(self) -> Codebook:
        """What the file says of its columns."""
        return self.header.codebook

    @property
    def frame_kind(self) -> FrameKind:
        """The kind of frame that comes back: the user's own, Polars for files and engines."""
        return self.frame.implementation if isinstance(self.frame, nw.DataFrame) else POLARS

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the records come from; none for a frame."""
        if self.engine is not None:
            return self.engine.files
        return () if self.path is None else (self.path,)

    def check_names(self, names: Sequence[str]) -> list[str]:
        """Return names that a frame can be asked for, which must be those of columns."""
        for name in names:
            if name not in self.names:
                raise self.not_found(name)
            if not is_usable_name(name):
                raise InputError(
                    f"Rename the column {name!r}: data frames read this name as a pattern."
                )
        return list(names)

    def not_found(self, name: str) -> ColumnNotFoundError:
        """Return the error for a column that is not there."""
        header = self.header
        return ColumnNotFoundError(name, header.names, listed=header.listed, named=header.named)

    def keep(self) -> Source:
        """Return the same records, which no later change of a frame or its query can alter."""
        if self.frame is None or self.engine is not None:
            return self
        return Source(self.header, frame=self._collected(self.frame).clone())

    def scan(self, names: Sequence[str]) -> Frame:
        """Return some columns, not yet read where that can wait; of a file, the beginning of a pass."""
        if self.frame is None:
            return nw.from_native(formats.read_rows(self.unchanged_path(), self.header, names))
        if tuple(names) == self.names:
            return self.frame
        eager = isinstance(self.frame, nw.DataFrame)
        return self.frame[list(names)] if eager else self.frame.select(*names)  # type: ignore[index]

    def count(self, names: Sequence[str]) -> tuple[nw.DataFrame[Any], NDArray[np.int64]]:
        """Return the distinct combinations of columns, and how many rows have each.

        The rows themselves stay in the engine that holds them.
        """
        if self.engine is not None:
            self.check_unchanged()
            tally = self.engine.count(names)
            return nw.from_native(tally.columns), tally.rows
        rows, number = self.scan(names), "number of rows"
        while number in names:
            number += "'"
        found = self._collected(
            careful(lambda: rows.group_by(list(names)).agg(nw.len().alias(number)))
        )
        return found.drop(number), found[number].to_numpy().astype(np.int64)

    def columns(self, names: Sequence[str]) -> nw.DataFrame[Any]:
        """Return an eager frame of some columns: the user's own kind, Polars for files and engines."""
        if self.engine is not None:
            self.check_unchanged()
            return nw.from_native(self.engine.columns(names))
        return self._collected(self.scan(names))

    def encode(self, names: Sequence[str], *, most: int | None = None) -> dict[str, Column]:
        """Return the categories of columns and each record's code, read in one pass and kept.

        With `most`, columns of more categories are left out, and so is what makes no categories.
        """
        unread = [
            name
            for name in names
            if self._encoded.get(name) is None and (most is None or name not in self._encoded)
        ]
        if unread:
            frame = self.columns(unread)
            self._encoded.update({name: _column(frame, name, most) for name in unread})
        found = {name: self._encoded[name] for name in names}
        return {name: one for name, one in found.items() if one is not None}

    def records(
        self,
        replacements: Sequence[Replacement],
        *,
        rows: Rows | None = None,
        names: Sequence[str] | None = None,
    ) -> nw.DataFrame[Any]:
        """Return columns (all, unless `names` are given) with replaced ones among them.

        `rows` are the records to keep, in order. The index of a pandas user stays with the records.
        """
        frame = self.columns(self.names if names is None else names)
        changed = [one for one in replacements if one.changes(rows)]
        replaced = [replace_values(frame[one.column], one) for one in changed]
        return (frame if rows is None else frame[rows]).with_columns(*replaced)

    def write_with(
        self,
        path: str | Path,
        replacements: Sequence[Replacement],
        rows: Rows | None = None,
        *,
        drop: Sequence[str] = (),
    ) -> None:
        """Write the records with some columns replaced and all others untouched, whole or not at all.

        `rows` are the records to keep, in order, and `drop` the columns to leave out. A file in the format of this one differs from it
        in the replaced cells only where its format can be copied; a warning says what is lost.
        """
        target = formats.check_target(path, self.path)
        labelled = Feature.VALUE_LABELS in formats.format_of(target).keeps
        replacements = [one.labelled() if labelled else one for one in replacements]
        book = self.codebook.without(drop)
        for one in replacements:
            if one.recoded and (one.labels or isinstance(one.values[0], str)):
                book = book.recode(one.column, tuple(zip(one.values, one.labels, strict=False)))
        with whole(target) as unfinished:
            if self._copied(unfinished, replacements, rows, drop):
                left = book.left_out
            else:
                names = [name for name in self.names if name not in drop]
                frame = self.records(replacements, rows=rows, names=names)
                frame = frame if rows is None else without_unused(frame)
                left = formats.write(frame, unfinished, book, source=self.path)
        if left:
            warnings.warn(
                f"Writing {target.name!r} loses information. {' '.join(left)}",
                FormatWarning,
                stacklevel=3,
            )

    def _copied(
        self,
        path: Path,
        replacements: Sequence[Replacement],
        rows: Rows | None,
        drop: Sequence[str],
    ) -> bool:
        """Write a copy of the file in which only some cells differ; return False if that cannot be.

        Where cells are changed in their bytes, a layout that was misunderstood shows in the records.
        """
        if self.path is None:
            return False
        read = formats.format_of(self.path)
        if read.rewrite is None or not read.copies(self.path, path):
            return False
        changed = [one for one in replacements if one.changes(rows)]
        source = self.unchanged_path()
        done = read.rewrite(
            source, path, header=self.header, replacements=changed, rows=rows, drop=drop
        )
        if not done or not read.rebuilt:
            return done
        return formats.holds(path, self.header, self.records(replacements, rows=rows))

    def check_unchanged(self) -> None:
        """Raise unless all files are as they were when they were opened."""
        for path, state in zip(self.files, self.state, strict=False):
            if not path.is_file() or _state(path) != state:
                raise FileError(f"{str(path)!r} has changed since it was read. Read it again.")

    def unchanged_path(self) -> Path:
        """Return the path of the file, which must be as it was when it was opened."""
        self.check_unchanged()
        if self.path is None:
            raise InputError("These records do not come from a single file.")
        return self.path

    def _collected(self, frame: Frame) -> nw.DataFrame[Any]:
        if isinstance(frame, nw.DataFrame):
            return frame
        native = nw.to_native(frame)
        if self.path is not None:
            return nw.from_native(formats.collect(native, self.path))
        if isinstance(native, pl.LazyFrame):
            return nw.from_native(careful(lambda: native.collect(engine="streaming")))
        return careful(lambda: frame.collect(backend="polars"))


def is_usable_name(name: str) -> bool:
    """Return False for the name of a column that a data frame would read as a pattern, or as none.

    >>> is_usable_name("age"), is_usable_name("^age$"), is_usable_name("")
    (True, False, False)
    """
    return bool(name) and name != "*" and not (name.startswith("^") and name.endswith("$"))


def _column(frame: nw.DataFrame[Any], name: str, most: int | None) -> Column | None:
    """Return a column in categories, None when it has more than `most` or none at all."""
    if most is None:
        return encode_column(frame, name)
    try:
        return None if distinct(frame[name]) > most else encode_column(frame, name)
    except MaskmeterError:  # lists, or the like
        return None


def file_hash(path: Path) -> str:
    """Return a hash of what a file holds."""
    with path.open("rb") as file:
        return f"file sha256 {file_digest(file, 'sha256').hexdigest()}"


def files_hash(files: Sequence[Path]) -> str:
    """Return a hash of what some files hold, whatever they are called: one file has its own."""
    if len(files) == 1:
        return file_hash(files[0])
    every = sorted(map(file_hash, files))
    return f"files sha256 {sha256(' '.join(every).encode()).hexdigest()}"


def _check_engine(engine: Any, master: str | None) -> None:
    if engine is not None:
        check_choice(engine, EngineName, name="engine")
    if master is not None and engine != "spark":
        raise InputError('`master` is the address of a Spark cluster: give engine="spark" too.')


def _state(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns
