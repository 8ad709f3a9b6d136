"""Records as the user has them: frames and files with the key values held, and their hashes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.data.at_source import AtSource, ReleasedColumns
from maskmeter.data.frames import POLARS, FrameKind, as_kind, decode, new_frame, without_unused
from maskmeter.data.keys import CellNumbers, Codes
from maskmeter.data.missing import commonest
from maskmeter.data.rows import RecordRows
from maskmeter.data.source import Source, files_hash
from maskmeter.errors import InputError
from maskmeter.files import check_parent, whole_folder
from maskmeter.formats.codebook import Codebook
from maskmeter.formats.replacement import Replacement

_LISTED = 1 << 24  # cells that are looked up in a list of all


class FiledRecords(RecordRows):
    """Records that came from a file or a frame, and can be written as one again."""

    codebook: Codebook
    source: Source | None
    source_codes: Codes | None
    reading: tuple[tuple[str, Any], ...]
    whole: bool
    rows: NDArray[np.int64] | None
    carried: Mapping[str, NDArray[np.int64]]
    dropped: tuple[str, ...]
    renumbered: Mapping[str, NDArray[np.int64]]
    reweighted: bool
    at_source: AtSource | None
    held: Any

    @property
    def path(self) -> Path | None:
        """The file that the records came from, if there is one and it can be written again."""
        return self.source.path if self.source is not None and self.whole else None

    @property
    def frame_kind(self) -> FrameKind:
        """The kind of frame that results about these records come in; Polars for files."""
        if self.held is not None:
            return self.held.frame_kind  # type: ignore[no-any-return]
        return POLARS if self.source is None else self.source.frame_kind

    def to_frame(self) -> Any:
        """Return the user's columns, in their order and types, with the key values held here.

        A pandas frame keeps its index, unless the records were shuffled: it would tell how they
        stood before.

        >>> import polars as pl, maskmeter as mm
        >>> people = pl.DataFrame({"sex": ["f", "m"], "age": [30, 40]})
        >>> mm.read(people, keys=["sex"]).to_frame().equals(people)
        True
        """
        if self.at_source is None:
            return self._records().to_native()
        with TemporaryDirectory(prefix="maskmeter-") as folder:
            self.write_folder(Path(folder))
            return pl.read_parquet(Path(folder) / "*.parquet")

    def rows_to_frame(
        self, rows: NDArray[np.int64], *, before: dict[str, Any], after: dict[str, Any]
    ) -> Any:
        """Return the keys of some records between other columns, in the user's kind of frame.

        A pandas frame has the index that the user gave these very records.
        """
        if self.held is not None:
            whole = self.held.project(self.space.names)
            return whole.rows_to_frame(self.rows_held(rows), before=before, after=after)
        keys = decode(self.space, self.codes[rows]) if self.at_source else self._records(rows)
        first, last = new_frame(before, like=keys), new_frame(after, like=keys)
        columns = {**first, **{name: keys[name] for name in keys.columns}, **last}
        return keys.with_columns(*columns.values()).select(*columns).to_native()

    def with_index(self, frame: pl.DataFrame) -> Any:
        """Return a frame with a row per record in the user's kind; in pandas, with the records' index."""
        made = as_kind(frame, self.frame_kind)
        index = nw.maybe_get_index(self._records(np.arange(len(self))))
        if index is not None:
            made.index = index
        return made

    def groups_to_frame(self, name: str, rows: NDArray[np.int64], *, after: dict[str, Any]) -> Any:
        """Return a row per group of records, named by a column of one of them, before other columns.

        The frame is of the user's kind. In pandas its index is 0, 1, ...: a group is no record.
        """
        if self.source is None or name in after:
            raise InputError(
                f"The result has a column {name!r} of its own. Rename your column of that name."
            )
        held = rows if self.rows is None else self.rows[rows]
        kept = nw.maybe_reset_index(self.source.columns([name])[held])
        return kept.with_columns(*new_frame(after, like=kept).values()).to_native()

    def _records(self, rows: NDArray[np.int64] | None = None) -> nw.DataFrame[Any]:
        """Return the user's frame with the key values held here, or the keys of some of its rows."""
        if self.source is None:
            return decode(self.space, self.codes if rows is None else self.codes[rows])
        held = self.rows if rows is None else rows if self.rows is None else self.rows[rows]
        names = self.written_names if rows is None else self.space.names
        found = self.source.records(self._replacements(rows), rows=held, names=names)
        if rows is not None or self.rows is None:
            return found
        return without_unused(nw.maybe_reset_index(found) if self.shuffled else found)

    @property
    def shuffled(self) -> bool:
        """Whether the records stand in another order than in the source."""
        return self.rows is not None and bool((np.diff(self.rows) < 0).any())

    @property
    def written_names(self) -> tuple[str, ...]:
        """Names of the columns that are written: all but those that are dropped, or the keys alone."""
        if self.source is None or not self.whole:
            return self.space.names
        return tuple(name for name in self.source.names if name not in self.dropped)

    def write(self, path: str | Path) -> None:
        """Write the user's columns with the key values held here, in the format of the ending.

        A file in the format of the one that was read differs from it in the changed columns only,
        byte for byte in delimited text, SPSS and Stata. Keys in bands are written as their bands.
        What another format cannot hold is said in a warning. Records that stay in an engine are
        written from there, as Parquet files in a new folder.
        """
        if self.at_source is not None:
            check_parent(Path(path))
            with whole_folder(Path(path)) as unfinished:
                self.write_folder(unfinished)
        elif self.source is not None and self.whole:
            self.source.write_with(path, self._replacements(), self.rows, drop=self.dropped)
        else:
            Source.of(self.to_frame(), codebook=self.codebook).write_with(path, ())

    def write_folder(self, folder: Path) -> None:
        """Write records that stay in an engine as Parquet files in a folder that is there."""
        if self.source is None or self.source.engine is None or self.at_source is None:
            raise InputError("These records do not stay in an engine.")
        if not self.whole:
            raise InputError("Some keys were left out, so these records cannot be written.")
        self.source.check_unchanged()
        recoded = tuple(name for name in self.space.names if name in self.codebook.recoded)
        work = ReleasedColumns(self.at_source, self.space, recoded).work
        self.source.engine.write_with(folder, work)

    def rows_held(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of unique records in the file behind counts."""
        wanted = self.space.number(self.codes[rows])
        order = np.argsort(wanted)
        place, there = self._found(wanted[order])
        if np.count_nonzero(there) != len(rows):
            raise InputError("These records are not those of the file behind their counts.")
        found = np.empty(len(rows), dtype=np.int64)
        found[order[place[there]]] = np.flatnonzero(there)
        return found

    def of_records(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each record of the file behind counts has, by its cell; `values` go by row."""
        numbers = self.space.number(self.codes)
        order = np.argsort(numbers)
        place, _ = self._found(numbers[order])
        found: NDArray[np.float64] = values[order][place]
        return found

    def _found(self, rising: CellNumbers) -> tuple[NDArray[np.integer], NDArray[np.bool_]]:
        """Return the place of each record held among cells, and whether its cell is one of them."""
        names, held = self.space.names, self.held
        columns = [held.space.index(name) for name in names]
        numbers = held.space.project(names).number(held.codes[:, columns])
        if held.space.project(names).size <= _LISTED and len(rising):
            every = np.full(int(rising[-1]) + 2, -1, dtype=np.int32)
            every[rising] = np.arange(len(rising))
            np.minimum(numbers, len(every) - 1, out=numbers)
            place = every[numbers]
            return place, place >= 0
        place = np.minimum(np.searchsorted(rising, numbers), max(len(rising) - 1, 0))
        there = rising[place] == numbers if len(rising) else np.zeros(len(numbers), dtype=bool)
        return place, there

    def record_names(self, rows: NDArray[np.int64]) -> Any:
        """Return what tells some records from others: their rows, or their ids in an engine.

        In an engine without ids it is the place among the unique records.
        """
        if self.held is not None:
            return self.rows_held(rows)
        if self.at_source is None:
            return rows
        first = self.at_source.first
        return np.searchsorted(self.unique_rows, rows) if first is None else first.gather(rows)

    def _replacements(self, rows: NDArray[np.int64] | None = None) -> list[Replacement]:
        """Return the columns of the keys, of all records or some."""
        codes = self.codes if rows is None else self.codes[rows]
        before = self.codes if self.source_codes is None else self.source_codes
        keys = [
            Replacement(
                key.name,
                codes[:, position],
                key.categories,
                before[:, position],
                recoded=key.name in self.codebook.recoded,
                missing_from=self._commonest_missing(position, before[:, position]),
            )
            for position, key in enumerate(self.space.keys)
        ]
        if rows is not None:  # the keys are all that is asked for
            return keys
        keys += [*self._carried(), *self._new_weights(), *self._new_numbers()]
        return [one for one in keys if one.column not in self.dropped]

    def _commonest_missing(self, position: int, before: Codes) -> int:
        """Return the record whose cell stands for all missing values of a changed key, -1 for none.

        Only where codes stand for missing is there a choice: it is the commonest in the source,
        whatever the order of the records.
        """
        key = self.space.keys[position]
        coded = key.name in dict(self.reading).get("missing_codes", {})
        if not coded or self.source is None or key.name in self.codebook.recoded:
            return -1
        kept = before if self.rows is None else before[self.rows]
        lacking = np.flatnonzero(before == key.position(None)) if None in key.categories else ()
        if not len(lacking) or np.array_equal(kept, self.codes[:, position]):
            return -1
        values = self.source.columns([key.name])[key.name][lacking].to_list()
        return int(lacking[commonest(values, np.ones(len(values), dtype=np.int64))])

    def _carried(self) -> Iterator[Replacement]:
        """Yield the columns that travel with a key; only whole records have any."""
        if self.source is None or not self.whole:
            return
        for name, rows in self.carried.items():
            column = self.source.encode([name])[name]
            codes = column.codes.astype(np.int64)
            yield Replacement(name, codes[rows], column.categories, codes)

    def _new_weights(self) -> Iterator[Replacement]:
        """Yield the column of weights, which are others when records were left out at random."""
        name = dict(self.reading).get("weights")
        if name is None or not self.reweighted or not self.whole:
            return
        if self.weights is None or self.source is None:
            return
        column = self.source.columns([name])[name]
        values, codes = np.unique(self.weights, return_inverse=True)
        before = np.zeros(len(column), dtype=np.int64)
        before[self.rows] = codes
        listed: tuple[Hashable, ...] = tuple(values.tolist())
        if column.dtype == nw.String:  # as in delimited text, with the decimal mark of the file
            comma = any("," in text for text in column.drop_nulls().unique().to_list())
            listed = tuple(str(one).replace(".", ",") if comma else str(one) for one in listed)
        yield Replacement(name, codes.astype(np.int64), listed, before, recoded=True, numbers=True)

    def _new_numbers(self) -> Iterator[Replacement]:
        """Yield the columns that are numbered anew."""
        if self.source is None or not self.whole:
            return
        for name, numbers in self.renumbered.items():
            column = self.source.columns([name])[name]
            values, codes = np.unique(numbers, return_inverse=True)
            plain = column.dtype.is_numeric()
            every = tuple((one if plain else str(one)) if one else None for one in values.tolist())
            before = np.zeros(len(column), dtype=np.int64)
            yield Replacement(name, codes, every, before, recoded=True, numbers=True)

    def fingerprint(self) -> str:
        """Return a hash of the file the records came from, or of their keys if it was a frame."""
        files = () if self.source is None or not self.whole else self.source.files
        if self.source is not None and files:
            self.source.check_unchanged()
            return files_hash(files)
        return self.key_hash()

    def column_hash(self) -> str:
        """Return a hash of all columns as they are released, whatever format they are written in."""
        digest = sha256()
        for column in nw.from_native(self.to_frame()).to_polars().iter_columns():
            held, plain = BytesIO(), isinstance(column.dtype, pl.Categorical)
            frame = pl.DataFrame([column.cast(pl.String) if plain else column])
            frame.write_ipc(held, compression="uncompressed")
            digest.update(held.getbuffer())
        return f"columns sha256 {digest.hexdigest()}"

    def key_hash(self, *, in_order: bool = True) -> str:
        """Return a hash of the keys of the records, whatever file they are in; or of their counts."""
        digest = sha256(repr([(key.name, key.categories) for key in self.space.keys]).encode())
        if self.times is not None or not in_order:
            numbers, place = np.unique(self.space.number(self.codes), return_inverse=True)
            digest.update(np.ascontiguousarray(self.space.codes(numbers).T).data)
            digest.update(self.tally(place).data)
            return f"counts sha256 {digest.hexdigest()}"
        digest.update(np.ascontiguousarray(self.codes.T).data)  # column after column
        return f"keys sha256 {digest.hexdigest()}"
