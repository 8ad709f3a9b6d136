"""One check per idea, so that each message is written once."""

from __future__ import annotations

from collections import Counter
from numbers import Real
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from maskmeter.errors import DuplicateColumnError, InputError, WeightError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, DTypeLike, NDArray


def locked(values: ArrayLike, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return a read-only array of `values`, copied unless it is read-only already.

    >>> locked([1, 2]).flags.writeable
    False
    """
    array = np.asarray(values, dtype=dtype)
    if not array.flags.writeable and array.base is None:
        return array
    array = array.copy(order="K")
    array.flags.writeable = False
    return array


def check_distinct(names: Iterable[str]) -> None:
    """Refuse names of which one stands twice."""
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
    if value not in offered:
        message = f"`{name}` must be one of {', '.join(map(repr, offered))}, not {value!r}."
        raise InputError(message)
    return value


def check_fraction(value: object) -> float:
    """Return a sampling fraction when it lies in (0, 1].

    >>> check_fraction(0.01)
    0.01
    """
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) <= 1:
        message = f"`fraction` must be a number above 0 and at most 1, not {value!r}."
        raise WeightError(message)
    return float(value)
