"""File formats: one `Format` for each family, chosen by the ending of a file's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import polars as pl
from polars.exceptions import PanicException

from maskmeter.bounds import check_regular
from maskmeter.errors import FileError, MaskmeterError, OptionalDependencyError
from maskmeter.files import check_parent
from maskmeter.formats import columnar, csv, excel, rds, sas, spss, stata
from maskmeter.formats.codebook import Codebook
from maskmeter.formats.conversion import lost, neutral, with_tags
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.format import Format, Header
from maskmeter.formats.panics import unprinted
from maskmeter.formats.replacement import Replacement

__all__ = [
    "Dialect",
    "Header",
    "Replacement",
    "can_write",
    "check_target",
    "collect",
    "format_of",
    "holds",
    "read_header",
    "read_rows",
    "write",
]

T = TypeVar("T")

FORMATS = (
    csv.FORMAT,
    columnar.PARQUET,
    columnar.ARROW,
    spss.FORMAT,
    stata.FORMAT,
    sas.FORMAT,
    excel.FORMAT,
    rds.FORMAT,
)
_BY_ENDING = {ending: one for one in FORMATS for ending in one.endings}


def format_of(path: str | Path) -> Format:
    """Return the format of a file, by the ending of its name.

    >>> format_of("people.SAV")
    Format(SPSS)
    """
    path = Path(path)
    found = _BY_ENDING.get(path.suffix.lower())
    if found is None:
        known = ", ".join(_BY_ENDING)
        raise FileError(
            f"Cannot tell the format of {path.name!r} from its extension. Known extensions:"
            f" {known}."
        )
    return found


def read_header(path: Path, dialect: Dialect | None = None) -> Header:
    """Return what a file says of its columns, once the file was checked."""
    if path.is_dir():
        raise FileError(f"Cannot read {str(path)!r}: it is a folder. Give a file in it.")
    check_regular(path)
    read = format_of(path)
    if not path.is_file():
        raise FileError(f"Cannot read {str(path)!r}: there is no such file.")
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:  # no permission, say
        raise FileError(f"Cannot read {str(path)!r}: {error.strerror}.") from None
    if empty:
        raise FileError(f"Cannot read {path.name!r}: the file is empty.")
    return _read(path, lambda: read.header(path, dialect or Dialect()))


def read_rows(path: Path, header: Header, names: Sequence[str]) -> pl.LazyFrame:
    """Return some columns of a file, not yet read where its format allows that."""
    return _read(path, lambda: format_of(path).rows(path, header, names))


def collect(frame: pl.LazyFrame, path: Path) -> pl.DataFrame:
    """Return what a lazy frame over a file holds; the rows stream through and are not kept."""
    options = format_of(path).optimizations
    return _read(path, lambda: frame.collect(engine="streaming", optimizations=options))


def _read(path: Path, action: Callable[[], T]) -> T:
    """Return what an action on a file gives; what the reader says may quote a record."""
    try:
        with (
            unprinted() if format_of(path) in (columnar.PARQUET, columnar.ARROW) else nullcontext()
        ):
            return action()
    except MaskmeterError:
        raise
    except ModuleNotFoundError as error:
        raise OptionalDependencyError(
            f"Cannot read {path.name!r}: {error.name} is not installed. Install it first."
        ) from None
    except (Exception, PanicException):  # noqa: BLE001 - see above; a panic is no Exception
        raise FileError(f"Cannot read {path.name!r}: {format_of(path).advice}") from None


def can_write(ending: str) -> bool:
    """Return True when files with an ending can be written, and not only read.

    >>> can_write(".sav"), can_write(".rds")
    (True, False)
    """
    return ending not in format_of(f"file{ending}").read_only


def check_target(target: object, source: Path | None) -> Path:
    """Return where to write, if it can be written to and is not the file that was read."""
    if not isinstance(target, str | Path):
        raise FileError(f"Give the path of a file, not a {type(target).__name__}.")
    refusal = format_of(target).read_only.get(Path(target).suffix.lower())
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
    check_parent(path)
    return path


def write(
    frame: nw.DataFrame[Any], path: Path, codebook: Codebook, *, source: Path | None = None
) -> tuple[str, ...]:
    """Write a frame and return what its format cannot hold, in sentences.

    `source` is the file that the frame was read from.
    """
    read, written = None if source is None else format_of(source), format_of(path)
    tagged = with_tags(codebook, frame)
    fit, book = (frame, tagged) if read is written else neutral(frame, tagged, read)
    written.write(fit, path, written.longest.fitted(book) if written.longest else book)
    return lost(tagged, read, written)


def holds(path: Path, header: Header, frame: nw.DataFrame[Any]) -> bool:
    """Return True when a file holds the records of a frame."""
    read = format_of(path)
    try:
        names = read.header(path, header.dialect).names
        found = read.rows(path, header, names).collect()
    except Exception:  # noqa: BLE001 - a copy that cannot be read is none
        return False
    wanted = frame.to_polars()
    if found.columns != wanted.columns or len(found) != len(wanted):
        return False
    return all(_plain(found[name]).equals(_plain(wanted[name])) for name in found.columns)


def _plain(column: pl.Series) -> pl.Series:
    """Return a column without what depends on which values occur: whole numbers, ordered texts."""
    return column.cast(pl.Float64) if column.dtype.is_numeric() else column.cast(pl.String)
