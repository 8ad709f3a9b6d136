"""Microdata: the records of a file as category codes, and how they were sampled."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from maskmeter import formats
from maskmeter.checks import check_choice, check_fraction, locked, shown
from maskmeter.data.bands import Bands, banded, check_bands, warn_if_many
from maskmeter.data.frames import (
    Keys,
    Missing,
    decode,
    decode_into,
    encode,
    listed_keys,
    new_frame,
    opened,
)
from maskmeter.data.keys import Codes, InCells, KeySpace, check_codes
from maskmeter.data.numeric import check_weights, named_weights
from maskmeter.data.origin import Origin, file_hash, warn_if_sorted
from maskmeter.data.varying import By, seen_fraction
from maskmeter.errors import (
    ColumnNotFoundError,
    InputError,
    WeightError,
)
from maskmeter.formats.codebook import EMPTY, Codebook
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.plurals import counted, plural


@dataclass(frozen=True, eq=False)
class Microdata(InCells):
    """Records of a file: a code per record and key, and how the records were sampled.

    `codes` has a row per record and a column per key. Without a `fraction`, weights give an overall
    one through their sum; with both, `fraction` holds the inclusion probabilities and `weights`
    are what models are fitted to. `cell_sizes` has the records in cells of 1, 2, 3, 4, and 5 or
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
    origin: Origin | None = field(default=None, repr=False)
    codebook: Codebook = field(default=EMPTY, repr=False)

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
        origin = None if self.origin is None else self.origin.part(columns)
        codes = self.codes[:, columns]
        return Microdata(space, codes, fraction, self.weights, origin, self.codebook)

    def take(self, rows: NDArray[np.integer[Any]]) -> Microdata:
        """Return some of the records, sampled as all of them were."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, codes=self.codes[rows], weights=weights, origin=None)

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

    def column(self, name: str) -> list[Any]:
        """Return a column of the user's file, a value for each record, none of them missing."""
        if not isinstance(name, str):
            raise InputError(f"Give the name of a column, not {shown(name)}.")
        if self.origin is None:
            raise InputError(
                f"These records do not come from a file or data frame, so they have no column {name!r}."
            )
        frame = self.origin.frame
        if name not in frame.columns:
            named, listed = self.origin.named, self.origin.listed
            raise ColumnNotFoundError(name, frame.columns, named=named, listed=listed)
        values = list(frame[name].to_list())
        missing = sum(value is None or value != value for value in values)  # noqa: PLR0124 - NaN
        if missing:
            raise InputError(
                f"{missing:,} of {counted(len(self), 'record')} {plural(missing, 'has', 'have')} no value"
                f" for {name!r}. Recode or drop {plural(missing, 'it', 'them')} first."
            )
        if not all(isinstance(value, Hashable) for value in values):
            raise InputError(
                f"Column {name!r} must hold text, numbers, dates or booleans, not lists."
            )
        return values

    def inclusion(self, codes: Codes) -> NDArray[np.float64]:
        """Return the inclusion probability pi_j of each cell.

        A fraction is used as it is; with weights it is the number of records over their sum.
        """
        if isinstance(self.fraction, By):
            strata, values = self.fraction.strata(self.space)
            columns = [codes[:, self.space.index(name)] for name in self.fraction.keys]
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

        >>> import polars as pl
        >>> people = pl.DataFrame({"sex": ["f", "m"], "age": [30, 40]})
        >>> read(people, keys=["sex"]).to_frame().equals(people)
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

    def groups_to_frame(self, name: str, rows: NDArray[np.int64], after: dict[str, Any]) -> Any:
        """Return a row per group of records, named by a column of one of them, before other columns.

        The frame is of the user's kind. In pandas its index is 0, 1, ...: a group is no record.
        """
        if self.origin is None or name in after:
            raise InputError(
                f"The result has a column {name!r} of its own. Rename your column of that name."
            )
        kept = nw.maybe_reset_index(self.origin.frame.select(name)[rows])
        return kept.with_columns(*new_frame(after, like=kept).values()).to_native()

    def _records(self, rows: NDArray[np.int64] | None = None) -> nw.DataFrame[Any]:
        """Return the user's frame with the key values held here, or the keys of some of its rows."""
        codes = self.codes if rows is None else self.codes[rows]
        if self.origin is None:
            return decode(self.space, codes)
        frame = self.origin.frame
        records = frame if rows is None and self.origin.whole else frame.select(*self.space.names)
        records = records if rows is None else records[rows]
        return decode_into(records, self.space, codes, like=(frame, self.origin.codes))

    def write(self, path: str | Path) -> None:
        """Write the user's columns with the key values held here, in the format of the ending.

        A file in the format of the one that was read differs from it in the changed columns only,
        byte for byte in delimited text, SPSS and Stata. Keys in bands are written as their bands.
        What another format cannot hold is said in a warning.
        """
        origin = self.origin
        path = formats.check_target(path, None if origin is None else origin.path)
        frame = nw.from_native(self.to_frame(), eager_only=True)
        if origin is not None:
            warn_if_sorted(self.space, origin.codes, self.codes)
        if origin is None or origin.source is None:
            formats.write(frame, path, self.codebook)
            return
        changes = None
        if formats.copies(self.codebook, origin.source.path, path):
            origin.check_unchanged()
            changes = self._changes(origin.codes)
        formats.write(frame, path, self.codebook, source=origin.source, changes=changes)

    def _changes(self, before: Codes) -> list[formats.Change]:
        """Return the columns that are not as in the file; those of a key in bands never are."""
        changes = []
        for position, key in enumerate(self.space.keys):
            now, then = self.codes[:, position].astype(np.int64), before[:, position]
            recoded = key.name in self.codebook.recoded
            donors = np.full(key.size, -1)
            if not recoded:
                donors[then[::-1]] = np.arange(len(then))[::-1]
            if recoded or (now != then).any():
                texts = tuple("" if value is None else str(value) for value in key.categories)
                changes.append(formats.Change(key.name, now, texts, donors))
        return changes

    def fingerprint(self) -> str:
        """Return a hash of the file the records came from, or of their keys if it was a frame."""
        if self.origin is not None and self.origin.path is not None:
            return file_hash(self.origin.check_unchanged())
        return self.key_hash()

    def key_hash(self) -> str:
        """Return a hash of the keys of the records, whatever file they are in."""
        digest = sha256(repr([(key.name, key.categories) for key in self.space.keys]).encode())
        digest.update(np.ascontiguousarray(self.codes.T).data)  # column after column
        return f"keys sha256 {digest.hexdigest()}"


def read(
    source: Any,
    keys: Keys,
    *,
    fraction: float | By[float] | None = None,
    weights: str | None = None,
    missing: Missing = "refuse",
    bands: Bands | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Microdata:
    """Return the records of a file or a frame, with their keys as category codes.

    Categories stand in their declared order where the column has one (a Polars Enum, an ordered
    pandas Categorical), else sorted by value. A CSV holds text: "10" comes before "2" there, and
    an empty field is missing. Codes of SPSS and Stata files stay codes, whatever their labels.

    Parameters
    ----------
    source
        A path to a file (delimited text, Parquet, Arrow, SPSS, Stata, SAS, Excel or R), or a data
        frame (Polars, pandas, PyArrow, ...).
    keys
        Names of the columns an intruder could know: a list, or text such as "age,sex". Pass
        `population.space` (or `Key` objects) to take the categories from elsewhere than from this
        file.
    fraction
        The share of the population that was sampled; `mm.by(key, {...})` when it varies.
    weights
        The column of survey weights. Without `fraction`, the overall fraction is the number of
        records over the sum of the weights; with both, `fraction` gives the inclusion
        probabilities (per stratum, say) and the weights are used to fit models.
    missing
        "refuse" missing key values, or make them a "category".
    bands
        Lower bounds of the bands that keys of numbers are put into; the last band is open. A
        written file holds the bands, not the numbers.
    encoding, delimiter, decimal
        How delimited text is written, where that cannot be found out: such as "cp1252", ";", ",".
        An encoding is also heeded for SPSS, Stata and SAS files that name a wrong one.

    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "m", "m"], "age": [30, 40, 40]})
    >>> read(people, keys=["sex", "age"], fraction=0.01)
    Microdata(3 records, 1 unique on sex (2), age (2))
    >>> read(people, keys=["age"], bands={"age": [0, 16, 35, 65]}).to_frame()["age"].to_list()
    ['16-34', '35-64', '35-64']
    """
    check_choice(missing, Missing, name="missing")
    given = opened(source, Dialect(encoding, delimiter, decimal))
    listed = listed_keys(keys, given)
    cut = check_bands(bands, given.check_columns(listed))
    frame = banded(given.load(), cut, given)
    space, codes = encode(frame, listed, missing=missing)
    warn_if_many(frame, listed, space, given.codebook)
    codes = locked(codes)
    weighed = None if weights is None else named_weights(frame, weights, given)
    codebook = given.codebook
    for name in cut:
        codebook = codebook.recode(name)
    said = {"weights": weights, "encoding": encoding, "delimiter": delimiter, "decimal": decimal}
    reading: dict[str, Any] = {name: text for name, text in said.items() if text is not None}
    reading |= {"missing": missing, "bands": {name: list(bounds) for name, bounds in cut.items()}}
    origin = replace(Origin.of(given, frame, codes), reading=tuple(reading.items()))
    return Microdata(space, codes, fraction, weighed, origin, codebook)


def check_microdata(data: object) -> None:
    """Refuse what was not read."""
    if not isinstance(data, Microdata):
        raise InputError(f"Give a sample (mm.read), not a {type(data).__name__}.")
