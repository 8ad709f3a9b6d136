"""Readers and writers, one small module per family of formats; the family is chosen by the file's ending."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl
from polars.exceptions import PanicException

from maskmeter.errors import FileError, FormatWarning, MaskmeterError, OptionalDependencyError
from maskmeter.files import whole
from maskmeter.formats import arrow, csv, excel, parquet, rds, sas, spss, stata
from maskmeter.formats.codebook import Codebook
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.neutral import neutral
from maskmeter.formats.scanned import Change, Scanned, Source
from maskmeter.formats.survival import lost

__all__ = [
    "Change",
    "Dialect",
    "Scanned",
    "Source",
    "can_write",
    "check_target",
    "collect",
    "copies",
    "losses",
    "scan",
    "write",
]

_FAMILIES: dict[str, ModuleType] = {
    ending: family
    for family in (csv, parquet, arrow, spss, stata, sas, excel, rds)
    for ending in family.ENDINGS
}


def scan(path: str | Path, dialect: Dialect | None = None) -> Scanned:
    """Return a lazy frame over a file and what the file says of its columns."""
    path = Path(path)
    if path.is_dir():
        raise FileError(f"Cannot read {str(path)!r}: it is a folder. Give a file in it.")
    family = _family(path)
    if not path.is_file():
        raise FileError(f"Cannot read {str(path)!r}: there is no such file.")
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:  # no permission, say
        raise FileError(f"Cannot read {str(path)!r}: {error.strerror}.") from None
    if empty:
        raise FileError(f"Cannot read {path.name!r}: the file is empty.")
    try:
        return family.scan(path, dialect or Dialect())  # type: ignore[no-any-return]
    except MaskmeterError:
        raise
    except ModuleNotFoundError as error:
        raise OptionalDependencyError(
            f"Cannot read {path.name!r}: {error.name} is not installed. Install it first."
        ) from None
    except (Exception, PanicException):  # noqa: BLE001 - whatever the reader raises may quote a record
        raise _unreadable(path) from None


def collect(frame: pl.LazyFrame, path: str | Path) -> pl.DataFrame:
    """Return what a lazy frame over a file holds; the rows stream through and are not kept."""
    path = Path(path)
    try:
        options = getattr(_family(path), "OPTIMIZATIONS", pl.QueryOptFlags())
        return frame.collect(engine="streaming", optimizations=options)
    except (Exception, PanicException):  # noqa: BLE001 - whatever the reader raises may quote a record
        raise _unreadable(path) from None


def can_write(ending: str) -> bool:
    """Return True when files with an ending can be written, and not only read.

    >>> can_write(".sav"), can_write(".rds")
    (True, False)
    """
    return ending not in getattr(_family(Path(f"file{ending}")), "READ_ONLY", {})


def check_target(target: object, source: Path | None) -> Path:
    """Return where to write, if it can be written to and is not the file that was read."""
    if not isinstance(target, str | Path):
        raise FileError(f"Give the path of a file, not a {type(target).__name__}.")
    ending = Path(target).suffix.lower()
    refusal = getattr(_family(Path(target)), "READ_ONLY", {}).get(ending)
    if refusal is not None:
        raise FileError(f"Cannot write {str(target)!r}: {refusal}")
    try:
        path = Path(target).expanduser().resolve()  # a link is followed, not replaced
        taken = source is not None and path.exists() and source.exists() and path.samefile(source)
    except (OSError, ValueError):
        raise FileError(f"Cannot write {str(target)!r}: this is not a valid path.") from None
    if taken:
        raise FileError(
            f"{str(target)!r} is the file that was read. Write the protected file to another path."
        )
    if not path.parent.is_dir():
        raise FileError(f"Cannot write {str(target)!r}: there is no such folder.")
    return path


def losses(codebook: Codebook, source: Path | None, target: Path) -> tuple[str, ...]:
    """Return what a file loses when it is written in the format of another ending, in sentences.

    >>> from maskmeter.formats.codebook import Codebook, Variable
    >>> book = Codebook((Variable("sex", values=((1, "Male"), (2, "Female"))),))
    >>> losses(book, Path("people.sav"), Path("protected.csv"))
    ('CSV cannot store value labels; 1 column loses them.',)
    >>> losses(book, Path("people.sav"), Path("protected.sav"))
    ()
    """
    if source is not None and copies(codebook, source, target):
        return codebook.left_out
    return lost(codebook, None if source is None else _family(source), _family(target))


def write(
    frame: nw.DataFrame[Any],
    path: Path,
    codebook: Codebook,
    *,
    source: Source | None = None,
    changes: list[Change] | None = None,
) -> None:
    """Write a file, whole or not at all, and warn of what its format cannot hold.

    With `changes`, which need a source that `copies`, only those columns differ from that file.
    """
    read, written = None if source is None else _family(source.path), _family(path)
    copied = False
    with whole(path) as unfinished:
        if source is not None and changes is not None:
            copied = written.rewrite(source, unfinished, changes)
            # Cells are changed where they stand: a layout that was misunderstood shows here.
            copied = copied and (
                not hasattr(written, "REMADE") or _holds(written, unfinished, source, frame)
            )
        if not copied:
            fit = (frame, codebook) if read is written else neutral(frame, codebook, read)
            longest = getattr(written, "LONGEST", None)
            written.write(fit[0], unfinished, longest.fitted(fit[1]) if longest else fit[1])
    left = codebook.left_out if copied else lost(codebook, read, written)
    if left:
        message = f"Writing {path.name!r} loses information. {' '.join(left)}"
        warnings.warn(message, FormatWarning, stacklevel=3)


def _holds(family: ModuleType, path: Path, source: Source, frame: nw.DataFrame[Any]) -> bool:
    """Return True when a file holds the records that it was to hold."""
    try:
        found = family.scan(path, source.dialect or Dialect()).frame.collect()
    except Exception:  # noqa: BLE001 - a copy that cannot be read is none
        return False
    wanted = frame.to_polars()
    if found.columns != wanted.columns or len(found) != len(wanted):
        return False
    return all(_plain(found[name]).equals(_plain(wanted[name])) for name in found.columns)


def _plain(column: pl.Series) -> pl.Series:
    """Return a column without what depends on which values occur: whole numbers, ordered texts."""
    return column.cast(pl.Float64) if column.dtype.is_numeric() else column.cast(pl.String)


def copies(codebook: Codebook, source: Path, target: Path) -> bool:
    """Return True when a copy with other cells can be made, so that nothing is lost."""
    family = _family(source)
    if family is not _family(target) or not hasattr(family, "rewrite"):
        return False
    return bool(family.copies(codebook, source.suffix.lower(), target.suffix.lower()))


def _unreadable(path: Path) -> FileError:
    """Return the error for a file that its reader gave up on."""
    return FileError(f"Cannot read {path.name!r}: {_family(path).ADVICE}")


def _family(path: Path) -> ModuleType:
    family = _FAMILIES.get(path.suffix.lower())
    if family is None:
        known = ", ".join(_FAMILIES)
        raise FileError(
            f"Cannot tell the format of {path.name!r} from its extension. Known extensions:"
            f" {known}."
        )
    return family
