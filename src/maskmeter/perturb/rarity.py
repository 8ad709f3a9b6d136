"""Which combinations of keys are rare: those that few people of the population are expected to share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskmeter.data.keys import Codes
from maskmeter.loglinear import CellModel
from maskmeter.mechanism.division import Division
from maskmeter.types import Array, Integers

COMMON, RARE = 0, 1
_LEVELS = 100  # of the chance that somebody is rare
_MOST_COMBINATIONS = 2000  # of unknown keys
_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class Rarity:
    """A division in two: combinations that fewer than `bound` people are expected to share, and others.

    The number of people comes from a model of these keys alone, so it tells nothing of any other
    key, and it is known of every combination, whether in the sample or not. A combination with a
    category that the sample lacks is rare.
    """

    model: CellModel
    bound: float
    places: tuple[Integers, ...] = ()  # the model's code of each code, where they differ

    def of(self, codes: Sequence[NDArray[np.integer[Any]]]) -> Integers:
        """Return the stratum of combinations: the codes of each key, which may broadcast."""
        parts = np.broadcast_arrays(*codes)
        columns = [one.ravel() for one in parts]
        if self.places:
            columns = [place[one] for place, one in zip(self.places, columns, strict=True)]
        cells = np.stack(columns, axis=1)
        known = (cells < np.array(self.model.data.space.sizes)).all(axis=1)
        people = np.zeros(len(cells))
        people[known] = self.people(cells[known])
        return np.where(people < self.bound, RARE, COMMON).reshape(parts[0].shape)

    def people(self, codes: Codes) -> Array:
        """Return how many people of the population are expected to have each combination."""
        return self.model.population_mean(codes)

    def moved(self, places: Sequence[Integers]) -> Rarity:
        """Return the division of keys with other codes; `places` has the old code of each new one."""
        before = self.places or tuple(np.arange(n + 1) for n in self.model.data.space.sizes)
        return replace(self, places=tuple(a[b] for a, b in zip(before, places, strict=True)))

    def same(self, other: Division) -> bool:
        """Return True for this very division."""
        return other is self

    def seen_by(self, known: Sequence[int]) -> tuple[Division, Array] | None:
        """Return how likely a combination of some keys is rare, in steps of one in a hundred.

        None where the keys that are not known have too many combinations to go through.
        """
        sizes = self.model.data.space.sizes
        unknown = tuple(at for at in range(len(sizes)) if at not in known)
        if prod(sizes[at] for at in unknown) > _MOST_COMBINATIONS:
            return None
        levels = np.arange(_LEVELS + 1) / _LEVELS
        return RarityShare(self, tuple(known), unknown), np.stack([1 - levels, levels], axis=1)

    def described(self, names: Sequence[Sequence[str]], stratum: int) -> str:
        """Return a stratum in words."""
        del names
        most = f"{self.bound:g} people share the other keys"
        return f"fewer than {most}" if stratum == RARE else f"at least {most}"


@dataclass(frozen=True, eq=False, repr=False)
class RarityShare:
    """How many of the people who share some keys are rare by all of them, in steps of one in a hundred.

    `known` are the places of these keys among all, `unknown` those of the others: their
    combinations are gone through, each with the people whom the model expects to have it.
    """

    rarity: Rarity
    known: tuple[int, ...]
    unknown: tuple[int, ...]
    places: tuple[Integers, ...] = ()

    def of(self, codes: Sequence[NDArray[np.integer[Any]]]) -> Integers:
        """Return the stratum of combinations of the known keys, which may broadcast."""
        parts = np.broadcast_arrays(*codes) if codes else [np.zeros(1, dtype=np.int64)]
        columns = [one.ravel() for one in parts][: len(codes)]
        if self.places:
            columns = [place[one] for place, one in zip(self.places, columns, strict=True)]
        share = self._share(np.stack(columns, axis=1) if columns else np.zeros((1, 0), np.int64))
        level = np.rint(share * _LEVELS)
        # What can happen must not be ruled out because it seldom does.
        level = np.where((share > 0) & (share < 1), np.clip(level, 1, _LEVELS - 1), level)
        return level.astype(np.int64).reshape(parts[0].shape)

    def _share(self, cells: Codes) -> Array:
        """Return the share of the people with each combination who are rare; 1 where there are none."""
        sizes = self.rarity.model.data.space.sizes
        distinct, place = np.unique(cells, axis=0, return_inverse=True)
        inside = (distinct < np.array([sizes[at] for at in self.known])).all(axis=1)
        others = np.zeros((1, 0), dtype=np.int64)  # when an intruder lacks none of the keys
        if self.unknown:
            others = np.indices([sizes[at] for at in self.unknown]).reshape(len(self.unknown), -1).T
        found = np.ones(len(distinct))
        step = max(_AT_ONCE // len(others), 1)
        for rows in np.split(np.flatnonzero(inside), range(step, int(inside.sum()), step)):
            every = np.zeros((len(rows), len(others), len(sizes)), dtype=np.int64)
            every[:, :, list(self.known)] = distinct[rows][:, None, :]
            every[:, :, list(self.unknown)] = others
            people = self.rarity.people(every.reshape(-1, len(sizes)))
            people = people.reshape(len(rows), len(others))
            rare = np.where(people < self.rarity.bound, people, 0.0).sum(axis=1)
            total = people.sum(axis=1)
            found[rows] = np.divide(rare, total, out=np.ones_like(rare), where=total > 0)
        return found[place.reshape(-1)]

    def moved(self, places: Sequence[Integers]) -> RarityShare:
        """Return the division of keys with other codes; `places` has the old code of each new one."""
        sizes = self.rarity.model.data.space.sizes
        before = self.places or tuple(np.arange(sizes[at] + 1) for at in self.known)
        return replace(self, places=tuple(a[b] for a, b in zip(before, places, strict=True)))

    def same(self, other: Division) -> bool:
        """Return True for this very division."""
        return other is self

    def seen_by(self, known: Sequence[int]) -> tuple[Division, Array] | None:
        """Return None: a share of shares is averaged over the records."""
        del known
        return None

    def described(self, names: Sequence[Sequence[str]], stratum: int) -> str:
        """Return a stratum in words."""
        del names
        return f"rare with probability {stratum / _LEVELS:g}"
