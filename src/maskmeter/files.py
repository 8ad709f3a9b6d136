"""Files are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polars.exceptions import PanicException

from maskmeter.errors import FileError, MaskmeterError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, which takes its place when all went well."""
    try:
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix
        )
    except OSError as error:
        raise FileError(f"Cannot write {str(path)!r}: {error.strerror}.") from None
    os.close(handle)
    unfinished = Path(name)
    try:
        yield unfinished
        _set_permissions(unfinished, path)
        unfinished.replace(path)
    except MaskmeterError:
        raise
    except OSError as error:
        raise FileError(f"Cannot write {str(path)!r}: {error.strerror}.") from None
    except (Exception, PanicException):  # noqa: BLE001 - whatever the writer raises may quote a record
        raise FileError(
            f"Cannot write {str(path)!r}: its format cannot store these data. Choose another."
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, which must not exist and takes its name in the end."""
    path = check_new_folder(path)
    try:
        unfinished = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
    except OSError as error:
        raise FileError(f"Cannot write {str(path)!r}: {error.strerror}.") from None
    try:
        yield unfinished
        unfinished.chmod(0o777 & ~_mask())
        unfinished.replace(path)
    except OSError as error:
        if isinstance(error, MaskmeterError):
            raise
        raise FileError(f"Cannot write {str(path)!r}: {error.strerror}.") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def check_new_folder(path: Path) -> Path:
    """Return a folder that is not there yet and can be made."""
    new = path.expanduser().absolute()
    if new.exists():
        raise FileError(
            f"{str(path)!r} already exists and may be a release that others hold: choose another name."
        )
    if not new.parent.is_dir():
        raise FileError(f"Cannot write {str(path)!r}: there is no such folder.")
    return new


def _mask() -> int:
    """Return the permissions that new files of this process lack."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _set_permissions(unfinished: Path, path: Path) -> None:
    """Give a temporary file the permissions of the file it replaces, or those of a new one."""
    if path.exists():
        unfinished.chmod(path.stat().st_mode & 0o777)
        return
    unfinished.chmod(0o666 & ~_mask())


def check_folder(folder: str | Path, *names: str) -> Path:
    """Return a folder that can be written to, now or once it is made.

    No folder in it may stand where files of these names will go.
    """
    out = Path(folder).expanduser()
    there = next(one for one in (out, *out.absolute().parents) if one.exists())
    reason = "is not a folder" if not there.is_dir() else "is a folder that you may not write to"
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise FileError(f"Cannot write to {str(out)!r}: {str(there)!r} {reason}.")
    for name in names:
        if (out / name).is_dir():
            raise FileError(f"Cannot write to {str(out)!r}: {name!r} is a folder there.")
    return out
