"""Data frames in and out: outside this module there are category codes and key spaces."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from importlib import import_module
from typing import Any, Literal, TypeAlias, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PanicException

from maskmeter.checks import check_distinct
from maskmeter.data.keys import Codes, Key, KeySpace, names_in
from maskmeter.errors import InputError
from maskmeter.formats.columnar import rebuild_values
from maskmeter.formats.conversion import occurring
from maskmeter.formats.replacement import Replacement
from maskmeter.plurals import counted, plural

Missing = Literal["refuse", "category"]
Keys: TypeAlias = "str | KeySpace | Iterable[str | Key] | Any"
Frame: TypeAlias = "nw.DataFrame[Any] | nw.LazyFrame[Any]"
FrameKind: TypeAlias = nw.Implementation

POLARS = FrameKind.POLARS

_FEW = 120  # categories that people declare one by one
T = TypeVar("T")


def listed_keys(keys: Keys, columns: Sequence[str]) -> list[str | Key]:
    """Return keys as a list of names or Key objects, whatever they were given as.

    Text names a column, or several with commas between them.
    """
    keys = getattr(keys, "space", keys)  # a population or a sample lends its keys
    if isinstance(keys, KeySpace):
        return list(keys.keys)
    keys = names_in(keys, columns) if isinstance(keys, str) else keys
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
    names = key_names(listed)
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"`keys` names {repeated!r} more than once. Name each key once.")
    return listed


def key_names(keys: Sequence[str | Key]) -> list[str]:
    """Return the names of keys."""
    return [key if isinstance(key, str) else key.name for key in keys]


def decode(space: KeySpace, codes: Codes) -> nw.DataFrame[Any]:
    """Return a Polars frame of category values."""
    columns = {
        key.name: nw.new_series(key.name, list(key.categories), backend="polars")[
            codes[:, position].astype(np.int64)
        ]
        for position, key in enumerate(space.keys)
    }
    return nw.from_dict(columns)


def decode_small(key: Key, codes: NDArray[np.integer]) -> pl.Series:
    """Return category values in little memory: texts as categories in their order.

    >>> decode_small(Key("sex", ["m", "f", None]), np.array([1, 2, 0])).to_list()
    ['f', None, 'm']
    """
    texts = [one for one in key.categories if one is not None]
    listed = all(isinstance(one, str) for one in texts)
    values = pl.Series(key.name, key.categories, dtype=pl.Enum(texts) if listed else None)  # type: ignore[arg-type]
    return values.gather(codes.astype(np.uint32))


def replace_values(column: nw.Series[Any], one: Replacement) -> nw.Series[Any]:
    """Return the values that replace those of a column, of its very type, and nothing else of it.

    Each category that is wanted is taken from the first row that has it and made anew.
    """
    if one.recoded and one.numbers:
        return _plain_values(one, like=column)
    if one.recoded:
        return new_categories(one.column, one.values, like=column)[one.codes.astype(np.int64)]
    held = np.bincount(one.codes, minlength=len(one.values)) > 0
    place: NDArray[np.int64] = (held.cumsum() - 1)[one.codes]
    rows = one.donors[held]
    if (rows >= 0).all():
        return rebuild_values(column[rows])[place]

    # Some category is not in the column: make its value, in a wider type if it does not fit.
    made = [value for value, kept in zip(one.values, held, strict=True) if kept]
    for kind in (column.dtype, None):
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")  # what does not fit is checked below
            values = nw.new_series(one.column, made, kind, backend=column.implementation)
            if values.null_count() == made.count(None):
                return values[place]
    raise InputError(
        f"The type of column {one.column!r} cannot store all categories of its key. Convert it to text."
    )


def _plain_values(one: Replacement, *, like: nw.Series[Any]) -> nw.Series[Any]:
    """Return new weights or identifiers: text, or numbers, and no categories."""
    text = any(isinstance(value, str) for value in one.values)
    # The kinds of pandas that hold whole numbers hold no missing value.
    kind = nw.String() if text else None
    values = nw.new_series(one.column, list(one.values), kind, backend=like.implementation)
    return values[one.codes.astype(np.int64)]


def without_unused(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return the same records, without declared categories that none of them has.

    Of records that were left out, nothing may stay.

    >>> people = pl.DataFrame({"job": ["cook"]}, schema={"job": pl.Enum(["cook", "king"])})
    >>> without_unused(nw.from_native(people)).schema["job"]
    Enum(categories=['cook'])
    """
    return frame.with_columns(*(_used(frame[name]) for name in frame.columns))


def _used(column: nw.Series[Any]) -> nw.Series[Any]:
    native = column.to_native()
    if isinstance(native, pl.Series) and isinstance(native.dtype, pl.Enum):
        made = occurring(native)
    elif column.implementation.is_pandas() and hasattr(native, "cat"):
        made = _used_categories(native)
    elif column.implementation.is_pyarrow() and hasattr(native.type, "ordered"):
        made = _used_dictionary(native)
    else:
        return column
    return nw.from_native(made, series_only=True).alias(column.name)


def _used_categories(column: Any) -> Any:
    """Return a pandas column with the categories that occur; many without an order are sorted.

    In the order of their first record they would tell how the records stood before a shuffle. A
    few, such as the levels of a factor, stay as they are declared.
    """
    used = column.cat.remove_unused_categories()
    listed = used.cat.categories
    if used.cat.ordered or len(listed) <= _FEW:
        return used
    return used.cat.set_categories(sorted(listed, key=str))


def _used_dictionary(column: Any) -> Any:
    """Return an Arrow column whose dictionary has the values that occur, in their declared order.

    Without one they stand as the records now do: a dictionary is filled in the order of a file, and
    would tell how its records stood before a shuffle.
    """
    arrow = import_module("pyarrow")
    whole = column.unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, arrow.ChunkedArray) else whole
    used = whole.indices.drop_null().unique()
    used = used.sort() if whole.type.ordered else used
    places = {code: place for place, code in enumerate(used.to_pylist())}
    codes = [None if code is None else places[code] for code in whole.indices.to_pylist()]
    made = arrow.DictionaryArray.from_arrays(
        arrow.array(codes, type=whole.type.index_type),
        whole.dictionary.take(used),
        ordered=whole.type.ordered,
    )
    return arrow.chunked_array([made])


def new_categories(
    name: str, categories: Sequence[Hashable], *, like: nw.Series[Any] | nw.DataFrame[Any]
) -> nw.Series[Any]:
    """Return the values of new categories, texts in declared order, in the kind of frame of `like`.

    >>> like = nw.from_native(pl.DataFrame({"age": [3, 40]}))
    >>> new_categories("age", ["0-15", "16+", None], like=like).to_list()
    ['0-15', '16+', None]
    """
    texts = [value for value in categories if value is not None]
    backend = like.implementation
    if not all(isinstance(value, str) for value in texts):
        return nw.new_series(name, list(categories), backend=backend)
    if not backend.is_pyarrow():
        return nw.new_series(name, list(categories), nw.Enum(texts), backend=backend)  # type: ignore[arg-type]
    # Arrow's kind of declared order is not one of narwhals.
    arrow = pl.Series(name, categories, dtype=pl.Enum(texts)).to_arrow()  # type: ignore[arg-type]
    made = import_module("pyarrow").chunked_array([arrow])
    ordered: nw.Series[Any] = nw.from_native(made, series_only=True)
    return ordered.alias(name)


def check_grouped(name: str, *, missing: int, records: int) -> None:
    """Raise if some records have no value in a column that tells groups apart, such as households."""
    if missing:
        raise InputError(
            f"{missing:,} of {counted(records, 'record')} {plural(missing, 'has', 'have')} no value"
            f" for {name!r}. Recode or drop {plural(missing, 'it', 'them')} first."
        )


def distinct(column: nw.Series[Any]) -> float:
    """Return the number of distinct values, infinite for lists and the like."""
    try:
        return int(column.n_unique())
    except Exception:  # noqa: BLE001 - engines refuse such columns in their own ways
        return np.inf


def new_frame(columns: dict[str, NDArray[Any]], *, like: nw.DataFrame[Any]) -> dict[str, Any]:
    """Return arrays as columns of the kind of another frame."""
    backend = like.implementation
    return {name: nw.new_series(name, values, backend=backend) for name, values in columns.items()}


def as_kind(frame: pl.DataFrame, kind: FrameKind) -> Any:
    """Return a Polars frame of plain values as a frame of the caller's kind.

    >>> as_kind(pl.DataFrame({"key": ["lad"], "share": [0.2]}), FrameKind.PYARROW).to_pylist()
    [{'key': 'lad', 'share': 0.2}]
    """
    if kind is POLARS:
        return frame
    columns = {column.name: column.to_list() for column in frame}
    return nw.from_dict(columns, backend=kind).to_native()  # type: ignore[arg-type] # eager


def as_frame(source: Any) -> Frame:
    """Return a frame of any kind as one of narwhals."""
    try:
        frame: Frame = nw.from_native(source)
        names = frame.collect_schema().names()
    except TypeError:
        raise InputError(
            f"Cannot read an object of type {type(source).__name__}. Give the path of a file, or a"
            " data frame (Polars, pandas, PyArrow, DuckDB, Spark or another that narwhals supports)."
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


def careful(action: Callable[[], T], message: str = _UNUSABLE) -> T:
    """Return what an action on a frame gives; what the engine says may quote a record."""
    try:
        return action()
    except (Exception, PanicException):  # noqa: BLE001 - see above; a panic is no Exception
        raise InputError(message) from None
