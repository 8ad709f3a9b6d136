"""Microdata: the records of a file as category codes, and how they were sampled."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.checks import check_fraction, locked, shown
from maskmeter.data.frames import (
    POLARS,
    Column,
    FrameKind,
    as_kind,
    check_grouped,
    decode,
    new_frame,
    without_unused,
)
from maskmeter.data.keys import Codes, InCells, KeySpace, check_codes
from maskmeter.data.numeric import check_weights
from maskmeter.data.source import Source, file_hash
from maskmeter.data.varying import By, seen_fraction
from maskmeter.errors import (
    ColumnNotFoundError,
    InputError,
    WeightError,
)
from maskmeter.formats.codebook import EMPTY, Codebook
from maskmeter.formats.format import Header
from maskmeter.formats.replacement import Replacement
from maskmeter.plurals import counted, plural


@dataclass(frozen=True, eq=False)
class Microdata(InCells):
    """Records of a file: a code per record and key, and how the records were sampled.

    `codes` has a row per record and a column per key. Without a `fraction`, weights say how many
    units each record stands for, and their sum gives an overall fraction; with both, `fraction`
    holds the inclusion probabilities and `weights` serve tables only. `cell_sizes` has the records in cells of 1, 2, 3, 4, and 5 or
    more records (k-anonymity counts).

    >>> from maskmeter.data.keys import Key
    >>> Microdata(KeySpace([Key("sex", ["f", "m"])]), [[0], [1], [1]]).cell_sizes
    (1, 2, 0, 0, 0)
    """

    _unit = "records"

    space: KeySpace
    codes: Codes
    fraction: float | By[float] | None = None
    weights: NDArray[np.float64] | None = None
    codebook: Codebook = field(default=EMPTY, repr=False)
    source: Source | None = field(default=None, repr=False)
    source_codes: Codes | None = field(default=None, repr=False)  # as they stand in the source
    reading: tuple[tuple[str, Any], ...] = field(default=(), repr=False)  # how the file was read
    whole: bool = field(default=True, repr=False)  # False when some keys were left out
    rows: NDArray[np.int64] | None = field(default=None, repr=False)  # of the source, if not all
    # Columns that travel with a key, each with the row of the source that a record's value is from.
    carried: Mapping[str, NDArray[np.int64]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Check the codes and the sampling, and make the arrays read-only."""
        codes = check_codes(self.codes, self.space)
        object.__setattr__(self, "codes", locked(codes, self.space.code_type))
        if isinstance(self.fraction, By):
            checked = self.fraction.map(check_fraction)
            checked.strata(self.space)
            object.__setattr__(self, "fraction", checked)
        elif self.fraction is not None:
            object.__setattr__(self, "fraction", check_fraction(self.fraction))
        if self.weights is not None:
            weights = locked(self.weights, np.float64)
            check_weights(weights, len(codes))
            object.__setattr__(self, "weights", weights)

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.codes)

    def __repr__(self) -> str:
        """Return the size and the keys: no record is shown."""
        return (
            f"Microdata({counted(len(self), 'record')}, {self.uniques:,} unique on"
            f" {self.space.in_words})"
        )

    def __eq__(self, other: object) -> bool:
        """Return True when keys, codes and sampling are the same; other columns do not count."""
        if not isinstance(other, Microdata):
            return NotImplemented
        return (
            self.space == other.space
            and np.array_equal(self.codes, other.codes)
            and self.fraction == other.fraction
            and np.array_equal(self.weights, other.weights)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]

    def _cell_counts(self) -> NDArray[np.int64]:
        """Return the number of records in each occupied cell."""
        return np.unique(self.space.number(self.codes), return_counts=True)[1]

    @property
    def uniques(self) -> int:
        """Number of records that are alone in their cell."""
        return self.cell_sizes[0]

    def summary(self) -> str:
        """Return a short account that names no record."""
        share = self.uniques / max(len(self), 1)
        return (
            f"{counted(len(self), 'record')}, of which {self.uniques:,} ({share:.1%})"
            f" {plural(self.uniques, 'is', 'are')} unique on {counted(len(self.space.keys), 'key')}."
        )

    def with_codes(self, codes: Codes) -> Microdata:
        """Return the same records with other key values."""
        if np.shape(codes) != self.codes.shape:
            raise InputError(
                f"`codes` must have {counted(len(self), 'row')} (one per record) and {counted(len(self.space.keys), 'column')}."
            )
        return replace(self, codes=codes)

    def project(self, names: str | Sequence[str]) -> Microdata:
        """Return the same records with some of their keys, in the order given.

        A fraction that varies with a key that is left out is averaged over the records. Only the
        keys can be written then: the other columns may hold those that were left out, unprotected.
        """
        names = self.space.chosen(names)
        columns = [self.space.index(name) for name in names]
        space = self.space.project(names)
        fraction = self.fraction
        if isinstance(fraction, By):
            pi = self.inclusion(self.codes)
            fraction = seen_fraction(fraction, names, space=self.space, codes=self.codes, pi=pi)
        before = None if self.source_codes is None else self.source_codes[:, columns]
        return replace(
            self,
            space=space,
            codes=self.codes[:, columns],
            fraction=fraction,
            source_codes=before,
            whole=False,
        )

    def take(self, rows: NDArray[np.int64]) -> Microdata:
        """Return some of the records, sampled as all of them were."""
        weights = None if self.weights is None else self.weights[rows]
        held = rows if self.rows is None else self.rows[rows]
        carried = {name: origin[rows] for name, origin in self.carried.items()}
        return replace(self, codes=self.codes[rows], weights=weights, rows=held, carried=carried)

    def carry(self, names: Sequence[str], origin: NDArray[np.int64]) -> Microdata:
        """Return records whose values of some columns are those of other records, `origin`."""
        if not names:
            return self
        if self.source is None:
            raise InputError(
                "These records do not come from a file or data frame, so they have no columns to"
                " carry along."
            )
        rows = np.arange(len(self)) if self.rows is None else self.rows
        moved = {
            name: self.carried.get(name, rows)[origin] for name in self.source.check_names(names)
        }
        return replace(self, carried={**self.carried, **moved})

    def label(self, column: str) -> str:
        """Return the label that the file gives a column, or the column's name.

        >>> from maskmeter.formats.codebook import Variable
        >>> from maskmeter.data.keys import Key
        >>> space, sexes = KeySpace([Key("sex", [1, 2])]), ((1, "Male"), (2, "Female"))
        >>> book = Codebook((Variable("sex", "Sex of person", sexes),))
        >>> Microdata(space, [[0], [1]], codebook=book).label("sex")
        'Sex of person'
        """
        return self.codebook.label(column)

    def value_label(self, key: str, category: Hashable) -> str:
        """Return the label that the file gives a category, or the category as text.

        Labels only name: the categories are the codes. None is "missing".

        >>> from maskmeter.data.keys import Key
        >>> people = Microdata(KeySpace([Key("sex", [1, 2])]), [[0], [1]])
        >>> people.value_label("sex", 2), people.value_label("sex", None)
        ('2', 'missing')
        """
        return self.codebook.value_label(key, category)

    @property
    def path(self) -> Path | None:
        """The file that the records came from, if there is one and it can be written again."""
        return self.source.path if self.source is not None and self.whole else None

    @property
    def frame_kind(self) -> FrameKind:
        """The kind of frame that results about these records come in; Polars for files."""
        return POLARS if self.source is None else self.source.frame_kind

    def column(self, name: str) -> Column:
        """Return the categories of a key or of another column, and the code of each record."""
        if name in self.space.names:
            position = self.space.index(name)
            return Column(self.space.keys[position].categories, self.codes[:, position])
        if self.source is not None and name in self.source.names:
            return self._in_source(self.source, name)
        others = () if self.source is None else self.source.names
        columns = tuple(dict.fromkeys((*self.space.names, *others)))
        header = Header(columns) if self.source is None else self.source.header
        raise ColumnNotFoundError(name, columns, named=header.named, listed=header.listed)

    def _in_source(self, source: Source, name: str) -> Column:
        """Return a column as it stands in the source, of the records held here."""
        column, rows = source.encode([name])[name], self.carried.get(name, self.rows)
        return column if rows is None else replace(column, codes=column.codes[rows])

    def groups(self, name: str) -> NDArray[np.int64]:
        """Return the number of each record's group, in order of appearance; none may be missing.

        `name` is the column that tells groups apart, such as households.
        """
        if not isinstance(name, str):
            raise InputError(f"Give the name of a column, not {shown(name)}.")
        if self.source is None:
            raise InputError(
                f"These records do not come from a file or data frame, so they have no column {name!r}."
            )
        if name not in self.source.names:
            raise self.source.not_found(name)
        column = self._in_source(self.source, name)
        absent = [value is None or value != value for value in column.categories]  # noqa: PLR0124 - NaN
        missing = int(np.array(absent)[column.codes].sum())
        check_grouped(name, missing=missing, records=len(self))
        _, first, number = np.unique(column.codes, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[number]

    def inclusion(self, codes: Codes, *, space: KeySpace | None = None) -> NDArray[np.float64]:
        """Return the inclusion probability pi_j of each cell, of these keys or those of `space`.

        A fraction is used as it is; with weights it is the number of records over their sum.
        """
        if isinstance(self.fraction, By):
            keys = self.space if space is None else space
            strata, values = self.fraction.strata(keys)
            columns = [codes[:, keys.index(name)] for name in self.fraction.keys]
            return np.array(values, dtype=np.float64)[strata[tuple(columns)]]
        if self.fraction is not None:
            return np.full(len(codes), self.fraction)
        if self.weights is not None:
            return np.full(len(codes), len(self) / self.weights.sum())
        raise WeightError(
            "This risk depends on how the records were sampled."
            " Give `fraction` or `weights` to mm.read."
        )

    def to_frame(self) -> Any:
        """Return the user's columns, in their order and types, with the key values held here.

        A pandas frame keeps its index.

        >>> import polars as pl, maskmeter as mm
        >>> people = pl.DataFrame({"sex": ["f", "m"], "age": [30, 40]})
        >>> mm.read(people, keys=["sex"]).to_frame().equals(people)
        True
        """
        return self._records().to_native()

    def rows_to_frame(
        self, rows: NDArray[np.int64], *, before: dict[str, Any], after: dict[str, Any]
    ) -> Any:
        """Return the keys of some records between other columns, in the user's kind of frame.

        A pandas frame has the index that the user gave these very records.
        """
        keys = self._records(rows)
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
        names = self.source.names if rows is None and self.whole else self.space.names
        held = self.rows if rows is None else rows if self.rows is None else self.rows[rows]
        found = self.source.records(self._replacements(rows), rows=held, names=names)
        return found if rows is not None or self.rows is None else without_unused(found)

    def write(self, path: str | Path) -> None:
        """Write the user's columns with the key values held here, in the format of the ending.

        A file in the format of the one that was read differs from it in the changed columns only,
        byte for byte in delimited text, SPSS and Stata. Keys in bands are written as their bands.
        What another format cannot hold is said in a warning.
        """
        if self.source is not None and self.whole:
            self.source.write_with(path, self._replacements(), self.rows)
        else:
            Source.of(self.to_frame(), codebook=self.codebook).write_with(path, ())

    def _replacements(self, rows: NDArray[np.int64] | None = None) -> list[Replacement]:
        """Return the columns of the keys, of all records or some."""
        codes = self.codes if rows is None else self.codes[rows]
        before = self.codes if self.source_codes is None else self.source_codes
        keys = [
            Replacement(
                key.name,
                codes[:, position].astype(np.int64),
                key.categories,
                before[:, position].astype(np.int64),
                recoded=key.name in self.codebook.recoded,
            )
            for position, key in enumerate(self.space.keys)
        ]
        if rows is not None:  # the keys are all that is asked for
            return keys
        keys += self._carried()
        return keys if self.rows is None else [*keys, *self._new_weights()]

    def _carried(self) -> Iterator[Replacement]:
        """Yield the columns that travel with a key; only whole records have any."""
        if self.source is None or not self.whole:
            return
        for name, rows in self.carried.items():
            column = self.source.encode([name])[name]
            codes = column.codes.astype(np.int64)
            yield Replacement(name, codes[rows], column.categories, codes)

    def _new_weights(self) -> Iterator[Replacement]:
        """Yield the column of weights, which are others when not all records are held."""
        name = dict(self.reading).get("weights")
        if name is None or self.weights is None or self.source is None or not self.whole:
            return
        column = self.source.columns([name])[name]
        values, codes = np.unique(self.weights, return_inverse=True)
        before = np.zeros(len(column), dtype=np.int64)
        before[self.rows] = codes
        listed: tuple[Hashable, ...] = tuple(values.tolist())
        if column.dtype == nw.String:  # as in delimited text, with the decimal mark of the file
            comma = any("," in text for text in column.drop_nulls().unique().to_list())
            listed = tuple(str(one).replace(".", ",") if comma else str(one) for one in listed)
        yield Replacement(name, codes.astype(np.int64), listed, before, recoded=True)

    def fingerprint(self) -> str:
        """Return a hash of the file the records came from, or of their keys if it was a frame."""
        if self.source is not None and self.path is not None:
            return file_hash(self.source.check_unchanged())
        return self.key_hash()

    def key_hash(self) -> str:
        """Return a hash of the keys of the records, whatever file they are in."""
        digest = sha256(repr([(key.name, key.categories) for key in self.space.keys]).encode())
        digest.update(np.ascontiguousarray(self.codes.T).data)  # column after column
        return f"keys sha256 {digest.hexdigest()}"


def check_microdata(data: object) -> None:
    """Refuse what was not read."""
    if not isinstance(data, Microdata):
        raise InputError(f"Give a sample (mm.read), not a {type(data).__name__}.")
