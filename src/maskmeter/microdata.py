"""Microdata: a file's records as category codes. The only module that knows about data frames."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from maskmeter import formats
from maskmeter._checks import check_choice, check_distinct, check_fraction, locked
from maskmeter.errors import (
    CategoryError,
    ColumnNotFoundError,
    InputError,
    MissingValuesError,
    WeightError,
)
from maskmeter.keys import Key, KeySpace
from maskmeter.strata import By

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from maskmeter.keys import Codes

Missing = Literal["refuse", "category"]
Keys: TypeAlias = "KeySpace | Sequence[str | Key]"
Frame: TypeAlias = "nw.DataFrame[Any] | nw.LazyFrame[Any]"


@dataclass(frozen=True, eq=False)
class Microdata:
    """Records of a file: a code per record and key, and how the records were sampled.

    `codes` has a row per record and a column per key; `frame` is the user's own frame. At most one
    of `fraction` and `weights` is given.
    """

    space: KeySpace
    codes: Codes
    fraction: float | By[float] | None = None
    weights: NDArray[np.float64] | None = None
    frame: nw.DataFrame[Any] | None = None

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        codes = np.asarray(self.codes)
        if codes.ndim != 2 or codes.shape[1] != len(self.space.keys):  # noqa: PLR2004 - records by keys
            message = f"`codes` must have a column for each of the {len(self.space.keys)} keys."
            raise InputError(message)
        if codes.size and ((codes < 0) | (codes >= np.array(self.space.sizes))).any():
            message = "`codes` holds numbers that are not codes of the keys' categories."
            raise CategoryError(message)
        object.__setattr__(self, "codes", locked(codes, self.space.code_type))
        if self.weights is not None:
            object.__setattr__(self, "weights", locked(self.weights, np.float64))

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.codes)

    def __repr__(self) -> str:
        """Return the size and the keys: no record is shown."""
        return f"Microdata({len(self):,} records, keys {', '.join(self.space.names)})"

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

    def with_codes(self, codes: Codes) -> Microdata:
        """Return the same records with other key values."""
        if np.shape(codes) != self.codes.shape:
            message = f"`codes` must have {len(self):,} rows, one for each record."
            raise InputError(message)
        return replace(self, codes=codes)

    def inclusion(self, codes: Codes) -> NDArray[np.float64]:
        """Return the inclusion probability pi_j of each cell.

        A fraction is used as it is; with weights it is the number of records over their sum.
        """
        if isinstance(self.fraction, By):
            strata, values = self.fraction.strata(self.space)
            columns = [codes[:, self.space.index(name)] for name in self.fraction.keys]
            return np.array(values)[strata[tuple(columns)]]
        if self.fraction is not None:
            return np.full(len(codes), self.fraction)
        if self.weights is not None:
            return np.full(len(codes), len(self) / self.weights.sum())
        message = (
            "This risk depends on how the records were sampled:"
            " give `fraction` or `weights` to mm.read."
        )
        raise WeightError(message)

    def to_frame(self) -> Any:  # noqa: ANN401 - the user's kind of frame
        """Return the user's columns, in their order and types, with the key values held here.

        >>> import polars as pl
        >>> people = pl.DataFrame({"sex": ["f", "m"], "age": [30, 40]})
        >>> read(people, keys=["sex"]).to_frame().equals(people)
        True
        """
        frame = self.frame
        if frame is None:
            return decode(self.space, self.codes).to_native()
        columns = decode(self.space, self.codes, like=frame)
        return frame.with_columns(*(columns[name] for name in self.space.names)).to_native()


def read(
    source: Any,  # noqa: ANN401 - a path or any frame narwhals knows
    keys: Keys,
    *,
    fraction: float | By[float] | None = None,
    weights: str | None = None,
    missing: Missing = "refuse",
) -> Microdata:
    """Return the records of a file or a frame, with their keys as category codes.

    Parameters
    ----------
    source
        A path to a CSV or Parquet file, or a data frame (Polars, pandas, PyArrow, ...).
    keys
        Names of the columns an intruder could know. Pass `population.space` (or `Key` objects) to
        take the categories from elsewhere than from this file.
    fraction
        The share of the population that was sampled; `mm.by(key, {...})` when it varies.
    weights
        The column of survey weights, in place of `fraction`.
    missing
        "refuse" missing key values, or make them a "category".

    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "m", "m"], "age": [30, 40, 40]})
    >>> read(people, keys=["sex", "age"], fraction=0.01)
    Microdata(3 records, keys sex, age)
    """
    check_choice(missing, Missing, name="missing")
    if fraction is not None and weights is not None:
        message = "Give `fraction` or `weights`, not both."
        raise WeightError(message)
    frame = _collected(_open(source), source)
    space, codes = encode(frame, keys, missing=missing)
    if isinstance(fraction, By):
        fraction.map(check_fraction).strata(space)
    elif fraction is not None:
        fraction = check_fraction(fraction)
    weighed = None if weights is None else _weights(frame, weights)
    return Microdata(space, codes, fraction=fraction, weights=weighed, frame=frame)


COUNT = "maskmeter: number of rows"


def grouped(source: Any, keys: Keys) -> nw.DataFrame[Any]:  # noqa: ANN401 - as for read
    """Return the distinct combinations of the keys with their number of rows, under COUNT.

    The rows themselves stay in the engine that holds them.
    """
    frame = _open(source)
    names = _names(keys, frame.collect_schema().names())
    return _collected(frame.group_by(names).agg(nw.len().alias(COUNT)), source)


def encode(
    frame: nw.DataFrame[Any],
    keys: Keys,
    *,
    missing: Missing,
    rows: NDArray[np.int64] | None = None,
) -> tuple[KeySpace, Codes]:
    """Return the key space of a frame and the codes of its rows.

    `rows` says how many records each row stands for, when that is not one.
    """
    _names(keys, frame.columns)
    if not len(frame):
        message = "There are no records: the file or frame is empty."
        raise InputError(message)
    weight = np.ones(len(frame), dtype=np.int64) if rows is None else rows
    asked = keys.keys if isinstance(keys, KeySpace) else keys
    pairs = [_encoded(frame, key, missing=missing, rows=weight) for key in asked]
    space = KeySpace(key for key, _ in pairs)
    codes = np.empty((len(frame), len(pairs)), dtype=space.code_type, order="F")
    for position, (_, column) in enumerate(pairs):
        codes[:, position] = column
    return space, codes


def decode(
    space: KeySpace,
    codes: Codes,
    *,
    like: nw.DataFrame[Any] | None = None,
) -> nw.DataFrame[Any]:
    """Return a frame of category values, with the types and the kind of the frame `like` (Polars)."""
    columns = {}
    for position, key in enumerate(space.keys):
        if like is None:
            values = nw.new_series(key.name, list(key.categories), backend="polars")
        else:
            kind, engine = like.schema[key.name], like.implementation
            values = nw.new_series(key.name, list(key.categories), kind, backend=engine)
        columns[key.name] = values[codes[:, position].astype(np.int64)]
    return nw.from_dict(columns)


def _open(source: Any) -> Frame:  # noqa: ANN401 - a path or any frame narwhals knows
    """Return any source as a narwhals frame, lazy for files."""
    if isinstance(source, str | Path):
        return nw.from_native(formats.scan(source))
    try:
        frame: Frame = nw.from_native(source)
        check_distinct(frame.collect_schema().names())
    except TypeError:
        message = (
            f"Cannot read a {type(source).__name__}: give a path to a file, or a data frame"
            " (Polars, pandas, PyArrow or another that narwhals knows)."
        )
        raise InputError(message) from None
    except nw.exceptions.DuplicateError:
        names = getattr(source, "column_names", None) or source.columns  # Arrow, else pandas
        check_distinct(str(name) for name in names)
        raise
    return frame


def _collected(frame: Frame, source: Any) -> nw.DataFrame[Any]:  # noqa: ANN401 - as for read
    """Return an eager frame: the user's own kind, Polars for files and lazy engines."""
    if isinstance(frame, nw.DataFrame):
        return frame
    native = nw.to_native(frame)
    if isinstance(source, str | Path) and isinstance(native, pl.LazyFrame):
        return nw.from_native(formats.collect(native, source))
    if isinstance(native, pl.LazyFrame):
        return nw.from_native(native.collect(engine="streaming"))
    return frame.collect(backend="polars")


def _names(keys: Keys, columns: Sequence[str]) -> list[str]:
    """Return the names of the keys, which must be different columns."""
    if isinstance(keys, str | Key):
        message = f"`keys` must be a list: write keys=[{keys!r}]."
        raise InputError(message)
    listed = keys.keys if isinstance(keys, KeySpace) else keys
    names = [key if isinstance(key, str) else key.name for key in listed]
    check_distinct(names)
    for name in names:
        _check_column(name, columns)
    return names


def _check_column(name: str, columns: Sequence[str]) -> None:
    if name not in columns:
        raise ColumnNotFoundError(name, columns)


def _encoded(
    frame: nw.DataFrame[Any], key: str | Key, *, missing: Missing, rows: NDArray[np.int64]
) -> tuple[Key, NDArray[np.int64]]:
    """Return one key and the codes of its column."""
    name = key if isinstance(key, str) else key.name
    column = frame[name]
    if column.dtype.is_float():
        column = column.fill_nan(None)
    absent = column.is_null().to_numpy()
    if absent.any() and missing == "refuse":
        lacking, records = int(rows[absent].sum()), int(rows.sum())
        raise MissingValuesError(name, missing=lacking, records=records)
    present = column.drop_nulls()
    observed = present.unique().to_list()
    if isinstance(key, str):
        categories = _declared(column) or _sorted(observed, name)
        key = Key(name, [*categories, None] if absent.any() else categories)
    codes = np.empty(len(column), dtype=np.int64)
    codes[~absent] = _codes(present, observed, key)
    if absent.any():
        codes[absent] = key.code(None)
    return key, codes


def _codes(column: nw.Series[Any], observed: list[Hashable], key: Key) -> NDArray[np.int64]:
    """Return the code of each value of a column that has no missing values."""
    known = [key.position(value) for value in observed]
    lost = known.count(-1)
    if lost:
        message = (
            f"{lost} of the {len(observed)} values found in {key.name!r} are not among its"
            f" {key.size} categories. Add them, or check that both are of the same type"
            f" (this column holds {type(column.dtype).__name__})."
        )
        raise CategoryError(message)
    if column.dtype == nw.Object:
        table = dict(zip(observed, known, strict=True))
        return np.array([table[value] for value in column.to_list()])
    return column.replace_strict(observed, known, return_dtype=nw.Int64).to_numpy()


def _declared(column: nw.Series[Any]) -> list[Hashable]:
    """Return the categories in their declared order, or nothing when the column declares none."""
    if isinstance(column.dtype, nw.Enum):
        return list(column.dtype.categories)
    native = column.to_native()
    if getattr(getattr(native, "type", None), "ordered", False):  # an Arrow dictionary
        return native.unify_dictionaries().chunk(0).dictionary.to_pylist()  # type: ignore[no-any-return]
    return []


def _sorted(values: list[Any], name: str) -> list[Hashable]:
    try:
        return sorted(values)
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        message = f"Column {name!r} mixes values of different types ({kinds}): make them all text."
        raise CategoryError(message) from None


def _weights(frame: nw.DataFrame[Any], name: str) -> NDArray[np.float64]:
    """Return the weights, which must be positive numbers."""
    _check_column(name, frame.columns)
    column = frame[name]
    if column.dtype == nw.String:  # CSV: the weights are the only column that is parsed
        text = pl.Series(column.to_list(), dtype=pl.String)
        numbers = text.str.strip_chars().cast(pl.Float64, strict=False)
        values = numbers.fill_null(np.nan).to_numpy()
    elif column.dtype.is_numeric():
        values = column.cast(nw.Float64).fill_null(np.nan).to_numpy()
    else:
        message = f"Column {name!r} cannot hold weights: it holds {type(column.dtype).__name__}, not numbers."
        raise WeightError(message)
    bad = ~(np.isfinite(values) & (values > 0))
    if bad.any():
        message = (
            f"{int(bad.sum()):,} of {len(values):,} weights in {name!r} are missing, not positive"
            " or not numbers. Every record needs a weight above 0."
        )
        raise WeightError(message)
    if values.sum() < len(values):
        message = (
            f"The weights in {name!r} sum to less than the number of records: they must say how"
            " many units of the population each record stands for."
        )
        raise WeightError(message)
    return np.asarray(values, dtype=np.float64)
