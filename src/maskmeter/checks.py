"""One check per idea, so that each message is written once."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeGuard, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from maskmeter.errors import DuplicateColumnError, InputError, MaskmeterError, WeightError

Progress: TypeAlias = Callable[[str, int, int], object]  # stage, done, of (0 where unknown)


def locked(values: ArrayLike, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return a read-only array of `values`, copied unless it is read-only already.

    >>> locked([1, 2]).flags.writeable
    False
    """
    held = isinstance(values, np.ndarray) and values.base is None and not values.flags.writeable
    if held and (dtype is None or values.dtype == dtype):  # type: ignore[union-attr]
        return values  # type: ignore[return-value]
    array = np.array(values, dtype=dtype, order="K")
    array.flags.writeable = False
    return array


def check_distinct(names: Iterable[str]) -> None:
    """Raise if a name occurs more than once."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DuplicateColumnError(repeated)


def check_choice(value: str, choices: object, *, name: str) -> str:
    """Return `value` when it is one of the choices of a Literal.

    >>> from typing import Literal
    >>> check_choice("a", Literal["a", "b"], name="letter")
    'a'
    """
    offered = get_args(choices)
    if not isinstance(value, str) or value not in offered:
        raise InputError(
            f"`{name}` must be one of {', '.join(map(repr, offered))}, not {shown(value)}."
        )
    return value


def check_number(
    value: object,
    *,
    name: str,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    error: type[MaskmeterError] = InputError,
) -> float:
    """Return a number within some bounds: `least` and `most` are allowed, `above` and `below` not.

    >>> check_number(0.2, name="rate", least=0, most=1)
    0.2
    """
    bounds = (
        ("of at least", least, operator.ge),
        ("above", above, operator.gt),
        ("at most", most, operator.le),
        ("below", below, operator.lt),
    )
    given = [(word, bound, keeps) for word, bound, keeps in bounds if bound is not None]
    if not is_number(value) or not all(keeps(value, bound) for _, bound, keeps in given):
        said = " and ".join(f"{word} {bound:g}" for word, bound, _ in given if np.isfinite(bound))
        if least is not None and most is not None:
            said = f"between {least:g} and {most:g}"
        raise error(f"`{name}` must be a number{said and f' {said}'}, not {shown(value)}.")
    return float(value)


def check_whole(value: object, *, name: str, least: int) -> int:
    """Return a whole number that is large enough.

    >>> check_whole(3, name="runs", least=1)
    3
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InputError(
            f"`{name}` must be a whole number of at least {least}, not {shown(value)}."
        )
    return int(value)


def check_fraction(value: object) -> float:
    """Return a sampling fraction when it lies in (0, 1].

    >>> check_fraction(0.01)
    0.01
    """
    return check_number(value, name="fraction", above=0, most=1, error=WeightError)


def is_number(value: object) -> TypeGuard[float]:
    """Return True for a single real number, and not for True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_list(value: object, *, name: str) -> list[Any]:
    """Return a list of at least one, as a list.

    >>> check_list((1, 2), name="keys")
    [1, 2]
    """
    if not isinstance(value, list | tuple | range) or not value:
        raise InputError(f"`{name}` must be a list with at least one element, not {shown(value)}.")
    return list(value)


def check_progress(value: object) -> None:
    """Raise unless `progress` is callable."""
    if value is not None and not callable(value):
        raise InputError(
            f"`progress` must be a function of a stage, how much is done and of how much, not {shown(value)}."
        )


def is_pair(given: object) -> bool:
    """Return True for two names.

    >>> is_pair(("lad", "sex")), is_pair("ab")
    (True, False)
    """
    two = isinstance(given, list | tuple) and len(given) == 2
    return two and all(isinstance(name, str) for name in given)  # type: ignore[attr-defined]


def shown(value: object) -> str:
    """Return an argument as a message may show it: plain values only, for others may hold data.

    >>> shown(1.5), shown([1, 2])
    ('1.5', 'a list')
    """
    plain = isinstance(value, Real | str) or value is None
    return repr(value) if plain else f"a {type(value).__name__}"
