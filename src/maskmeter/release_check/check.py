"""The release check: every way looked at in which a released file may give itself away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter import chart
from maskmeter.checks import Progress, check_choice, check_progress, shown
from maskmeter.data.frames import FrameKind, as_kind, decode_small
from maskmeter.display import InWords
from maskmeter.errors import ColumnNotFoundError, InputError
from maskmeter.formats import format_of
from maskmeter.formats.conversion import neutral
from maskmeter.perturb import Release
from maskmeter.plurals import counted, plural
from maskmeter.release_check.accepting import accepted
from maskmeter.release_check.columns import QUANTILES, KeptColumn, kept_column
from maskmeter.release_check.earlier import (
    earlier_files,
    paired,
    recovered_from,
    unpaired_note,
)
from maskmeter.release_check.finding import FindingKind, ReleaseFinding, Severity, severity_of
from maskmeter.release_check.guesses import (
    REACHES,
    TELLING,
    Told,
    guess_by_group,
    guess_by_order,
    stand_out,
    told_by_method,
)
from maskmeter.release_check.identifiers import identifying_columns, unread_columns
from maskmeter.release_check.mends import (
    mend_column,
    mend_earlier,
    mend_household,
    mend_order,
)
from maskmeter.streams import generator
from maskmeter.types import Integers

_WORST_FIRST = get_args(Severity)
_MOST_BARS = 12


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseCheck(InWords):
    """What a released file gives away of itself, the worst first.

    A blocker means that the file must not be released as it is, whatever its risk.
    """

    findings: tuple[ReleaseFinding, ...]
    frame_kind: FrameKind
    accept: tuple[Mapping[str, str], ...] = ()  # what was accepted, found or not
    earlier: tuple[str, ...] = ()  # files that it was compared with

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
        texts = ("severity", "kind", "key", "column", "reason")
        counts = ("found", "baseline", "changed")
        rows = {name: [getattr(one, name) for one in self.findings] for name in (*texts, *counts)}
        rows["mend"] = [one.mend.words for one in self.findings]
        kinds = dict.fromkeys(texts, pl.String) | dict.fromkeys(counts, pl.Int64)
        return pl.DataFrame(rows, schema=kinds | {"mend": pl.String})

    def plot(self) -> Any:
        """Return an Altair chart of the changed records that are given away, the worst ways first."""
        told = [one for one in self.findings if one.key]
        told = sorted(told, key=lambda one: -one.share)[:_MOST_BARS]
        several = len({one.key for one in told}) > 1
        frame = pl.DataFrame(
            {
                "way": [f"{one.key}: {one.way}" if several else one.way for one in told],
                "records": [max(float(one.found - one.baseline), 0.0) for one in told],
            },
            schema={"way": pl.String, "records": pl.Float64},
        )
        return chart.signed_bars(
            frame,
            x="Changed records given away, beyond the method alone",
            y="From",
            title="What the file gives away"
            + (f" of {told[0].key}" if told and not several else ""),
            subtitle=self._counts(),
        )


def check_release(
    release: Release,
    *,
    household: str | None = None,
    accept: Iterable[Mapping[str, str]] = (),
    earlier: Iterable[Any] = (),
    progress: Progress | None = None,
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
        Findings that the agency accepts, each with its `kind`, `column` and `reason`; the column of
        an earlier release is its name, that of the order of rows is empty.
    earlier
        Releases of the same file that were made before: paths or data frames. What another draw left
        unchanged is the value that this one changed.
    progress
        Called with each key that is looked at.

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
    check_progress(progress)
    accept, earlier = tuple(accept), tuple(earlier)
    frame = _written(release)
    columns = tuple(filter(None, map(kept_column, frame.iter_columns())))
    names = set(frame.columns)
    if household is not None and household not in names:
        raise ColumnNotFoundError(household, tuple(sorted(names)), named=True, listed=True)
    found: list[ReleaseFinding] = []
    told: Progress = progress or (lambda *_: None)
    for number, key in enumerate(release.altered_keys):
        told(f"Checking the release: {key}", number, len(release.altered_keys))
        for one in _given_away(release, key, columns, household):
            found.append(one)
            told(f"Checking the release: {key}", number, len(release.altered_keys))
    found += _from_earlier(release, frame, earlier)
    found += identifying_columns(columns, release)
    found += unread_columns(frame, columns)
    found = accepted(found, accept, names)
    found.sort(key=lambda one: (_WORST_FIRST.index(one.severity), -one.share))
    files = tuple(str(Path(one).absolute()) for one in earlier if isinstance(one, str | Path))
    return ReleaseCheck(tuple(found), release.frame_kind, accept, files)


def _written(release: Release) -> pl.DataFrame:
    """Return the released file, with the dates that its numbers stand for."""
    frame: nw.DataFrame[Any] = nw.from_native(release.to_frame())
    source = release.released.source
    if source is None or source.path is None:
        return frame.to_polars()
    return neutral(frame, source.codebook, format_of(source.path))[0].to_polars()


class _Changed(NamedTuple):
    """The records in which a key was changed."""

    rows: Integers
    true: Integers
    released: Integers  # of all records
    told: Told
    ties: Integers  # the place of each record among those that a column does not tell apart


def _codes(release: Release) -> tuple[Integers, Integers]:
    """Return the true and the released codes."""
    return release.truth.codes.astype(np.int64), release.released.codes.astype(np.int64)


def _changed(release: Release, key: str) -> _Changed:
    position = release.truth.space.index(key)
    true, released = _codes(release)
    rows = np.flatnonzero(true[:, position] != released[:, position])
    told = told_by_method(release.mechanism, true=true, released=released, rows=rows, key=position)
    ties = generator(0, "ties").permutation(len(true))  # not in the order of the file
    return _Changed(rows, true[rows, position], released[:, position], told, ties)


def _given_away(
    release: Release, key: str, columns: Sequence[KeptColumn], household: str | None
) -> Iterator[ReleaseFinding]:
    """Yield what order, columns and households tell of the changed values of a key."""
    records = _changed(release, key)
    yield replace(_by_order(key, records), mend=mend_order(release, household))
    for column in columns:
        if column.name == key:
            continue
        if column.name == household:
            guess = guess_by_group(column.groups, records.released, records.rows)
            split = _split_households(column.groups, release, key)
            found = _recovered("household", key, guess, records, column=column.name)
            note = f" {counted(split, 'household')} with one value before {plural(split, 'has', 'have')} several."
            yield replace(found, note=note, mend=mend_household(column.name))
            continue
        given = _by_column(key, column, records)
        how = {
            "determines": given.found > TELLING * given.changed,
            "names_records": column.names_records or column.near_unique,
        }
        yield replace(given, mend=mend_column(release, key, column.name, **how))
        shown_by = _standing_out(key, column, records)
        yield replace(shown_by, mend=mend_column(release, key, column.name, **how, shows=True))


def _from_earlier(
    release: Release, frame: pl.DataFrame, earlier: Iterable[Any]
) -> Iterator[ReleaseFinding]:
    """Yield what each earlier release tells of the changed values of each key."""
    keys = release.altered_keys
    weights = dict(release.original.reading).get("weights", "")
    without = {*keys, *release.released.renumbered, *release.released.carried, weights}
    for name, other in earlier_files(earlier, keys).items():
        pairs = paired(frame, other, without=without)
        for key in keys:
            records = _changed(release, key)
            known = right = np.zeros(len(records.rows), dtype=bool)
            if pairs is not None:
                position = release.truth.space.index(key)
                codes = release.truth.codes[:, position]
                true = decode_small(release.truth.space.keys[position], codes)
                known, right = recovered_from(other[key], true, pairs, records.rows)
            baseline = records.told.guess == records.true
            found = _finding("earlier", key, right | (~known & baseline), baseline, column=name)
            yield replace(found, mend=mend_earlier(), note=unpaired_note(pairs, len(frame)))


def _by_order(key: str, records: _Changed) -> ReleaseFinding:
    """Return what neighbours tell, near ones or many: by whichever guess recovers more.

    In a file that is sorted by a key of many categories, only the nearest records share a value.
    """
    found = [
        _recovered(
            "order", key, guess_by_order(records.released, records.rows, reach=reach), records
        )
        for reach in REACHES
    ]
    return max(found, key=lambda one: one.found)


def _by_column(key: str, column: KeptColumn, records: _Changed) -> ReleaseFinding:
    """Return what the records with the same value of a column tell, or with the nearest values.

    A time or a serial number that nobody shares still puts shuffled records back in their order.
    """
    guesses = [guess_by_group(column.groups, records.released, records.rows)]
    if column.distinct > QUANTILES:
        order = np.argsort(column.groups * len(records.ties) + records.ties)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        values, rows = records.released[order], place[records.rows]
        guesses += [guess_by_order(values, rows, reach=reach) for reach in REACHES]
    found = (_recovered("column", key, guess, records, column=column.name) for guess in guesses)
    return max(found, key=lambda one: one.found)


def _recovered(
    kind: FindingKind,
    key: str,
    guess: Integers,
    records: _Changed,
    *,
    column: str = "",
) -> ReleaseFinding:
    """Return how many changed values a guess recovers; where there is none, the method's is taken."""
    baseline = records.told.guess == records.true
    right = np.where(guess < 0, records.told.guess, guess) == records.true
    return _finding(kind, key, right, baseline, column=column)


def _standing_out(key: str, column: KeptColumn, records: _Changed) -> ReleaseFinding:
    found = stand_out(records.released, column.bands, records.rows, chance=records.told.chance)
    return _finding("stands-out", key, found.seen, found.explained, column=column.name)


def _finding(
    kind: FindingKind,
    key: str,
    found: NDArray[np.bool_],
    baseline: NDArray[np.bool_],
    *,
    column: str,
) -> ReleaseFinding:
    gained, lost = int((found & ~baseline).sum()), int((baseline & ~found).sum())
    severity = severity_of(gained=gained, lost=lost, changed=len(found))
    sums = int(found.sum()), int(baseline.sum()), len(found)
    return ReleaseFinding(kind, key, column, *sums, severity)


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
