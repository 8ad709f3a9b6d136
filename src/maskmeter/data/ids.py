"""Ids: the column that tells records apart, and the number that each id has in random streams."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.errors import InputError
from maskmeter.plurals import counted, plural

_BYTES = 8
EXACT = 2.0**53  # whole numbers up to here are exact in floating point


def id_numbers(column: pl.Series) -> NDArray[np.uint64]:
    """Return the number of each id: an integer as it is, a text by a 64-bit BLAKE2b hash.

    None may be missing. A negative integer counts down from 2**64.

    >>> id_numbers(pl.Series("person", [3, -1])).tolist()
    [3, 18446744073709551615]
    >>> id_numbers(pl.Series("person", ["a-1"])).tolist()
    [7680245424303175113]
    """
    kind = column.dtype
    if column.null_count():
        raise missing_ids(column.name, column.null_count(), len(column))
    # Spark reads unsigned integers as decimals.
    if kind in {pl.Int128, pl.UInt128} or (isinstance(kind, pl.Decimal) and kind.scale == 0):
        return _wide_numbers(column)
    if kind.is_integer():
        if kind.is_signed_integer():
            return column.cast(pl.Int64).to_numpy().view(np.uint64)
        return column.cast(pl.UInt64).to_numpy()
    if kind.is_float():  # as SPSS stores all its numbers
        numbers = column.to_numpy()
        if not (np.isfinite(numbers) & (numbers == np.rint(numbers))).all():
            raise unusable_ids(column.name, "numbers that are not whole")
        if (np.abs(numbers) > EXACT).any():
            raise unusable_ids(column.name, "numbers too large to be exact")
        return numbers.astype(np.int64).view(np.uint64)
    if isinstance(kind, pl.Enum | pl.Categorical):
        column = column.cast(pl.String)
    if column.dtype != pl.String:
        raise unusable_ids(column.name, str(kind))
    texts = column.to_list()
    hashed = b"".join(blake2b(text.encode(), digest_size=_BYTES).digest() for text in texts)
    return np.frombuffer(hashed, dtype="<u8").astype(np.uint64)


def _wide_numbers(column: pl.Series) -> NDArray[np.uint64]:
    """Return the numbers of ids in a type of more than 64 bits; each of them must need no more.

    >>> _wide_numbers(pl.Series([-1, 2**63], dtype=pl.Int128)).tolist()
    [18446744073709551615, 9223372036854775808]
    """
    signed, unsigned = (column.cast(kind, strict=False) for kind in (pl.Int64, pl.UInt64))
    if (signed.is_null() & unsigned.is_null()).any():
        raise unusable_ids(column.name, "numbers of more than 64 bits")
    negative = signed.fill_null(0).to_numpy().view(np.uint64)
    return np.where(unsigned.is_null(), negative, unsigned.fill_null(0).to_numpy())


def unusable_ids(name: str, held: str) -> InputError:
    """Return the error for a column of a kind that ids cannot have."""
    return InputError(
        f"Column {name!r} cannot be the id: it holds {held}. An id is text, or a whole number of at"
        " most 64 bits."
    )


def missing_ids(name: str, missing: int, records: int) -> InputError:
    """Return the error for records without an id."""
    return InputError(
        f"{missing:,} of {counted(records, 'record')} {plural(missing, 'has', 'have')} no id in"
        f" {name!r}. Give {plural(missing, 'it', 'each of them')} an id of its own first."
    )


def repeated_ids(name: str, repeated: int) -> InputError:
    """Return the error for ids that several records have."""
    return InputError(
        f"{counted(repeated, 'record')} of the file {plural(repeated, 'repeats', 'repeat')} the id of"
        f" another in {name!r}, or the 64-bit hash of its text. Give a column in which every record"
        " has its own; numbers need no hash."
    )


def check_ids(name: str, numbers: NDArray[np.uint64]) -> None:
    """Raise unless every record has an id of its own.

    >>> check_ids("person", np.array([4, 2], dtype=np.uint64))
    """
    repeated = len(numbers) - len(np.unique(numbers))
    if repeated:
        raise repeated_ids(name, repeated)
