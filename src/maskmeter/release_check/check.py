"""The release check: every way looked at in which a released file may give itself away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter import chart
from maskmeter.checks import check_choice, shown
from maskmeter.data.frames import FrameKind, as_kind
from maskmeter.display import InWords
from maskmeter.errors import ColumnNotFoundError, InputError
from maskmeter.perturb import Release
from maskmeter.plurals import counted, plural
from maskmeter.release_check.columns import KeptColumn, kept_column
from maskmeter.release_check.finding import FindingKind, ReleaseFinding, Severity, severity_of
from maskmeter.release_check.guesses import (
    Told,
    guess_by_group,
    guess_by_order,
    stand_out,
    told_by_method,
)
from maskmeter.types import Integers

_WORST_FIRST = get_args(Severity)
_MOST_BARS = 12
_ACCEPT = {"kind", "column", "reason"}


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseCheck(InWords):
    """What a released file gives away of itself, the worst first.

    A blocker means that the file must not be released as it is, whatever its risk.
    """

    findings: tuple[ReleaseFinding, ...]
    frame_kind: FrameKind

    _shown = (
        ("severity", "severity", ""),
        ("kind", "from", ""),
        ("key", "key", ""),
        ("column", "column", ""),
        ("found", "found", ",d"),
        ("baseline", "by the method alone", ",d"),
        ("changed", "of", ",d"),
    )

    def of(self, severity: Severity) -> tuple[ReleaseFinding, ...]:
        """Return the findings of a severity: "blocker", "caution", "accepted" or "passed"."""
        check_choice(severity, Severity, name="severity")
        return tuple(one for one in self.findings if one.severity == severity)

    @property
    def passed(self) -> bool:
        """Whether nothing forbids the release: there is no blocker that was not accepted."""
        return not self.of("blocker")

    def __repr__(self) -> str:
        """Return how many findings there are of each severity."""
        return f"ReleaseCheck({self._counts()})"

    def summary(self) -> str:
        """Return the verdict and all findings but those that passed; no value is shown."""
        verdict = "passed" if self.passed else "not passed"
        lines = [f"Release check {verdict}: {self._counts()}."]
        return "\n".join(lines + [str(one) for one in self.findings if one.severity != "passed"])

    def _counts(self) -> str:
        blockers, cautions = (counted(len(self.of(one)), one) for one in ("blocker", "caution"))
        accepted, passed = len(self.of("accepted")), len(self.of("passed"))
        return f"{blockers}, {cautions}, {accepted:,} accepted, {passed:,} passed"

    def to_frame(self) -> Any:
        """Return a row for each finding."""
        return as_kind(self._frame(), self.frame_kind)

    def _frame(self) -> pl.DataFrame:
        texts = ("severity", "kind", "key", "column", "mend", "reason")
        counts = ("found", "baseline", "changed")
        return pl.DataFrame(
            {name: [getattr(one, name) for one in self.findings] for name in (*texts, *counts)},
            schema=dict.fromkeys(texts, pl.String) | dict.fromkeys(counts, pl.Int64),
        )

    def plot(self) -> Any:
        """Return an Altair chart of the changed records that are given away, the worst ways first."""
        told = [one for one in self.findings if one.key]
        told = sorted(told, key=lambda one: -one.share)[:_MOST_BARS]
        frame = pl.DataFrame(
            {
                "way": [f"{one.key}: {one.way}" for one in told],
                "records": [float(one.found - one.baseline) for one in told],
            },
            schema={"way": pl.String, "records": pl.Float64},
        )
        return chart.signed_bars(
            frame,
            x="Changed records given away, beyond the method alone",
            y="From",
            title="What the file gives away",
            subtitle=self._counts(),
        )


def check_release(
    release: Release, *, household: str | None = None, accept: Iterable[Mapping[str, str]] = ()
) -> ReleaseCheck:
    """Return what the released file gives away: by its order, its columns and its households.

    For each changed key, how many of the changed values does somebody guess from the neighbours in
    the file, from the other records with the same value of a column, and from the rest of the
    household? And how many changed records stand out as changed? Each is compared with what the
    method alone tells. Half of the changed records is a blocker, a tenth a caution. Identifiers,
    values that nearly every record has for itself, and dates to the day are named too.

    Parameters
    ----------
    household
        Column of household numbers.
    accept
        Findings that the agency accepts, each with its `kind`, `column` and `reason`.

    >>> import maskmeter as mm
    >>> people = mm.synthetic_census(size=5_000).sort("lad")
    >>> release = mm.Swap("lad", rate=0.1).apply(mm.read(people, keys=["lad", "sex"], fraction=0.1), rng=1)
    >>> mm.check_release(release).of("blocker")[0].kind
    'order'
    """
    if not isinstance(release, Release):
        raise InputError(
            f"`release` must be an mm.Release, not {shown(release)}. Protect the file first; a file that"
            " is released as it is: mm.Release.unchanged(sample)."
        )
    release.released.check_held("A release check")
    columns = tuple(_kept_columns(release))
    names = {one.name for one in columns}
    if household is not None and household not in names:
        raise ColumnNotFoundError(household, tuple(sorted(names)), named=True, listed=True)
    found = [
        finding
        for key in release.altered_keys
        for finding in _given_away(release, key, columns, household)
    ]
    found += _identifying(columns, release)
    found = _accepted(found, tuple(accept))
    found.sort(key=lambda one: (_WORST_FIRST.index(one.severity), -one.share))
    return ReleaseCheck(tuple(found), release.frame_kind)


def _kept_columns(release: Release) -> Iterator[KeptColumn]:
    """Yield the columns of the released file."""
    frame = nw.from_native(release.to_frame()).to_polars()
    for series in frame.iter_columns():
        column = kept_column(series)
        if column is not None:
            yield column


class _Changed(NamedTuple):
    """The records in which a key was changed."""

    rows: Integers
    true: Integers
    released: Integers  # of all records
    told: Told


def _codes(release: Release) -> tuple[Integers, Integers]:
    """Return the true and the released codes."""
    return release.truth.codes.astype(np.int64), release.released.codes.astype(np.int64)


def _changed(release: Release, key: str) -> _Changed:
    position = release.truth.space.index(key)
    true, released = _codes(release)
    rows = np.flatnonzero(true[:, position] != released[:, position])
    told = told_by_method(release.mechanism, true=true, released=released, rows=rows, key=position)
    return _Changed(rows, true[rows, position], released[:, position], told)


def _given_away(
    release: Release, key: str, columns: Sequence[KeptColumn], household: str | None
) -> Iterator[ReleaseFinding]:
    """Yield what order, columns and households tell of the changed values of a key."""
    records = _changed(release, key)
    by_order = guess_by_order(records.released, records.rows)
    mend = "Shuffle the records before you read them."
    yield _recovered("order", key, by_order, records, mend=mend)
    moved = np.zeros(len(records.released), dtype=bool)
    moved[records.rows] = True
    for column in columns:
        if column.name == key:
            continue
        guess = guess_by_group(column.groups, records.released, records.rows)
        if column.name == household:
            split = _split_households(column.groups, release, key)
            found = _recovered("household", key, guess, records, column=column.name)
            note = f" {counted(split, 'household')} with one value before {plural(split, 'has', 'have')} several."
            yield replace(found, note=note, mend=f"Swap whole households, or drop {household!r}.")
            continue
        mend = f"Drop {column.name!r}, or change {key!r} only within it."
        yield _recovered("column", key, guess, records, column=column.name, mend=mend)
        yield _standing_out(key, column, moved, records)


def _recovered(
    kind: FindingKind,
    key: str,
    guess: Integers,
    records: _Changed,
    *,
    column: str = "",
    mend: str = "",
) -> ReleaseFinding:
    """Return how many changed values a guess recovers; where there is none, the method's is taken."""
    baseline = records.told.guess == records.true
    right = np.where(guess < 0, records.told.guess, guess) == records.true
    return _finding(kind, key, right, baseline, column=column, mend=mend)


def _standing_out(
    key: str, column: KeptColumn, moved: NDArray[np.bool_], records: _Changed
) -> ReleaseFinding:
    seen = stand_out(records.released, column.bands, moved)[records.rows]
    mend = f"Drop {column.name!r}, change {key!r} only within it, or forbid the moves that show."
    told = seen & records.told.changed
    return _finding("stands-out", key, seen, told, column=column.name, mend=mend)


def _finding(
    kind: FindingKind,
    key: str,
    found: NDArray[np.bool_],
    baseline: NDArray[np.bool_],
    *,
    column: str,
    mend: str,
) -> ReleaseFinding:
    gained, lost = int((found & ~baseline).sum()), int((baseline & ~found).sum())
    severity = severity_of(gained=gained, lost=lost, changed=len(found))
    sums = int(found.sum()), int(baseline.sum()), len(found)
    return ReleaseFinding(kind, key, column, *sums, severity, mend)


def _split_households(groups: Integers, release: Release, key: str) -> int:
    """Return how many households had one value of a key and have several in the release."""
    position = release.truth.space.index(key)
    alike = [_one_value(groups, codes[:, position]) for codes in _codes(release)]
    return int((alike[0] & ~alike[1]).sum())


def _one_value(groups: Integers, values: Integers) -> NDArray[np.bool_]:
    size = int(groups.max(initial=-1)) + 1
    least, most = np.full(size, np.iinfo(np.int64).max), np.full(size, -1)
    np.minimum.at(least, groups, values)
    np.maximum.at(most, groups, values)
    alike: NDArray[np.bool_] = least == most
    return alike


def _identifying(columns: Sequence[KeptColumn], release: Release) -> Iterator[ReleaseFinding]:
    """Yield the columns that identify records by themselves."""
    for column in columns:
        if column.name in release.released.space.names:
            continue
        if column.named_identifier or (
            column.near_unique and not column.numeric and not column.dates
        ):
            kind, severity = "identifier", "blocker"
        elif column.dates:
            kind, severity = "date", "caution"
        elif column.near_unique:
            kind, severity = "near-unique", "caution"
        else:
            continue
        mend = {"date": "Keep the month or the year.", "near-unique": "Round or group it."}
        yield ReleaseFinding(
            kind=kind,  # type: ignore[arg-type] # one of the three above
            key="",
            column=column.name,
            found=column.distinct,
            baseline=0,
            changed=column.present,
            severity=severity,  # type: ignore[arg-type] # one of the two above
            mend=mend.get(kind, f"Drop {column.name!r}, or give it new random values."),
        )


def _accepted(
    findings: Sequence[ReleaseFinding], accept: Sequence[Mapping[str, str]]
) -> list[ReleaseFinding]:
    """Return the findings, those that the agency accepts with its reason."""
    reasons: dict[tuple[str, str], str] = {}
    for one in accept:
        if not isinstance(one, Mapping) or set(one) != _ACCEPT or not str(one["reason"]).strip():
            raise InputError(
                f"An accepted finding needs `kind`, `column` and a `reason`, not {shown(one)}."
            )
        check_choice(one["kind"], FindingKind, name="kind")
        reasons[one["kind"], one["column"]] = one["reason"]
    open_ones = {
        (one.kind, one.column) for one in findings if one.severity in {"blocker", "caution"}
    }
    for kind, column in reasons.keys() - open_ones:
        raise InputError(
            f"There is no blocker or caution of kind {kind!r} for the column {column!r} to accept."
        )
    return [
        replace(one, severity="accepted", reason=reasons[one.kind, one.column])
        if (one.kind, one.column) in reasons and one.severity != "passed"
        else one
        for one in findings
    ]
