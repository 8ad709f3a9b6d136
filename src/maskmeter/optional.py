"""Libraries that only some features need, fetched where they are used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from maskmeter.errors import OptionalDependencyError


def need(module: str, *, extra: str) -> ModuleType:
    """Return `module`, or say which extra provides it.

    >>> need("math", extra="r").floor(2.5)
    2
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise OptionalDependencyError(
            f"This needs {module}: pip install 'maskmeter[{extra}]'."
        ) from error
