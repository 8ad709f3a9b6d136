"""Misclassification of several keys at once: a product of small matrices, never a K x K array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import locked
from maskmeter.data.keys import CellNumbers, Codes, Key, KeySpace, check_codes, combined
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.data.varying import By, as_by, mapped
from maskmeter.errors import InputError, MatrixError
from maskmeter.mechanism.matrix import Matrix, as_matrix
from maskmeter.streams import AliasTable, RandomSource, seed_of, uniforms

Crossed: TypeAlias = tuple[str, ...]
Declared: TypeAlias = Matrix | By[Matrix]


@dataclass(frozen=True, init=False)
class Misclassification:
    """What is known about how keys came to be recorded wrongly.

    One matrix P[true, released] per perturbed key; a tuple of keys has one matrix for their
    combinations. `mm.by` lets a matrix depend on keys that are not perturbed. Keys are
    misclassified independently of each other, given the true cell.

    >>> errors = Misclassification({"sex": [[0.99, 0.01], [0.02, 0.98]]})
    >>> errors
    Misclassification(sex)
    """

    matrices: tuple[tuple[Crossed, Declared], ...]

    def __init__(self, matrices: Mapping[Any, Any]) -> None:
        if not isinstance(matrices, Mapping):
            raise MatrixError(
                "Give a dictionary with a matrix for each misclassified key, such as {'lad': P}."
            )
        declared = []
        for key, source in matrices.items():
            names = (key,) if isinstance(key, str) else key
            if (
                not isinstance(names, tuple)
                or not names
                or not all(isinstance(n, str) for n in names)
            ):
                raise MatrixError(
                    "Each entry of the dictionary must be the name of a key, or a tuple of names."
                )
            declared.append((names, mapped(source, partial(as_matrix, name=" x ".join(names)))))
        object.__setattr__(self, "matrices", tuple(declared))
        _check_independent(self.matrices)

    def __repr__(self) -> str:
        """Return the names of the perturbed keys."""
        return f"Misclassification({', '.join(' x '.join(names) for names, _ in self.matrices)})"

    def on(self, data: KeySpace | Microdata | KeyTable) -> Mechanism:
        """Return the misclassification of the keys of a file, with its three verbs."""
        space = space_of(data)
        factors = tuple(_factor(names, declared, space) for names, declared in self.matrices)
        return Mechanism(space, factors, self)


@dataclass(frozen=True, eq=False, repr=False)
class Factor:
    """The matrices of one perturbed key (or crossed keys), one for each stratum."""

    name: str
    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    P: NDArray[np.float64]  # [stratum, true, released]
    by: tuple[int, ...]
    strata: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of categories, or of their combinations."""
        return int(self.P.shape[1])

    def code(self, codes: Codes) -> NDArray[np.int64]:
        """Return the category of each row of codes."""
        return combined(codes, self.columns, self.sizes)

    def stratum(self, codes: Codes) -> NDArray[np.int64]:
        """Return the stratum of each row of codes."""
        if not self.by:
            return np.zeros(len(codes), dtype=np.int64)
        return self.strata[tuple(codes[:, c] for c in self.by)]

    @cached_property
    def alias(self) -> AliasTable:
        """All rows of all strata, ready to be drawn from."""
        return AliasTable.of(self.P.reshape(-1, self.size))


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A misclassification on the keys of a file. Cells and records are rows of category codes."""

    space: KeySpace
    factors: tuple[Factor, ...]
    declared: Misclassification

    def __repr__(self) -> str:
        """Return the names of the perturbed keys."""
        return f"Mechanism({', '.join(factor.name for factor in self.factors)})"

    def on(self, data: KeySpace | Microdata | KeyTable) -> Mechanism:
        """Return the same misclassification on the keys of another file, matched by label."""
        space = space_of(data)
        return self if space == self.space else _relabelled(self).on(space)

    def then(self, later: Misclassification) -> Mechanism:
        """Return this misclassification followed by another one, on the same keys.

        Matrices of the same key are multiplied; other keys stand side by side.
        """
        matrices = dict(self.declared.matrices)
        for names, second in later.matrices:
            first = matrices.get(names)
            matrices[names] = (
                second if first is None else _chained(first, second, names, self.space)
            )
        return Misclassification(matrices).on(self.space)

    @cached_property
    def untouched(self) -> tuple[int, ...]:
        """Positions of the keys that are never misclassified."""
        touched = {c for factor in self.factors for c in factor.columns}
        return tuple(c for c in range(len(self.space.keys)) if c not in touched)

    def factor_of(self, name: str) -> Factor:
        """Return the matrices of a key; one that is never misclassified has the identity."""
        column = self.space.index(name)
        for factor in self.factors:
            if column in factor.columns:
                return factor
        size = self.space.sizes[column]
        return _factor((name,), Matrix(np.eye(size)), self.space)

    def untouched_number(self, codes: Codes) -> CellNumbers:
        """Return one sortable value per row of codes for the keys that are never misclassified."""
        if not self.untouched:
            return np.zeros(len(codes), dtype=np.int64)
        names = [self.space.names[c] for c in self.untouched]
        return self.space.project(names).number(codes[:, self.untouched])

    def prob(self, *, released: Codes, true: Codes) -> NDArray[np.float64]:
        """Return Pr(released cell given true cell) for each pair of rows, eq. (2.1).

        >>> sex = KeySpace([Key("sex", ["f", "m"])])
        >>> Misclassification({"sex": [[0.9, 0.1], [0.2, 0.8]]}).on(sex).prob(released=[[1]], true=[[0]])
        array([0.1])
        """
        released, true = check_codes(released, self.space), check_codes(true, self.space)
        same = [released[:, c] == true[:, c] for c in self.untouched]
        result = np.all(same, axis=0) if same else np.ones(max(len(released), len(true)))
        result = np.asarray(result, dtype=np.float64)
        for factor in self.factors:
            at = factor.stratum(true)
            result = result * factor.P[at, factor.code(true), factor.code(released)]
        return result

    def stay(self, cells: Codes) -> NDArray[np.float64]:
        """Return the probability that a unit of each cell is recorded in it, M_jj."""
        return self.prob(released=cells, true=cells)

    def draw(
        self, codes: Codes, *, rng: RandomSource = None, label: str = "draw", start: int = 0
    ) -> Codes:
        """Return recorded codes for records with these true codes.

        Record i uses word i of a stream named by `label` and the key; `start` is the number of the
        first record, so that a file can be drawn in parts.
        """
        seed = seed_of(rng)
        codes = check_codes(codes, self.space)
        drawn = np.array(codes, order="F")
        for factor in self.factors:
            words = uniforms(seed, f"{label}/{factor.name}", start=start, stop=start + len(codes))
            row = factor.code(codes)
            if factor.by:
                row = row + factor.stratum(codes) * factor.size
            moved = factor.alias.draw(row, words)
            if len(factor.columns) == 1:
                drawn[:, factor.columns[0]] = moved
            else:
                parts = np.unravel_index(moved, factor.sizes)
                for c, part in zip(factor.columns, parts, strict=True):
                    drawn[:, c] = part
        return drawn


def as_mechanism(
    given: Mechanism | Misclassification | Mapping[Any, Any] | None, space: KeySpace
) -> Mechanism:
    """Return whatever describes misclassification, on the keys of `space`; None is no error."""
    if isinstance(given, Mechanism | Misclassification):
        return given.on(space)
    return Misclassification({} if given is None else given).on(space)


def space_of(data: Any) -> KeySpace:
    """Return the key space of a sample or a population, or the one that is given."""
    space = data if isinstance(data, KeySpace) else getattr(data, "space", None)
    if not isinstance(space, KeySpace):
        raise InputError(
            f"Give a sample, a population or its key space, not a {type(data).__name__}."
        )
    return space


def _check_independent(matrices: tuple[tuple[Crossed, Declared], ...]) -> None:
    """Refuse a key with two matrices, or a matrix that depends on a perturbed key."""
    perturbed = [name for names, _ in matrices for name in names]
    for name in perturbed:
        if perturbed.count(name) > 1:
            raise MatrixError(
                f"Key {name!r} has more than one matrix. Give one, for the key or for a combination."
            )
    for names, declared in matrices:
        clash = (
            [key for key in declared.keys if key in perturbed] if isinstance(declared, By) else []
        )
        if clash:
            raise MatrixError(
                f"The matrix for {' x '.join(names)!r} depends on {clash[0]!r}, which is itself"
                " misclassified. Let it depend on other keys, or give one matrix for the"
                " combination of both."
            )


def _factor(names: Crossed, declared: Declared, space: KeySpace) -> Factor:
    keys = [space[name] for name in names]
    title = " x ".join(names)
    whole = as_by(declared)
    strata, values = whole.strata(space)
    # Strata that share one matrix are one stratum here: fewer to tell apart, fewer to work through.
    distinct = {id(one): one for one in values}
    place = {one: position for position, one in enumerate(distinct)}
    strata = np.array([place[id(one)] for one in values])[strata]
    matrices = list(distinct.values())
    by = tuple(space.index(name) for name in whole.keys)
    P = np.stack([one.follow(keys, title) for one in matrices])
    columns = tuple(space.index(name) for name in names)
    return Factor(title, columns, tuple(key.size for key in keys), locked(P), by, locked(strata))


def _chained(first: Declared, second: Declared, names: Crossed, space: KeySpace) -> Declared:
    """Return the product of two matrices of one key, for all groups that either tells apart."""
    keys, title = [space[name] for name in names], " x ".join(names)
    parts = [as_by(one) for one in (first, second)]
    tables = [part.strata(space) for part in parts]
    both = tuple(dict.fromkeys(name for part in parts for name in part.keys))

    @cache
    def multiplied(one: int, other: int) -> Matrix:
        (_, before), (_, after) = tables
        return Matrix(locked(before[one].follow(keys, title) @ after[other].follow(keys, title)))

    values = []
    for cell in product(*(range(space[name].size) for name in both)):
        at = dict(zip(both, cell, strict=True))
        which = [
            int(table[tuple(at[name] for name in part.keys)])
            for part, (table, _) in zip(parts, tables, strict=True)
        ]
        named = tuple(space[name].categories[code] for name, code in at.items())
        values.append((named, multiplied(*which)))
    idle = Matrix(np.eye(len(values[0][1].P)))
    return By(both, tuple(values), idle, lenient=True) if both else values[0][1]


def _relabelled(mechanism: Mechanism) -> Misclassification:
    """Return the declaration with every plain matrix labelled by the categories it stands for."""

    def labelled(one: Matrix, keys: list[Key]) -> Matrix:
        single = len(keys) == 1
        cells = keys[0].categories if single else tuple(product(*(key.categories for key in keys)))
        return one if one.categories is not None else Matrix(one.P, cells)

    matrices: dict[Crossed, Declared] = {}
    for names, declared in mechanism.declared.matrices:
        label = partial(labelled, keys=[mechanism.space[name] for name in names])
        matrices[names] = mapped(declared, label)
    return Misclassification(matrices)
