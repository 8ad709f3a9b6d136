"""What a report says of the release check: what gives the file away, and what mends it."""

from __future__ import annotations

from collections.abc import Iterator

from maskmeter.evidence.check_figures import CheckFigures, FindingFigures, checked
from maskmeter.page import Block, Fold, Table, Text
from maskmeter.plurals import counted


def check_blocks(check: CheckFigures | None) -> Iterator[Block]:
    """Yield the findings that matter, what was accepted and why, and the figures of the others."""
    if check is None:
        return
    yield Text(checked(check))
    table = check_table(check)
    if table.rows:
        yield table
    if accepted := check.of("accepted"):
        rows = tuple((one.column or "order of rows", one.text, one.reason) for one in accepted)
        yield Table("Accepted by the agency", ("column", "what was found", "reason"), rows)
    if passed := [one for one in check.of("passed") if one.key and one.changed]:
        head = ("key", "from", "given away", "by the method alone", "of")
        figures = Table("Changed values that are given away", head, tuple(map(_figures, passed)))
        yield Fold(f"What else was looked at: {counted(len(passed), 'finding')}", (figures,))


def check_words(check: CheckFigures) -> Iterator[str]:
    """Yield the outcome of the check, then each finding that matters and what mends it."""
    yield checked(check)
    for one in (*check.of("blocker"), *check.of("caution")):
        yield " ".join((f"{one.severity.capitalize()}:", one.text, one.mend, *_plan_lines(one)))
    for one in check.of("accepted"):
        yield f"Accepted: {one.text} Reason: {one.reason}"


def check_table(check: CheckFigures) -> Table:
    """Return the blockers and cautions, with what mends each."""
    rows = tuple(
        (one.severity, one.text, " ".join((one.mend, *_plan_lines(one))))
        for one in (*check.of("blocker"), *check.of("caution"))
    )
    return Table("What gives the file away", ("severity", "what was found", "what mends it"), rows)


def _plan_lines(one: FindingFigures) -> Iterator[str]:
    if one.lines:
        yield f"In a plan: {' or '.join(one.lines)}"


def _figures(one: FindingFigures) -> tuple[str, ...]:
    named = {"order": "order of rows", "stands-out": f"{one.column}: who stands out as changed"}
    counts = (f"{number or 0:,}" for number in (one.found, one.baseline, one.changed))
    return one.key or "any", named.get(one.kind, one.column), *counts
