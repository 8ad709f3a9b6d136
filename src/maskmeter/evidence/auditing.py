"""The audit of a released file beside its original, whoever protected it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, NamedTuple

import polars as pl

from maskmeter import chart, formats
from maskmeter.data.frames import Keys, as_kind, key_names, listed_keys
from maskmeter.data.matching import respelled
from maskmeter.data.microdata import Microdata
from maskmeter.data.reading import read
from maskmeter.data.source import Source
from maskmeter.data.table import KeyTable, count
from maskmeter.data.varying import By
from maskmeter.display import InWords
from maskmeter.errors import AveragedMatrixWarning, Caution, InputError, WeightError, warn
from maskmeter.evidence.assessment import Assessment, assess
from maskmeter.evidence.audit_blocks import paired_sentence, unchanged_sentence
from maskmeter.evidence.audit_figures import AuditFigures, audit_figures
from maskmeter.evidence.scenario import MOST_FITTED, MOST_KEYS
from maskmeter.formats.conversion import neutral
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.loglinear import DEFAULT_MODEL, ModelName
from maskmeter.perturb import Release
from maskmeter.plan.sampling import check_share, share
from maskmeter.plurals import counted, plural
from maskmeter.release_check import ReleaseCheck
from maskmeter.release_check.alignment import Alignment, align, common_columns
from maskmeter.release_check.comparison import ColumnChange, compare_columns
from maskmeter.release_check.mends import Mend
from maskmeter.release_check.pair_release import PairRelease, pair_release
from maskmeter.risk.intruder import EXACT_MATCH
from maskmeter.risk.left_out import summed
from maskmeter.risk.unchanged_records import UnchangedRisk, unchanged_risk, unchanged_without
from maskmeter.risk.view import View

_MOST_BARS = 12
_OFF = 0.2  # share by which matrices may be off without a word
_SURE = 3.0  # times the square root of the matches: more than chance


@dataclass(frozen=True, eq=False, repr=False)
class Audit(InWords):
    """What was changed between two files, the risk that is left, and what the release gives away.

    `columns` says what happened to each column. `risk` is that of the unique released records
    which were not changed, and needs no matrix; `without_key` has it when a key is not known.
    `assessment` has the rest: the informed risk by the realised matrices, the loss and the verdict.
    """

    columns: tuple[ColumnChange, ...]
    risk: UnchangedRisk
    without_key: Mapping[str, UnchangedRisk]
    assessment: Assessment
    figures: AuditFigures

    _shown = (
        ("column", "column", ""),
        ("key", "key", ""),
        ("what", "what", ""),
        ("changed", "changed", ",d"),
        ("suppressed", "suppressed", ",d"),
    )

    def __repr__(self) -> str:
        """Return the headline: no record is shown."""
        altered = counted(sum(one.status == "altered" for one in self.columns), "altered column")
        return f"Audit({counted(self.figures.records, 'record')}, {altered}; risk {self.risk.total:.1f})"

    @property
    def release(self) -> Release:
        """The release between the two files, with the realised matrix of each changed key."""
        return self.assessment.data

    @property
    def check(self) -> ReleaseCheck | None:
        """What the released file gives away; it is part of the assessment too."""
        return self.assessment.check

    def summary(self) -> str:
        """Return what was changed, the risk and what the file gives away; no value is shown."""
        known = self.assessment.data.released.space.names
        altered = [one for one in self.columns if one.status != "unchanged"]
        same = len(self.columns) - len(altered)
        lines = [paired_sentence(self.figures)]
        lines += [f"{one.name}{' (key)' if one.name in known else ''}: {one}." for one in altered]
        lines.append(f"{counted(same, 'column')} {plural(same, 'is', 'are')} unchanged.")
        exact = self.assessment.exact
        lines.append(unchanged_sentence(self.figures.unchanged, known=exact))
        return "\n".join([*lines, self.assessment.summary()])

    def to_frame(self) -> Any:
        """Return a row for each column: what happened to it, in words and in records."""
        return as_kind(self._frame(), self.assessment.data.frame_kind)

    def _frame(self) -> pl.DataFrame:
        keys = self.assessment.data.released.space.names
        return pl.DataFrame(
            {
                "column": [one.name for one in self.columns],
                "key": [one.name in keys for one in self.columns],
                "what": [str(one) for one in self.columns],
                "recoded": [one.recoded for one in self.columns],
                "changed": [one.changed for one in self.columns],
                "suppressed": [one.suppressed for one in self.columns],
                "categories_before": [one.before for one in self.columns],
                "categories_after": [one.after for one in self.columns],
            }
        )

    def plot(self) -> Any:
        """Return an Altair chart of the records changed or suppressed in each column."""
        frame = self._frame().select("column", records=pl.col("changed") + pl.col("suppressed"))
        most = frame.filter(pl.col("records") > 0).sort("records", descending=True)
        return chart.signed_bars(
            most.head(_MOST_BARS).with_columns(pl.col("records").cast(pl.Float64)),
            x="Records changed or suppressed",
            y="Column",
            title="What was changed",
            subtitle=f"of {counted(self.figures.records, 'record')}",
        )


def audit(
    original: Any,
    released: Any,
    *,
    keys: Keys,
    fraction: float | By[float] | None = None,
    weights: str | None = None,
    population: Any = None,
    id: str | None = None,  # noqa: A002 - what users call it
    rows: Any = None,
    household: str | None = None,
    model: ModelName = DEFAULT_MODEL,
    accept: Iterable[Mapping[str, str]] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Audit:
    """Return what was changed between two files and the risk that is left, whoever protected them.

    Records are paired by an `id`, by our own row numbers, or by their order where columns that were
    not changed prove it. A key that was recoded is assessed in its released categories; missing
    values are a category. Values are compared by value: 1, 1.0 and "1" are the same.

    Parameters
    ----------
    original, released
        Paths of files or data frames, each in any format.
    keys
        Names of the columns an intruder could know, which both files must have.
    fraction, weights
        How the original was sampled, as for `mm.read`.
    population
        Counts of the true keys (`mm.count`), or a file or frame to count: then the risk is exact.
    id
        A column of both files in which every record has a value of its own. Records that only one
        of the files has are counted and left out.
    rows
        A `risk_by_record.parquet` of the release, or the original row of each released record.
    household, model, accept
        As for `mm.assess`.
    encoding, delimiter, decimal
        How delimited text is written, as for `mm.read`; the same for both files.

    >>> import maskmeter as mm
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05)
    >>> safe = mm.Swap("lad", rate=0.2).apply(sample, rng=2010).to_frame()
    >>> found = mm.audit(people, safe, keys="lad,age,ethnicity", fraction=0.05)
    >>> str(found.columns[0]), round(found.risk.total)
    ('494 changed', 67)
    """
    dialect = Dialect(encoding, delimiter, decimal)
    pair = _Pair.of(original, released, dialect, keys=keys, others=(id, household))
    numbers = _row_numbers(rows)
    aligned = align(pair.before, pair.after, id=id, rows=numbers)
    columns, compared = compare_columns(pair.before, pair.after, aligned)
    _check_changed(columns, aligned)
    reading: dict[str, Any] = {"encoding": encoding, "delimiter": delimiter, "decimal": decimal}
    sample = read(
        original, pair.keys, fraction=fraction, weights=weights, missing="category", **reading
    )
    counts = _counted(population, sample)
    sample = _sampled(_with_columns(sample, columns, household), counts)
    made = pair_release(
        sample,
        pair.source,
        {name: (compared[name], pair.after[name]) for name in pair.keys},
        aligned,
        population=counts,
    )
    found = assess(made.release, population=counts, household=household, model=model, accept=accept)
    risk, without = _unchanged(made, aligned, View.of(made.release, counts=counts, model=model))
    path = pair.source.path
    name = "" if path is None else path.name
    known = audit_figures(aligned, columns, risk, without, file=name)
    odd = tuple(_averaged(found, risk))
    check = None if found.check is None else _without_plan(found.check, columns)
    found = replace(found, audit=known, check=check, private=(*found.private, *odd))
    warn((*made.release.cautions, *odd))
    return Audit(columns, risk, without, found, known)


def _without_plan(check: ReleaseCheck, columns: Sequence[ColumnChange]) -> ReleaseCheck:
    """Return a check whose findings name no lines of a plan, of which an audit has none.

    An identifier whose values are all others may have been drawn at random, which cannot be seen.
    """
    anew = {one.name for one in columns if one.replaced}
    findings = []
    for one in check.findings:
        if one.kind == "identifier" and one.column in anew and one.severity == "blocker":
            note = (
                " All of them differ from the original: make sure that they were drawn at random."
            )
            one = replace(one, severity="caution", note=note, mend=Mend())  # noqa: PLW2901
        findings.append(replace(one, mend=Mend(one.mend.words)))
    return replace(check, findings=tuple(findings))


class _Pair(NamedTuple):
    """Both files in memory, and the keys that both have."""

    before: pl.DataFrame
    after: pl.DataFrame
    source: Source  # of the released file
    keys: list[str]

    @classmethod
    def of(
        cls,
        original: Any,
        released: Any,
        dialect: Dialect,
        *,
        keys: Keys,
        others: tuple[str | None, ...],
    ) -> _Pair:
        """Return both files; each must have the keys, and the other columns that are named."""
        one, other = (Source.of(given, dialect).keep() for given in (original, released))
        common_columns(one.names, other.names)
        names = key_names(listed_keys(keys, one.names))
        for name in [*names, *(name for name in others if name is not None)]:
            for source, which in ((one, "original"), (other, "released")):
                if name not in source.names:
                    raise InputError(
                        f"{source.not_found(name)} It is the {which} file that lacks it."
                    )
                source.check_names([name])
        return cls(_held(one, "original"), _held(other, "released"), other, names)


def _held(source: Source, which: str) -> pl.DataFrame:
    """Return the records of a file, numbers that stand for dates as dates."""
    if source.engine is not None:
        raise InputError(
            f"An audit needs every record in memory: give the {which} file as a single file or a data"
            " frame."
        )
    form = None if source.path is None else formats.format_of(source.path)
    frame, _ = neutral(source.columns(source.names), source.codebook, form)
    if not len(frame):
        raise InputError(f"The {which} file has no records.")
    return frame.to_polars()


def _row_numbers(rows: Any) -> Any:
    """Return row numbers as they were given, those of a file read."""
    if rows is None or isinstance(rows, list | tuple):
        return rows
    if hasattr(rows, "dtype"):
        return rows
    source = Source.of(rows)
    return source.columns(source.names).to_polars()


def _check_changed(columns: Sequence[ColumnChange], pairs: Alignment) -> None:
    """Refuse two files with the same records, whatever columns they have."""
    altered = any(one.status == "altered" for one in columns)
    if pairs.missing or pairs.added or altered:
        return
    common = sum(one.status == "unchanged" for one in columns)
    more = len(columns) - common
    dropped = (
        f"; {counted(more, 'column')} {plural(more, 'is', 'are')} in only one file" if more else ""
    )
    raise InputError(
        f"No record was changed: all {counted(len(pairs), 'record')} agree in"
        f" {counted(common, 'common column')}{dropped}. To measure the risk of a file as it is, use"
        " mm.assess (maskmeter assess)."
    )


def _with_columns(
    sample: Microdata, columns: Sequence[ColumnChange], household: str | None
) -> Microdata:
    """Return the records with the columns that can be in tables: keys and those not changed."""
    source = sample.source
    if source is None:
        return sample
    same = {one.name for one in columns if one.status == "unchanged"}
    wanted = same | {*sample.space.names} | ({household} if household is not None else set())
    names = [name for name in source.names if name in wanted]
    native = source.columns(names).to_native()
    return replace(sample, source=Source.of(native, codebook=source.codebook).keep())


def _counted(population: Any, sample: Microdata) -> KeyTable | None:
    """Return the counts of a population, its categories as the sample has them."""
    if population is None:
        return None
    names = sample.space.names
    held = isinstance(population, KeyTable)
    counts = population if held else count(population, names, missing="category")
    own: KeyTable = counts.project(names)
    return own.moved(respelled(own.space, sample.space), own.codes)


def _sampled(sample: Microdata, population: KeyTable | None) -> Microdata:
    """Return the records with the share of the population that they are, if none was given."""
    if sample.fraction is not None or sample.weights is not None:
        if population is not None:
            check_share(sample, population)
        return sample
    if population is None:
        raise WeightError(
            "The risk depends on how the records were sampled: give `fraction` or `weights`"
            " (--fraction, --weights), or the population."
        )
    return replace(sample, fraction=share(sample, population))


def _averaged(found: Assessment, risk: UnchangedRisk) -> Iterator[Caution]:
    """Yield that the matrices of the keys, averages over all records, do not describe the changes.

    They expect another number of correct matches than the records that were not changed give, by
    more than a fifth and more than chance.
    """
    expected = found.worst.after[EXACT_MATCH].total
    off = abs(expected - risk.total)
    if off > _OFF * max(expected, risk.total) and off > _SURE * sqrt(max(expected, risk.total)):
        where = "elsewhere than" if expected < risk.total else "above all"
        text = (
            f"The realised matrices expect {expected:,.1f} correct matches by exact matching, but the"
            f" records that were not changed give {risk.total:,.1f}: changes were made {where} among"
            " the records at risk. Go by the risk without a matrix; the informed risk takes all"
            " records for changed alike."
        )
        yield Caution(AveragedMatrixWarning, text, "")


def _unchanged(
    made: PairRelease, pairs: Alignment, view: View
) -> tuple[UnchangedRisk, dict[str, UnchangedRisk]]:
    """Return the risk of unchanged unique records, with all keys and without each of them."""
    whole = View.of(Release.unchanged(made.recoded), model=view.models.name)
    rows = pairs.original
    risk = unchanged_risk(view, whole, rows)
    most = MOST_KEYS if summed(whole) else min(MOST_KEYS, MOST_FITTED)
    keys = view.keys if 1 < len(view.keys) <= most else ()
    return risk, {key: unchanged_without(view, whole, rows, key) for key in keys}
