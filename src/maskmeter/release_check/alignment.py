"""Which record of one file is which record of another: by ids, by row numbers or by their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.errors import InputError
from maskmeter.plurals import counted, plural
from maskmeter.release_check.value_matching import MatchedValues, matched_values
from maskmeter.types import Integers

AGREEING = 0.9  # share of rows in which a column must agree to prove the order
_SURE = 20.0  # log odds against rows that agree so often by chance
_FEWEST = 30  # pairs, of which fewer may agree or not by chance
_SHIFTS = (1, 2, 3)  # rows further on, which agree as often in a sorted file
_OURS = ("record", "original_record")
_OTHER_WAYS = (
    "Name a column with an id of each record that both files have (id=, --id), or give the row"
    " numbers of risk_by_record.parquet (rows=, --rows)."
)


@dataclass(frozen=True, eq=False)
class Alignment:
    """Pairs of rows that are the same record, in the order of the released file.

    `missing` records of the original are not in the released file, `added` ones only there.
    """

    original: Integers
    released: Integers
    way: str
    missing: int = 0
    added: int = 0

    def __len__(self) -> int:
        """Return the number of records that both files have."""
        return len(self.original)


def align(
    original: pl.DataFrame,
    released: pl.DataFrame,
    *,
    id: str | None = None,  # noqa: A002 - what users call it
    rows: Any = None,
) -> Alignment:
    """Return which rows of two files are the same records.

    `id` is a column of both; `rows` are row numbers of ours: a frame with `record` and, unless it is
    the same, `original_record`; or the original row of each released one. Without them the order of rows
    must be proved by columns that were not changed.

    >>> people = pl.DataFrame({"pid": [7, 8, 9], "age": [30, 40, 50]})
    >>> align(people, people[[2, 0]], id="pid").original.tolist()
    [2, 0]
    """
    if id is not None and rows is not None:
        raise InputError("Give `id` or `rows`, not both.")
    if id is None and rows is None:
        return align_by_order(original, released)
    if id is not None:
        found = align_by_columns(original, released, [id])
    else:
        found = _by_rows(len(original), len(released), rows)
    _check_agreeing(original, released, found, without=id)
    return found


def _check_agreeing(
    original: pl.DataFrame, released: pl.DataFrame, pairs: Alignment, *, without: str | None
) -> None:
    """Refuse pairs that agree in no column more often than chance has it: they are not the same records.

    Ids may have been given to other records, and row numbers may be those of another release.
    """
    common = [
        name for name in common_columns(original.columns, released.columns) if name != without
    ]
    columns = [_values(original, released, name) for name in common]
    proofs = [
        _beyond(one.one[pairs.original], one.other[pairs.released])
        for one in columns
        if one is not None
    ]
    if proofs and len(pairs) >= _FEWEST and max(proofs) < _SURE:
        raise InputError(
            f"The records that were paired {pairs.way} agree in none of"
            f" {counted(len(proofs), 'common column')} more often than any two records: these are not"
            " the ids or row numbers of the same records. Give those of this release, or the files"
            " before ids were given anew."
        )


def align_by_columns(
    original: pl.DataFrame,
    released: pl.DataFrame,
    names: Sequence[str],
    *,
    only_unique: bool = False,
) -> Alignment:
    """Return the pairs of records that agree in some columns, in which every record must differ.

    With `only_unique`, records whose values repeat in their file are left out instead.

    >>> one = pl.DataFrame({"pid": [1, 2, 2]})
    >>> len(align_by_columns(one, one, ["pid"], only_unique=True))
    1
    """
    for frame, which in ((original, "original"), (released, "released")):
        for name in names:
            if name not in frame.columns:
                raise InputError(f"The {which} file has no column {name!r}.")
    found = [_matched(original[name], released[name], name) for name in names]
    one, other = _combined([_with_missing(column) for column in found] if only_unique else found)
    if not only_unique:
        _check_ids(one, other, names)
    rows, numbers = _told_apart(one)
    others, theirs = _told_apart(other)
    _, here, there = np.intersect1d(numbers, theirs, assume_unique=True, return_indices=True)
    pairs = np.sort(others[there]), rows[here][np.argsort(others[there])]
    if not only_unique and 2 * len(here) < len(other):
        raise InputError(
            f"{len(here):,} of {counted(len(other), 'released record')}"
            f" {plural(len(here), 'has', 'have')} an id in {_named(names)} that the original file has"
            f" too ({counted(len(one), 'record')}). Give the files before ids were renumbered, or"
            " another column."
        )
    return Alignment(
        pairs[1], pairs[0], f"by {_named(names)}", len(one) - len(here), len(other) - len(here)
    )


def _matched(one: pl.Series, other: pl.Series, name: str) -> MatchedValues:
    found = matched_values(one, other)
    if found is None:
        raise InputError(f"Column {name!r} cannot be an id: it must hold text, numbers or dates.")
    return found


def _with_missing(column: MatchedValues) -> MatchedValues:
    """Return values among which a missing one is a value like others."""
    return column._replace(one=column.one + 1, other=column.other + 1, size=column.size + 1)


def _combined(columns: Sequence[MatchedValues]) -> tuple[Integers, Integers]:
    """Return one number for each combination of columns, in both files; -1 where one is missing."""
    length = len(columns[0].one)
    every = np.zeros(length + len(columns[0].other), dtype=np.int64)
    absent = np.zeros(len(every), dtype=bool)
    for column in columns:
        codes = np.append(column.one, column.other)
        absent |= codes < 0
        _, every = np.unique(every * (column.size + 1) + codes + 1, return_inverse=True)
    every = np.where(absent, -1, every)
    return every[:length], every[length:]


def _told_apart(numbers: Integers) -> tuple[Integers, Integers]:
    """Return the rows whose number no other row has, and these numbers."""
    values, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    single = (counts == 1) & (values >= 0)
    return first[single], values[single]


def _check_ids(one: Integers, other: Integers, names: Sequence[str]) -> None:
    """Refuse ids that are missing, or that several records of a file share."""
    for numbers, which in ((one, "original"), (other, "released")):
        absent = int((numbers < 0).sum())
        repeated = len(numbers) - absent - len(_told_apart(numbers)[0])
        if absent or repeated:
            wrong = [f"{repeated:,} share theirs with another"] if repeated else []
            wrong += [f"{absent:,} have none"] if absent else []
            raise InputError(
                f"{_named(names)} does not tell the records of the {which} file apart: of"
                f" {counted(len(numbers), 'record')}, {' and '.join(wrong)}. Name a column in which"
                " every record has an id of its own."
            )


def _named(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))


def _by_rows(original: int, released: int, rows: Any) -> Alignment:
    """Return the pairs that row numbers name, which must be those of these two files."""
    here, there = _row_numbers(rows, released)
    for numbers, size, which in ((there, original, "original"), (here, released, "released")):
        outside = int(((numbers < 0) | (numbers >= size)).sum())
        repeated = len(numbers) - len(np.unique(numbers))
        if outside or repeated:
            raise InputError(
                f"`rows` does not fit the {which} file of {counted(size, 'record')}:"
                f" {outside:,} of {counted(len(numbers), 'row number')}"
                f" {plural(outside, 'is', 'are')} not in it, {repeated:,} repeat. Give the row"
                " numbers that were written with this release."
            )
    order = np.argsort(here, kind="stable")
    missing, added = original - len(here), released - len(here)
    return Alignment(there[order], here[order], "by row numbers", missing, added)


def _row_numbers(rows: Any, released: int) -> tuple[Integers, Integers]:
    """Return the released and the original row of each pair."""
    if not isinstance(rows, pl.DataFrame):
        there = np.asarray(rows)
        if there.ndim != 1 or not np.issubdtype(there.dtype, np.integer):
            raise InputError(
                "`rows` must be a frame with the columns record and original_record, or a list of the"
                " original row of each released record."
            )
        if len(there) != released:
            raise InputError(
                f"`rows` has {counted(len(there), 'number')}, but the released file"
                f" {counted(released, 'record')}. Give the original row of each released record."
            )
        return np.arange(released), there.astype(np.int64)
    named = [name for name in _OURS if name in rows.columns]
    if "record" not in named or not all(rows[name].dtype.is_integer() for name in named):
        raise InputError(
            "The file of row numbers must have whole numbers in its columns record and, where records"
            " were shuffled or left out, original_record. Give a risk_by_record.parquet."
        )
    here, there = (rows[name].to_numpy().astype(np.int64) for name in (named[0], named[-1]))
    return here, there


def align_by_order(original: pl.DataFrame, released: pl.DataFrame) -> Alignment:
    """Return rows in their order, if columns that agree prove that it is the same in both files.

    A column proves it when it agrees in 90 % of the rows, which it must do far more often than by
    chance and than with the rows that follow: in a sorted file neighbours agree whoever they are.
    Columns by which the file is sorted prove nothing of records that agree on them all.
    """
    sizes = len(original), len(released)
    common = common_columns(original.columns, released.columns)
    if sizes[0] != sizes[1]:
        raise InputError(
            f"The original file has {counted(sizes[0], 'record')} and the released file"
            f" {sizes[1]:,}, so their order does not tell which is which. {_OTHER_WAYS}"
        )
    shares, proof = _agreement([_values(original, released, name) for name in common])
    if proof < _SURE:
        best = max(shares, default=0.0)
        agreeing = sum(share >= AGREEING for share in shares)
        raise InputError(
            f"Nothing proves that the rows of both files are in the same order: of"
            f" {counted(len(common), 'common column')}, {agreeing:,} {plural(agreeing, 'agrees', 'agree')}"
            f" in at least {AGREEING:.0%} of {counted(sizes[0], 'row')} (the best in {best:.0%}), no"
            f" more often than rows in another order might. {_OTHER_WAYS}"
        )
    every = np.arange(sizes[0])
    return Alignment(every, every, "by the order of rows")


def common_columns(original: Sequence[str], released: Sequence[str]) -> list[str]:
    """Return the columns that both files have; there must be some."""
    common = [name for name in original if name in released]
    if not common:
        raise InputError(
            f"The files have no column in common: the original has {len(original):,}, the released"
            f" file {len(released):,}. Give two versions of one file, with the same column names."
        )
    return common


def _values(original: pl.DataFrame, released: pl.DataFrame, name: str) -> MatchedValues | None:
    return matched_values(original[name], released[name])


def _agreement(columns: Sequence[MatchedValues | None]) -> tuple[list[float], float]:
    """Return in which share of rows each column agrees, and how sure that makes their order.

    Columns that agree in most rows are also looked at together.
    """
    known = [one for one in columns if one is not None]
    shares = [float((one.one == one.other).mean()) if len(one.one) else 0.0 for one in known]
    agreeing = [one for one, share in zip(known, shares, strict=True) if share >= AGREEING]
    if not agreeing:
        return shares, 0.0
    together = _combined([_with_missing(one) for one in agreeing])
    if not _tells_order(together[0]):
        return shares, 0.0
    return shares, max(_proof(*together), *(_proof(one.one, one.other) for one in agreeing))


def _tells_order(values: Integers) -> bool:
    """Return True unless the rows are sorted by these values, and many rows share theirs.

    Whoever sorts the same records again puts them in an order that agrees as well. Rows in any
    other order come back to the same value in more runs than there are values.

    >>> _tells_order(np.repeat([1, 2, 3], 10)), _tells_order(np.tile([1, 2, 3], 10))
    (False, True)
    """
    counts = np.unique_counts(values).counts
    alone = float((counts == 1).sum()) / max(len(values), 1)
    runs = 1 + int(np.count_nonzero(np.diff(values)))
    return alone >= AGREEING or runs >= 2 * len(counts)


def _proof(one: Integers, other: Integers) -> float:
    """Return the log odds of the agreement of rows against that of rows in another order."""
    rows = len(one)
    if rows <= max(_SHIFTS):
        return 0.0
    agrees = float((one == other).mean())
    chance = max(_by_chance(one, other), *(_shifted(one, other, by) for by in _SHIFTS))
    return _log_odds(agrees, chance, rows)


def _beyond(one: Integers, other: Integers) -> float:
    """Return the log odds of the agreement of pairs against that of records paired at random."""
    return _log_odds(float((one == other).mean()), _by_chance(one, other), len(one))


def _log_odds(agrees: float, chance: float, rows: int) -> float:
    chance = min(max(chance, 1 / rows), 1.0)
    if agrees <= chance:
        return 0.0
    odds = agrees * log(agrees / chance)
    if agrees < 1:
        odds += (1 - agrees) * log((1 - agrees) / (1 - chance))
    return rows * odds


def _by_chance(one: Integers, other: Integers) -> float:
    """Return the share of rows that agree if the rows of a file are put in any order."""
    size = int(max(one.max(), other.max())) + 2
    shares: list[NDArray[np.float64]] = [
        np.bincount(codes + 1, minlength=size) / len(codes) for codes in (one, other)
    ]
    return float(shares[0] @ shares[1])


def _shifted(one: Integers, other: Integers, by: int) -> float:
    """Return the share of rows that agree with the row that comes some rows later."""
    return float((one[:-by] == other[by:]).mean())
