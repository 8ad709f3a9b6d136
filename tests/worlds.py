"""Tiny worlds for hypothesis: keys, misclassification, inclusion probabilities and a population."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

import maskmeter as mm
from oracle import product_of_matrices

if TYPE_CHECKING:
    from collections.abc import Callable

PROBABILITIES = st.sampled_from([Fraction(1, 100), Fraction(1, 4), Fraction(7, 10), Fraction(1)])


@dataclass
class World:
    """A population of a few units, told twice: as plain fractions and as maskmeter objects."""

    sizes: tuple[int, ...]
    matrices: dict[int, list[list[list[Fraction]]]]  # key -> stratum -> P
    stratum_keys: dict[int, int]  # key -> the key its matrix depends on, if it does
    pi_key: int
    pi: list[Fraction]
    units: list[tuple[int, ...]]

    @property
    def names(self) -> list[str]:
        return [f"key{c}" for c in range(len(self.sizes))]

    @property
    def space(self) -> mm.KeySpace:
        return mm.KeySpace(
            mm.Key(name, [f"{name}-{code}" for code in range(size)])
            for name, size in zip(self.names, self.sizes, strict=True)
        )

    @property
    def errors(self) -> mm.Misclassification:
        declared: dict[str, Any] = {}
        for c, strata in self.matrices.items():
            arrays = [np.array(P, dtype=float) for P in strata]
            if c not in self.stratum_keys:
                declared[self.names[c]] = arrays[0]
            else:
                key = self.names[self.stratum_keys[c]]
                values = {f"{key}-{code}": one for code, one in enumerate(arrays)}
                declared[self.names[c]] = mm.by(key, values)
        return mm.Misclassification(declared)

    @property
    def population(self) -> mm.KeyTable:
        return mm.KeyTable.of(self.space, np.array(self.units))

    def include(self, cell: tuple[int, ...]) -> Fraction:
        return self.pi[cell[self.pi_key]]

    @property
    def misclassify(self) -> Callable[[tuple[int, ...]], dict[tuple[int, ...], Fraction]]:
        def matrix(c, true):
            strata = self.matrices.get(c)
            if strata is None:
                return None
            return strata[true[self.stratum_keys[c]] if c in self.stratum_keys else 0]

        return cache(product_of_matrices(matrix, sizes=self.sizes))

    @property
    def cells(self) -> list[tuple[int, ...]]:
        """Every cell whose categories are all seen in the population."""
        seen = [sorted({unit[c] for unit in self.units}) for c in range(len(self.sizes))]
        return list(product(*seen))

    @property
    def sample(self) -> mm.Microdata:
        """One record in each of the cells: all are sample uniques."""
        name = self.names[self.pi_key]
        fraction = mm.by(name, {f"{name}-{code}": float(p) for code, p in enumerate(self.pi)})
        return mm.Microdata(self.space, np.array(self.cells), fraction=fraction)


def rows(size):
    """Rows of whole numbers over their sum: zeros and ones are common."""
    weights = st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any)
    return weights.map(lambda row: [Fraction(value, sum(row)) for value in row])


def matrices(size):
    return st.lists(rows(size), min_size=size, max_size=size)


@st.composite
def errors(draw, sizes):
    """Matrices of some keys, each for all records or by a key that is not among them."""
    touched = draw(st.sets(st.integers(0, len(sizes) - 1)))
    untouched = sorted(set(range(len(sizes))) - touched)
    found, stratum_keys = {}, {}
    for c in sorted(touched):
        if untouched and draw(st.booleans()):
            stratum_keys[c] = draw(st.sampled_from(untouched))
        strata = sizes[stratum_keys[c]] if c in stratum_keys else 1
        found[c] = [draw(matrices(sizes[c])) for _ in range(strata)]
    return found, stratum_keys


@st.composite
def worlds(draw, *, most_units=6, most_keys=4):
    sizes = tuple(draw(st.lists(st.integers(2, 3), min_size=1, max_size=most_keys)))
    found, stratum_keys = draw(errors(sizes))
    pi_key = draw(st.integers(0, len(sizes) - 1))
    if draw(st.booleans()):
        pi = [draw(PROBABILITIES)] * sizes[pi_key]
    else:
        pi = [draw(PROBABILITIES) for _ in range(sizes[pi_key])]
    cell = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    units = draw(st.lists(cell, min_size=1, max_size=most_units))
    return World(sizes, found, stratum_keys, pi_key, pi, units)


@st.composite
def successions(draw, *, changes=2, most_units=5):
    """A world for each of several changes in a row; all have the same keys and people."""
    first = draw(worlds(most_units=most_units))
    others = (draw(errors(first.sizes)) for _ in range(changes - 1))
    return [first, *(replace(first, matrices=P, stratum_keys=by) for P, by in others)]


@dataclass
class HouseholdWorld(World):
    """A population of a few households, `homes`, whose members' fractions agree."""

    homes: list[tuple[tuple[int, ...], ...]]

    @property
    def households(self) -> mm.HouseholdTable:
        return mm.HouseholdTable.of(self.space, np.array(self.units), place=_places(self.homes))

    def include_home(self, home: tuple[tuple[int, ...], ...]) -> Fraction:
        return self.include(home[0])

    @property
    def released(self) -> list[tuple[tuple[int, ...], ...]]:
        """Joint keys of seen categories that a household may be released as, the first thirty."""
        seen = set(self.cells)
        ways = {
            tuple(sorted(outcome))
            for home in self.homes
            for outcome in product(*(self._reached(member) & seen for member in home))
        }
        return sorted(ways)[:30]

    def _reached(self, member: tuple[int, ...]) -> set[tuple[int, ...]]:
        return {cell for cell, chance in self.misclassify(member).items() if chance}

    @property
    def file(self) -> mm.Microdata:
        """A file with one household of each of these joint keys: all are unique."""
        released = self.released
        members = [member for home in released for member in home]
        columns = {
            key.name: [key.categories[member[c]] for member in members]
            for c, key in enumerate(self.space.keys)
        }
        frame = pl.DataFrame({**columns, "hid": _places(released)})
        return mm.read(frame, keys=self.space, fraction=self.sample.fraction)


def _places(homes):
    return np.repeat(np.arange(len(homes)), [len(home) for home in homes])


@st.composite
def household_worlds(draw, *, most_homes=4, most_members=3):
    """Worlds of households; where fractions differ, members share the category that tells."""
    one = draw(worlds(most_units=1, most_keys=2))
    cell = st.tuples(*(st.integers(0, size - 1) for size in one.sizes))
    homes = draw(
        st.lists(
            st.lists(cell, min_size=1, max_size=most_members).map(tuple),
            min_size=1,
            max_size=most_homes,
        )
    )
    if len(set(one.pi)) > 1:
        c = one.pi_key
        homes = [tuple((*m[:c], home[0][c], *m[c + 1 :]) for m in home) for home in homes]
    units = [member for home in homes for member in home]
    told = (one.sizes, one.matrices, one.stratum_keys, one.pi_key, one.pi)
    return HouseholdWorld(*told, units, homes)


FILE_SIZES = {"lad": 4, "ward": 2, "sex": 2, "age": 3}
FILE_SPACE = mm.KeySpace(mm.Key(name, range(size)) for name, size in FILE_SIZES.items())


@st.composite
def files(draw):
    """A file with a few dozen records, some categories of which may be rare or absent."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    size = draw(st.integers(12, 60))
    columns = [rng.choice(n, size, p=rng.dirichlet(np.full(n, 0.8))) for n in FILE_SIZES.values()]
    codes = np.column_stack(columns)
    codes[:2, 0] = 0, 1  # at least two districts
    return mm.Microdata(FILE_SPACE, codes, fraction=0.1)
