"""Libraries that only some features need, fetched where they are used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
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
        raise _missing(module, extra) from error


def check_installed(module: str, *, extra: str) -> None:
    """Refuse a library that is not there, as `need` does, without loading it."""
    try:
        found = find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise _missing(module, extra)


def _missing(module: str, extra: str) -> OptionalDependencyError:
    return OptionalDependencyError(f"This needs {module}: pip install 'maskmeter[{extra}]'.")
