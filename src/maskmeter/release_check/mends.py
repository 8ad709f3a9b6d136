"""What mends a finding: a sentence, and the lines of a plan that do it."""

from __future__ import annotations

import json
from typing import NamedTuple

from maskmeter.perturb import Release


class Mend(NamedTuple):
    """A way to mend a finding, in words, and the lines of a plan; each line mends it by itself."""

    words: str = ""
    lines: tuple[str, ...] = ()


_SHUFFLE = Mend("Shuffle the rows.", ("[release] shuffle = true",))


def drop_line(column: str) -> str:
    """Return the line of a plan that leaves a column out.

    >>> drop_line("ward")
    '[release] drop = ["ward"]'
    """
    return f"[release] drop = {_listed(column)}"


def mend_column(
    release: Release,
    key: str,
    column: str,
    *,
    determines: bool,
    names_records: bool,
    shows: bool = False,
) -> Mend:
    """Return what mends a column that gives a key away, or `shows` which records were changed.

    Within a column that `determines` the key nobody could be swapped, and one that `names_records`
    belongs to the record.
    """
    methods = _methods(release, key)
    is_key = column in release.original.space.names
    ways: list[tuple[str, str]] = []
    if not is_key:
        ways.append((f"Drop {column!r}", drop_line(column)))
    if methods & {"swap", "redraw"} and not is_key and not names_records:
        ways.append(("let it travel with the key", f"[[step]] carry = {_listed(column)}"))
    if "swap" in methods and not determines and not names_records:
        line = f"[[step]] within = {_listed(column)}" if is_key else ""
        first = "" if is_key else "make it a key and "
        ways.append((f"{first}swap only within {column!r}", line))
    if "pram" in methods and shows:
        ways.append(
            ("forbid the moves that show", '[[step]] forbidden = [{from = "...", to = "..."}]')
        )
    if not ways:
        ways.append((f"Change {key!r} together with {column!r}, or recode one of them", ""))
    words = ", or ".join(words for words, _ in ways)
    return Mend(f"{words[0].upper()}{words[1:]}.", tuple(line for _, line in ways if line))


def mend_order(release: Release, household: str | None) -> Mend:
    """Return what mends an order of rows that gives a key away."""
    made = release.provenance
    if made is None or not made.finish.shuffle or household is None:
        return _SHUFFLE
    words = f"The members of a household stand together in the shuffled file: drop {household!r}."
    return Mend(words, (drop_line(household),))


def mend_household(column: str) -> Mend:
    """Return what mends a household whose members tell the key of one another."""
    return Mend(
        f"Drop {column!r}, or change a key that members do not share.", (drop_line(column),)
    )


def mend_identifier(column: str) -> Mend:
    """Return what mends a column that names records."""
    lines = (f"[release] renumber = {_listed(column)}", drop_line(column))
    return Mend(f"Give {column!r} new random numbers, or drop it.", lines)


def mend_value(kind: str, column: str) -> Mend:
    """Return what mends values that nearly every record has for itself, or dates to the day."""
    ways = {"date": "Keep the month or the year", "unread": "Make plain columns of it"}
    words = ways.get(kind, "Round or group it")
    accept = (
        f'[check] accept = [{{kind = "{kind}", column = {json.dumps(column)}, reason = "..."}}]'
    )
    return Mend(
        f"{words} before you read the file, drop it, or say why it may stay.",
        (drop_line(column), accept),
    )


def mend_earlier() -> Mend:
    """Return what mends two releases of one file that were drawn apart."""
    return Mend("Repeat the earlier draw with --from and its provenance.json instead of a new one.")


def _methods(release: Release, key: str) -> set[str]:
    """Return the methods of the steps that changed a key."""
    steps = () if release.provenance is None else release.provenance.steps
    return {step.method for step in steps if key in step.altered_keys}


def _listed(column: str) -> str:
    return json.dumps([column], ensure_ascii=False)
