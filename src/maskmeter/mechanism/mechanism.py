"""Misclassification of several keys at once: a product of small matrices, never a K x K array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.data.frames import POLARS, FrameKind, as_kind
from maskmeter.data.keys import CellNumbers, Codes, KeySpace, check_codes
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.data.varying import By, mapped
from maskmeter.errors import InputError, MatrixError
from maskmeter.mechanism.factor import Crossed, Declared, Factor, followed
from maskmeter.mechanism.grouping import grouped_factor
from maskmeter.mechanism.marginal import Records, marginal_factors
from maskmeter.mechanism.matrix import Matrix, as_matrix
from maskmeter.streams import RandomSource, RecordNumbers, seed_of, uniforms_of
from maskmeter.types import Array, Integers


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
        factors = (Factor.of(names, declared, space) for names, declared in self.matrices)
        return Mechanism(space, tuple(factors), frame_kind=getattr(data, "frame_kind", POLARS))


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A misclassification on the keys of a file. Cells and records are rows of category codes."""

    space: KeySpace
    factors: tuple[Factor, ...] = ()
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

    def __repr__(self) -> str:
        """Return the names of the perturbed keys."""
        return f"Mechanism({', '.join(factor.name for factor in self.factors)})"

    def on(self, data: KeySpace | Microdata | KeyTable) -> Mechanism:
        """Return the same misclassification on the keys of another file, matched by label."""
        space = space_of(data)
        if space == self.space:
            return self
        factors = tuple(one.moved_to(self.space, space) for one in self.factors)
        return replace(self, space=space, factors=factors)

    def then(self, later: Mechanism) -> Mechanism:
        """Return this misclassification followed by another one, on the same keys.

        What a later matrix depends on is what this one has made of it. Keys that depend on one
        another get one matrix for their combinations.

        >>> import maskmeter as mm
        >>> space = mm.KeySpace([mm.Key("sex", ["f", "m"])])
        >>> error = Misclassification({"sex": [[0.9, 0.1], [0.2, 0.8]]}).on(space)
        >>> error.then(error).stay([[0], [1]]).round(2)
        array([0.83, 0.66])
        """
        factors = followed(self.factors, later.on(self.space).factors, self.space)
        return replace(self, factors=factors)

    def marginal(
        self,
        names: Sequence[str],
        *,
        true: Codes,
        weights: Array | None = None,
        times: Array | Integers | None = None,
    ) -> Mechanism:
        """Return the misclassification of some keys, as those who know only these would expect it.

        What depends on other keys is averaged over the records whose codes are `true`; rows that
        stand for several units each are counted `times`.
        """
        records = Records.of(true, weights, times)
        factors = marginal_factors(self.factors, self.space, names, records)
        return replace(self, space=self.space.project(names), factors=factors)

    def fitted_to_counts(self) -> Mechanism:
        """Return the same misclassification, said to be fitted to the counts of the file's records."""
        return replace(self, factors=tuple(replace(one, fitted=True) for one in self.factors))

    def without_margins(self) -> Mechanism:
        """Return the same misclassification of records whose exact counts are not known."""
        factors = (replace(one, margin=None, fitted=False) for one in self.factors)
        return replace(self, factors=tuple(factors))

    def coarsened(
        self,
        space: KeySpace,
        groups: Mapping[str, Integers],
        *,
        true: Codes,
        weights: Array | None = None,
    ) -> Mechanism:
        """Return the misclassification of groups of categories, whose keys are in `space`.

        `groups` has the group of each category. Rows of categories in one group are averaged over
        the records whose codes are `true`.
        """
        coarse = {self.space.index(name): group for name, group in groups.items()}
        known = np.ones(len(true)) if weights is None else weights
        factors = tuple(
            grouped_factor(one, self.space, coarse, true=true, weights=known)
            for one in self.factors
        )
        return replace(self, space=space, factors=factors)

    def to_frame(self) -> Any:
        """Return a row for each move that can happen: its key, stratum and P[true, released].

        >>> import maskmeter as mm
        >>> sex = mm.KeySpace([mm.Key("sex", ["f", "m"])])
        >>> Misclassification({"sex": [[0.9, 0.1], [0.0, 1.0]]}).on(sex).to_frame().rows()
        [('sex', '', 'f', 'f', 0.9), ('sex', '', 'f', 'm', 0.1), ('sex', '', 'm', 'm', 1.0)]
        """
        return as_kind(move_frame(self), self.frame_kind)

    @cached_property
    def touched(self) -> tuple[str, ...]:
        """Names of the keys that may be misclassified."""
        columns = {c for factor in self.factors for c in factor.columns}
        return tuple(self.space.names[c] for c in sorted(columns))

    @cached_property
    def untouched(self) -> tuple[int, ...]:
        """Positions of the keys that are never misclassified."""
        names = enumerate(self.space.names)
        return tuple(c for c, name in names if name not in self.touched)

    def factor_of(self, name: str) -> Factor:
        """Return the matrices of a key; one that is never misclassified has the identity."""
        column = self.space.index(name)
        for factor in self.factors:
            if column in factor.columns:
                return factor
        return Factor.of((name,), Matrix(np.eye(self.space.sizes[column])), self.space)

    def untouched_number(self, codes: Codes) -> CellNumbers:
        """Return one sortable value per row of codes for the keys that are never misclassified."""
        if not self.untouched:
            return np.zeros(len(codes), dtype=np.int64)
        names = [self.space.names[c] for c in self.untouched]
        return self.space.project(names).number(codes[:, self.untouched])

    def prob(self, *, released: Codes, true: Codes) -> NDArray[np.float64]:
        """Return Pr(released cell given true cell) for each pair of rows, eq. (2.1).

        >>> import maskmeter as mm
        >>> sex = mm.KeySpace([mm.Key("sex", ["f", "m"])])
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
        self,
        codes: Codes,
        *,
        rng: RandomSource = None,
        label: str = "draw",
        start: int = 0,
        numbers: RecordNumbers | None = None,
    ) -> Codes:
        """Return recorded codes for records with these true codes.

        Record i uses word i of a stream named by `label` and the key; `start` is the number of the
        first record, so that a file can be drawn in parts. Records that are known by their ids use
        the words with these `numbers`.
        """
        codes = check_codes(codes, self.space)
        rows = range(start, start + len(codes)) if numbers is None else numbers
        return self.drawn(codes, rows, seed=seed_of(rng), label=label)

    def drawn(self, codes: Codes, numbers: RecordNumbers, *, seed: int, label: str) -> Codes:
        """Return the same for codes that were checked before; `numbers` are those of the records."""
        drawn = np.array(codes, order="F")
        for factor in self.factors:
            words = uniforms_of(seed, f"{label}/{factor.name}", numbers)
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


def move_frame(mechanism: Mechanism) -> pl.DataFrame:
    """Return a row for each move that can happen: its key, stratum and P[true, released]."""
    rows, space = [], mechanism.space
    for factor in mechanism.factors:
        names = _combinations(space, factor.columns)
        around = [[str(one) for one in space.keys[c].categories] for c in factor.by]
        for stratum, P in enumerate(factor.P):
            held = factor.division.described(around, stratum)
            rows += [
                (factor.name, held, names[true], names[to], float(P[true, to]))
                for true, to in zip(*P.nonzero(), strict=True)
            ]
    columns = dict.fromkeys(("key", "stratum", "true", "released"), pl.String)
    return pl.DataFrame(rows, schema=columns | {"probability": pl.Float64}, orient="row")


def _combinations(space: KeySpace, columns: Sequence[int]) -> list[str]:
    """Return the categories of a key, or the combinations of several, in order of their codes."""
    categories = [space.keys[column].categories for column in columns]
    return [", ".join(map(str, one)) for one in product(*categories)]


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
