"""The strongest associations of a key: the tables that a change of the key can ruin."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.microdata import Microdata
from maskmeter.loss.formulas import associated, cramers_v
from maskmeter.loss.variables import column_codes, occupied, two_way

Codes: TypeAlias = NDArray[np.integer]

MOST_CATEGORIES = 50  # of a column that a key is tabulated by
_RECORDS_PER_CELL = 5  # on average, for a chi-square test


class _Association(NamedTuple):
    partner: str
    strength: float  # Cramer's V
    clear: bool


def strongest_associations(
    data: Microdata, keys: Sequence[str], *, number: int, without: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Return each key with the columns that it is most strongly associated with, by Cramer's V.

    Columns are the other keys and all other columns of the file with 2 to 50 categories, but for
    the weights and those to do `without`, because they travel with a key. Of records that stay
    where they are, only keys are looked at. An association must be significant (p < 0.001) in a
    table of at least five records per cell on average; where none is, the strongest of all is
    taken. Two keys make one pair.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"lad": list("aabb") * 50, "sex": list("fmfm") * 50, "work": list("xxyz") * 50})
    >>> sample = mm.read(people, keys=["lad", "sex"], fraction=0.1)
    >>> strongest_associations(sample, ["lad"], number=3)
    (('lad', 'work'),)
    """
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    if not number:
        return ()
    columns = {name: one for name, one in _columns(data) if name not in without}
    for key in dict.fromkeys(keys):
        ranked = sorted(_associations(data, key, columns), key=lambda one: -one.strength)
        clear = [one for one in ranked if one.clear]
        for one in clear[:number] or ranked[:1]:
            pairs.setdefault(frozenset((key, one.partner)), (key, one.partner))
    return tuple(pairs.values())


def _associations(
    data: Microdata, key: str, columns: dict[str, tuple[int, Codes]]
) -> Iterator[_Association]:
    """Yield how strongly each column is associated with a key."""
    categories, codes = column_codes(data, key)
    weights, records, effective = data.amounts, len(data), data.effective
    for name, (size, others) in columns.items():
        if name == key:
            continue
        table = occupied(two_way(codes, others, (len(categories), size), weights))
        enough = records >= _RECORDS_PER_CELL * table.size
        yield _Association(name, cramers_v(table), enough and associated(table, effective))


def _columns(data: Microdata) -> Iterator[tuple[str, tuple[int, Codes]]]:
    """Yield the columns that tables are made by: their number of categories, and the codes."""
    columns = {name: data.column(name) for name in data.space.names}
    if data.source is not None and data.source.header.named and data.times is None:
        reading = dict(data.reading)
        known = (*columns, reading.get("weights"), reading.get("id"))
        others = [name for name in data.source.names if name not in known]
        columns |= data.source.encode(others, most=MOST_CATEGORIES)
    for name, column in columns.items():
        if 1 < column.used <= MOST_CATEGORIES:
            yield name, (len(column.categories), column.codes)
