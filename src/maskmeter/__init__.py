"""maskmeter: how much protection microdata really have after misclassification."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"

# The stub beside this file says where each public name lives.
_HOME = {
    alias.name: node.module or ""
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

__all__ = [*_HOME, "__version__"]  # noqa: PLE0604 - the names are the keys above


def __getattr__(name: str) -> object:
    """Fetch a public name where it is first used, so that importing maskmeter is quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'maskmeter' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
