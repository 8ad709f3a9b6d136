"""Data frames in and out: outside this module there are category codes and key spaces."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PanicException

from maskmeter import formats
from maskmeter.checks import check_distinct
from maskmeter.data.keys import Codes, Key, KeySpace, names_in
from maskmeter.errors import (
    CategoryError,
    ColumnNotFoundError,
    InputError,
    MissingValuesError,
)
from maskmeter.formats.category_order import declared
from maskmeter.formats.codebook import EMPTY, Codebook
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.rebuild import rebuild_values
from maskmeter.plurals import counted, plural

Missing = Literal["refuse", "category"]
Keys: TypeAlias = "str | KeySpace | Iterable[str | Key] | Any"
Frame: TypeAlias = "nw.DataFrame[Any] | nw.LazyFrame[Any]"

T = TypeVar("T")

COUNT = "maskmeter: number of rows"


@dataclass(frozen=True, eq=False, repr=False)
class Opened:
    """A source of records: a frame of any kind, with the file behind it if there is one."""

    frame: Frame
    path: Path | None = None
    file: formats.Scanned | None = None

    @property
    def named(self) -> bool:
        """False when the column names may be values of a record."""
        return self.file is None or self.file.named

    @property
    def codebook(self) -> Codebook:
        """What the file says of its columns."""
        return EMPTY if self.file is None else self.file.codebook

    @property
    def dialect(self) -> Dialect:
        """How the file's text is written."""
        return (self.file and self.file.dialect) or Dialect()

    def load(self) -> nw.DataFrame[Any]:
        """Return an eager frame: the user's own kind, Polars for files and lazy engines."""
        if isinstance(self.frame, nw.DataFrame):
            # What the user does to their frame later is no concern of ours.
            return self.frame.clone()
        return self._collected(self.frame)

    def grouped(self, names: Sequence[str]) -> nw.DataFrame[Any]:
        """Return the distinct combinations of columns with their number of rows, under COUNT.

        The rows themselves stay in the engine that holds them.
        """
        return self._collected(
            _careful(lambda: self.frame.group_by(list(names)).agg(nw.len().alias(COUNT)))
        )

    def check_columns(self, keys: Sequence[str | Key]) -> list[str]:
        """Return the names of the keys, which must be columns."""
        names, columns = [_name(key) for key in keys], self.columns
        listed = self.file is None or self.file.listed
        for name in names:
            if name not in columns:
                raise ColumnNotFoundError(name, columns, listed=listed, named=self.named)
            if not name or name == "*" or (name.startswith("^") and name.endswith("$")):
                raise InputError(
                    f"Rename the column {name!r}: data frames read this name as a pattern."
                )
        return names

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return _careful(lambda: self.frame.collect_schema().names(), self._unusable)

    @property
    def _unusable(self) -> str:
        """The message for columns of types that maskmeter does not support."""
        if self.path is None:
            return _UNUSABLE
        return (
            f"Cannot read {self.path.name!r}: a column has a type that maskmeter does not support."
        )

    def _collected(self, frame: Frame) -> nw.DataFrame[Any]:
        if isinstance(frame, nw.DataFrame):
            return frame
        native = nw.to_native(frame)
        if self.path is not None:
            return nw.from_native(formats.collect(native, self.path))
        if isinstance(native, pl.LazyFrame):
            return nw.from_native(_careful(lambda: native.collect(engine="streaming")))
        return _careful(lambda: frame.collect(backend="polars"))


def load(source: Any) -> nw.DataFrame[Any]:
    """Return any source as an eager frame: the user's own kind, Polars for files and lazy engines."""
    return opened(source).load()


def listed_keys(keys: Keys, source: Opened) -> list[str | Key]:
    """Return keys as a list of names or Key objects, whatever they were given as.

    Text names a column of the source, or several with commas between them.
    """
    keys = getattr(keys, "space", keys)  # a population or a sample lends its keys
    if isinstance(keys, KeySpace):
        return list(keys.keys)
    keys = names_in(keys, source.columns) if isinstance(keys, str) else keys
    if isinstance(keys, Key):
        raise InputError(f"`keys` must be a list: write keys=[{keys!r}].")
    try:
        listed = list(keys)
    except TypeError:
        listed = [None]
    if hasattr(keys, "dtype") or not all(isinstance(key, str | Key) for key in listed):
        raise InputError(
            '`keys` must be a list of column names or mm.Key objects, or text such as "age,sex".'
        )
    names = [_name(key) for key in listed]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"`keys` names {repeated!r} more than once. Name each key once.")
    return listed


def _name(key: str | Key) -> str:
    return key if isinstance(key, str) else key.name


def encode(
    frame: nw.DataFrame[Any],
    keys: Sequence[str | Key],
    *,
    missing: Missing,
    rows: NDArray[np.int64] | None = None,
) -> tuple[KeySpace, Codes]:
    """Return the key space of a frame and the codes of its rows.

    `rows` says how many records each row stands for, when that is not one.
    """
    if not len(frame):
        raise InputError("The file or data frame has no records.")
    weight = np.ones(len(frame), dtype=np.int64) if rows is None else rows
    pairs = [_encoded(frame, key, missing=missing, rows=weight) for key in keys]
    space = KeySpace(key for key, _ in pairs)
    codes = np.empty((len(frame), len(pairs)), dtype=space.code_type, order="F")
    for position, (_, column) in enumerate(pairs):
        codes[:, position] = column
    return space, codes


def decode(space: KeySpace, codes: Codes) -> nw.DataFrame[Any]:
    """Return a Polars frame of category values."""
    columns = {
        key.name: nw.new_series(key.name, list(key.categories), backend="polars")[
            codes[:, position].astype(np.int64)
        ]
        for position, key in enumerate(space.keys)
    }
    return nw.from_dict(columns)


def decode_into(
    records: nw.DataFrame[Any],
    space: KeySpace,
    codes: Codes,
    *,
    like: tuple[nw.DataFrame[Any], Codes],
) -> nw.DataFrame[Any]:
    """Return records of the user's frame with other key values, of the types in `like`.

    `like` is a frame with the codes of its rows. The index of a pandas user stays with the records:
    narwhals puts columns into a frame row by row, whatever index they come with.
    """
    frame, known = like
    columns = [
        _alike(key, codes[:, position].astype(np.int64), frame[key.name], known[:, position])
        for position, key in enumerate(space.keys)
    ]
    return records.with_columns(*columns)


def _alike(key: Key, wanted: Codes, column: nw.Series[Any], codes: Codes) -> nw.Series[Any]:
    """Return category values of the very type of a column, and nothing else of that column.

    Each category that is wanted is taken from one of the column's rows and made anew.
    """
    row = np.full(key.size, -1)
    row[codes] = np.arange(len(codes))
    held = np.bincount(wanted, minlength=key.size) > 0
    place = (held.cumsum() - 1)[wanted]
    if (row[held] >= 0).all():
        return rebuild_values(column[row[held]])[place]

    # Some category is not in the column: make its value, in a wider type if it does not fit.
    made = [value for value, kept in zip(key.categories, held, strict=True) if kept]
    for kind in (column.dtype, None):
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")  # what does not fit is checked below
            values = nw.new_series(key.name, made, kind, backend=column.implementation)
            if values.null_count() == made.count(None):
                return values[place]
    raise InputError(
        f"The type of column {key.name!r} cannot store all categories of its key. Convert it to text."
    )


def new_frame(columns: dict[str, NDArray[Any]], *, like: nw.DataFrame[Any]) -> dict[str, Any]:
    """Return arrays as columns of the kind of another frame."""
    backend = like.implementation
    return {name: nw.new_series(name, values, backend=backend) for name, values in columns.items()}


def opened(source: Any, dialect: Dialect | None = None) -> Opened:
    """Return any source of records, not yet read where that can wait."""
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        file = formats.scan(path, dialect)
        # The working directory may change before a copy of the file is written.
        return Opened(nw.from_native(file.frame), path.absolute(), file)
    return Opened(_framed(source))


def _framed(source: Any) -> Frame:
    """Return a frame of any kind as one of narwhals."""
    try:
        frame: Frame = nw.from_native(source)
        names = frame.collect_schema().names()
    except TypeError:
        raise InputError(
            f"Cannot read an object of type {type(source).__name__}. Give the path of a file, or a"
            " data frame (Polars, pandas, PyArrow or another that narwhals supports)."
        ) from None
    except nw.exceptions.DuplicateError:
        names = getattr(source, "column_names", None) or source.columns  # Arrow, else pandas
        check_distinct(str(name) for name in names)
        raise
    except (Exception, PanicException):  # noqa: BLE001 - whatever a lazy engine raises may quote a record
        raise InputError(_UNUSABLE) from None
    if not all(isinstance(name, str) for name in names):
        raise InputError("Column names must be text. Rename the columns of the data frame.")
    check_distinct(names)
    return frame


_UNUSABLE = (
    "Evaluating the data frame failed. Collect it yourself to see the error, which may quote a"
    " record."
)


def _careful(action: Callable[[], T], message: str = _UNUSABLE) -> T:
    """Return what an action on a frame gives; what the engine says may quote a record."""
    try:
        return action()
    except (Exception, PanicException):  # noqa: BLE001 - see above; a panic is no Exception
        raise InputError(message) from None


def _encoded(
    frame: nw.DataFrame[Any], key: str | Key, *, missing: Missing, rows: NDArray[np.int64]
) -> tuple[Key, NDArray[np.int64]]:
    """Return one key and the codes of its column."""
    name = _name(key)
    column = frame[name]
    if column.dtype.is_float():
        column = column.fill_nan(None)
    absent = column.is_null().to_numpy()
    if absent.any() and missing == "refuse":
        lacking, records = int(rows[absent].sum()), int(rows.sum())
        raise MissingValuesError(name, missing=lacking, records=records)
    present = column.drop_nulls()
    nested = f"Column {name!r} cannot be a key: it must hold text, numbers, dates or booleans."
    distinct = _careful(present.unique, nested)
    observed = _careful(distinct.to_list, nested)
    if column.dtype.is_temporal() and len(set(observed)) < len(distinct):
        raise CategoryError(
            f"Column {name!r} holds times finer than a microsecond. Round them first."
        )
    if isinstance(key, str):
        categories = declared(column) or _sorted(observed, name, nested)
        key = Key(name, [*categories, None] if absent.any() else categories)
    codes = np.empty(len(column), dtype=np.int64)
    codes[~absent] = _codes(present, observed, key)
    if absent.any():
        codes[absent] = _missing_code(key)
    return key, codes


def _missing_code(key: Key) -> int:
    code = key.position(None)
    if code < 0:
        raise CategoryError(
            f"Some records have no value for {key.name!r}, and the given categories do not include"
            ' missing. Count the population with missing="category" too.'
        )
    return code


def _codes(column: nw.Series[Any], observed: list[Hashable], key: Key) -> NDArray[np.int64]:
    """Return the code of each value of a column that has no missing values."""
    known = [key.position(value) for value in observed]
    lost = known.count(-1)
    if lost:
        kind = type(column.dtype).__name__
        raise CategoryError(
            f"{lost:,} of the {counted(len(observed), 'distinct value')} of {key.name!r}"
            f" {plural(lost, 'is', 'are')} not among its {key.size} categories. This column holds"
            f" {kind}; text never matches numbers, and a CSV holds only text. Give sample and"
            " population in the same format, or list all categories."
        )
    try:
        return column.replace_strict(observed, known, return_dtype=nw.Int64).to_numpy()
    except Exception:  # noqa: BLE001 - some engines cannot match some types: do it value by value
        table = dict(zip(observed, known, strict=True))
        return _careful(lambda: np.array([table[value] for value in column.to_list()]))


def _sorted(values: list[Any], name: str, nested: str) -> list[Hashable]:
    distinct = _careful(lambda: list(dict.fromkeys(values)), nested)  # 0.0 and -0.0 are one value
    try:
        return sorted(distinct)
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        raise CategoryError(
            f"Values of {name!r} have types that cannot be sorted together ({kinds}). Convert them to text."
        ) from None
