"""Microdata: the records of a file as category codes, and how they were sampled."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import check_fraction, locked, shown
from maskmeter.data.at_source import AtSource
from maskmeter.data.encoding import Column
from maskmeter.data.filed import FiledRecords
from maskmeter.data.frames import (
    check_grouped,
)
from maskmeter.data.keys import Codes, KeySpace, check_codes
from maskmeter.data.numeric import check_weights
from maskmeter.data.source import Source
from maskmeter.data.varying import By, seen_fraction
from maskmeter.errors import (
    ColumnNotFoundError,
    InputError,
    WeightError,
)
from maskmeter.formats.codebook import EMPTY, Codebook
from maskmeter.formats.format import Header
from maskmeter.plurals import counted, plural

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Microdata(FiledRecords):
    """Records of a file: a code per record and key, and how the records were sampled.

    `codes` has a row per record and a column per key. Of records that stay where they are, in a
    database say, it has a row per combination, which stands for several records (`times`). Without
    a `fraction`, weights say how many units each record stands for, and their sum gives an overall
    fraction; with both, `fraction` holds the inclusion probabilities and `weights` serve tables
    only. `cell_sizes` has the records in cells of 1, 2, 3, 4, and 5 or more records (k-anonymity
    counts).

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
    dropped: tuple[str, ...] = field(default=(), repr=False)  # columns that are not written
    # Columns with new numbers, each with that of every record; 0 where it had no value.
    renumbered: Mapping[str, NDArray[np.int64]] = field(default_factory=dict, repr=False)
    reweighted: bool = field(default=False, repr=False)  # weights are not those of the source
    times: NDArray[np.int64] | None = field(default=None, repr=False)  # records behind each row
    # The numbers of records in random streams, if these are not their rows.
    ids: NDArray[np.uint64] | None = field(default=None, repr=False)
    at_source: AtSource | None = field(default=None, repr=False)  # if the records stay in an engine
    also: Mapping[str, Column] = field(default_factory=dict, repr=False)  # other columns of these
    held: Microdata | None = field(default=None, repr=False)  # the records behind counts, in memory
    _made: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the codes and the sampling, and make the arrays read-only."""
        codes = check_codes(self.codes, self.space)
        if self.times is not None:
            object.__setattr__(self, "times", locked(self.times, np.int64))
        object.__setattr__(self, "codes", locked(codes, self.space.code_type))
        if isinstance(self.fraction, By):
            checked = self.fraction.map(check_fraction)
            checked.strata(self.space)
            object.__setattr__(self, "fraction", checked)
        elif self.fraction is not None:
            object.__setattr__(self, "fraction", check_fraction(self.fraction))
        if self.weights is not None:
            weights = locked(self.weights, np.float64)
            check_weights(weights, len(codes), times=self.times)
            object.__setattr__(self, "weights", weights)

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
            and np.array_equal(self.times, other.times)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]

    def made(self, what: Hashable, make: Callable[[], T]) -> T:
        """Return what was made of these records, which never change, or make it now."""
        if what not in self._made:
            self._made[what] = make()
        found: T = self._made[what]
        return found

    def summary(self) -> str:
        """Return a short account that names no record."""
        return (
            f"{counted(len(self), 'record')}, of which {self.uniques:,} ({self.unique_share:.1%})"
            f" {plural(self.uniques, 'is', 'are')} unique on {counted(len(self.space.keys), 'key')}."
        )

    def with_codes(self, codes: Codes) -> Microdata:
        """Return the same records with other key values."""
        if np.shape(codes) != self.codes.shape:
            raise InputError(
                f"`codes` must have {counted(len(self.codes), 'row')} (one per record) and {counted(len(self.space.keys), 'column')}."
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
            times = np.ones(len(pi)) if self.times is None else self.times
            fraction = seen_fraction(
                fraction, names, space=self.space, codes=self.codes, pi=pi, times=times
            )
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
        return replace(
            self,
            codes=self.codes[rows],
            weights=weights,
            rows=held,
            carried=carried,
            renumbered={name: numbers[rows] for name, numbers in self.renumbered.items()},
            times=None if self.times is None else self.times[rows],
            also={name: replace(one, codes=one.codes[rows]) for name, one in self.also.items()},
            ids=None if self.ids is None else self.ids[rows],
        )

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

    def column(self, name: str) -> Column:
        """Return the categories of a key or of another column, and the code of each record."""
        if name in self.space.names:
            position = self.space.index(name)
            return Column(self.space.keys[position].categories, self.codes[:, position])
        if self.at_source is not None:
            return self._counted(name)
        if self.source is not None and name in self.source.names:
            return self._in_source(self.source, name)
        others = () if self.source is None else self.source.names
        columns = tuple(dict.fromkeys((*self.space.names, *others)))
        header = Header(columns) if self.source is None else self.source.header
        raise ColumnNotFoundError(name, columns, named=header.named, listed=header.listed)

    def _counted(self, name: str) -> Column:
        """Return a column by which records in an engine were counted, which must be as it was."""
        if self.at_source is not None and name in self.at_source.carried:
            raise InputError(
                f"{name!r} travelled with a key where the records are, and was not counted again. Leave"
                " out tables with it."
            )
        if name in self.also:
            return self.also[name]
        raise InputError(
            f"The records stay in the engine that holds them and were not counted by {name!r}. Read"
            f" them with also=[{name!r}], or in a plan name the table under [loss]."
        )

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
        self.check_held(f"Grouping records by {name!r}")
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

    @property
    def expected_population(self) -> float:
        """How many units the records stand for, by their inclusion probabilities."""
        pi = self.inclusion(self.codes)
        return float((1 / pi).sum() if self.times is None else (self.times / pi).sum())

    @property
    def sampled_share(self) -> float:
        """Share of these units that was sampled, overall."""
        return len(self) / self.expected_population

    def check_held(self, work: str) -> None:
        """Raise if the records stay where they are, so that only their counts are here."""
        if self.times is not None:
            raise InputError(
                f"{work} needs every record in memory, but these stay in the engine that holds them."
                " Read a data frame or a single file, or a part of the records."
            )

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
            return np.full(len(codes), len(self) / self.units)
        raise WeightError(
            "This risk depends on how the records were sampled."
            " Give `fraction` or `weights` to mm.read."
        )


def check_microdata(data: object) -> None:
    """Refuse what was not read."""
    if not isinstance(data, Microdata):
        raise InputError(f"Give a sample (mm.read), not a {type(data).__name__}.")
