"""Files are written whole or not at all."""

from __future__ import annotations

import os
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


def _set_permissions(unfinished: Path, path: Path) -> None:
    """Give a temporary file the permissions of the file it replaces, or those of a new one."""
    if path.exists():
        unfinished.chmod(path.stat().st_mode & 0o777)
        return
    mask = os.umask(0)
    os.umask(mask)
    unfinished.chmod(0o666 & ~mask)


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
