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
from maskmeter.loglinear.terms import Term
from maskmeter.types import Array

Counts = Literal["original", "released"]

_LARGEST_KEPT = 100_000  # cells of a margin that is remembered


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
    _margins: dict[Term, Array] = field(default_factory=dict, init=False)

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
    """The table of a file: `records` of each cell, and the cell of each record (`place`).

    With weights, `counts` are their sums.
    """

    records: NDArray[np.int64]
    place: NDArray[np.int64]

    @classmethod
    def of(cls, data: Microdata) -> Observed:
        """Return the table of a file."""
        cells, place = np.unique(data.space.number(data.codes), return_inverse=True)
        counts = np.bincount(place, weights=data.weights).astype(np.float64)
        return cls(data.space, data.space.codes(cells), counts, np.bincount(place), place)

    @cached_property
    def uniques(self) -> Codes:
        """Cells that hold one record."""
        cells: Codes = self.codes[self.records == 1]
        return cells

    @cached_property
    def size(self) -> int:
        """Number of records."""
        return int(self.records.sum())


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
