"""Factors of a mechanism: keys that change together, and what two changes in a row come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import locked
from maskmeter.data.keys import Codes, KeySpace, combined
from maskmeter.data.varying import NOTHING, By, as_by
from maskmeter.errors import CategoryError, MatrixError
from maskmeter.mechanism.division import Division, ListedDivision
from maskmeter.mechanism.matrix import Matrix
from maskmeter.plurals import counted
from maskmeter.streams import AliasTable
from maskmeter.types import Array, Integers

Crossed: TypeAlias = tuple[str, ...]
Declared: TypeAlias = Matrix | By[Matrix]

_MOST_STRATA = 1 << 23  # combinations whose strata are told apart at once
_LARGEST = 1 << 27  # numbers in the matrices of one factor: a gigabyte


@dataclass(frozen=True, eq=False, repr=False)
class Factor:
    """The matrices of one key, or of keys that change together: one P[true, released] per stratum.

    `columns` are the positions of these keys and `by` those of the keys that tell strata apart, as
    the `division` says. `margin` counts the values of records that exchanged theirs at random, all
    those of a stratum: who knows the released file knows it too. It is 0 in other strata. `fitted`
    says that P was fitted to how many records of each stratum have each category, and tells it.
    """

    name: str
    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    P: Array  # [stratum, true, released]
    by: tuple[int, ...]
    division: Division
    margin: Integers | None = None  # [stratum, value]
    fitted: bool = False

    @classmethod
    def of(cls, names: Crossed, declared: Declared, space: KeySpace) -> Factor:
        """Return the factor of some keys that a matrix, or several, were declared for."""
        keys, title = [space[name] for name in names], " x ".join(names)
        varying = as_by(declared)
        table, values = varying.strata(space)
        if varying.otherwise is not NOTHING:
            values = [*values, varying.otherwise]  # type: ignore[list-item] # it is a matrix
        # Strata that share one matrix are one stratum: fewer to tell apart and to work through.
        distinct = {id(one): one for one in values}
        place = {one: position for position, one in enumerate(distinct)}
        of_value = np.array([place[id(one)] for one in values])
        strata = np.full([size + 1 for size in table.shape], -1)
        if varying.otherwise is not NOTHING:
            strata[...] = of_value[-1]
        strata[tuple(slice(size) for size in table.shape)] = of_value[table]
        return cls(
            title,
            tuple(space.index(name) for name in names),
            tuple(key.size for key in keys),
            locked(np.stack([one.follow(keys, title) for one in distinct.values()])),
            tuple(space.index(name) for name in varying.keys),
            ListedDivision(locked(strata)),
        )

    @property
    def size(self) -> int:
        """Number of categories, or of their combinations."""
        return int(self.P.shape[1])

    @property
    def exchanged(self) -> NDArray[np.bool_]:
        """Which strata have a known margin, because all their records exchanged their values."""
        if self.margin is None:
            return np.zeros(len(self.P), dtype=bool)
        return np.asarray(self.margin.any(axis=1))

    @property
    def needed(self) -> frozenset[int]:
        """Positions of the keys that it changes or depends on."""
        return frozenset((*self.columns, *self.by))

    def code(self, codes: Codes) -> Integers:
        """Return the category of each row of codes."""
        return combined(codes, self.columns, self.sizes)

    def stratum(self, codes: Codes) -> Integers:
        """Return the stratum of each row of codes."""
        if not self.by:
            return np.zeros(len(codes), dtype=np.int64)
        return self.division.of([codes[:, c] for c in self.by])

    @cached_property
    def alias(self) -> AliasTable:
        """All rows of all strata, ready to be drawn from."""
        return AliasTable.of(self.P.reshape(-1, self.size))

    def moved_to(self, here: KeySpace, there: KeySpace) -> Factor:
        """Return the same factor on the keys of another space, matched by category."""
        names = [here.names[c] for c in self.columns]
        known = [np.array([here[n].position(v) for v in there[n].categories]) for n in names]
        if any((one < 0).any() for one in known):
            raise MatrixError(
                f"The matrix for {self.name!r} does not have all {prod(map(len, known)):,} categories"
                f" of {self.name!r}. When the population has more categories than the sample, read the"
                " sample with keys=population.space."
            )
        order = np.ravel_multi_index(np.meshgrid(*known, indexing="ij"), self.sizes).ravel()
        places = []
        for name in (here.names[c] for c in self.by):
            found = [here[name].position(value) for value in there[name].categories]
            known_as = [*(at if at >= 0 else here[name].size for at in found), here[name].size]
            places.append(np.array(known_as))
        division = self.division.moved(places)
        if isinstance(division, ListedDivision) and division.lacks_some():
            raise CategoryError(
                f"The matrix for {self.name!r} differs by"
                f" {', '.join(here.names[c] for c in self.by)}, and there is none for some of their"
                " categories. Give the others, or otherwise=MATRIX."
            )
        return replace(
            self,
            columns=tuple(there.index(name) for name in names),
            sizes=tuple(map(len, known)),
            P=locked(self.P[:, order[:, None], order]),
            by=tuple(there.index(here.names[c]) for c in self.by),
            division=division,
            margin=None if self.margin is None else locked(self.margin[:, order]),
        )

    def meets(self, other: Factor) -> bool:
        """Return True when one changes a key that the other changes or depends on."""
        return bool(self.needed & set(other.columns) or other.needed & set(self.columns))


def followed(
    first: Sequence[Factor], second: Sequence[Factor], space: KeySpace
) -> tuple[Factor, ...]:
    """Return the factors of one change after another; those that meet become one.

    >>> import maskmeter as mm
    >>> space = mm.KeySpace([mm.Key("lad", "ab"), mm.Key("sex", "fm")])
    >>> swap = mm.Misclassification({"lad": mm.by("sex", {"f": np.eye(2)}, otherwise=np.eye(2)[::-1])})
    >>> pram = mm.Misclassification({"sex": mm.stay_or_move(2, stay=0.9)})
    >>> [one.name for one in followed(swap.on(space).factors, pram.on(space).factors, space)]
    ['lad x sex']
    """
    parts: list[tuple[list[Factor], list[Factor]]] = [([one], []) for one in first]
    for later in second:
        meeting = [part for part in parts if any(later.meets(one) for one in part[0])]
        joined = (
            [one for part in meeting for one in part[0]],
            [*(one for part in meeting for one in part[1]), later],
        )
        if meeting:
            parts[parts.index(meeting[0])] = joined
        else:
            parts.append(joined)
        parts = [part for part in parts if part not in meeting[1:]]
    return tuple(
        (*before, *after)[0] if len(before) + len(after) == 1 else _joined(before, after, space)
        for before, after in parts
    )


def _joined(first: Sequence[Factor], second: Sequence[Factor], space: KeySpace) -> Factor:
    """Return one factor for all keys of some factors: the matrix product, stratum by stratum.

    The second change depends on what the first has made of the keys.
    """
    both = (*first, *second)
    columns = tuple(sorted({c for one in both for c in one.columns}))
    by = tuple(sorted({c for one in both for c in one.by} - set(columns)))
    sizes = tuple(space.sizes[c] for c in columns)
    title = " x ".join(space.names[c] for c in columns)
    around = [space.sizes[c] + 1 for c in by]  # one more: categories that the keys lack
    _check_size(title, prod(sizes), prod(around))
    if prod(sizes) * prod(around) * len(both) > _MOST_STRATA:
        raise _too_large(title, prod(around))
    cells = np.zeros((prod(sizes), len(space.keys)), dtype=np.int64)
    cells[:, columns] = np.stack(np.unravel_index(np.arange(len(cells)), sizes), axis=1)
    outside = np.zeros((prod(around), len(space.keys)), dtype=np.int64)
    if by:
        outside[:, by] = np.stack(np.unravel_index(np.arange(len(outside)), around), axis=1)
    # The stratum of every factor for each combination outside and each cell inside.
    strata = [
        np.broadcast_to(
            one.division.of(
                [cells[None, :, c] if c in columns else outside[:, None, c] for c in one.by]
            ),
            (len(outside), len(cells)),
        )
        for one in both
    ]
    kinds, kind = np.unique(np.hstack(strata), axis=0, return_inverse=True)
    unknown = (kinds < 0).any(axis=1)
    _check_size(title, prod(sizes) ** 2, int((~unknown).sum()))
    P = []
    for row in kinds[~unknown].reshape(-1, len(both), len(cells)):
        before, after = row[: len(first)], row[len(first) :]
        P.append(_dense(first, before, cells, columns) @ _dense(second, after, cells, columns))
    number = np.where(unknown, -1, np.cumsum(~unknown) - 1)
    shaped = number[kind.reshape(-1)].reshape(around)
    return Factor(title, columns, sizes, locked(np.stack(P)), by, ListedDivision(locked(shaped)))


def _dense(
    factors: Sequence[Factor], strata: NDArray[np.int64], cells: Codes, columns: tuple[int, ...]
) -> Array:
    """Return P[true, released] of all cells; `strata` has that of each true cell, by factor."""
    changed = {c for one in factors for c in one.columns}
    P = np.ones((len(cells), len(cells)))
    for c in columns:
        if c not in changed:
            P *= cells[:, None, c] == cells[:, c]
    for one, stratum in zip(factors, strata, strict=True):
        code = one.code(cells)
        P *= one.P[stratum[:, None], code[:, None], code]
    return P


def _check_size(title: str, size: int, strata: int) -> None:
    if size * strata > _LARGEST:
        raise _too_large(title, strata)


def _too_large(title: str, strata: int) -> MatrixError:
    return MatrixError(
        f"Changes of {title!r} depend on one another and need one matrix of their combinations,"
        f" in {counted(strata, 'stratum', 'strata')}: too large for memory. Let them depend on"
        " fewer keys, or use coarser keys."
    )
