"""Findings that the agency accepts, each with its reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from maskmeter.checks import check_choice, shown
from maskmeter.errors import InputError
from maskmeter.plurals import counted
from maskmeter.release_check.finding import FindingKind, ReleaseFinding

_ENTRIES = {"kind", "column", "reason"}


def accepted(
    findings: Sequence[ReleaseFinding],
    accept: Iterable[Mapping[str, str]],
    columns: Collection[str],
) -> list[ReleaseFinding]:
    """Return the findings, those that the agency accepts with its reason.

    What is accepted need not be found: another draw may be innocent of it. But a column that the
    released file does not have is a slip.
    """
    reasons = reasons_of(accept, columns)
    return [
        replace(one, severity="accepted", reason=reasons[one.kind, one.column])
        if (one.kind, one.column) in reasons and one.severity != "passed"
        else one
        for one in findings
    ]


def reasons_of(
    accept: Iterable[Mapping[str, str]], columns: Collection[str]
) -> dict[tuple[str, str], str]:
    """Return the reasons for accepted findings by their kind and column, once they were checked."""
    reasons = dict(map(_checked, accept))
    for kind, column in reasons:
        if column and column not in columns and kind != "earlier":
            raise InputError(
                f"The finding {kind!r} of the column {column!r} is accepted, but the released file has"
                f" no such column among its {counted(len(columns), 'column')}."
            )
    return reasons


def _checked(one: Mapping[str, str]) -> tuple[tuple[str, str], str]:
    """Return the kind and the column of an accepted finding, and the reason."""
    if not isinstance(one, Mapping) or set(one) != _ENTRIES:
        given = ", ".join(map(str, one)) if isinstance(one, Mapping) else shown(one)
        raise InputError(f"An accepted finding needs `kind`, `column` and a `reason`, not {given}.")
    if not any(letter.isalnum() for letter in str(one["reason"])):
        raise InputError(
            "An accepted finding needs a `reason` in words, which every report prints: it is empty."
        )
    check_choice(one["kind"], FindingKind, name="kind")
    return (one["kind"], one["column"]), one["reason"]
