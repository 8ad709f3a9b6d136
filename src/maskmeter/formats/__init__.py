"""Readers and writers, one small module per family of formats; the family is chosen by the file's ending."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from maskmeter.errors import FileError, MaskmeterError
from maskmeter.formats import delimited, parquet
from maskmeter.formats.atomic import whole

if TYPE_CHECKING:
    from types import ModuleType

    import polars as pl

_FAMILIES: dict[str, ModuleType] = {
    ending: family for family in (delimited, parquet) for ending in family.ENDINGS
}


def scan(path: str | Path) -> pl.LazyFrame:
    """Return a lazy frame over a file: nothing but its header is read."""
    path = Path(path)
    family = _family(path)
    if not path.is_file():
        reason = "it is a directory" if path.is_dir() else "there is no such file"
        message = f"Cannot read {str(path)!r}: {reason}."
        raise FileError(message)
    if path.stat().st_size == 0:
        message = f"Cannot read {path.name!r}: the file is empty."
        raise FileError(message)
    try:
        return family.scan(path)  # type: ignore[no-any-return]
    except MaskmeterError:
        raise
    except Exception:  # noqa: BLE001 - whatever the reader raises may quote a record
        raise _unreadable(path) from None


def collect(frame: pl.LazyFrame, path: str | Path) -> pl.DataFrame:
    """Return what a lazy frame over a file holds; the rows stream through and are not kept."""
    path = Path(path)
    try:
        return _family(path).collect(frame)  # type: ignore[no-any-return]
    except Exception:  # noqa: BLE001 - whatever the reader raises may quote a record
        raise _unreadable(path) from None


def check_target(target: object, source: Path | None) -> Path:
    """Return where to write, if it can be written to and is not the file that was read."""
    if not isinstance(target, str | Path):
        message = f"Give the path of a file, not a {type(target).__name__}."
        raise FileError(message)
    _family(Path(target))
    try:
        path = Path(target).expanduser().resolve()  # a link is followed, not replaced
        taken = source is not None and path.exists() and source.exists() and path.samefile(source)
    except (OSError, ValueError):
        message = f"Cannot write {str(target)!r}: that is not a usable path."
        raise FileError(message) from None
    if taken:
        message = f"{str(target)!r} is the file that was read: write the protected file elsewhere."
        raise FileError(message)
    if not path.parent.is_dir():
        message = f"Cannot write {str(target)!r}: there is no such directory."
        raise FileError(message)
    return path


def keep_bytes(source: Path, path: Path) -> bool:
    """Return True when what is not changed can be copied byte for byte."""
    return _family(source) is delimited and _family(path) is delimited


def write(frame: Any, path: Path) -> None:  # noqa: ANN401 - the user's kind of frame
    """Write a frame, whole or not at all."""
    with whole(path) as unfinished:
        _family(path).write(nw.from_native(frame, eager_only=True), unfinished)


def _unreadable(path: Path) -> FileError:
    """Return the error for a file that its reader gave up on."""
    return FileError(f"Cannot read {path.name!r}: {_family(path).ADVICE}")


def _family(path: Path) -> ModuleType:
    family = _FAMILIES.get(path.suffix.lower())
    if family is None:
        known = ", ".join(_FAMILIES)
        message = (
            f"Cannot tell the format of {path.name!r} by its ending; known endings are {known}."
        )
        raise FileError(message)
    return family
