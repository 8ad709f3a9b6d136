"""What an intruder guesses of changed values, from the released file and from the method alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maskmeter.mechanism import Mechanism
from maskmeter.types import Array, Integers

REACHES = (10, 3, 1)  # neighbours on each side
FEWEST = 6  # records of a group that is looked at by itself
TELLING = 0.9  # share of changed records in a group above which its members stand out

_RARELY = 1e-3  # probability below which the method does not explain a group
_SPARSE = 20  # times the records: numbers up to here are counted in an array
_AT_ONCE = 10_000  # records whose neighbours are compared at a time


def guess_by_group(groups: Integers, values: Integers, rows: Integers) -> Integers:
    """Return the commonest value among the other records of the group of each row.

    -1 where no other record is in the group. Of values that are equally common, the one that more
    records of the file have is taken.

    >>> guess_by_group(np.array([0, 0, 0, 1]), np.array([2, 2, 1, 2]), np.array([0, 2, 3])).tolist()
    [2, 2, -1]
    """
    codes, rank = _by_frequency(values)
    size, ranked = len(codes), rank[values]
    pairs, counts = _counted(groups * size + ranked)
    group_of, rank_of = np.divmod(pairs, size)
    order = np.lexsort((rank_of, -counts, group_of))
    counts, rank_of = np.append(counts[order], 0), np.append(rank_of[order], -1)
    first = np.searchsorted(group_of[order], np.arange(group_of[-1] + 1 if len(pairs) else 0))
    after = np.append(first[1:], len(pairs))
    second = np.where(first + 1 < after, first + 1, len(pairs))

    one, two = first[groups[rows]], second[groups[rows]]
    others = counts[one] - (rank_of[one] == ranked[rows])
    leads = (others > counts[two]) | (
        (others == counts[two]) & (others > 0) & (rank_of[one] < rank_of[two])
    )
    return _decoded(codes, np.where(leads, rank_of[one], rank_of[two]))


def guess_by_order(values: Integers, rows: Integers, *, reach: int = REACHES[0]) -> Integers:
    """Return the commonest value among the neighbours of each row; -1 where it has none.

    >>> guess_by_order(np.array([1, 1, 0, 1, 0]), np.array([2]), reach=2).tolist()
    [1]
    """
    codes, rank = _by_frequency(values)
    ranked = np.pad(rank[values], reach, constant_values=-1)
    steps = np.delete(np.arange(2 * reach + 1), reach)
    found = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _AT_ONCE):
        near = ranked[rows[start : start + _AT_ONCE, None] + steps]
        often = (near[:, :, None] == near[:, None, :]).sum(axis=2)
        score = np.where(near < 0, -1, often * (len(codes) + 1) - near)
        found[start : start + _AT_ONCE] = near[np.arange(len(near)), score.argmax(axis=1)]
    return _decoded(codes, found)


class StandingOut(NamedTuple):
    """Which changed records stand out, and where the method explains that so many are changed."""

    seen: NDArray[np.bool_]
    explained: NDArray[np.bool_]


def stand_out(
    released: Integers, others: Integers, rows: Integers, *, chance: Array
) -> StandingOut:
    """Return which of the changed `rows` stand out: over 90 % of the others of their group are changed.

    Records are in groups by their released value and that of another column; groups of fewer than
    six with the same released value are put together. `chance` is the probability of each row to
    have been changed, by the method alone: it explains a group in which so many or more are changed
    at least once in a thousand draws.

    >>> found = stand_out(np.zeros(40, int), np.arange(40) // 8, np.arange(8), chance=np.full(8, 0.1))
    >>> found.seen.sum(), found.explained.sum()
    (np.int64(8), np.int64(0))
    """
    from scipy.special import bdtrc

    width = int(others.max(initial=0)) + 2  # one more for those that are put together
    numbers = released * width + others
    group, sizes = _numbered(numbers)
    numbers = np.where(sizes[group] < FEWEST, released * width + width - 1, numbers)
    group, sizes = _numbered(numbers)
    own = group[rows]
    moved = np.bincount(own, minlength=len(sizes))
    telling = (sizes > 1) & (moved - 1 > TELLING * (sizes - 1))
    # Nearly all members of a telling group are changed, so theirs is the chance of the group.
    mean = np.bincount(own, chance, len(sizes)) / np.maximum(moved, 1)
    likely = bdtrc(moved - 1.0, sizes, np.clip(mean, 0, 1)) > _RARELY
    return StandingOut(telling[own], (telling & likely)[own])


class Told(NamedTuple):
    """What the method alone tells of some changed records."""

    guess: Integers  # the likeliest value, for who knows that it was changed
    chance: Array  # of the record to have been changed


def told_by_method(
    mechanism: Mechanism, *, true: Integers, released: Integers, rows: Integers, key: int
) -> Told:
    """Return what the matrices and the released counts of a key in their strata tell of some rows.

    `true` and `released` are the codes of all records. The other keys are taken as known.
    """
    size, strata = mechanism.space.keys[key].size, _strata(mechanism, true, key)
    counts = np.bincount(strata * size + released[:, key], minlength=(strata.max() + 1) * size)
    counts, strata = counts.reshape(-1, size), strata[rows]
    true, released = true[rows], released[rows]
    context = np.hstack([np.delete(true, key, axis=1), released])
    _, first, place = np.unique(context, axis=0, return_index=True, return_inverse=True)
    true, released, strata = true[first], released[first], strata[first]
    every, stayed, most = np.zeros(len(first)), np.zeros(len(first)), np.full(len(first), -1.0)
    guess = np.zeros(len(first), dtype=np.int64)
    for value in range(size):  # one at a time: a table of all would not fit in memory
        true[:, key] = value
        chance = counts[strata, value] * mechanism.prob(released=released, true=true)
        own = released[:, key] == value
        every += chance
        stayed[own] = chance[own]
        better = ~own & (chance > most)
        guess[better], most[better] = value, chance[better]
    # Nobody may be left with the value, as after suppression of all.
    changed = 1 - stayed / np.where(every > 0, every, 1.0)
    place = place.reshape(-1)
    return Told(guess[place], changed[place])


def _strata(mechanism: Mechanism, codes: Integers, key: int) -> Integers:
    """Return a number for each record that tells apart the strata in which a key is changed."""
    number = np.zeros(len(codes), dtype=np.int64)
    for factor in mechanism.factors:
        if key in factor.columns:
            number = number * len(factor.P) + factor.stratum(codes)
    _, dense = np.unique(number, return_inverse=True)
    return dense


def _counted(numbers: Integers) -> tuple[Integers, Integers]:
    """Return the distinct numbers and how often each occurs: those of few are counted, not sorted."""
    if int(numbers.max(initial=0)) <= _SPARSE * len(numbers):
        counts = np.bincount(numbers)
        held = np.flatnonzero(counts)
        return held, counts[held]
    found = np.unique_counts(numbers)
    return found.values, found.counts


def _numbered(numbers: Integers) -> tuple[Integers, Integers]:
    """Return a group for each number, and the sizes of groups; some may be empty."""
    if int(numbers.max(initial=0)) <= _SPARSE * len(numbers):
        return numbers, np.bincount(numbers)
    found = np.unique_inverse(numbers)
    return found.inverse_indices, np.bincount(found.inverse_indices)


def _by_frequency(values: Integers) -> tuple[Integers, Integers]:
    """Return the codes from the commonest to the rarest, and the place of each code among them."""
    codes = np.argsort(-np.bincount(values), kind="stable")
    rank = np.empty_like(codes)
    rank[codes] = np.arange(len(codes))
    return codes, rank


def _decoded(codes: Integers, ranks: Integers) -> Integers:
    """Return the codes behind ranks; -1 stays."""
    return np.append(codes, -1)[ranks]
