"""Earlier releases of the same file: two draws of one file expose each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.data.source import Source
from maskmeter.errors import InputError
from maskmeter.plurals import counted
from maskmeter.release_check.alignment import Alignment, align_by_columns, align_by_order
from maskmeter.release_check.value_matching import matched_values
from maskmeter.types import Integers

_MOVED = 0.1  # share of the values that may differ between two releases of the same column


def earlier_files(given: Iterable[Any], keys: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return earlier releases by their names; each must have the keys that were changed."""
    found: dict[str, pl.DataFrame] = {}
    for number, one in enumerate(given, start=1):
        name = Path(one).name if isinstance(one, str | Path) else f"number {number}"
        source = Source.of(one)
        missing = [key for key in keys if key not in source.names]
        if missing:
            raise InputError(
                f"The earlier release {name!r} has no column {missing[0]!r}, which was changed: give"
                " releases of the same file."
            )
        frame = source.columns(source.names).to_polars()
        found[name if name not in found else f"{name} ({number})"] = frame
    return found


def paired(
    released: pl.DataFrame, earlier: pl.DataFrame, *, without: Collection[str]
) -> Alignment | None:
    """Return which records of two releases an intruder takes for the same; None if he finds none.

    He goes by the order of rows where columns prove it, and else by records that no other has the
    values of, leaving out columns whose counts differ between the releases, or one more if he then
    finds more. `without` are columns that were changed, carried or numbered anew.
    """
    common = [name for name in released.columns if name in earlier.columns and name not in without]
    if not common:
        return None
    here, there = released.select(common), earlier.select(common)
    try:
        return align_by_order(there, here)
    except InputError:  # nothing proves it
        pass
    usable = [name for name in common if _same_counts(there[name], here[name])]
    sets = [usable, *([other for other in usable if other != one] for one in usable)]
    found = [_recognised(there, here, sets[0])]
    if 2 * len(found[0] or ()) < len(here):
        found += [_recognised(there, here, names) for names in sets[1:]]
    best = max(found, key=lambda one: len(one or ()))
    return best if best is not None and len(best) else None


def _recognised(there: pl.DataFrame, here: pl.DataFrame, names: Sequence[str]) -> Alignment | None:
    """Return the records that no other has the values of, in both releases."""
    return align_by_columns(there, here, names, only_unique=True) if names else None


def _same_counts(there: pl.Series, here: pl.Series) -> bool:
    """Return True for a column whose values are as frequent in both releases, but for one in ten."""
    matched = matched_values(there, here)
    if matched is None:
        return False
    shares = [
        np.bincount(codes + 1, minlength=matched.size + 1) / max(len(codes), 1)
        for codes in (matched.one, matched.other)
    ]
    return float(np.abs(shares[0] - shares[1]).sum()) / 2 < _MOVED


def recovered_from(
    earlier: pl.Series, true: pl.Series, pairs: Alignment, rows: Integers
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for some rows whether an earlier release shows another value, and whether it is true.

    `true` has the true values of all records, in the order of the released file.
    """
    matched = matched_values(true, earlier)
    if matched is None:
        raise InputError(f"Column {earlier.name!r} of an earlier release holds no plain values.")
    place = np.full(len(true), -1)
    place[pairs.released] = pairs.original
    there = place[rows]
    right = (there >= 0) & (matched.other[there] == matched.one[rows])
    return there >= 0, right


def unpaired_note(pairs: Alignment | None, records: int) -> str:
    """Return how many records of two releases are taken for the same, in words."""
    number = 0 if pairs is None else len(pairs)
    return f" {number:,} of {counted(records, 'record')} are recognised in both."
