"""What happened to each column between two files: changed, recoded, suppressed, dropped, added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.plurals import counted
from maskmeter.release_check.alignment import Alignment
from maskmeter.release_check.value_matching import MatchedValues, matched_values
from maskmeter.types import Array, Integers

ColumnStatus: TypeAlias = Literal["unchanged", "altered", "dropped", "added", "not compared"]

_TELLING = 10  # categories from which on a rising map is no chance


_FEW = 20  # values, which every record may have changed by chance


@dataclass(frozen=True)
class ColumnChange:
    """What happened to a column, in counts of records.

    If it was `recoded`, its values became those of `after` categories in place of `before`; then
    `changed` records have another value than the recode gives them. `suppressed` ones have none.
    """

    name: str
    status: ColumnStatus
    recoded: bool = False
    changed: int = 0
    suppressed: int = 0
    before: int = 0
    after: int = 0

    @property
    def replaced(self) -> bool:
        """Whether all values are others, as those of an identifier that was numbered anew."""
        one_by_one = self.recoded and self.before == self.after
        return one_by_one or self.changed >= self.before > _FEW

    def __str__(self) -> str:
        """Return what happened in a few words; no value is shown."""
        if self.status != "altered":
            return self.status
        words = ""
        if self.recoded:
            words = f"recoded ({self.before:,} to {self.after:,} categories)"
        if self.recoded and self.before == self.after:
            words = f"recoded one to one ({counted(self.before, 'value')})"
        if self.changed:
            words += f"{', then ' if words else ''}{self.changed:,} changed"
        if self.suppressed:
            words += f"{'; ' if words else ''}{self.suppressed:,} suppressed"
        return words


class ComparedColumn(NamedTuple):
    """A column of both files: its values matched, and what each original one was recoded to."""

    change: ColumnChange
    values: MatchedValues
    image: Integers  # code of the released value that stands for each value


def compare_columns(
    original: pl.DataFrame, released: pl.DataFrame, pairs: Alignment
) -> tuple[tuple[ColumnChange, ...], dict[str, ComparedColumn]]:
    """Return what happened to every column, and the columns that both files have.

    >>> one = pl.DataFrame({"age": [3, 40, 44, 87], "sex": ["f", "m", "m", "f"], "pay": [1, 2, 3, 4]})
    >>> other = one.select(age=pl.Series(["<65", "<65", "<65", "65+"]), sex=pl.Series(["f", "m", None, "m"]))
    >>> rows = np.arange(4)
    >>> [str(one) for one in compare_columns(one, other, Alignment(rows, rows, ""))[0]]
    ['recoded (4 to 2 categories)', '1 changed; 1 suppressed', 'dropped']
    """
    changes, compared = [], {}
    for name in original.columns:
        if name not in released.columns:
            changes.append(ColumnChange(name, "dropped"))
            continue
        found = matched_values(original[name], released[name])
        if found is None:
            changes.append(ColumnChange(name, "not compared"))
            continue
        compared[name] = compare_column(name, found, pairs)
        changes.append(compared[name].change)
    extra = [name for name in released.columns if name not in original.columns]
    return (*changes, *(ColumnChange(name, "added") for name in extra)), compared


def compare_column(name: str, values: MatchedValues, pairs: Alignment) -> ComparedColumn:
    """Return what happened to a column of both files."""
    true, seen = values.one[pairs.original], values.other[pairs.released]
    image = recode_between(true, seen, values.size, values.numbers)
    there, left = true >= 0, seen >= 0
    changed = int((image[true[there & left]] != seen[there & left]).sum())
    changed += int((~there & left).sum())  # a missing value that was filled in
    suppressed = int((there & ~left).sum())
    held = np.unique(true[there])
    recoded = bool((image[held] != held).any())
    altered = recoded or changed or suppressed
    return ComparedColumn(
        ColumnChange(
            name,
            "altered" if altered else "unchanged",
            recoded,
            changed,
            suppressed,
            len(held),
            len(np.unique(image[held])),
        ),
        values,
        image,
    )


def recode_between(
    true: Integers, seen: Integers, size: int, numbers: Array | None = None
) -> Integers:
    """Return the released value that each original value was recoded to: itself, if it was not.

    A value that still occurs stands for itself. One that occurs no more was recoded to the value
    that most of its records have now, if enough records or values tell that it is no chance. So
    was every value, if that alone explains most of the changes. `numbers` are those that codes
    stand for: noise does not keep their order, but bands and top codes do.

    >>> recode_between(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 3, 3, 3, 3]), 4).tolist()
    [0, 3, 3, 3]
    """
    moves = _Moves.of(true, seen, size)
    own = np.arange(size)
    if not len(moves.often[moves.held]):
        return own
    whole = np.where(moves.held, moves.mode, own)
    if (moves.often == moves.total).all():  # the released value is a function of the original one
        rising = numbers is not None and _rises(numbers, whole, moves.held)
        coarser = len(np.unique(whole[moves.held])) < moves.held.sum() >= _TELLING
        plain = rising and coarser
        return whole if plain or _proved(whole, moves, numbers) else own
    gone = moves.held & ~moves.found & (2 * moves.often > moves.total)
    kept = np.where(gone, moves.mode, own)
    kept = kept if _proved(kept, moves, numbers) else own
    unexplained = int(moves.total.sum() - moves.often.sum())
    joined = len(np.unique(whole[moves.held])) < moves.held.sum()
    most = 2 * unexplained < moves.total.sum()
    better = 2 * unexplained < moves.unexplained(kept)
    return whole if joined and most and better and _proved(whole, moves, numbers) else kept


class _Moves(NamedTuple):
    """How often each original value became which released one."""

    pairs: tuple[Integers, Integers, Integers]  # original value, released value, records
    total: Integers  # records of each original value
    mode: Integers  # its commonest released value
    often: Integers  # records that have that one
    held: NDArray[np.bool_]  # whether a record has the original value
    found: NDArray[np.bool_]  # whether a released record has the value

    @classmethod
    def of(cls, true: Integers, seen: Integers, size: int) -> _Moves:
        present = (true >= 0) & (seen >= 0)
        true, seen = true[present], seen[present]
        numbers, records = np.unique(true * max(size, 1) + seen, return_counts=True)
        before, after = np.divmod(numbers, max(size, 1))
        order = np.lexsort((after != before, -records, before))  # of equally common, the same
        values, first = np.unique(before[order], return_index=True)
        mode, often = np.arange(size), np.zeros(size, dtype=np.int64)
        mode[values], often[values] = after[order][first], records[order][first]
        total = np.bincount(true, minlength=size)
        found = np.bincount(seen, minlength=size) > 0
        return cls((before, after, records), total, mode, often, total > 0, found)

    def unexplained(self, image: Integers) -> int:
        """Return the records whose released value is not the image of their own."""
        before, after, records = self.pairs
        return int(records[image[before] != after].sum())


def _proved(image: Integers, moves: _Moves, numbers: Array | None) -> bool:
    """Return True when so many records, or values, moved alike that it is no chance."""
    moved = moves.held & (image != np.arange(len(image)))
    values, records = int(moved.sum()), int(moves.total[moved].sum())
    if records >= 2 * values:
        return True
    joined = 2 * len(np.unique(image[moved])) <= values
    return joined and (numbers is None or _rises(numbers, image, moves.held))


def _rises(numbers: Array, image: Integers, held: NDArray[np.bool_]) -> bool:
    """Return True when larger numbers are recoded to no smaller ones."""
    order = np.argsort(numbers[held], kind="stable")
    return bool((np.diff(numbers[image[held]][order]) >= 0).all())
