"""The start directory: what lies in it may be read, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from maskmeter import formats
from maskmeter.app.command_lines import can_be_typed
from maskmeter.app.results import FileEntry
from maskmeter.data.engines.files import files_of, names_several
from maskmeter.errors import FileError

_PLANS = ".toml"


@dataclass(frozen=True)
class StartFolder:
    """The directory where the app was started; `allowed` is a file or folder elsewhere that was named then."""

    root: Path
    allowed: Path | None = None

    @classmethod
    def of(cls, root: Path, allowed: Path | None = None) -> StartFolder:
        """Return it after symbolic links are followed."""
        if not root.is_dir():
            raise FileError(f"Cannot start in {str(root)!r}: it is not a folder.")
        return cls(root.resolve(), None if allowed is None else allowed.resolve())

    def inside(self, path: str) -> Path:
        """Return where a path leads, symbolic links followed; refuse what lies outside."""
        return self._in(path, [one for one in (self.root, self.allowed) if one])

    def writable(self, path: str) -> Path:
        """Return where a path to write to leads: below the start directory alone."""
        found = self._in(path, [self.root])
        if not can_be_typed(path) or not path.strip(". /\\"):
            raise FileError(f"{path!r} is no name for a file or a folder: choose another.")
        return found

    def _in(self, path: str, places: list[Path]) -> Path:
        try:
            found = (self.root / path).resolve()
        except (ValueError, OSError, RuntimeError):  # a zero byte, or links in a circle
            raise _outside(path) from None
        if not any(found.is_relative_to(one) for one in places):
            raise _outside(path)
        return found

    def readable(self, path: str) -> Path:
        """Return where a path to read from leads; all files of a folder or a pattern lie inside too."""
        found = self.inside(path)
        try:
            several = files_of(found) if names_several(found) else ()
        except OSError as error:  # a name that is too long, say
            raise FileError(f"Cannot read the file: {str(error.strerror).lower()}.") from None
        for one in several:
            self.inside(str(one))
        return found

    def name(self, path: Path) -> str:
        """Return a path as text that starts at the start directory."""
        return (
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)
        )

    def listing(self, folder: str = "") -> tuple[FileEntry, ...]:
        """Return what lies in a folder and can be opened, folders first; hidden files are left out."""
        there = self.inside(folder)
        if not there.is_dir():
            raise FileError(f"{folder!r} is not a folder.")
        found = sorted(self._entries(there), key=lambda one: (one.kind != "folder", one.name))
        return tuple(found)

    def _entries(self, folder: Path) -> Iterator[FileEntry]:
        try:
            paths = list(folder.iterdir())
        except OSError as error:
            raise FileError(f"Cannot list the folder: {str(error.strerror).lower()}.") from None
        for path in paths:
            entry = None if path.name.startswith(".") else self._entry(path)
            if entry is not None:
                yield entry

    def _entry(self, path: Path) -> FileEntry | None:
        try:
            path.name.encode()  # what is no text cannot be in a plan
            self.inside(str(path))
            if path.is_dir():
                return FileEntry(self.name(path), path.name, "folder", 0)
            if not path.is_file():
                return None
            if path.suffix.lower() == _PLANS:
                return FileEntry(self.name(path), path.name, "plan", path.stat().st_size)
            kind = formats.format_of(path).name
            return FileEntry(self.name(path), path.name, "data", path.stat().st_size, kind)
        # A link out of the folder, another kind of file, an odd name, or gone by now.
        except (FileError, OSError, UnicodeError):
            return None


def _outside(path: str) -> FileError:
    return FileError(
        f"{path!r} lies outside the folder where the app was started: choose one in that folder."
    )
