"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from polars.exceptions import PanicException

from maskmeter.errors import FileError, MaskmeterError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, which takes its place when all went well."""
    try:
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix
        )
    except OSError as error:
        message = f"Cannot write {str(path)!r}: {error.strerror}."
        raise FileError(message) from None
    os.close(handle)
    unfinished = Path(name)
    try:
        yield unfinished
        _set_permissions(unfinished, path)
        unfinished.replace(path)
    except MaskmeterError:
        raise
    except OSError as error:
        message = f"Cannot write {str(path)!r}: {error.strerror}."
        raise FileError(message) from None
    except (Exception, PanicException):  # noqa: BLE001 - whatever the writer raises may quote a record
        message = f"Cannot write {str(path)!r}: its format cannot store these data. Choose another."
        raise FileError(message) from None
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
        message = f"Cannot write to {str(out)!r}: {str(there)!r} {reason}."
        raise FileError(message)
    for name in names:
        if (out / name).is_dir():
            message = f"Cannot write to {str(out)!r}: {name!r} is a folder there."
            raise FileError(message)
    return out
