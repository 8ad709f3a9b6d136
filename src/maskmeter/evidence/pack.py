"""The evidence pack: the protected file, the figures and the reports, in one folder."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import maskmeter
from maskmeter.assessment import Assessment, assess
from maskmeter.checks import Progress
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.display import InWords
from maskmeter.errors import Caution, FileError, FormatWarning, GuessableSeedWarning
from maskmeter.evidence.figures import encoded, figures
from maskmeter.evidence.first_screen import top
from maskmeter.evidence.overwrite import (
    ORDER,
    PROVENANCE,
    another_release,
    check_pack,
    check_stale,
    check_targets,
    protected_name,
)
from maskmeter.evidence.provenance import provenance_of
from maskmeter.evidence.public import Policy, public_sections, public_top
from maskmeter.evidence.sections import sections
from maskmeter.evidence.settings import Charts, Readers, Settings
from maskmeter.evidence.wording import verdict
from maskmeter.files import check_folder
from maskmeter.mechanism import Misclassification
from maskmeter.page import Section, Table, render
from maskmeter.page import figures as figures_of
from maskmeter.perturb import Release
from maskmeter.plan.job import plan_of_release
from maskmeter.plan.schema import LossPlan, Plan, ReportPlan, Scenario, TargetPlan
from maskmeter.plurals import counted
from maskmeter.risk.target import DecidedBy, Target
from maskmeter.risk.view import check_data
from maskmeter.riskutility import RiskUtilityMap

if TYPE_CHECKING:
    from maskmeter.page import Top

AGENCY_ONLY = "Confidential: for the agency only"
FOR_ALL = "For publication"
_PRIVATE = 0o600
_UNGUESSABLE = 2**64  # seeds from here on are not found by trying numbers


@dataclass(frozen=True, eq=False)
class Pack(InWords):
    """An assessment and its files; `lost` is what the protected file's format cannot store."""

    folder: Path
    files: tuple[Path, ...]
    assessment: Assessment
    lost: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the folder and the number of files."""
        return f"Pack({str(self.folder)!r}, {counted(len(self.files), 'file')})"

    @property
    def cautions(self) -> tuple[str, ...]:
        """Cautions about the figures and the release, for the agency only."""
        found = self.assessment
        return (*map(str, (*found.cautions, *found.private)), *self.lost)

    def summary(self) -> str:
        """Return the verdict, which names no record."""
        return verdict(self.assessment)

    def plot(self) -> Any:
        """Return an Altair histogram of the risk in the worst scenario."""
        return self.assessment.worst.risk.plot()

    def _tables(self) -> Iterator[Table]:
        """Yield the files of the pack."""
        rows = ((str(path.relative_to(self.folder)),) for path in self.files)
        yield Table("", ("files",), tuple(rows))


def report(
    data: Release | Microdata,
    folder: str | Path,
    *,
    scenarios: Mapping[str, str | Sequence[str]] | None = None,
    population: KeyTable | None = None,
    misclassification: Misclassification | None = None,
    loss: Sequence[tuple[str, str]] = (),
    max_share: float | None = None,
    max_total: float | None = None,
    by: DecidedBy = "upper",
    household: str | None = None,
    options: RiskUtilityMap | None = None,
    title: str | None = None,
    audience: Readers = "both",
    smallest_count: int = 10,
    rates: bool = False,
    charts: Charts | None = None,
    progress: Progress | None = None,
) -> Pack:
    """Return the evidence about a release, or a file as it is, written to a folder.

    The folder gets `internal.html` and `public.html`, `assessment.json`, `risk_by_record.parquet`
    and, for a release, the protected file in the format it came in and `provenance.json`. The
    record file, the provenance and the internal report are the agency's own.

    Parameters
    ----------
    scenarios
        Named sets of keys that intruders may know, such as {"neighbour": ["lad", "sex"]}; the
        worst one is the headline. Without them, the intruder knows all keys.
    population
        Counts of the true keys: then the risk is exact, else it is estimated.
    misclassification
        Errors that the file was recorded with.
    loss
        Two-way tables whose information loss is shown, such as [("lad", "ethnicity")].
    max_share, max_total
        The risk target: the verdict says whether it is met.
    by
        Which figure of an estimate must meet it: the "upper" end of its interval, or the "estimate".
    household
        Column of household numbers, to measure the risk of households too.
    options
        A map from `mm.compare` or `find_release(...).tried`, to show the releases compared.
    audience
        Which reports are written: "internal", "public" or "both".
    smallest_count
        The public report shows no count of records below it.
    rates
        Whether the public report shows the share of records changed.
    charts
        "svg" or "png" to also save each chart as an image.

    >>> import tempfile, maskmeter as mm
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05)
    >>> release = mm.Swap("lad", rate=0.2).apply(sample, rng=2010)
    >>> pack = mm.report(release, tempfile.mkdtemp())
    >>> [path.name for path in pack.files]
    ['protected.parquet', 'provenance.json', 'risk_by_record.parquet', 'assessment.json', 'internal.html', 'public.html']
    """
    settings = Settings(title, audience, smallest_count, rates, charts)
    target = None
    if max_share is not None or max_total is not None:
        target = Target(max_share=max_share, max_total=max_total, by=by)
    out = _checked_folder(data, folder, settings)
    found = assess(
        data,
        known=scenarios,
        population=population,
        misclassification=misclassification,
        loss=loss,
        target=target,
        household=household,
        progress=progress,
    )
    found = replace(found, options=options)
    plan = msgspec.structs.replace(
        plan_of_release(found.data, household=household),
        scenario={one.name: Scenario(list(one.keys)) for one in found.scenarios if scenarios},
        loss=LossPlan([(rows, columns) for rows, columns in loss]),
        target=None
        if target is None
        else TargetPlan(target.max_share, target.max_total, target.by),
        report=ReportPlan(title, audience, smallest_count, rates),
    )
    if scenarios:  # they are all that was assessed
        plan = msgspec.structs.replace(plan, data=msgspec.structs.replace(plan.data, keys=[]))
    return write_pack(found, out, settings, plan=plan)


def _checked_folder(data: Release | Microdata, folder: str | Path, settings: Settings) -> Path:
    """Return the folder of a pack, if nothing in it stands in the way."""
    check_data(data)
    out = check_folder(folder)
    original, made, files = (
        (data.original, data.provenance, ORDER[: 1 if data.provenance is None else 2])
        if isinstance(data, Release)
        else (data, None, ())
    )
    source = original.path
    check_pack(out, source, settings, release=files, seed=None if made is None else made.seed)
    return out


def write_pack(found: Assessment, folder: Path, settings: Settings, *, plan: Plan) -> Pack:
    """Return an assessment as the files of a pack: all of them are written, or none."""
    source = found.original.path
    if not settings.invented:
        found = replace(found, private=check_seed(found.release))
    with all_or_none(folder, source) as unfinished:
        lost = _write_release(found, unfinished, settings, plan, source)
        found.by_record().write_parquet(unfinished / "risk_by_record.parquet")
        write_private(unfinished / "assessment.json", encoded(figures(found)))
        listed = sections(found)
        named = "the released file" if source is None else source.name
        if settings.audience != "public":
            title = settings.title or f"Disclosure risk of {named}"
            write_page(unfinished / "internal.html", title, top(found), listed, AGENCY_ONLY)
        if settings.audience != "internal":
            policy = Policy(settings.smallest_count, settings.rates)
            title = settings.title or "Disclosure risk of the released file"
            first, told = public_top(found, policy), public_sections(found, policy)
            write_page(unfinished / "public.html", title, first, told, FOR_ALL)
        if settings.charts is not None:
            write_charts([Section("", top(found).blocks), *listed], unfinished, settings.charts)
        for name in ("risk_by_record.parquet", "internal.html"):
            make_private(unfinished / name)
        names = [path.relative_to(unfinished) for path in _in_order(unfinished)]
        check_stale(folder, names)
    return Pack(folder, tuple(folder / name for name in names), found, lost)


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
    found: Assessment, folder: Path, settings: Settings, plan: Plan, source: Path | None
) -> tuple[str, ...]:
    """Write the protected file and how it was made; return what its format cannot keep."""
    release = found.release
    if release is None:
        return ()
    output = folder / protected_name(source, settings.ending)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FormatWarning)
        release.write(output)
    if release.provenance is not None:
        made = provenance_of(release, plan=plan, source=source, output=output)
        write_private(folder / "provenance.json", encoded(made))
    return tuple(str(one.message) for one in caught)


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
        return (ORDER.index(path.stem) if path.stem in ORDER else len(ORDER), path.name)

    return sorted((path for path in folder.rglob("*") if path.is_file()), key=place)


@contextmanager
def all_or_none(folder: Path, source: Path | None) -> Iterator[Path]:
    """Yield a new folder beside `folder`, whose files move there when all are written."""
    made: list[Path] = []
    try:
        for parent in (folder, *folder.parents):
            if parent.exists():
                break
            made.append(parent)
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=folder, prefix=".unfinished-"))
    except OSError as error:
        raise FileError(f"Cannot write to {str(folder)!r}: {error.strerror}.") from None
    try:
        yield unfinished
        _move(unfinished, folder, source)
        made.clear()
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"Cannot write to {str(folder)!r}: {error.strerror}.") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        for parent in made:  # what was made for nothing
            parent.rmdir()


def _move(unfinished: Path, folder: Path, source: Path | None) -> None:
    """Put files in their place, unless one would take that of something that must be kept."""
    new = sorted(path.relative_to(unfinished) for path in unfinished.rglob("*") if path.is_file())
    check_targets(folder, new, source)
    for name in new:
        if name.name.endswith(PROVENANCE) and _another(folder / name, unfinished / name):
            raise another_release(folder / name)
    for name in new:
        (folder / name).parent.mkdir(exist_ok=True)
        (unfinished / name).replace(folder / name)


def _another(there: Path, new: Path) -> bool:
    return there.exists() and there.read_bytes() != new.read_bytes()
