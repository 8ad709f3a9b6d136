"""Columns that identify records by themselves: identifiers, near-unique values, dates to the day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from maskmeter.perturb import Release
from maskmeter.release_check.columns import KeptColumn
from maskmeter.release_check.finding import FindingKind, ReleaseFinding, Severity
from maskmeter.release_check.mends import mend_identifier, mend_value


def identifying_columns(
    columns: Sequence[KeptColumn], release: Release
) -> Iterator[ReleaseFinding]:
    """Yield the columns beside the keys that identify records by themselves.

    Numbers that this release drew at random identify nobody.
    """
    for column in columns:
        kind = _kind(column)
        if column.name in release.released.space.names or kind is None:
            continue
        drawn = column.name in release.released.renumbered
        severity: Severity = "blocker" if kind == "identifier" else "caution"
        yield ReleaseFinding(
            kind=kind,
            key="",
            column=column.name,
            found=column.distinct,
            baseline=0,
            changed=column.present,
            severity="passed" if drawn else severity,
            mend=mend_identifier(column.name)
            if kind == "identifier"
            else mend_value(kind, column.name),
            note=" Its numbers were drawn at random." if drawn else "",
        )


def unread_columns(frame: pl.DataFrame, columns: Sequence[KeptColumn]) -> Iterator[ReleaseFinding]:
    """Yield the columns of lists, bytes and the like, at which the check cannot look."""
    read = {column.name for column in columns}
    for series in frame.iter_columns():
        present = len(series) - series.null_count()
        if series.name not in read and present:
            mend = mend_value("unread", series.name)
            yield ReleaseFinding("unread", "", series.name, 0, 0, present, "caution", mend)


def _kind(column: KeptColumn) -> FindingKind | None:
    text = not column.numeric and not column.dates
    if column.names_records or (column.near_unique and text):
        return "identifier"
    if column.dates:
        return "date"
    return "near-unique" if column.near_unique else None
