"""Plan files out: a plan as the TOML that the command reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from maskmeter.plan.schema import Plan

_LISTED = {"step", "candidate", "error", "first"}  # tables of which there may be several
_NESTED = {"bands", "missing_codes"}  # tables with a header of their own within [data]
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def plan_text(plan: Plan) -> str:
    r"""Return a plan as a TOML file; reading it gives the same plan.

    >>> from maskmeter.plan.schema import Data
    >>> print(plan_text(Plan(data=Data(keys=["age", "sex"], bands={"age": [0, 16, 65]}))), end="")
    [data]
    keys = ["age", "sex"]
    <BLANKLINE>
    [data.bands]
    age = [0, 16, 65]
    """
    entries = msgspec.to_builtins(plan)
    blocks = [block for name, value in entries.items() for block in _blocks((name,), value)]
    return "\n".join("\n".join(lines) + "\n" for lines in blocks)


def _blocks(path: tuple[str, ...], value: Any) -> Iterator[list[str]]:
    """Yield the lines of a table, then those of the tables in it."""
    if path[-1] in _LISTED:
        for one in value:
            yield from _table(f"[[{_dotted(path)}]]", path, one)
    elif path == ("scenario",):
        for name, one in value.items():
            yield from _table(f"[{_dotted((*path, name))}]", (*path, name), one)
    elif value or path == ("target",):  # a target without entries is refused, not left out
        yield from _table(f"[{_dotted(path)}]", path, value)


def _table(header: str, path: tuple[str, ...], entries: Mapping[str, Any]) -> Iterator[list[str]]:
    inner = {
        name
        for name, value in entries.items()
        if (name in _LISTED and isinstance(value, list) and value)
        or (path == ("data",) and name in _NESTED)
    }
    own = [f"{_name(name)} = {_value(one)}" for name, one in entries.items() if name not in inner]
    if own or not inner:
        yield [header, *own]
    for name in entries:
        if name in inner:
            yield from _blocks((*path, name), entries[name])


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(map(_name, path))


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    """Return a value within a line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_name(name)} = {_value(one)}" for name, one in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _text(text: str) -> str:
    """Return text in quotes; JSON escapes all that TOML wants escaped but one letter."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
