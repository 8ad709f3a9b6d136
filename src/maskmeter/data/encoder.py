"""The code of every value in a column, for rows that are worked on a batch at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.data.keys import Codes
from maskmeter.errors import FileError

_UNSEEN = -1


@dataclass(frozen=True, eq=False, repr=False)
class Encoder:
    """The distinct values of some columns, and their codes.

    What decides on a code, such as bands or an order, was decided once for all values; a batch of
    rows looks its values up.

    >>> rows = pl.DataFrame({"sex": ["f", "m", None], "age": [40, 30, 30]})
    >>> encode = Encoder.of(rows, np.array([[0, 1], [1, 0], [2, 0]]))
    >>> encode(pl.DataFrame({"sex": [None, "m"], "age": [40, 40]})).tolist()
    [[2, 1], [1, 1]]
    """

    names: tuple[str, ...]
    values: tuple[pl.Series, ...]
    codes: tuple[NDArray[np.int32], ...]
    missing: tuple[int, ...]  # the code of a missing value
    written: tuple[object, ...]  # what stands for missing: NaN where it never is null, or a code
    kind: np.dtype[np.integer]  # of codes: those of all categories, in the file or not

    @classmethod
    def of(
        cls, rows: pl.DataFrame, codes: Codes, *, missing: Mapping[str, object] | None = None
    ) -> Encoder:
        """Return the encoder of columns, from rows that hold all their values, and their codes.

        `missing` has the value that stands for missing in columns where several do.
        """
        given = {} if missing is None else missing
        values, known, gaps, written = [], [], [], []
        for column, own in zip(rows.get_columns(), codes.T, strict=True):
            plain = _plain(column)
            absent = plain.is_null().to_numpy()
            frame = pl.DataFrame({"value": plain, "code": own.astype(np.int32)}).filter(~absent)
            distinct = frame.unique("value")
            values.append(distinct["value"])
            known.append(distinct["code"].to_numpy())
            gaps.append(int(own[absent][0]) if absent.any() else _UNSEEN)
            never_null = absent.any() and not column.null_count()
            written.append(given.get(column.name, np.nan if never_null else None))
        names = tuple(rows.columns)
        kept = tuple(values), tuple(known), tuple(gaps), tuple(written)
        return cls(names, *kept, codes.dtype)

    def __call__(self, batch: pl.DataFrame, only: Collection[int] | None = None) -> Codes:
        """Return the codes of a batch of rows; 0 in columns that are not asked for."""
        found = np.zeros((len(batch), len(self.names)), dtype=self.kind, order="F")
        for at, name in enumerate(self.names):
            if only is None or at in only:
                found[:, at] = self._column(at, batch[name])
        return found

    def released(self, at: int, categories: Sequence[object], kind: pl.DataType) -> pl.Series:
        """Return the values of categories, to be written to a column: missing ones as they were."""
        missing = self.written[at]
        values = [missing if one is None else one for one in categories]
        return released_values(values, self.names[at], kind)

    def _column(self, at: int, column: pl.Series) -> NDArray[np.int32]:
        plain = _plain(column)
        if not len(plain):
            return np.zeros(0, dtype=np.int32)
        found = plain.replace_strict(
            self.values[at], pl.Series(self.codes[at]), default=_UNSEEN, return_dtype=pl.Int32
        )
        codes = found.to_numpy(writable=True)
        if plain.null_count():
            codes[plain.is_null().to_numpy()] = self.missing[at]
        if (codes == _UNSEEN).any():
            raise FileError(
                f"Column {column.name!r} holds values that it did not hold when it was counted: the"
                " records have changed. Read them again."
            )
        return codes


def _plain(column: pl.Series) -> pl.Series:
    """Return a column as values can be looked up in it: declared categories as text, no NaN."""
    if isinstance(column.dtype, pl.Enum | pl.Categorical):
        return column.cast(pl.String)
    return column.fill_nan(None) if column.dtype.is_float() else column


def released_values(categories: Sequence[object], name: str, kind: pl.DataType) -> pl.Series:
    """Return the values of categories, to be written to a column of some type.

    >>> released_values([3, None], "age", pl.Int8()).dtype
    Int8
    """
    if isinstance(kind, pl.Enum | pl.Categorical):
        return pl.Series(name, categories, dtype=pl.String).cast(kind)
    return pl.Series(name, categories, dtype=kind, strict=False)
