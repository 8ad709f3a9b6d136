"""The figures of an audit: what was changed in each column, and the risk of what was not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from maskmeter.evidence.model_figures import Part
from maskmeter.release_check.alignment import Alignment
from maskmeter.release_check.comparison import ColumnChange
from maskmeter.risk.unchanged_records import UnchangedRisk


class ColumnFigures(Part, frozen=True):
    """What happened to a column, in words and in counts of records."""

    name: str
    words: str
    status: str
    recoded: bool
    changed: int
    suppressed: int
    before: int  # categories
    after: int


class UnchangedFigures(Part, frozen=True):
    """The risk of the unique released records that were not changed in the keys.

    `left_out` is the key that is not known, empty where all are.
    """

    left_out: str
    uniques: int
    unchanged: int
    total: float
    interval: tuple[float, float] | None


class AuditFigures(Part, frozen=True):
    """What an audit of two files found beside their assessment."""

    file: str  # name of the released file, if it is one
    paired: str  # how records were paired
    records: int  # in both files
    missing: int
    added: int
    columns: tuple[ColumnFigures, ...]
    unchanged: UnchangedFigures
    without_one_key: tuple[UnchangedFigures, ...]


def audit_figures(
    pairs: Alignment,
    columns: Iterable[ColumnChange],
    risk: UnchangedRisk,
    without: Mapping[str, UnchangedRisk],
    *,
    file: str = "",
) -> AuditFigures:
    """Return the figures of an audit."""
    return AuditFigures(
        file=file,
        paired=pairs.way,
        records=len(pairs),
        missing=pairs.missing,
        added=pairs.added,
        columns=tuple(
            ColumnFigures(
                one.name,
                str(one),
                one.status,
                one.recoded,
                one.changed,
                one.suppressed,
                one.before,
                one.after,
            )
            for one in columns
        ),
        unchanged=_unchanged("", risk),
        without_one_key=tuple(_unchanged(key, one) for key, one in without.items()),
    )


def _unchanged(left_out: str, risk: UnchangedRisk) -> UnchangedFigures:
    return UnchangedFigures(left_out, risk.uniques, risk.unchanged, risk.total, risk.interval)
