"""Keys and the space of cells they span.

A cell is a combination of key categories. Cells are held as rows of category codes; where one
sortable value per cell is needed they are numbered, and the numbers never overflow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import check_distinct, shown
from maskmeter.display import InWords, cell_chart, cell_table, facts
from maskmeter.errors import CategoryError, ColumnNotFoundError, InputError
from maskmeter.page import Table
from maskmeter.plurals import counted

Codes: TypeAlias = "NDArray[np.integer[Any]]"
CellNumbers: TypeAlias = "NDArray[Any]"

_LARGEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Key:
    """One key variable: its name and its categories, in order.

    Categories are compared by value: 1 and 1.0 are the same, "01" and 1 are not. None stands for
    a missing value that was made a category. `labels` are those that a file gives its codes; they
    only name, and match the texts of files without codes.

    >>> Key("sex", ["female", "male"]).size
    2
    """

    name: str
    categories: tuple[Hashable, ...]
    labels: tuple[str | None, ...] = field(default=(), compare=False)

    def __init__(
        self,
        name: str,
        categories: Iterable[Hashable],
        *,
        labels: Iterable[str | None] = (),
    ) -> None:
        try:
            values = tuple(categories)
            distinct = len(set(values))
        except TypeError:
            raise CategoryError(
                f"The categories of {name!r} must be a list of text, numbers or dates."
            ) from None
        if distinct < len(values):
            raise CategoryError(
                f"The categories of {name!r} are not distinct. List each category once."
            )
        if len(values) < 2:
            raise CategoryError(
                f"Key {name!r} has {counted(len(values), 'category', 'categories')}; a key needs at least two."
                " Leave it out of `keys`, or give all its categories with mm.Key(name, categories)."
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "categories", values)
        object.__setattr__(self, "labels", tuple(labels))

    def __repr__(self) -> str:
        """Return the name and the number of categories: the values stay out of logs."""
        return f"Key({self.name!r}, {self.size} categories)"

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.categories)

    def code(self, category: Hashable) -> int:
        """Return the code of a category, also when it is named by its text.

        >>> Key("age", [10, 20]).code("20")
        1
        """
        try:
            found = self.position(category)
        except TypeError:  # a list, say
            found = -1
        else:
            found = self._code_by_text.get(str(category), -1) if found < 0 else found
        if found < 0:
            raise CategoryError(
                f"{shown(category)} is not one of the {self.size} categories of {self.name!r}."
            )
        return found

    def position(self, value: Hashable) -> int:
        """Return the code of a value, or -1 when it is not a category.

        >>> Key("age", [10, 20]).position(20.0), Key("age", [10, 20]).position("20")
        (1, -1)
        """
        return self._code_by_value.get(value, -1)

    @cached_property
    def _code_by_value(self) -> dict[Hashable, int]:
        return {value: code for code, value in enumerate(self.categories)}

    @cached_property
    def _code_by_text(self) -> dict[str, int]:
        texts = Counter(map(str, self.categories))
        pairs = ((str(value), code) for code, value in enumerate(self.categories))
        return {text: code for text, code in pairs if texts[text] == 1}


@dataclass(frozen=True)
class KeySpace:
    """The cells that a list of keys spans.

    >>> space = KeySpace([Key("sex", ["f", "m"]), Key("age", [1, 2, 3])])
    >>> space.size, space.number([[1, 2]]).tolist()
    (6, [5])
    """

    keys: tuple[Key, ...]

    def __init__(self, keys: Iterable[Key]) -> None:
        listed = tuple(keys)
        if not all(isinstance(key, Key) for key in listed):
            raise CategoryError("A key space needs a list of mm.Key objects.")
        if not listed:
            raise CategoryError("Give at least one key: the columns that an intruder could know.")
        check_distinct(key.name for key in listed)
        object.__setattr__(self, "keys", listed)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the keys."""
        return tuple(key.name for key in self.keys)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of each key."""
        return tuple(key.size for key in self.keys)

    @property
    def in_words(self) -> str:
        """The keys with their numbers of categories.

        >>> KeySpace([Key("sex", ["f", "m"]), Key("age", [1, 2, 3])]).in_words
        'sex (2), age (3)'
        """
        return ", ".join(f"{key.name} ({key.size:,})" for key in self.keys)

    @property
    def size(self) -> int:
        """Number of cells, K."""
        return prod(self.sizes)

    @property
    def code_type(self) -> np.dtype[np.unsignedinteger[Any]]:
        """Smallest integer type that holds every category code."""
        return np.min_scalar_type(max(self.sizes) - 1)

    def index(self, name: str) -> int:
        """Return the position of a key."""
        if name not in self.names:
            raise ColumnNotFoundError(name, self.names, what="key")
        return self.names.index(name)

    def __getitem__(self, name: str) -> Key:
        """Return the key with this name."""
        return self.keys[self.index(name)]

    def chosen(self, names: str | Sequence[str]) -> tuple[str, ...]:
        """Return the names of some keys, given as a list or as text with commas between them.

        >>> KeySpace([Key("sex", ["f", "m"]), Key("age", [1, 2])]).chosen("age, sex")
        ('age', 'sex')
        """
        return tuple(names_in(names, self.names) if isinstance(names, str) else names)

    def project(self, names: str | Sequence[str]) -> KeySpace:
        """Return the space of some of the keys, in the order given."""
        return KeySpace(self[name] for name in self.chosen(names))

    def number(self, codes: Any) -> CellNumbers:
        """Return one sortable value per row of codes; equal rows, and only they, share a value.

        Integers while K fits in 63 bits, byte strings beyond; both sort, compare and search alike.
        """
        words = self.words(np.asarray(codes))
        if len(words) == 1:
            return words[0]
        # Big-endian words side by side: comparing the bytes compares the numbers.
        wide: CellNumbers = np.stack(words, axis=1).astype(">i8").view(f"V{8 * len(words)}")
        return wide.ravel()

    def words(self, codes: Codes) -> list[NDArray[np.int64]]:
        """Return the numbers that tell cells apart, a list of one while K fits in 63 bits."""
        return [
            np.ravel_multi_index([codes[:, c] for c in word], [self.sizes[c] for c in word])
            for word in self._words
        ]

    def codes(self, numbers: CellNumbers) -> Codes:
        """Return the row of codes of each cell number.

        >>> KeySpace([Key("sex", ["f", "m"]), Key("age", [1, 2, 3])]).codes(np.array([5])).tolist()
        [[1, 2]]
        """
        number = len(self._words)
        if number == 1:
            return self.from_words([numbers])
        return self.from_words(list(numbers.view(">i8").reshape(-1, number).astype(np.int64).T))

    def from_words(self, words: Sequence[CellNumbers]) -> Codes:
        """Return the row of codes of each cell, by the numbers that tell it from others."""
        codes = np.empty((len(words[0]), len(self.keys)), dtype=self.code_type, order="F")
        for numbers, word in zip(words, self._words, strict=True):
            sizes = [self.sizes[c] for c in word]
            for c, values in zip(word, np.unravel_index(numbers, sizes), strict=True):
                codes[:, c] = values
        return codes

    @cached_property
    def _words(self) -> list[list[int]]:
        """Runs of keys whose cells can be numbered in 63 bits."""
        words: list[list[int]] = [[]]
        room = _LARGEST
        for c, size in enumerate(self.sizes):
            if size > room:
                words.append([])
                room = _LARGEST
            words[-1].append(c)
            room //= size
        return words


class InCells(InWords):
    """A result about units in the cells of some keys, such as the records of a file."""

    _unit: ClassVar[str]
    space: KeySpace

    def _cell_counts(self) -> NDArray[np.int64]:
        """Return the number of units in each occupied cell."""
        raise NotImplementedError

    @cached_property
    def cell_sizes(self) -> tuple[int, int, int, int, int]:
        """How many are in cells of 1, 2, 3, 4, and 5 or more: k-anonymity counts."""
        counts = self._cell_counts()
        one, two, three, four = (size * int((counts == size).sum()) for size in range(1, 5))
        return one, two, three, four, int(counts.sum()) - one - two - three - four

    def plot(self) -> Any:
        """Return an Altair chart of how many are in cells of which size."""
        return cell_chart(self._unit, {self._unit: self.cell_sizes})

    def _tables(self) -> Iterator[Table]:
        """Yield the keys with their numbers of categories, and the sizes of cells."""
        yield facts(("keys (categories)", self.space.in_words), ("cells", f"{self.space.size:,}"))
        yield cell_table({self._unit: self.cell_sizes})


def names_in(text: str, known: Collection[str]) -> list[str]:
    """Return the columns that a text names: itself if there is one of that name, else its parts.

    >>> names_in("age, sex", ["age", "sex"]), names_in("income, gross", ["age", "income, gross"])
    (['age', 'sex'], ['income, gross'])
    """
    return [text] if text in known else [part.strip() for part in text.split(",") if part.strip()]


def combined(codes: Codes, columns: Sequence[int], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return one number for the categories of some columns, a single column as it is.

    >>> combined(np.array([[1, 0, 2]]), [0, 2], [2, 3]).tolist()
    [5]
    """
    if len(columns) == 1:
        return codes[:, columns[0]].astype(np.int64)
    return np.ravel_multi_index([codes[:, c] for c in columns], sizes)


def check_codes(codes: Any, space: KeySpace) -> Codes:
    """Return an array of codes, a row per record or cell and a column per key.

    >>> check_codes([[0], [1]], KeySpace([Key("sex", ["f", "m"])])).shape
    (2, 1)
    """
    array = np.asarray(codes)
    if array.ndim != 2 or array.shape[1] != len(space.keys):
        raise InputError(
            f"Category codes must have {counted(len(space.keys), 'column')}, one per key,"
            " like `codes` of a sample."
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError("Category codes must be whole numbers, like `codes` of a sample.")
    if array.size and (array.min() < 0 or (array.max(axis=0) >= np.array(space.sizes)).any()):
        raise CategoryError("Some codes are negative or too large for their key.")
    return array
