"""The factors of a mechanism as they look to someone who knows some of the keys only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from maskmeter.checks import locked
from maskmeter.data.keys import Codes, KeySpace, combined
from maskmeter.mechanism.factor import Factor
from maskmeter.types import Array, Integers

_RECORDS = 30  # that a group should hold on average: fewer would say little about its members
_LARGEST = 1000  # combinations of keys that are taken to move together


def marginal_factors(
    factors: Sequence[Factor],
    space: KeySpace,
    view: KeySpace,
    *,
    true: Codes,
    weights: Array | None,
    groups: Mapping[str, Integers],
) -> tuple[Factor, ...]:
    """Return the factors that someone sees who knows some of the keys only, or groups of them.

    `view` has the keys that are known; `groups` has the code there of each code here for those
    that are coarser. Where a matrix depends on keys that are not known, or changes such keys too,
    its rows are averaged over the records of the file: what someone who does not know those keys
    would expect. The average is taken within groups of the known keys that tell most about the
    unknown ones, as far as the records allow; keys that change by the same unknown key are taken
    together.

    >>> import maskmeter as mm
    >>> space = mm.KeySpace([mm.Key("lad", ["a", "b"]), mm.Key("sex", ["f", "m"])])
    >>> swap = mm.Misclassification({"lad": mm.by("sex", {"f": np.eye(2)}, otherwise=np.eye(2)[::-1])})
    >>> records = np.array([[0, 0], [0, 1], [1, 0], [1, 0]])
    >>> swap.on(space).marginal(["lad"], true=records).factors[0].P[0].tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    known = [space.index(name) for name in view.names]
    place = {column: position for position, column in enumerate(known)}
    coarse = {space.index(name): group for name, group in groups.items() if name in view.names}
    kept, hidden = [], []
    for one in factors:
        if one.needed <= set(known) - set(coarse):
            columns, by = (tuple(place[c] for c in part) for part in (one.columns, one.by))
            kept.append(replace(one, columns=columns, by=by))
        elif set(one.columns) & set(known):
            hidden.append(_KnownPart.of(one, place, coarse, true))
    changed = {c for one in factors for c in one.columns}
    seen = _Seen(
        view,
        np.stack([coarse[c][true[:, c]] if c in coarse else true[:, c] for c in known], axis=1),
        np.ones(len(true)) if weights is None else weights,
        tuple(place[c] for c in known if c not in changed),
    )
    return (*kept, *(_averaged(parts, seen) for parts in _sharing(hidden)))


@dataclass(frozen=True, eq=False)
class _Seen:
    """Records with the keys that are known; `steady` are the positions of those that never change."""

    space: KeySpace
    true: Codes
    weights: Array
    steady: tuple[int, ...]

    def number(self, columns: Sequence[int]) -> tuple[Integers, int]:
        """Return the combination of some keys that each record has, and how many there are."""
        sizes = [self.space.sizes[c] for c in columns]
        if not columns:
            return np.zeros(len(self.true), dtype=np.int64), 1
        return combined(self.true, columns, sizes), prod(sizes)


@dataclass(frozen=True, eq=False)
class _KnownPart:
    """A factor of which not all is known."""

    inside: tuple[int, ...]  # positions in the view of the keys that it changes
    unknown: frozenset[int]  # keys it changes or depends on that are not known, or coarser
    rows: Array  # of all its matrices, summed over what is not told apart
    row: Integers  # of each record

    @classmethod
    def of(
        cls,
        factor: Factor,
        place: Mapping[int, int],
        coarse: Mapping[int, Integers],
        true: Codes,
    ) -> _KnownPart:
        """Return what is known of a factor whose keys have a place in the view."""
        rows = factor.P.reshape(-1, *factor.sizes)
        for axis, c in reversed(list(enumerate(factor.columns, start=1))):
            if c not in place:
                rows = rows.sum(axis=axis)
            elif c in coarse:
                member = np.eye(coarse[c].max() + 1)[coarse[c]]
                rows = np.moveaxis(np.moveaxis(rows, axis, -1) @ member, -1, axis)
        return cls(
            tuple(place[c] for c in factor.columns if c in place),
            factor.needed - (set(place) - set(coarse)),
            rows.reshape(len(rows), -1),
            factor.stratum(true) * factor.size + factor.code(true),
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
    for position, part in enumerate(parts):
        rows = (rows[:, :, None] * part.rows[kinds[:, position]][:, None, :]).reshape(
            len(kinds), -1
        )
    by = _telling(seen, inside, kind)
    group, groups = seen.number(by)
    P = _means(rows, kind, group * size + own, groups * size, seen.weights)
    # Groups without such a record take the average of all, and a category that no record has
    # stays as it is, as it does in every step.
    overall = _means(rows, kind, own, size, seen.weights)
    overall = np.where(np.isnan(overall), np.eye(size), overall)
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
        locked(strata),
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
    rest = list(seen.steady)
    while rest:
        beside = (*inside, *chosen)
        ranked = sorted(rest, key=lambda c: -_information(seen, (*beside, c), kind))
        fits = [c for c in ranked if seen.number((*chosen, c))[1] * _RECORDS <= len(seen.true)]
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
    cells, joint = np.unique(np.column_stack([at, kind]), axis=0, return_counts=True)
    n, of_at, of_kind = len(kind), np.bincount(at), np.bincount(kind)
    p, apart = joint / n, of_at[cells[:, 0]] / n * of_kind[cells[:, 1]] / n
    by_chance = (len(cells) - len(of_at) - len(of_kind) + 1) / (2 * n)
    return float((p * np.log(p / apart)).sum() - by_chance)
