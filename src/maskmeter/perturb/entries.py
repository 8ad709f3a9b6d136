"""How a plan file writes a step: the entries that steps share, and their way to values and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from maskmeter.data.microdata import Microdata
from maskmeter.data.source import Source
from maskmeter.data.varying import NOTHING, By
from maskmeter.errors import CategoryError, InputError
from maskmeter.mechanism import Matrix, as_matrix
from maskmeter.plurals import counted


class Entries(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Entries of a table of the plan; unknown entries are refused."""


class StepEntries(Entries, tag_field="method", frozen=True):
    """Entries of a step; the method says which step it is."""

    def keys_used(self) -> Iterator[str]:
        """Yield the keys that the step changes or depends on."""
        raise NotImplementedError

    @property
    def needs_every_key(self) -> bool:
        """Whether the step depends on all keys of the file, also on those that it does not name."""
        return False


class Varying(Entries, frozen=True):
    """A number that differs between categories of a key; for several keys the tables nest."""

    by: str | list[str]
    values: dict[str, Any]
    otherwise: float | None = None

    def keys_used(self) -> Iterator[str]:
        """Yield the keys that the number depends on."""
        yield from names_of(self.by)


class Move(Entries, rename={"true": "from", "released": "to"}, frozen=True):
    """A move that must not happen; without `from` or `to` it means any category."""

    true: str | list[str] | None = None
    released: str | list[str] | None = None


def names_of(key: str | list[str] | None) -> list[str]:
    """Return the keys that an entry names.

    >>> names_of("lad"), names_of(["lad", "ward"]), names_of(None)
    (['lad'], ['lad', 'ward'], [])
    """
    return [] if key is None else [key] if isinstance(key, str) else list(key)


def as_entry(names: tuple[str, ...]) -> str | list[str]:
    """Return keys as an entry: one by its name, several as a list.

    >>> as_entry(("lad",)), as_entry(("lad", "ward"))
    ('lad', ['lad', 'ward'])
    """
    return names[0] if len(names) == 1 else list(names)


def used_by(value: float | Varying | None) -> Iterator[str]:
    """Yield the keys that a number depends on, if it varies."""
    if isinstance(value, Varying):
        yield from value.keys_used()


def varying(value: float | Varying, sample: Microdata) -> float | By[float]:
    """Return a number, or one that varies with keys."""
    if not isinstance(value, Varying):
        return value
    keys = tuple(names_of(value.by))
    values = tuple(_leaves(value.values, keys, sample))
    return By(keys, values, NOTHING if value.otherwise is None else value.otherwise)


def varying_entry(value: float | By[float]) -> float | Varying:
    """Return a number as an entry, also one that varies with keys.

    >>> from maskmeter.data.varying import by
    >>> varying_entry(by("sex", {"f": 0.1}, otherwise=0.2))
    Varying(by='sex', values={'f': 0.1}, otherwise=0.2)
    """
    if not isinstance(value, By):
        return value
    nested: dict[str, Any] = {}
    for at, number in value.values:
        inner = nested
        for part in at[:-1]:
            inner = inner.setdefault(str(part), {})
        inner[str(at[-1])] = number
    rest = None if value.otherwise is NOTHING else value.otherwise
    return Varying(as_entry(value.keys), nested, rest)  # type: ignore[arg-type]


def _leaves(
    values: dict[str, Any], keys: tuple[str, ...], sample: Microdata
) -> Iterator[tuple[tuple[Hashable, ...], float]]:
    """Yield each combination of categories with its number; one table within another for each key."""
    for text, inner in values.items():
        at = category_named(sample, keys[0], text)
        if len(keys) > 1:
            if not isinstance(inner, dict):
                raise InputError(
                    f"With {counted(len(keys), 'key')} in `by`, `values` needs tables nested {len(keys)} deep."
                )
            yield from (((at, *rest), one) for rest, one in _leaves(inner, keys[1:], sample))
        else:
            yield (at,), inner


def category_named(sample: Microdata, key: str, text: str) -> Hashable:
    """Return the category that a plan names, by its value in the file or by its value label."""
    known = sample.space[key]
    try:
        return known.categories[known.code(text)]
    except CategoryError:
        labelled = [one for one in known.categories if sample.value_label(key, one) == text]
        if len(labelled) != 1:
            raise
        return labelled[0]


def category_entry(category: Any) -> Any:
    """Return a category as an entry: text, a list for crossed keys, None for any category."""
    if category is ...:
        return None
    return [str(one) for one in category] if isinstance(category, tuple) else str(category)


def matrix_of(
    source: str | list[list[float]],
    categories: Sequence[str | float | list[str]] | None,
    folder: Path,
) -> Matrix:
    """Return P[true, released] from a file with its categories in the first row and column."""
    if isinstance(source, str):
        given = Source.of(folder / source)
        frame = given.columns(given.names).to_polars()
        numbers = frame.select(frame.columns[0], *_numbers(frame, source))
        return as_matrix(numbers, name=source)
    plain = as_matrix(source, name="the plan")
    if categories is None:
        return plain
    if len(categories) != len(plain.P):
        raise InputError(
            f"`categories` must name the {len(plain.P)} rows of the matrix, not {len(categories)}."
        )
    return Matrix(plain.P, tuple(_spelled(category) for category in categories))


def _numbers(frame: pl.DataFrame, source: str) -> list[pl.Series]:
    columns = [frame[name].cast(pl.Float64, strict=False) for name in frame.columns[1:]]
    if not columns or any(column.null_count() for column in columns):
        raise InputError(
            f"{source!r} must hold a matrix: the categories in its first row and first column, and"
            " numbers with decimal points in all other cells."
        )
    return columns


def _spelled(category: str | float | list[str]) -> Hashable:
    """Return a category as the file would have it; a whole number is one, whatever TOML makes of it."""
    if isinstance(category, list):
        return tuple(category)
    return int(category) if isinstance(category, float) and category.is_integer() else category
