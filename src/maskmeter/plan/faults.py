"""What is wrong with a plan: the first entry that its types do not allow, and what would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from msgspec import inspect

from maskmeter.plan.lines import Path as Place
from maskmeter.plan.schema import Plan

# The types of entries: what holds them in Python, and what a user calls them.
_KINDS: tuple[tuple[type[inspect.Type] | tuple[type[inspect.Type], ...], type, str], ...] = (
    (inspect.BoolType, bool, "true or false"),
    (inspect.IntType, int, "a whole number"),
    (inspect.FloatType, float, "a number"),
    ((inspect.StrType, inspect.LiteralType), str, "text in quotes"),
    ((inspect.ListType, inspect.VarTupleType, inspect.TupleType), list, "a list"),
    ((inspect.StructType, inspect.DictType), dict, "a table"),
)
_LARGEST = 1 << 63  # as in the standard of TOML


class Fault(NamedTuple):
    """An entry that is wrong, and why."""

    place: Place
    reason: str


def first_fault(data: dict[str, Any], lines: dict[Place, int]) -> Fault | None:
    """Return the first thing that is wrong with a plan; `lines` tell which entries are tables.

    >>> first_fault({"target": {"by": "uper"}}, {}).reason
    "by of [target] must be 'estimate' or 'upper', not 'uper'. Did you mean 'upper'?"
    """
    return next(_faults(data, inspect.type_info(Plan), (), lines), None)


def _faults(
    data: Any, kind: inspect.Type, place: Place, lines: dict[Place, int]
) -> Iterator[Fault]:
    """Yield what is wrong with an entry of some type, in the order of the file."""
    named, kinds = named_entry(place, lines), _united(kind)
    fitting = [one for one in kinds if _holds(data, one)]
    if not fitting:
        yield Fault(place, _wrong_type(named, data, kinds))
        return
    one = fitting[0]
    if type(data) is int and abs(data) >= _LARGEST:
        yield Fault(place, f"{named} is a number of over 64 bits, which no entry needs.")
    elif isinstance(one, inspect.StructType):
        yield from _of_table(data, fitting, place, lines)
    elif isinstance(one, inspect.LiteralType) and data not in one.values:
        yield Fault(place, _not_a_choice(named, data, [str(value) for value in one.values]))
    elif isinstance(one, inspect.TupleType) and len(data) != len(one.item_types):
        size = len(one.item_types)
        yield Fault(place, f"{named} must be a list of {size}, not of {len(data)}.")
    for part, value, inner in _parts(data, one):
        yield from _faults(value, inner, (*place, part), lines)


def _parts(data: Any, kind: inspect.Type) -> Iterator[tuple[str | int, Any, inspect.Type]]:
    """Yield the parts of a list, or of a table of any names: which, its value and its type."""
    if isinstance(kind, inspect.DictType):
        yield from ((name, value, kind.value_type) for name, value in data.items())
    elif isinstance(kind, inspect.AnyType) and isinstance(data, dict):
        yield from ((name, value, kind) for name, value in data.items())
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType):
        yield from ((number, value, kind.item_type) for number, value in enumerate(data))
    elif isinstance(kind, inspect.TupleType):
        pairs = zip(data, kind.item_types, strict=False)
        yield from ((number, *pair) for number, pair in enumerate(pairs))


def _of_table(
    data: dict[str, Any], kinds: Sequence[Any], place: Place, lines: dict[Place, int]
) -> Iterator[Fault]:
    """Yield what is wrong with a table: entries that it does not have, that it needs, or their values."""
    named, tag = named_entry(place, lines), kinds[0].tag_field
    if tag:  # it names the kind of table
        tags = [str(one.tag) for one in kinds]
        if tag not in data:
            offer = " or ".join(map(repr, tags))
            yield Fault(place, f"{named} needs an entry {tag!r} ({offer}).")
            return
        if data[tag] not in tags:
            at = (*place, tag)
            yield Fault(at, _not_a_choice(named_entry(at, lines), data[tag], tags))
            return
    kind = next(one for one in kinds if not tag or one.tag == data[tag])
    fields = {field.encode_name: field for field in kind.fields}
    allowed = [*([tag] if tag else []), *fields]
    for name in data:
        if name not in allowed:
            words = f"{named} has no entry {name!r}; its entries are {', '.join(allowed)}."
            yield Fault((*place, name), words + _meant(name, allowed))
    for name, field in fields.items():
        if field.required and name not in data:
            yield Fault(place, f"{named} needs an entry {name!r}.")
    for name, value in data.items():
        if name in fields:
            yield from _faults(value, fields[name].type, (*place, name), lines)


def named_entry(place: Place, lines: dict[Place, int]) -> str:
    """Return an entry as a user would write it.

    >>> named_entry(("data",), {}), named_entry(("step", 0, "rate"), {("step", 0): 1})
    ('[data]', 'rate of [[step]] number 1')
    """
    if not place:
        return "the plan"
    if len(place) == 1:
        return f"[{place[0]}]"
    last, around = place[-1], named_entry(place[:-1], lines)
    if not isinstance(last, int):
        return f"{last} of {around}"
    if place in lines:
        return f"[[{'.'.join(part for part in place if isinstance(part, str))}]] number {last + 1}"
    return f"entry {last + 1} of {around}"


def _united(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _holds(data: Any, kind: inspect.Type) -> bool:
    """Return whether a value may have a type; a whole number is a number, true is neither."""
    if isinstance(kind, inspect.AnyType):
        return True
    if isinstance(kind, inspect.FloatType) and type(data) is int:
        return True
    return any(isinstance(kind, types) and type(data) is held for types, held, _ in _KINDS)


def _wrong_type(named: str, data: Any, kinds: Iterable[inspect.Type]) -> str:
    wanted = [words for one in kinds for types, _, words in _KINDS if isinstance(one, types)]
    given = next((words for _, held, words in _KINDS if type(data) is held), "a date or a time")
    hint = f" Write it as [{named}]." if (wanted, given) == (["a list"], "a table") else ""
    return f"{named} must be {' or '.join(dict.fromkeys(wanted))}, not {given}.{hint}"


def _not_a_choice(named: str, given: Any, choices: Sequence[str]) -> str:
    offered = " or ".join(map(repr, choices))
    return f"{named} must be {offered}, not {given!r}.{_meant(str(given), choices)}"


def _meant(given: str, choices: Sequence[str]) -> str:
    near = get_close_matches(given, choices, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
