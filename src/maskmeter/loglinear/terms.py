"""Terms of a hierarchical log-linear model, in words: "age:marital", "all-two-way", "independence"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TypeAlias

from maskmeter.data.keys import KeySpace
from maskmeter.errors import ColumnNotFoundError, InputError

Term: TypeAlias = tuple[int, ...]  # positions of keys, in order
Words: TypeAlias = "str | Sequence[str]"

_ORDERS = {"independence": 1, "all-two-way": 2, "all-three-way": 3}


def parse_terms(words: Words, space: KeySpace) -> tuple[Term, ...]:
    """Return the generating class of a model: its largest terms, main effects always included.

    >>> from maskmeter.data.keys import Key, KeySpace
    >>> space = KeySpace([Key("age", [1, 2]), Key("sex", "fm"), Key("lad", "ab")])
    >>> parse_terms(["age:sex"], space)
    ((0, 1), (2,))
    """
    if not isinstance(words, str | list | tuple):
        raise InputError('Give terms as text such as "age:sex", "all-two-way" or "independence".')
    listed = [words] if isinstance(words, str) else list(words)
    terms: list[Term] = [(position,) for position in range(len(space.keys))]
    for word in listed:
        if not isinstance(word, str):
            raise InputError(
                'Give terms as text such as "age:sex", "all-two-way" or "independence".'
            )
        if word in _ORDERS and word not in space.names:
            order = min(_ORDERS[word], len(space.keys))
            terms += combinations(range(len(space.keys)), order)
        else:
            terms.append(_term(word, space))
    return generating_class(terms)


def generating_class(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Return the terms that no other term contains, in order of their keys."""
    distinct = sorted(set(terms), key=lambda term: (-len(term), term))
    kept: list[Term] = []
    for term in distinct:
        if not any(set(term) <= set(larger) for larger in kept):
            kept.append(term)
    return tuple(sorted(kept))


def spell(term: Term, space: KeySpace) -> str:
    """Return a term in words.

    >>> from maskmeter.data.keys import Key, KeySpace
    >>> spell((0, 1), KeySpace([Key("age", [1, 2]), Key("sex", "fm")]))
    'age:sex'
    """
    return ":".join(space.names[position] for position in term)


def _term(word: str, space: KeySpace) -> Term:
    names = _names(word.split(":"), space)
    for name in names:
        if name not in space.names:
            raise ColumnNotFoundError(name, space.names, what="key")
    positions = tuple(sorted({space.index(name) for name in names}))
    if len(positions) < len(names):
        raise InputError(f"The term {word!r} names a key twice. Name each key once.")
    return positions


def _names(parts: list[str], space: KeySpace) -> list[str]:
    """Return the keys that a term names; a key's own name may hold colons, and the longest wins."""
    names = []
    while parts:
        tries = (size for size in range(len(parts), 0, -1) if ":".join(parts[:size]) in space.names)
        size = next(tries, 1)
        names.append(":".join(parts[:size]) if size > 1 else parts[0].strip())
        parts = parts[size:]
    return names
