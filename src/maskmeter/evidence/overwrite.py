"""Checks before writing: never over the file that was read, another release or another pack.

None of these checks needs the results, so commands and reports make them before they begin.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from maskmeter import formats
from maskmeter.errors import FileError, PlanError
from maskmeter.evidence.provenance import read_provenance
from maskmeter.evidence.settings import Settings
from maskmeter.files import check_folder, check_new_folder

ORDER = (
    "protected",
    "provenance",
    "matrix",
    "risk_by_record",
    "assessment",
    "internal",
    "public",
)
PROVENANCE = "provenance.json"


def _protected(source: Path | None, ending: str | None, *, several: bool) -> str:
    """Return the name of the protected file; records that stay in an engine get a folder."""
    if several and ending is not None:
        raise FileError(
            "Several files are written as Parquet files in a folder: leave out --format."
        )
    return "protected" if several else protected_name(source, ending)


def protected_name(source: Path | None, ending: str | None) -> str:
    """Return the name of the protected file: the format it came in, if that can be written."""
    own = ".parquet" if source is None or not source.suffix else source.suffix.lower()
    return "protected" + (ending or (own if formats.can_write(own) else ".sav"))


def check_pack(
    folder: Path,
    source: Path | None,
    settings: Settings,
    *,
    release: Collection[str] = ORDER[:2],
    seed: int | None = None,
    several: bool = False,
) -> None:
    """Refuse a folder where writing a pack would overwrite something that must be kept.

    `release` has "protected" and "provenance" where the pack will hold, or may hold, these. Without
    a seed a new one will be drawn, so that a provenance in the folder is that of another release.
    Records that stay in an engine are `several` files.
    """
    check_folder(folder)
    _check_outside(folder.absolute(), source)
    readers = ("internal", "public") if settings.audience == "both" else (settings.audience,)
    names = [Path("risk_by_record.parquet"), Path("assessment.json")]
    names += [Path(f"{one}.html") for one in readers]
    if "protected" in release:
        names.append(Path(_protected(source, settings.ending, several=several)))
        names += [Path("matrix.csv")] if settings.matrix else []
    if "provenance" in release:
        names.append(Path(PROVENANCE))
        check_provenance(folder / PROVENANCE, seed)
    charts = [] if settings.charts is None else [Path("charts") / f"any.{settings.charts}"]
    check_targets(folder, [*names, *charts], source)
    if settings.charts is not None:  # their names are not known yet
        names += [one.relative_to(folder) for one in folder.glob(f"charts/*.{settings.charts}")]
    check_stale(folder, names)


def check_file(
    path: Path, source: Path | None, *, seed: int | None = None, several: bool = False
) -> Path:
    """Return where a protected file may be written, with its provenance beside it.

    Records that stay in an engine, `several` files perhaps, go to a new folder.
    """
    target = check_new_folder(path) if several else formats.check_target(path, source)
    _check_outside(target, source)
    if target.exists():
        raise FileError(
            f"{str(path)!r} already exists and may be a release that others hold: choose another"
            " name."
        )
    check_folder(target.parent)
    check_provenance(beside(target), seed)
    return target


def _check_outside(target: Path, source: Path | None) -> None:
    """Refuse to write into a folder whose files are read: they would be taken for more of them."""
    if source is not None and source.is_dir() and source.absolute() in (target, *target.parents):
        raise FileError(f"{str(source)!r} is the folder that is read: write outside of it.")


def beside(path: Path) -> Path:
    """Return where the provenance of a protected file goes."""
    return path.with_name(f"{path.name}.{PROVENANCE}")


def check_provenance(path: Path, seed: int | None) -> None:
    """Refuse to overwrite the provenance of a release that another seed made."""
    if not path.exists():
        return
    try:
        same = seed is not None and read_provenance(path).seed == str(seed)
    except PlanError:  # not a provenance of ours
        same = False
    if not same:
        raise another_release(path)


def another_release(path: Path) -> FileError:
    """Return the refusal to overwrite a provenance."""
    return FileError(
        f"{str(path)!r} is the provenance of another release, which nobody could recreate without"
        " it: move it, or write elsewhere."
    )


def check_targets(folder: Path, names: Iterable[Path], source: Path | None) -> None:
    """Refuse names of files that are taken by the file that was read, or by a folder."""
    for name in names:
        target = folder / name
        if source is not None and _same(target, source):
            raise FileError(f"{str(folder)!r} holds the file that was read: write elsewhere.")
        if target.is_dir() or (target.parent.exists() and not target.parent.is_dir()):
            raise FileError(
                f"Cannot write to {str(folder)!r}: {str(name.parts[0])!r} is in the way."
            )


def check_stale(folder: Path, names: Collection[Path]) -> None:
    """Refuse a folder with files of another pack that would be taken for parts of this one."""
    there = [path for path in folder.glob("*") if path.stem in ORDER]
    there += list((folder / "charts").glob("*"))
    stale = sorted(
        str(path.relative_to(folder)) for path in there if path.relative_to(folder) not in names
    )
    if stale:
        raise FileError(
            f"{str(folder)!r} holds files of another pack ({', '.join(stale)}), which readers would"
            " take for parts of this one: remove them, or write elsewhere."
        )


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
