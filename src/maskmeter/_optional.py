"""Libraries that only some features need, fetched where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from maskmeter.errors import OptionalDependencyError

if TYPE_CHECKING:
    from types import ModuleType


def need(module: str, *, extra: str) -> ModuleType:
    """Return `module`, or say which extra provides it.

    >>> need("math", extra="r").floor(2.5)
    2
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        message = f"This needs {module}: pip install 'maskmeter[{extra}]'."
        raise OptionalDependencyError(message) from error
