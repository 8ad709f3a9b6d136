"""Files and folders appear whole or not at all, even if the process is killed.

What is being written stands in a hidden folder beside its place, `.NAME.maskmeter`, which only its
owner may read and which the run that writes keeps locked. When all of it is on the disk, it is
renamed into place. A run that is killed leaves the folder unlocked, and the next run for the same
place removes it.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polars.exceptions import PanicException

from maskmeter.errors import FileError, MaskmeterError

# In the hidden folder: the lock, what is being written, what is being renamed into place, and the
# folder whose place it takes.
_LOCK, _NEW, _READY, _OLD = "lock", "new", "ready", "old"
_FAR = 2**30  # where Windows locks a byte, beyond what the file holds

IsOurs = Callable[[Path], bool]


class BusyError(FileError):
    """Another run is writing to the same place."""


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path, whose file takes the place of `path` when all went well."""
    with unfinished(path) as folder:
        new = folder / path.name
        new.touch()
        try:
            yield new
        except (MaskmeterError, OSError):
            raise
        except (Exception, PanicException):  # noqa: BLE001 - whatever the writer raises may quote a record
            raise FileError(
                f"Cannot write {str(path)!r}: its format cannot store these data. Choose another."
            ) from None
        if path.exists():
            new.chmod(path.stat().st_mode & 0o777)


@contextmanager
def whole_folder(path: Path, *, is_ours: IsOurs = lambda _: False) -> Iterator[Path]:
    """Yield a temporary folder, which takes the place of `path` when all went well.

    `path` must be new or empty, or a folder that `is_ours` and may be replaced.
    """
    path = check_new_folder(path, is_ours=is_ours)
    with unfinished(path, replaces=not _is_vacant(path)) as folder:
        new = folder / path.name
        new.mkdir()
        if path.exists():
            new.chmod(path.stat().st_mode & 0o777)
        yield new
        check_new_folder(path, is_ours=is_ours)  # another run may have been faster


@contextmanager
def unfinished(path: Path, *first: Path, replaces: bool = False) -> Iterator[Path]:
    """Yield a hidden folder beside `path`; what is written there takes its place in the end.

    It is to hold a file or folder of the name of `path`, and of each path beside it that is to be
    in place `first`. One of these that is already there stays as it is. A folder that is not empty
    is in the way unless the new one `replaces` it.
    """
    made = [one for one in path.parents if not one.exists()]
    with _explained(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(path, first) as own:
                (own / _NEW).mkdir(mode=0o700)
                yield own / _NEW
                _put_in_place(own, path, first, replaces=replaces)
                made.clear()
        finally:
            for parent in made:  # what was made for nothing
                with suppress(OSError):
                    parent.rmdir()


def check_new_folder(
    path: Path, source: Path | None = None, *, is_ours: IsOurs = lambda _: False
) -> Path:
    """Return a folder that is new or empty and can be made, outside of the folder that is read.

    What a run that was killed left of it is removed.
    """
    with _explained(path):
        new = Path(os.path.realpath(path.expanduser()))  # a link is followed, not replaced
        _check_place(new, path)
        check_outside(new, source)
        remove_leftovers(new)
        if not _is_vacant(new) and not is_ours(new):
            raise FileError(
                f"{str(path)!r} already exists and is not empty: what it holds may be a release that"
                " others have. Choose a new folder."
            )
    return new


def _check_place(new: Path, path: Path) -> None:
    """Refuse a folder that cannot be made, or cannot be replaced by a new one."""
    there = next(one for one in (new, *new.parents) if one.exists())
    if there == new and there.is_dir():
        if os.path.ismount(new) or new == Path.cwd():
            raise FileError(
                f"Cannot write to {str(path)!r}: it is the folder of a disk, or the one you are in."
                " Name a new folder in it."
            )
        there = new.parent
    reason = "is a folder that you may not write to" if there.is_dir() else "is not a folder"
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise FileError(f"Cannot write to {str(path)!r}: {str(there)!r} {reason}.")


def check_parent(path: Path) -> None:
    """Refuse a path in a folder that does not exist."""
    if not path.expanduser().absolute().parent.is_dir():
        raise FileError(f"Cannot write {str(path)!r}: there is no such folder.")


def check_outside(target: Path, source: Path | None) -> None:
    """Refuse to write into a folder whose files are read: they would be taken for more of them."""
    if (
        source is not None
        and source.is_dir()
        and Path(os.path.realpath(source)) in (target, *target.parents)
    ):
        raise FileError(f"{str(source)!r} is the folder that is read: write outside of it.")


def remove_leftovers(path: Path) -> None:
    """Remove what a run that was killed left beside `path`; what a live run writes stays."""
    if os.path.lexists(_hidden(path)):
        with suppress(BusyError), _explained(path), _locked(path):
            pass


def _is_vacant(path: Path) -> bool:
    """Return whether there is nothing in a place, or an empty folder."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def _hidden(path: Path) -> Path:
    return path.with_name(f".{path.name}.maskmeter")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn a refusal of the system into a sentence."""
    try:
        yield
    except OSError as error:
        if isinstance(error, MaskmeterError):
            raise
        raise FileError(f"Cannot write {str(path)!r}: {error.strerror}.") from None


@contextmanager
def _locked(path: Path, first: tuple[Path, ...] = ()) -> Iterator[Path]:
    """Yield the hidden folder beside `path`, locked and empty but for the lock, and remove it."""
    own, names = _hidden(path), [one.name for one in first]
    handle = _take(own, path)
    try:
        _clear(own, path, _read(handle))
        _write(handle, names)
        yield own
    finally:
        with suppress(OSError):
            _clear(own, path, names)
        _release(own, handle)


def _take(own: Path, path: Path) -> int:
    """Return the lock of a hidden folder, which is made if it is not there."""
    while True:
        try:
            own.mkdir(mode=0o700)
            new = True
        except FileExistsError:
            new = False
            _check_ours(own, path)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        try:
            handle = os.open(own / _LOCK, flags, 0o600)
        except FileNotFoundError:  # the run before has just removed the folder
            continue
        if not _lock(handle, new=new):
            os.close(handle)
            raise BusyError(f"Another run is writing {str(path)!r}: choose another name, or wait.")
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), (own / _LOCK).stat()):
                return handle
        os.close(handle)  # the run before has just removed the lock


def _check_ours(own: Path, path: Path) -> None:
    """Refuse a hidden folder that no run of ours has made for this user."""
    with suppress(FileNotFoundError):
        found = own.lstat()
        mine = found.st_uid == os.getuid() if hasattr(os, "getuid") else True
        if stat.S_ISDIR(found.st_mode) and mine:
            held = {one.name for one in own.iterdir()}
            if not held or (_LOCK in held and held <= {_LOCK, _NEW, _READY, _OLD}):
                return
        raise FileError(
            f"Cannot write {str(path)!r}: {own.name!r} beside it is not a folder that this user's"
            " maskmeter left. Remove it, or choose another name."
        )


def _lock(handle: int, *, new: bool) -> bool:
    """Lock a file until it is closed; return False if another run has it locked.

    Where the system has no locks, a new file is as good as locked and another may be.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return new
    return True


def _read(handle: int) -> list[str]:
    """Return the names that the run before was to put in place first."""
    return [name for name in os.fsdecode(os.read(handle, 2**16)).split("\0") if name]


def _write(handle: int, names: list[str]) -> None:
    """Note the names that this run is to put in place first."""
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, os.fsencode("\0".join(names)))
    os.fsync(handle)


def _clear(own: Path, path: Path, first: list[str]) -> None:
    """Empty a hidden folder, and undo what its run did in part: the names put in place `first`."""
    if (own / _READY / path.name).exists() and _is_vacant(path):
        for name in first:
            if not (own / _READY / name).exists():
                path.with_name(Path(name).name).unlink(missing_ok=True)
        _sync_folder(path.parent)
    if (own / _OLD).exists() and not path.exists():
        (own / _OLD).replace(path)
    for name in (_NEW, _READY, _OLD):
        if (own / name).exists():
            shutil.rmtree(own / name)


def _release(own: Path, handle: int) -> None:
    """Remove a hidden folder with its lock.

    The lock is removed while it is held, so that no other run can take it before. Windows removes
    no file that anybody has open, so there it is closed first.
    """
    if sys.platform == "win32":
        os.close(handle)
        with suppress(OSError):
            (own / _LOCK).unlink()
    else:
        with suppress(OSError):
            if not any((own / name).exists() for name in (_NEW, _READY, _OLD)):
                (own / _LOCK).unlink()
        os.close(handle)
    with suppress(OSError):
        own.rmdir()


def _put_in_place(own: Path, path: Path, first: tuple[Path, ...], *, replaces: bool) -> None:
    """Rename what was written to its place, when all of it is on the disk."""
    for one in (own / _NEW).rglob("*"):
        (_sync_folder if one.is_dir() else _sync_file)(one)
    _sync_folder(own / _NEW)
    (own / _NEW).replace(own / _READY)
    _sync_folder(own)
    for target in first:
        if not target.exists():
            (own / _READY / target.name).replace(target)
            _sync_folder(path.parent)
    new = own / _READY / path.name
    if replaces:
        path.replace(own / _OLD)
    elif sys.platform == "win32" and new.is_dir() and path.is_dir():
        path.rmdir()  # Windows renames no folder to a name that is taken
    new.replace(path)
    _sync_folder(path.parent)


def _sync_file(path: Path) -> None:
    """Write a file to the disk; Windows does so only with one that is open to be written."""
    with path.open("rb+" if sys.platform == "win32" else "rb") as file:
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    """Write the names in a folder to the disk, where the system can."""
    if sys.platform != "win32":
        with suppress(OSError):  # some disks sync no folders
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
