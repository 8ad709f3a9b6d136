"""Misclassification as it looks to someone who knows some of the keys only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from maskmeter.data.keys import Codes, KeySpace, combined
from maskmeter.data.varying import By, by_cell
from maskmeter.mechanism.matrix import Matrix
from maskmeter.mechanism.mechanism import (
    Crossed,
    Declared,
    Factor,
    Mechanism,
    Misclassification,
)
from maskmeter.types import Array, Integers

_RECORDS = 30  # that a group should hold on average: fewer would say little about its members
_LARGEST = 1000  # combinations of keys that are taken to move together


def seen_through(
    mechanism: Mechanism, names: Sequence[str], *, true: Codes, weights: Array | None = None
) -> Misclassification:
    """Return the misclassification of some of the keys.

    Where a matrix depends on keys that are not among them, or moves such keys too, its rows are
    averaged over the records of the file: what someone who does not know those keys would expect.
    The average is taken within groups of the known keys that tell most about the unknown ones, as
    far as the records allow; keys that move by the same unknown key are taken together.

    >>> import maskmeter as mm
    >>> space = mm.KeySpace([mm.Key("lad", ["a", "b"]), mm.Key("sex", ["f", "m"])])
    >>> swap = mm.Misclassification({"lad": mm.by("sex", {"f": np.eye(2)}, otherwise=np.eye(2)[::-1])})
    >>> seen = seen_through(swap.on(space), ["lad"], true=np.array([[0, 0], [0, 1], [1, 0], [1, 0]]))
    >>> seen.matrices[0][1].P.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    matrices: dict[Crossed, Declared] = {}
    hidden = []
    for factor, (touched, declared) in zip(
        mechanism.factors, mechanism.declared.matrices, strict=True
    ):
        needed = {*touched, *(declared.keys if isinstance(declared, By) else ())}
        if needed <= set(names):
            matrices[touched] = declared
        elif set(touched) & set(names):
            hidden.append(_Part.of(factor, mechanism.space, names))
    whole = np.ones(len(true)) if weights is None else weights
    touched_keys = {mechanism.space.names[c] for one in mechanism.factors for c in one.columns}
    for together in _sharing(hidden):
        inside = tuple(name for part in together for name in part.inside)
        known = [name for name in names if name not in touched_keys]
        matrices[inside] = _averaged(together, mechanism.space, known, true, weights=whole)
    return Misclassification(matrices)


@dataclass(frozen=True, eq=False)
class _Part:
    """A factor of which only some keys are seen."""

    factor: Factor
    inside: Crossed  # keys that it moves and that are seen
    unseen: frozenset[str]  # keys it moves or depends on that are not
    rows: Array  # of all its matrices, summed over the moved keys that are not seen

    @classmethod
    def of(cls, factor: Factor, space: KeySpace, names: Sequence[str]) -> _Part:
        """Return what is seen of a factor."""
        touched = [space.names[c] for c in factor.columns]
        around = [space.names[c] for c in factor.by]
        inside = tuple(name for name in touched if name in names)
        summed = tuple(2 + at for at, name in enumerate(touched) if name not in names)
        P = factor.P.reshape(len(factor.P), factor.size, *factor.sizes).sum(axis=summed)
        unseen = frozenset(name for name in (*touched, *around) if name not in names)
        return cls(factor, inside, unseen, P.reshape(len(factor.P) * factor.size, -1))

    def row(self, true: Codes) -> Integers:
        """Return which of the rows each record has."""
        return self.factor.stratum(true) * self.factor.size + self.factor.code(true)


def _sharing(parts: list[_Part]) -> list[list[_Part]]:
    """Return groups of factors that depend on the same unseen key, unless they are too large."""
    groups: list[list[_Part]] = []
    for part in parts:
        for group in groups:
            size = prod(one.rows.shape[1] for one in (*group, part))
            if size <= _LARGEST and any(one.unseen & part.unseen for one in group):
                group.append(part)
                break
        else:
            groups.append([part])
    return groups


def _averaged(
    parts: list[_Part], space: KeySpace, known: list[str], true: Codes, *, weights: Array
) -> Declared:
    """Return the mean matrix of the keys that are seen, for every group of those that are known."""
    inside = tuple(name for part in parts for name in part.inside)
    seen, size = _numbered(space, inside, true)
    kinds, kind = np.unique(
        np.column_stack([part.row(true) for part in parts]), axis=0, return_inverse=True
    )
    kind = kind.reshape(-1)
    rows = np.ones((len(kinds), 1))
    for position, part in enumerate(parts):
        rows = (rows[:, :, None] * part.rows[kinds[:, position]][:, None, :]).reshape(
            len(kinds), -1
        )
    by = _telling(space, known, inside, kind, true)
    group, groups = _numbered(space, by, true)
    place = group * size + seen
    P = _means(rows, kind, place, groups * size, weights)
    # Who is in a group without such a record counts with the average of all, and a category that
    # no record has stays as it is, as it does in every step.
    overall = _means(rows, kind, seen, size, weights)
    overall = np.where(np.isnan(overall), np.eye(size), overall)
    P = np.where(np.isnan(P), np.tile(overall, (groups, 1)), P).reshape(groups, size, size)
    if not by:
        return Matrix(P[0])
    own = space.project(by)
    every = own.codes(np.arange(groups))
    return by_cell(own, every, [Matrix(one) for one in P], otherwise=Matrix(overall))


def _means(rows: Array, kind: Integers, place: Integers, places: int, weights: Array) -> Array:
    """Return the mean row of the records in each place, NaN where there are none."""
    pairs, which = np.unique(kind * places + place, return_inverse=True)
    times = np.bincount(which.reshape(-1), weights=weights)
    sums, total = np.zeros((places, rows.shape[1])), np.zeros((places, 1))
    np.add.at(sums, pairs % places, times[:, None] * rows[pairs // places])
    np.add.at(total[:, 0], pairs % places, times)
    return np.divide(sums, total, out=np.full_like(sums, np.nan), where=total > 0)


def _telling(
    space: KeySpace, known: list[str], inside: Crossed, kind: Integers, true: Codes
) -> tuple[str, ...]:
    """Return the known keys that tell most about the row of a record beside the moved keys.

    There are no more of them than the number of records allows.
    """
    chosen: list[str] = []
    rest = list(known)
    while rest:
        beside = (*inside, *chosen)
        ranked = sorted(rest, key=lambda name: -_information(space, (*beside, name), kind, true))
        fits = [
            name
            for name in ranked
            if prod(space[one].size for one in (*chosen, name)) * _RECORDS <= len(true)
        ]
        if not fits:
            break
        chosen.append(fits[0])
        rest.remove(fits[0])
    return tuple(chosen)


def _information(space: KeySpace, names: tuple[str, ...], kind: Integers, true: Codes) -> float:
    """Return the mutual information of a combination of keys and the row of a record, in nats.

    What chance alone would give is taken off (Miller and Madow).
    """
    at = np.unique(_numbered(space, names, true)[0], return_inverse=True)[1].reshape(-1)
    cells, joint = np.unique(np.column_stack([at, kind]), axis=0, return_counts=True)
    n, of_at, of_kind = len(kind), np.bincount(at), np.bincount(kind)
    p, apart = joint / n, of_at[cells[:, 0]] / n * of_kind[cells[:, 1]] / n
    by_chance = (len(cells) - len(of_at) - len(of_kind) + 1) / (2 * n)
    return float((p * np.log(p / apart)).sum() - by_chance)


def _numbered(space: KeySpace, names: tuple[str, ...], codes: Codes) -> tuple[Integers, int]:
    """Return the combination of some keys that each row has, and how many there are."""
    columns = [space.index(name) for name in names]
    sizes = [space.sizes[c] for c in columns]
    if not names:
        return np.zeros(len(codes), dtype=np.int64), 1
    return combined(codes, columns, sizes), int(np.prod(sizes))
