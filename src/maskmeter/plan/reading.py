"""Plan files in: TOML to a checked plan, with errors that name the file, the line and the choices."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from maskmeter.errors import MaskmeterError, PlanError
from maskmeter.plan.lines import Path as Place
from maskmeter.plan.lines import line_of, places
from maskmeter.plan.schema import Plan

_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text in quotes",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
_STEP = re.compile(r"\.([^.\[\]`]+)|\[(\d+|\.\.\.)\]")


@dataclass(frozen=True)
class PlanFile:
    """A plan, its file and the lines of its entries, so that later errors can name the line."""

    plan: Plan
    path: Path | None = None
    lines: dict[Place, int] | None = None
    text: str = ""

    @property
    def folder(self) -> Path:
        """Where the paths in the plan start."""
        return Path() if self.path is None else self.path.parent

    def error(self, place: Place, reason: object) -> PlanError:
        """Return an error about an entry of the plan."""
        if self.path is None:
            return PlanError(str(reason))
        line = line_of(place, self.lines or {})
        at = "" if line is None else f", line {line}"
        return PlanError(f"{self.path.name}{at}: {reason}")

    def blame(self, place: Place, action: Any) -> Any:
        """Return the result of an action; its errors name an entry of the plan."""
        try:
            return action()
        except MaskmeterError as error:
            entry = re.search(r"`(\w+)`", str(error))  # the message may name it
            named = (*place, entry[1]) if entry else place
            raise self.error(named if named in (self.lines or {}) else place, error) from None

    def named(self, name: str, reason: object) -> PlanError:
        """Return an error about a name that stands somewhere in the plan."""
        quoted = (f'"{name}"', f"'{name}'")
        rows = enumerate(self.text.splitlines(), start=1)
        line = next((row for row, text in rows if any(one in text for one in quoted)), None)
        if self.path is None or line is None:
            return PlanError(str(reason))
        return PlanError(f"{self.path.name}, line {line}: {reason}")


def read_plan(path: str | Path) -> PlanFile:
    r"""Return the plan in a TOML file.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "plan.toml"
    >>> _ = path.write_text('[data]\nkeys = ["sex"]\nfracton = 0.1')
    >>> read_plan(path)
    Traceback (most recent call last):
    maskmeter.errors.PlanError: plan.toml, line 3: [data] has no entry 'fracton'; ...
    """
    path = Path(path)
    text = _text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax(path, text, str(error)) from None
    file = PlanFile(Plan(), path, places(text))
    try:
        return PlanFile(msgspec.convert(data, Plan), path, file.lines, text)
    except msgspec.ValidationError as error:
        reason, _, at = str(error).partition(" - at `$")
        place = _place(at)
        raise _refused(file, place, reason, data) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise PlanError(f"Cannot read {path.name!r}: a plan must be text in UTF-8.") from None
    except OSError as error:
        reason = "it is a directory" if path.is_dir() else str(error.strerror).lower()
        raise PlanError(f"Cannot read the plan {str(path)!r}: {reason}.") from None


def _syntax(path: Path, text: str, reason: str) -> PlanError:
    """Return what is wrong with a file that is not TOML."""
    found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", reason)
    said = reason[: found.start()] if found else reason
    line = (found and found[1]) or len(text.splitlines())
    hint = " Put text in quotes; write tables as [name], lists of tables as [[name]]."
    return PlanError(f"{path.name}, line {line}: this is not valid TOML: {said.lower()}.{hint}")


def _place(path: str) -> Place:
    """Return the path of an entry as its parts."""
    steps = _STEP.findall(path)
    return tuple(name or (int(number) if number.isdigit() else number) for name, number in steps)


def _refused(file: PlanFile, place: Place, reason: str, data: Any) -> PlanError:
    """Return msgspec's reason in our words, with what would be allowed."""
    named = _named(place, file.lines or {})
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", reason):
        allowed = list(_entries(place, data))
        near = get_close_matches(unknown[1], allowed, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        words = f"{named} has no entry {unknown[1]!r}; its entries are {', '.join(allowed)}.{hint}"
        return file.error((*place, unknown[1]), words)
    if missing := re.fullmatch(r"Object missing required field `(.*)`", reason):
        choices = _choices((*place, missing[1]), data)
        offer = f" ({' or '.join(map(repr, choices))})" if choices else ""
        return file.error(place, f"{named} needs an entry {missing[1]!r}{offer}.")
    if invalid := re.fullmatch(r"Invalid (?:enum )?value (.*)", reason):
        choices = _choices(place, data)
        near = get_close_matches(invalid[1].strip("'"), choices, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        offered = " or ".join(map(repr, choices))
        return file.error(place, f"{named} must be {offered}, not {invalid[1]}.{hint}")
    if wrong := re.fullmatch(r"Expected `(.*)`, got `(.*)`", reason):
        wanted = [_WORDS[kind] for kind in wrong[1].split(" | ") if kind in _WORDS]
        given = _WORDS.get(wrong[2], wrong[2])
        hint = f" Write it as [{named}]." if (wrong[1], wrong[2]) == ("array", "object") else ""
        return file.error(place, f"{named} must be {' or '.join(wanted)}, not {given}.{hint}")
    if counted := re.fullmatch(r"Expected `array` of length (\d+), got (\d+)", reason):
        return file.error(place, f"{named} must be a list of {counted[1]}, not of {counted[2]}.")
    return file.error(place, f"{named} is not valid: {reason.lower()}.")


def _named(place: Place, lines: dict[Place, int]) -> str:
    """Return an entry as a user would write it.

    >>> _named(("data",), {}), _named(("step", 0, "rate"), {("step", 0): 1})
    ('[data]', 'rate of [[step]] number 1')
    """
    if not place:
        return "the plan"
    if len(place) == 1:
        return f"[{place[0]}]"
    last, around = place[-1], _named(place[:-1], lines)
    if last == "...":
        return f"an entry of {around}"
    if not isinstance(last, int):
        return f"{last} of {around}"
    if place in lines:
        return f"[[{'.'.join(part for part in place if isinstance(part, str))}]] number {last + 1}"
    return f"entry {last + 1} of {around}"


def _types(place: Place, data: Any) -> Iterator[msgspec.inspect.Type]:
    """Yield the types that an entry may have; a method chooses among kinds of steps."""
    found: list[msgspec.inspect.Type] = [msgspec.inspect.type_info(Plan)]
    for part in place:
        found = [inner for one in found for inner in _inner(one, part, data)]
        if isinstance(data, dict):
            data = data.get(part) if part != "..." else None
        elif isinstance(data, list) and isinstance(part, int):
            data = data[part]
    for one in found:
        yield from _united(one, data)


def _united(kind: msgspec.inspect.Type, data: Any) -> Iterator[msgspec.inspect.Type]:
    """Yield the types of a union; those of the method that is named, if one is."""
    kinds = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
    method = data.get("method") if isinstance(data, dict) else None
    named = [one for one in kinds if getattr(one, "tag", None) == method and method is not None]
    yield from named or kinds


def _inner(
    kind: msgspec.inspect.Type,
    part: str | int,
    data: Any,
) -> Iterator[msgspec.inspect.Type]:
    """Yield the types of a part of an entry."""
    for one in _united(kind, data):
        if isinstance(one, msgspec.inspect.StructType):
            yield from (field.type for field in one.fields if field.encode_name == part)
            if one.tag_field == part:
                yield msgspec.inspect.LiteralType((str(one.tag),))
        elif isinstance(one, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
            yield one.item_type
        elif isinstance(one, msgspec.inspect.DictType):
            yield one.value_type


def _entries(place: Place, data: Any) -> dict[str, None]:
    """Return the entries that a table may have, in order."""
    found: dict[str, None] = {}
    for one in _types(place, data):
        if isinstance(one, msgspec.inspect.StructType):
            named = [one.tag_field] if one.tag_field else []
            found.update(dict.fromkeys([*named, *(field.encode_name for field in one.fields)]))
    return found


def _choices(place: Place, data: Any) -> list[str]:
    """Return the words that an entry may be, if it is one of few."""
    choices: list[str] = []
    for one in _types(place[:-1], data):
        for inner in _inner(one, place[-1], None):
            for kind in _united(inner, None):
                if isinstance(kind, msgspec.inspect.LiteralType):
                    choices += [str(value) for value in kind.values if str(value) not in choices]
    return choices
