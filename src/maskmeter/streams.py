"""Randomness: named counter-based streams, so that record i always uses word i.

A chunk, a thread or a partition can make its own uniforms; adding or reordering steps changes no
other step's draw. The seed is confidential: who knows it can undo a perturbation.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from numbers import Integral
from secrets import randbits
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.errors import InputError

RandomSource: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None

_BITS = 128
_WORDS = 4  # Philox makes four 64-bit words at each step of its counter


def seed_of(rng: RandomSource) -> int:
    """Return the integer seed behind `rng`; for None the operating system draws 128 bits.

    A Generator or a SeedSequence gives one draw, which is the seed.

    >>> seed_of(2010)
    2010
    """
    if isinstance(rng, Integral) and not isinstance(rng, bool):
        if rng < 0:
            raise InputError("`rng` must not be a negative number.")
        return int(rng)
    if rng is None:
        return randbits(_BITS)
    if isinstance(rng, np.random.SeedSequence):
        return int.from_bytes(rng.generate_state(4, np.uint32).tobytes(), "little")
    if isinstance(rng, np.random.Generator):
        return int.from_bytes(rng.bytes(16), "little")
    raise InputError(
        "`rng` must be an integer seed, a numpy SeedSequence, a numpy Generator or None,"
        f" not {type(rng).__name__}."
    )


def generator(seed: int, label: str) -> np.random.Generator:
    """Return the stream named `label`, from its beginning, for draws that are not one per record.

    >>> bool(generator(7, "pair").random() == generator(7, "pair").random())
    True
    """
    return np.random.Generator(_stream(seed, label))


def uniforms(seed: int, label: str, *, start: int, stop: int) -> NDArray[np.float64]:
    """Return the uniforms of records `start` to `stop` in the stream named `label`.

    >>> whole = uniforms(7, "lad", start=0, stop=9)
    >>> bool((whole[5:] == uniforms(7, "lad", start=5, stop=9)).all())
    True
    """
    if start < 0:
        raise InputError("`start`, the number of the first record, must not be negative.")
    skipped = start % _WORDS
    bits = _stream(seed, label).advance(start // _WORDS)
    return np.random.Generator(bits).random(stop - start + skipped)[skipped:]


def _stream(seed: int, label: str) -> np.random.Philox:
    key = int.from_bytes(sha256(f"{seed}/{label}".encode()).digest()[:16], "little")
    return np.random.Philox(key=key)


@dataclass(frozen=True, slots=True)
class AliasTable:
    """Many distributions over the same categories, ready to be drawn from.

    Walker's alias method: one uniform and two look-ups per draw, whatever the number of categories.

    >>> AliasTable.of(np.array([[0.0, 1.0], [0.5, 0.5]])).draw(np.array([0, 1]), np.array([0.2, 0.2]))
    array([1, 0])
    """

    size: int
    keep: NDArray[np.float64]
    other: NDArray[np.int64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> AliasTable:
        """Return the table of the distributions that are the rows of an array."""
        pairs = [_split(row) for row in rows]
        keep, other = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return cls(rows.shape[1], keep, other)

    def draw(self, row: NDArray[np.int64], uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return a category from the distribution `row` of each draw, decided by its uniform."""
        rest = uniform * self.size
        column = rest.astype(np.int64)
        rest -= column
        place = row * self.size
        place += column
        return np.where(rest < self.keep.take(place), column, self.other.take(place))


def _split(probabilities: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return, for each column, the share that is its own category and the category of the rest."""
    size = len(probabilities)
    likeliest = int(probabilities.argmax())
    if probabilities[likeliest] == 1:  # nothing to share out: a category that always stays
        return (np.arange(size) == likeliest).astype(np.float64), np.full(size, likeliest)
    keep = probabilities * size
    other = np.full(size, likeliest)
    small = [c for c in range(size) if keep[c] < 1]
    large = [c for c in range(size) if keep[c] >= 1]
    while small and large:
        filled, giver = small.pop(), large[-1]
        other[filled] = giver
        keep[giver] -= 1 - keep[filled]
        if keep[giver] < 1:
            small.append(large.pop())
    keep[small + large] = 1  # what rounding left a hair below
    return keep, other
