"""Randomness: named counter-based streams, so that record i always uses word i.

The number of a record is its row, or its id: then no order of the records and no way to split them
matters. A chunk, a thread or a partition can make its own uniforms; adding or reordering steps
changes no other step's draw. The seed is confidential: who knows it can undo a perturbation.
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
RecordNumbers: TypeAlias = "range | NDArray[np.uint64]"  # rows that follow one another, or ids

_BITS = 128
_WORDS = 4  # Philox makes four 64-bit words at each step of its counter
_AT_ONCE = 1 << 15  # numbers whose words are made together: they stay in the processor's cache

# Philox 4x64 of Salmon et al. (2011): ten rounds, two multipliers, two steps of the key.
_ROUNDS = 10
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_KEY_STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


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


def uniforms_of(seed: int, label: str, numbers: RecordNumbers) -> NDArray[np.float64]:
    """Return the uniforms of records with these numbers in the stream named `label`.

    >>> ids = np.array([8, 3], dtype=np.uint64)
    >>> bool((uniforms_of(7, "lad", ids) == uniforms_of(7, "lad", range(9))[[8, 3]]).all())
    True
    """
    numbers = _in_a_row(numbers)
    if isinstance(numbers, range):
        return uniforms(seed, label, start=numbers.start, stop=numbers.stop)
    found = np.empty(len(numbers))
    key = _key(seed, label)
    for start in range(0, len(numbers), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        # Numpy's generator makes 53-bit uniforms in the same way.
        found[part] = (philox_words(key, numbers[part]) >> np.uint64(11)) * 2.0**-53
    return found


def _in_a_row(numbers: RecordNumbers) -> RecordNumbers:
    """Return numbers that follow one another as a range: their words are made twenty times faster."""
    if isinstance(numbers, range) or not len(numbers):
        return numbers
    first, last = int(numbers[0]), int(numbers[-1])
    if last - first != len(numbers) - 1 or (numbers[1:] - numbers[:-1] != 1).any():
        return numbers
    return range(first, last + 1)


def philox_words(key: int, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the words with some numbers of the Philox stream with a 128-bit key.

    Numpy makes words only one after another; this goes straight to each.

    >>> one = philox_words(5, np.array([6], dtype=np.uint64))
    >>> bool(one[0] == np.random.Philox(key=5).random_raw(7)[6])
    True
    """
    zero = np.zeros_like(numbers)
    # Numpy counts once before it makes the first four words.
    state = [numbers // np.uint64(_WORDS) + np.uint64(1), zero, zero, zero]
    keys = [key % 2**64, key >> 64]
    for _ in range(_ROUNDS):
        high0, low0 = _product(state[0], _MULTIPLIERS[0])
        high1, low1 = _product(state[2], _MULTIPLIERS[1])
        first, second = map(np.uint64, keys)
        state = [high1 ^ state[1] ^ first, low1, high0 ^ state[3] ^ second, low0]
        keys = [(one + step) % 2**64 for one, step in zip(keys, _KEY_STEPS, strict=True)]
    found: NDArray[np.uint64] = np.choose((numbers % np.uint64(_WORDS)).astype(np.intp), state)
    return found


def _product(words: NDArray[np.uint64], by: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the high and the low 64 bits of products of 128 bits, from products of halves."""
    by_high, by_low = np.uint64(by >> 32), np.uint64(by & 0xFFFFFFFF)
    high, low = words >> _HALF, words & _LOW
    middle = ((low * by_low) >> _HALF) + high * by_low
    other = low * by_high + (middle & _LOW)
    return high * by_high + (middle >> _HALF) + (other >> _HALF), words * np.uint64(by)


def _stream(seed: int, label: str) -> np.random.Philox:
    return np.random.Philox(key=_key(seed, label))


def _key(seed: int, label: str) -> int:
    return int.from_bytes(sha256(f"{seed}/{label}".encode()).digest()[:16], "little")


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
