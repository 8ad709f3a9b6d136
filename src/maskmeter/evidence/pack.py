"""The evidence pack: the protected file, the figures and the reports, in one folder."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

import maskmeter
from maskmeter.checks import shown
from maskmeter.display import InWords
from maskmeter.errors import Caution, FormatWarning, GuessableSeedWarning, InputError
from maskmeter.evidence.assessment import Assessment
from maskmeter.evidence.auditing import Audit
from maskmeter.evidence.figures import figures
from maskmeter.evidence.findings import record_frame
from maskmeter.evidence.first_screen import top
from maskmeter.evidence.overwrite import PROVENANCE, protected_name
from maskmeter.evidence.provenance import (
    Compared,
    ProvenanceFile,
    compare_output,
    provenance_of,
)
from maskmeter.evidence.records import RecordTables, record_tables
from maskmeter.evidence.redaction import Policy, redact
from maskmeter.evidence.schema import CONFIDENTIAL, Figures, encoded
from maskmeter.evidence.sections import sections
from maskmeter.evidence.settings import Charts, Readers, Settings
from maskmeter.files import check_new_folder, whole_folder
from maskmeter.mechanism.mechanism import move_frame
from maskmeter.page import Section, Table, Top, render
from maskmeter.page import figures as figures_of
from maskmeter.perturb import Release
from maskmeter.plan.release_plan import plan_of_release
from maskmeter.plan.schema import (
    CheckPlan,
    LossPlan,
    Plan,
    ReportPlan,
    Scenario,
    TargetPlan,
)
from maskmeter.plurals import counted
from maskmeter.release_check import ReleaseCheck
from maskmeter.risk.view import ALL_KEYS
from maskmeter.riskutility import RiskUtilityMap

AGENCY_ONLY = f"Confidential: {CONFIDENTIAL}"
FOR_ALL = "For publication"
INTERNAL = "internal"  # the folder of a pack with all that is for the agency only
RECORDS = "risk_by_record.parquet"
_ORDER = (
    "protected",
    "provenance",
    "matrix",
    "risk_by_record",
    "assessment",
    "internal",
    "public",
)
_PRIVATE = 0o600
_UNGUESSABLE = 2**64  # seeds from here on are not found by trying numbers


@dataclass(frozen=True, eq=False)
class Pack(InWords):
    """An assessment, its figures and its files.

    `lost` is what the format of the protected file cannot store. Of a release that was made again,
    `compared` is the hash that shows it to be the recorded one.
    """

    folder: Path
    files: tuple[Path, ...]
    assessment: Assessment
    figures: Figures
    lost: tuple[str, ...] = ()
    compared: Compared | None = None

    def __repr__(self) -> str:
        """Return the folder and the number of files."""
        return f"Pack({str(self.folder)!r}, {counted(len(self.files), 'file')})"

    @property
    def cautions(self) -> tuple[str, ...]:
        """Cautions about the figures and the release, for the agency only."""
        told = (*self.figures.cautions, *self.figures.worst.cautions)
        return (*(one.text for one in told), *self.lost)

    def summary(self) -> str:
        """Return the verdict, and what is known of households; no record is named."""
        return self.assessment.summary()

    def to_frame(self) -> Any:
        """Return a row for each scenario and figure: its value, and that of the unprotected file."""
        return self.assessment.to_frame()

    def plot(self) -> Any:
        """Return an Altair chart of the expected correct matches, before and after protection."""
        return self.assessment.plot()

    def _tables(self) -> Iterator[Table]:
        """Yield the files of the pack."""
        rows = ((str(path.relative_to(self.folder)),) for path in self.files)
        yield Table("", ("files",), tuple(rows))


def report(
    assessment: Assessment | Audit,
    folder: str | Path,
    *,
    title: str | None = None,
    audience: Readers = "both",
    smallest_count: int = 10,
    rates: bool = False,
    charts: Charts | None = None,
    matrix: bool = False,
    options: RiskUtilityMap | None = None,
) -> Pack:
    """Return the evidence about an assessment, written to a new or empty folder.

    The folder gets `public.html` and, for a release, the protected file in the format it came in.
    Its folder `internal` is the agency's own: `internal.html`, `assessment.json`,
    `risk_by_record.parquet` and, for a release, `provenance.json`.

    Parameters
    ----------
    assessment
        What `mm.assess` returns for a release, or for a file as it is; or what `mm.audit` returns,
        whose released file exists already and is not written.
    audience
        Which reports are written: "internal", "public" or "both".
    smallest_count
        The public report shows no count of records below it.
    rates
        Whether the public report shows the share of records changed.
    charts
        "svg" or "png" to also save each chart as an image.
    matrix
        Whether to write `matrix.csv` too: the probabilities P[true, released] of the release.
    options
        A map from `mm.compare` or `find_release(...).tried`, to show the releases compared.

    >>> import tempfile, maskmeter as mm
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05)
    >>> release = mm.Swap("lad", rate=0.2).apply(sample, rng=2010)
    >>> pack = mm.report(mm.assess(release), tempfile.mkdtemp())
    >>> [path.name for path in pack.files]
    ['protected.parquet', 'provenance.json', 'risk_by_record.parquet', 'assessment.json', 'internal.html', 'public.html']
    """
    assessment = assessment.assessment if isinstance(assessment, Audit) else assessment
    if not isinstance(assessment, Assessment):
        raise InputError(f"Give an assessment (mm.assess), not a {type(assessment).__name__}.")
    if options is not None and not isinstance(options, RiskUtilityMap):
        raise InputError(f"`options` must be a map (mm.compare), not {shown(options)}.")
    settings = Settings(title, audience, smallest_count, rates, charts, matrix)
    if matrix and assessment.release is None:
        raise InputError("`matrix` is for a release: this file was not protected.")
    out = Path(folder).expanduser()
    check_new_folder(out, assessment.path)
    found = assessment if options is None else replace(assessment, options=options)
    return write_pack(found, out, settings, plan=_plan(found, settings))


def _plan(found: Assessment, settings: Settings) -> Plan:
    """Return the plan that would make this assessment and its report from the same file.

    A population, errors of recording and a fitted model are not in it: they were given as objects,
    and no file of theirs is known. A population can be given again with --population.
    """
    plan = plan_of_release(found.data, household=found.household, model=found.model_name)
    target = found.target
    known = {one.name: Scenario(list(one.keys)) for one in found.scenarios}
    if known.keys() != {ALL_KEYS}:  # the scenarios are all that was assessed
        data = msgspec.structs.replace(plan.data, keys=[], read=plan.data.keys)
        plan = msgspec.structs.replace(plan, data=data, scenario=known)
    return msgspec.structs.replace(
        plan,
        loss=LossPlan(list(found.asked), found.measure),
        check=_check_plan(found.check),
        target=None
        if target is None
        else TargetPlan(
            target.max_share, target.max_total, target.max_record, target.intruder, target.by
        ),
        report=ReportPlan(
            settings.title,
            settings.audience,
            settings.smallest_count,
            settings.rates,
            settings.matrix,
        ),
    )


def _check_plan(check: ReleaseCheck | None) -> CheckPlan:
    """Return what a release check was told, as a plan writes it."""
    if check is None or not (check.accept or check.earlier):
        return CheckPlan()
    return msgspec.convert(
        {"accept": list(check.accept), "earlier": list(check.earlier)}, CheckPlan
    )


def write_pack(
    found: Assessment,
    folder: Path,
    settings: Settings,
    *,
    plan: Plan,
    made: ProvenanceFile | None = None,
) -> Pack:
    """Return an assessment as the files of a pack: all of them are written, or none.

    With `made`, the protected file must be the one that it records.
    """
    if not settings.invented:
        found = replace(found, private=(*found.private, *check_seed(found.release)))
    known = figures(found)
    with whole_folder(folder) as unfinished:
        own = internal_folder(unfinished)
        lost, compared = _write_release(found, unfinished, settings, plan, made)
        banner = {"confidential": CONFIDENTIAL}
        record_frame(found).write_parquet(own / RECORDS, metadata=banner)
        write_private(own / "assessment.json", encoded(known))
        _write_pages(known, record_tables(found), unfinished, settings, found.path)
        for name in (RECORDS, "internal.html", "matrix.csv"):
            make_private(own / name)
        names = [path.relative_to(unfinished) for path in _in_order(unfinished)]
    return Pack(folder, tuple(folder / name for name in names), found, known, lost, compared)


def internal_folder(folder: Path) -> Path:
    """Return a new folder in a pack for all that is for the agency only."""
    own = folder / INTERNAL
    own.mkdir(mode=0o700)
    return own


def _write_pages(
    known: Figures,
    records: RecordTables | None,
    folder: Path,
    settings: Settings,
    source: Path | None,
) -> None:
    """Write the report for the agency, the page for the public, and the charts."""
    first, listed = top(known), sections(known, records)
    if settings.audience != "public":
        named = "the released file" if source is None else source.name
        subject = f"Disclosure risk of {named}"
        if known.audit is not None:
            subject = f"Audit of {known.audit.file or named}"
        title = settings.title or subject
        write_page(folder / INTERNAL / "internal.html", title, first, listed, AGENCY_ONLY)
    if settings.audience != "internal":
        told = redact(known, Policy(settings.smallest_count, settings.rates))
        title = settings.title or "Disclosure risk of the released file"
        write_page(folder / "public.html", title, top(told), sections(told), FOR_ALL)
    if settings.charts is not None:
        write_charts([Section("", first.blocks), *listed], folder / INTERNAL, settings.charts)


def check_seed(release: Release | None) -> tuple[Caution, ...]:
    """Return a caution about a seed that could be found by trying numbers."""
    made = None if release is None else release.provenance
    if made is None or made.seed >= _UNGUESSABLE:
        return ()
    text = (
        "The seed of this release is so small that anyone with the protected file could find it by"
        " trying numbers and undo the protection. Protect the file again without `rng`, so that the"
        " system draws a seed of 128 bits."
    )
    return (Caution(GuessableSeedWarning, text, ""),)


def _write_release(
    found: Assessment, folder: Path, settings: Settings, plan: Plan, made: ProvenanceFile | None
) -> tuple[tuple[str, ...], Compared | None]:
    """Write the protected file and how it was made.

    Return what its format cannot keep, and which hash shows it to be the one that `made` records.
    """
    release, source = found.release, found.path
    if release is None:
        return (), None
    if settings.matrix:
        move_frame(release.mechanism).write_csv(folder / INTERNAL / "matrix.csv")
    if found.audit is not None:  # the released file exists already
        return (), None
    several = release.original.at_source is not None
    output = folder / protected_name(source, settings.ending, several=several)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FormatWarning)
        release.write(output)
    compared: Compared | None = None
    if release.provenance is not None:
        known = provenance_of(release, plan=plan, source=source, output=output)
        compared = None if made is None else compare_output(known, made)
        write_private(folder / INTERNAL / PROVENANCE, encoded(known))
    return tuple(str(one.message) for one in caught), compared


def make_private(path: Path) -> None:
    """Let only its owner read a file, if there is one."""
    if path.exists():
        path.chmod(_PRIVATE)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read: who has a seed can undo the protection."""
    path.touch(mode=_PRIVATE)
    path.write_bytes(content)


def write_page(
    path: Path, title: str, first: Top, listed: list[Section], classification: str
) -> None:
    """Write a report: its first screen, its sections and who may see it."""
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    text = render(
        title,
        first,
        listed,
        classification=classification,
        footer=f"Made with maskmeter {maskmeter.__version__} on {today}.",
    )
    path.write_text(text, encoding="utf-8")


def write_charts(listed: list[Section], folder: Path, kind: Charts) -> None:
    """Write every chart of some sections as a picture."""
    (folder / "charts").mkdir()
    drawn = figures_of([block for section in listed for block in section.blocks])
    for number, block in enumerate(drawn, start=1):
        words = "".join(c if c.isalnum() else " " for c in block.caption.split(":")[0].lower())
        name = f"{number}-{'-'.join(words.split())}.{kind}"
        block.chart.save(str(folder / "charts" / name), format=kind)
        make_private(folder / "charts" / name)


def _in_order(folder: Path) -> list[Path]:
    """Return the files of a pack, the protected file first and pictures last."""

    def place(path: Path) -> tuple[int, str]:
        return (_ORDER.index(path.stem) if path.stem in _ORDER else len(_ORDER), path.name)

    whole = folder / _ORDER[0]  # a folder, if the records stay in an engine
    files = [path for path in folder.rglob("*") if path.is_file() and whole not in path.parents]
    return sorted([*files, *([whole] if whole.is_dir() else ())], key=place)
