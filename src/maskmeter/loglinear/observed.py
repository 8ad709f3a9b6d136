"""The table that a model is fitted to, and its margins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations
from math import prod
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import check_choice, locked
from maskmeter.data.keys import Codes, KeySpace
from maskmeter.data.microdata import Microdata, check_microdata
from maskmeter.errors import InputError
from maskmeter.loglinear.pair_margins import pair_margins
from maskmeter.loglinear.terms import Term
from maskmeter.types import Array

Counts = Literal["original", "released"]
Weighting = Literal["unsampled", "pseudo"]

_LARGEST_KEPT = 100_000  # cells of a margin that is remembered
_MOST_CATEGORIES = 2_000  # of all keys together: with more, their pairs are counted one by one
_MOST_NUMBERS = 10_000_000  # of cells that are remembered


class BothFiles(Protocol):
    """What has a file before and after protection, such as a release."""

    @property
    def original(self) -> Microdata:
        """The file before protection."""

    @property
    def released(self) -> Microdata:
        """The file after protection."""


def chosen_file(data: BothFiles | Microdata, counts: Counts) -> Microdata:
    """Return the original or the released file of a release; a sample is its own."""
    check_choice(counts, Counts, name="counts")
    chosen: Any = getattr(data, counts, data)
    check_microdata(chosen)
    check_records(chosen)
    return chosen  # type: ignore[no-any-return]


def check_weighting(data: Microdata, weighting: Weighting) -> None:
    """Refuse pseudo maximum likelihood of a file without weights."""
    check_choice(weighting, Weighting, name="weighting")
    if weighting == "pseudo" and data.weights is None:
        raise InputError(
            'weighting="pseudo" fits a model to the weighted table, but the file has no weights. Give'
            " `weights` to mm.read, or leave `weighting` out."
        )


def check_records(data: Microdata) -> None:
    """Refuse a file without records."""
    if not len(data):
        raise InputError("The file has no records to fit a model to.")


@dataclass(frozen=True, eq=False, repr=False)
class Counted:
    """Occupied cells and their counts, weighted or estimated perhaps: what a model is fitted to."""

    space: KeySpace
    codes: Codes
    counts: Array
    scale: float = field(default=1.0, kw_only=True)  # units that vary like one record
    _margins: dict[Term, Array] = field(default_factory=dict, init=False)
    _numbers: dict[Term, NDArray[np.int64]] = field(default_factory=dict, init=False)

    @cached_property
    def total(self) -> float:
        """Sum of the counts."""
        return float(self.counts.sum())

    def margin(self, keys: Term) -> Array:
        """Return the observed margin of some keys, an axis for each."""
        if keys in self._margins:
            return self._margins[keys]
        margin: Array = locked(margin_of(self.counts, self.codes, keys, space=self.space))
        if margin.size <= _LARGEST_KEPT:
            self._margins[keys] = margin
        return margin

    def count_pairs(self) -> None:
        """Count the margins of all pairs of keys at once, which is faster than one by one."""
        sizes = self.space.sizes
        if sum(sizes) <= _MOST_CATEGORIES:
            found = pair_margins(self.counts, self.codes, sizes)
            self._margins.update({keys: locked(one) for keys, one in found.items()})

    def numbers(self, keys: Term) -> NDArray[np.int64]:
        """Return the number of each cell among those of some keys; the last few are remembered."""
        if keys not in self._numbers:
            sizes = [self.space.sizes[key] for key in keys]
            room = _MOST_NUMBERS // max(len(self.codes), 1)
            while self._numbers and len(self._numbers) >= room:
                del self._numbers[next(iter(self._numbers))]
            self._numbers[keys] = np.ravel_multi_index([self.codes[:, k] for k in keys], sizes)
        return self._numbers[keys]

    def unit(self, keys: Term) -> float:  # noqa: ARG002 - the same for all margins
        """Return how many units of a margin tell as much as one record."""
        return self.scale

    def parameters(self, generators: tuple[Term, ...]) -> int:
        """Return how many parameters a model has, counting only cells of margins that occur.

        By inclusion and exclusion of the non-empty cells of each term's margins, at least one each.
        """
        return sum(self.degrees(term) for term in parts_of(generators))

    def degrees(self, term: Term) -> int:
        """Return how many parameters a term adds to a model that holds all its parts."""
        if not term:
            return 1
        signs = ((1 if (len(term) - len(part)) % 2 == 0 else -1, part) for part in _parts(term))
        found = sum(sign * int(np.count_nonzero(self.margin(part))) for sign, part in signs)
        return max(found, 1)

    def deviance(self, fitted: Array, keys: Term | None = None) -> float:
        """Return twice the log-likelihood ratio of a fit, for the cells or for a margin of them."""
        counts = self.counts if keys is None else self.margin(keys)
        seen = counts > 0
        return float(2 * (counts[seen] * np.log(counts[seen] / fitted[seen])).sum())


@dataclass(frozen=True, eq=False, repr=False)
class Observed(Counted):
    """The table of a file: `records` of each cell, and the cell of each of its rows (`place`).

    `counts` are the records. Where weights tell how many units were not sampled, `unsampled` are
    these: `sum over records of (w - 1)`, whatever explains the weights, where a weight below 1
    counts as 1. For pseudo maximum likelihood `counts` are the weights instead.
    """

    records: NDArray[np.int64]
    place: NDArray[np.int64]
    unsampled: Counted | None = None
    pseudo: bool = False

    @classmethod
    def of(cls, data: Microdata, weighting: Weighting = "unsampled") -> Observed:
        """Return the table of a file."""
        space, weights = data.space, data.weights
        cells, place = np.unique(space.number(data.codes), return_inverse=True)
        records, codes = data.tally(place), space.codes(cells)
        if weighting == "pseudo":
            counts = np.bincount(place, data.amounts).astype(np.float64)
            return cls(space, codes, counts, records, place, pseudo=True)
        rest = None
        if weights is not None and data.fraction is None:
            units = np.maximum(weights - 1, 0.0)
            times = np.ones(len(units)) if data.times is None else data.times.astype(np.float64)
            sums = np.bincount(place, units * times).astype(np.float64)
            rest = Counted(space, codes, sums, scale=_units_like_one(units, times))
        return cls(space, codes, records.astype(np.float64), records, place, rest)

    @cached_property
    def uniques(self) -> Codes:
        """Cells that hold one record."""
        cells: Codes = self.codes[self.records == 1]
        return cells

    @cached_property
    def size(self) -> int:
        """Number of records."""
        return int(self.records.sum())


def _units_like_one(units: Array, times: Array) -> float:
    """Return g, how many units of a weighted table vary like one record; a row is `times` records.

    `sum of (w - 1)^2 / sum of (w - 1)`: a table of w - 1 varies like g times one of counts.
    """
    total = float(units @ times)
    return float(units**2 @ times) / total if total else 1.0


def margin_of(values: Array, codes: Codes, keys: Term, *, space: KeySpace) -> Array:
    """Return the sums of the values of some cells over all but these keys, an axis for each."""
    if not keys:
        return np.array(values.sum())
    sizes = [space.sizes[key] for key in keys]
    cell = np.ravel_multi_index([codes[:, key] for key in keys], sizes)
    margin: Array = np.bincount(cell, weights=values, minlength=prod(sizes)).astype(float)
    return margin.reshape(sizes)


def parts_of(generators: tuple[Term, ...]) -> set[Term]:
    """Return every term of a hierarchical model, the empty one included."""
    return {part for term in generators for part in _parts(term)}


def _parts(term: Term) -> Iterator[Term]:
    return chain.from_iterable(combinations(term, size) for size in range(len(term) + 1))
