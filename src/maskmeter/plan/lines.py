"""Where the entries of a TOML file stand, so that an error can name the line."""

from __future__ import annotations

import re
from collections import Counter
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(#.*)?$")
_ENTRY = re.compile(
    r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*')


def places(text: str) -> dict[Path, int]:
    r"""Return the line of every table and entry of a TOML file.

    >>> places('[data]\nkeys = ["a"]\n[[step]]\nkey = "a"')[("step", 0, "key")]
    4
    """
    found: dict[Path, int] = {}
    seen: Counter[Path] = Counter()
    here: Path = ()
    depth = 0
    for number, line in enumerate(text.splitlines(), start=1):
        bare = _QUOTED.sub("", line)
        header = _HEADER.match(line) if depth == 0 else None
        entry = _ENTRY.match(line) if depth == 0 else None
        if header is not None:
            here = _table(_parts(header[2]), seen, repeated=header[1] == "[[")
            found.setdefault(here, number)
        else:
            if entry is not None:
                found[here + _parts(entry[1])] = number
            depth += sum(map(bare.count, "[{")) - sum(map(bare.count, "]}"))
    return found


def line_of(path: Path, found: dict[Path, int]) -> int | None:
    """Return the line of an entry, or of the nearest thing around it."""
    for end in range(len(path), 0, -1):
        if path[:end] in found:
            return found[path[:end]]
    return None


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


def _table(parts: Path, seen: Counter[Path], *, repeated: bool) -> Path:
    """Return the path of a table; one of several is counted, also those it stands in."""
    path: Path = ()
    for part in parts[:-1]:
        path = (*path, part)
        if seen[path]:
            path = (*path, seen[path] - 1)
    path = (*path, parts[-1])
    if not repeated:
        return path
    seen[path] += 1
    return (*path, seen[path] - 1)
