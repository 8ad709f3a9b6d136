"""A value that varies with the categories of other keys: a matrix, a rate or a fraction."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes, KeySpace
from maskmeter.errors import CategoryError
from maskmeter.plurals import counted

T = TypeVar("T")
U = TypeVar("U")


class _Nothing:
    """Stands for `otherwise` when it was not given."""


NOTHING = _Nothing()


@dataclass(frozen=True, eq=False)
class By(Generic[T]):
    """A value for some categories of some keys, and one for all the rest."""

    keys: tuple[str, ...]
    values: tuple[tuple[tuple[Hashable, ...], T], ...]
    otherwise: T | _Nothing = NOTHING
    lenient: bool = False  # made from the data of one file: what another lacks is passed over

    def __eq__(self, other: object) -> bool:
        """Return True when both give the same value everywhere, arrays included."""
        if not isinstance(other, By):
            return NotImplemented
        mine, theirs = dict(self.values), dict(other.values)
        return (
            self.keys == other.keys
            and mine.keys() == theirs.keys()
            and all(_same(mine[at], theirs[at]) for at in mine)
            and _same(self.otherwise, other.otherwise)
        )

    def __hash__(self) -> int:
        """Return a hash, which values that are arrays do not have."""
        return hash((self.keys, frozenset(self.values), self.otherwise))

    def __repr__(self) -> str:
        """Return the keys and how many values there are: categories stay out of logs."""
        rest = "" if isinstance(self.otherwise, _Nothing) else " and otherwise"
        return f"by({', '.join(map(repr, self.keys))}, {counted(len(self.values), 'value')}{rest})"

    def map(self, function: Callable[[T], U]) -> By[U]:
        """Return the same strata with `function` applied to every value."""
        rest = NOTHING if isinstance(self.otherwise, _Nothing) else function(self.otherwise)
        values = tuple((at, function(value)) for at, value in self.values)
        return By(self.keys, values, rest, self.lenient)

    def strata(self, space: KeySpace) -> tuple[NDArray[np.int64], list[T]]:
        """Return the stratum of every combination of the keys' categories, and each one's value."""
        keys = [space[name] for name in self.keys]
        table = np.full([key.size for key in keys], -1, dtype=np.int64)
        values: list[T] = []
        for at, value in self.values:
            if self.lenient and any(
                key.position(part) < 0 for key, part in zip(keys, at, strict=True)
            ):
                continue
            place = tuple(key.code(part) for key, part in zip(keys, at, strict=True))
            if table[place] >= 0:
                raise CategoryError(
                    f"mm.by({', '.join(map(repr, self.keys))}) names a category twice. Name each once."
                )
            table[place] = len(values)
            values.append(value)
        left = table < 0
        if not left.any():
            return table, values
        if isinstance(self.otherwise, _Nothing):
            raise CategoryError(
                f"mm.by({', '.join(map(repr, self.keys))}) gives a value for"
                f" {table.size - int(left.sum())} of {table.size} categories. Add the others, or give otherwise=VALUE."
            )
        table[left] = len(values)
        return table, [*values, self.otherwise]


def as_by(value: T | By[T]) -> By[T]:
    """Return a value that may vary; a plain one is the same everywhere.

    >>> as_by(0.2).keys
    ()
    """
    return value if isinstance(value, By) else By((), (((), value),))


def mapped(value: T | By[T], function: Callable[[T], U]) -> U | By[U]:
    """Return a function of a value, or of each of them when it varies.

    >>> mapped(4.0, str)
    '4.0'
    """
    return value.map(function) if isinstance(value, By) else function(value)


def by(
    key: str | tuple[str, ...], values: Mapping[Any, T], *, otherwise: T | _Nothing = NOTHING
) -> By[T]:
    """Return a value that depends on one key, or on a combination of several.

    Use it wherever a matrix, a rate or a sampling fraction differs between groups. With several
    keys, each entry of `values` is named by a tuple.

    >>> by("ethnicity", {"White British": 0.07}, otherwise=1.0).keys
    ('ethnicity',)
    >>> by(("sex", "region"), {("f", "north"): 0.1}, otherwise=0.2).values
    ((('f', 'north'), 0.1),)
    """
    keys = (key,) if isinstance(key, str) else key
    if not isinstance(keys, tuple) or not all(isinstance(name, str) for name in keys):
        raise CategoryError("mm.by takes the name of a key, or a tuple of names.")
    if not isinstance(values, Mapping):
        raise CategoryError(
            "mm.by takes a dictionary: a value for each category, such as {'north': 0.1}."
        )
    listed = tuple((_as_tuple(at, keys), value) for at, value in values.items())
    return By(keys, listed, otherwise)


def by_cell(own: KeySpace, cells: Codes, values: Iterable[T], *, otherwise: T) -> By[T]:
    """Return one value per observed cell; unknown categories are ignored.

    >>> from maskmeter.data.keys import Key, KeySpace
    >>> sexes = KeySpace([Key("sex", ["f", "m"])])
    >>> by_cell(sexes, np.array([[1]]), [0.2], otherwise=0.1).values
    ((('m',), 0.2),)
    """
    spelled = [key.categories for key in own.keys]
    named = (
        tuple(categories[code] for categories, code in zip(spelled, cell, strict=True))
        for cell in cells
    )
    return By(own.names, tuple(zip(named, values, strict=True)), otherwise, lenient=True)


def _as_tuple(at: Any, keys: tuple[str, ...]) -> tuple[Hashable, ...]:
    if len(keys) == 1:
        return (at,)
    if not isinstance(at, tuple) or len(at) != len(keys):
        raise CategoryError(
            f"With the keys {keys} each entry of mm.by must be a tuple of {counted(len(keys), 'category', 'categories')}."
        )
    return at


def seen_fraction(
    fraction: By[float],
    names: Sequence[str],
    *,
    space: KeySpace,
    codes: Codes,
    pi: NDArray[np.float64],
    times: NDArray[Any],
) -> float | By[float]:
    """Return the fraction for those who know some keys: records over the units they stand for.

    A row of `codes` is `times` records.
    """
    if set(fraction.keys) <= set(names):
        return fraction
    units = times / pi
    overall = float(times.sum() / units.sum())
    known = tuple(name for name in fraction.keys if name in names)
    if not known:
        return overall
    own = space.project(known)
    numbers = own.number(codes[:, [space.index(name) for name in known]])
    cells, cell = np.unique(numbers, return_inverse=True)
    shares = np.bincount(cell.reshape(-1), times) / np.bincount(cell.reshape(-1), units)
    return by_cell(own, own.codes(cells), shares.tolist(), otherwise=overall)


def _same(first: Any, second: Any) -> bool:
    return bool(np.array_equal(first, second))
