"""The factors of a mechanism as they look to someone who knows some of the keys only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from maskmeter.checks import locked
from maskmeter.data.keys import Codes, KeySpace, combined
from maskmeter.mechanism.division import ListedDivision
from maskmeter.mechanism.factor import Factor
from maskmeter.types import Array, Integers

_RECORDS = 30  # that a group should hold on average: fewer would say little about its members
_LARGEST = 1000  # combinations of keys that are taken to move together


def marginal_factors(
    factors: Sequence[Factor], space: KeySpace, names: Sequence[str], known: Records
) -> tuple[Factor, ...]:
    """Return the factors that someone sees who knows some of the keys only.

    Where a matrix depends on keys that are not among them, or changes such keys too, its rows are
    averaged over the records: what someone who does not know those keys would expect. The average
    is taken within groups of the known keys that tell most about the unknown ones, as far as the
    records allow; keys that change by the same unknown key are taken together.

    >>> import maskmeter as mm
    >>> space = mm.KeySpace([mm.Key("lad", ["a", "b"]), mm.Key("sex", ["f", "m"])])
    >>> swap = mm.Misclassification({"lad": mm.by("sex", {"f": np.eye(2)}, otherwise=np.eye(2)[::-1])})
    >>> records = np.array([[0, 0], [0, 1], [1, 0], [1, 0]])
    >>> swap.on(space).marginal(["lad"], true=records).factors[0].P[0].tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    columns = [space.index(name) for name in names]
    place = {column: position for position, column in enumerate(columns)}
    kept, hidden = [], []
    for one in factors:
        if one.needed <= set(columns):
            moved, by = (tuple(place[c] for c in part) for part in (one.columns, one.by))
            kept.append(replace(one, columns=moved, by=by))
        elif set(one.columns) & set(columns):
            mixed = _mixed(one, place, space)
            if mixed is None:
                hidden.append(_KnownPart.of(one, place, known.true))
            else:
                kept.append(mixed)
    changed = {c for one in factors for c in one.columns}
    seen = _Seen(
        space.project(names),
        replace(known, true=known.true[:, columns]),
        tuple(place[c] for c in columns if c not in changed),
    )
    return (*kept, *(_averaged(parts, seen) for parts in _sharing(hidden)))


def _mixed(factor: Factor, place: Mapping[int, int], space: KeySpace) -> Factor | None:
    """Return a factor whose strata are mixtures to those who know some of its keys, if they are.

    Its rows do not depend on the unknown keys that it changes: any of them will do.
    """
    seen = factor.division.seen_by([at for at, c in enumerate(factor.by) if c in place])
    if seen is None:
        return None
    division, mixtures = seen
    inside = [at for at, c in enumerate(factor.columns) if c in place]
    sizes = tuple(factor.sizes[at] for at in inside)
    P = factor.P.reshape(len(factor.P), *factor.sizes, *factor.sizes)
    hidden = [at for at in range(len(factor.sizes)) if at not in inside]
    P = P.sum(axis=tuple(1 + len(factor.sizes) + at for at in hidden))
    P = P.mean(axis=tuple(1 + at for at in hidden)).reshape(len(factor.P), prod(sizes), -1)
    P = np.einsum("ms,sij->mij", mixtures, P)
    by = tuple(place[c] for c in factor.by if c in place)
    if not by:  # nobody can be told apart
        P, division = P[division.of([])], ListedDivision(locked(np.array(0)))
    return Factor(
        " x ".join(space.names[factor.columns[at]] for at in inside),
        tuple(place[factor.columns[at]] for at in inside),
        sizes,
        locked(P),
        by,
        division,
    )


@dataclass(frozen=True, eq=False)
class Records:
    """Records to average over: true codes, their weights, and how many units each row stands for."""

    true: Codes
    weights: Array
    times: Array

    @classmethod
    def of(
        cls, true: Codes, weights: Array | None = None, times: Array | Integers | None = None
    ) -> Records:
        """Return records; rows of a population stand for `times` units each."""
        number = np.ones(len(true)) if times is None else np.asarray(times, dtype=np.float64)
        return cls(true, number if weights is None else weights, number)


@dataclass(frozen=True, eq=False)
class _Seen:
    """Records with the keys that are known; `steady` are the positions of those that never change."""

    space: KeySpace
    records: Records
    steady: tuple[int, ...]

    def number(self, columns: Sequence[int]) -> tuple[Integers, int]:
        """Return the combination of some keys that each record has, and how many there are."""
        sizes = [self.space.sizes[c] for c in columns]
        if not columns:
            return np.zeros(len(self.records.true), dtype=np.int64), 1
        return combined(self.records.true, columns, sizes), prod(sizes)


@dataclass(frozen=True, eq=False)
class _KnownPart:
    """A factor of which not all keys are known."""

    inside: tuple[int, ...]  # positions among the known keys of those that it changes
    unknown: frozenset[int]  # keys it changes or depends on that are not known
    rows: Array  # of all its matrices, summed over the changed keys that are not known
    row: Integers  # of each record
    even: Array  # the mean of all rows that a known category may have

    @classmethod
    def of(cls, factor: Factor, place: Mapping[int, int], true: Codes) -> _KnownPart:
        """Return what is known of a factor; known keys have a place."""
        hidden = [at for at, c in enumerate(factor.columns) if c not in place]
        size = prod(n for at, n in enumerate(factor.sizes) if at not in hidden)
        P = factor.P.reshape(len(factor.P), *factor.sizes, *factor.sizes)
        P = P.sum(axis=tuple(1 + len(factor.sizes) + at for at in hidden))
        return cls(
            tuple(place[c] for c in factor.columns if c in place),
            factor.needed - set(place),
            P.reshape(len(factor.P) * factor.size, size),
            factor.stratum(true) * factor.size + factor.code(true),
            P.mean(axis=(0, *(1 + at for at in hidden))).reshape(size, size),
        )


def _sharing(parts: list[_KnownPart]) -> list[list[_KnownPart]]:
    """Return groups of factors that depend on the same unknown key, unless they are too large."""
    groups: list[list[_KnownPart]] = []
    for part in parts:
        for group in groups:
            size = prod(one.rows.shape[1] for one in (*group, part))
            if size <= _LARGEST and any(one.unknown & part.unknown for one in group):
                group.append(part)
                break
        else:
            groups.append([part])
    return groups


def _averaged(parts: list[_KnownPart], seen: _Seen) -> Factor:
    """Return the mean matrix of the known keys of some factors, by groups of the steady keys."""
    inside = tuple(c for part in parts for c in part.inside)
    own, size = seen.number(inside)
    kinds, kind = np.unique(
        np.column_stack([part.row for part in parts]), axis=0, return_inverse=True
    )
    kind = kind.reshape(-1)
    rows = np.ones((len(kinds), 1))
    even: Array = np.ones((1, 1))
    for position, part in enumerate(parts):
        rows = (rows[:, :, None] * part.rows[kinds[:, position]][:, None, :]).reshape(
            len(kinds), -1
        )
        even = np.kron(even, part.even).astype(np.float64)
    by = _telling(seen, inside, kind)
    group, groups = seen.number(by)
    weights = seen.records.weights
    P = _means(rows, kind, group * size + own, groups * size, weights)
    # Groups without such a record take the average of all, a category without any that of its rows.
    overall = _means(rows, kind, own, size, weights)
    overall = np.where(np.isnan(overall), even, overall)
    P = np.where(np.isnan(P), np.tile(overall, (groups, 1)), P).reshape(groups, size, size)
    sizes = [seen.space.sizes[c] for c in by]
    strata = np.full([one + 1 for one in sizes], groups if by else 0)
    strata[tuple(map(slice, sizes))] = np.arange(groups).reshape(sizes)
    return Factor(
        " x ".join(seen.space.names[c] for c in inside),
        inside,
        tuple(seen.space.sizes[c] for c in inside),
        locked(np.concatenate([P, overall[None]]) if by else P),
        by,
        ListedDivision(locked(strata)),
    )


def _means(rows: Array, kind: Integers, place: Integers, places: int, weights: Array) -> Array:
    """Return the mean row of the records in each place, NaN where there are none."""
    pairs, which = np.unique(kind * places + place, return_inverse=True)
    times = np.bincount(which.reshape(-1), weights=weights)
    sums, total = np.zeros((places, rows.shape[1])), np.zeros((places, 1))
    np.add.at(sums, pairs % places, times[:, None] * rows[pairs // places])
    np.add.at(total[:, 0], pairs % places, times)
    return np.divide(sums, total, out=np.full_like(sums, np.nan), where=total > 0)


def _telling(seen: _Seen, inside: tuple[int, ...], kind: Integers) -> tuple[int, ...]:
    """Return the steady keys that tell most about the row of a record beside the changed keys.

    There are no more of them than the number of records allows.
    """
    chosen: list[int] = []
    rest, total = list(seen.steady), seen.records.times.sum()
    while rest:
        beside = (*inside, *chosen)
        ranked = sorted(rest, key=lambda c: -_information(seen, (*beside, c), kind))
        fits = [c for c in ranked if seen.number((*chosen, c))[1] * _RECORDS <= total]
        if not fits:
            break
        chosen.append(fits[0])
        rest.remove(fits[0])
    return tuple(chosen)


def _information(seen: _Seen, columns: tuple[int, ...], kind: Integers) -> float:
    """Return the mutual information of a combination of keys and the row of a record, in nats.

    What chance alone would give is taken off (Miller and Madow).
    """
    at = np.unique(seen.number(columns)[0], return_inverse=True)[1].reshape(-1)
    times = seen.records.times
    cells, pair = np.unique(np.column_stack([at, kind]), axis=0, return_inverse=True)
    n, of_at, of_kind = times.sum(), np.bincount(at, times), np.bincount(kind, times)
    p = np.bincount(pair.reshape(-1), times) / n
    apart = of_at[cells[:, 0]] / n * of_kind[cells[:, 1]] / n
    by_chance = (len(cells) - len(of_at) - len(of_kind) + 1) / (2 * n)
    return float((p * np.log(p / apart)).sum() - by_chance)
