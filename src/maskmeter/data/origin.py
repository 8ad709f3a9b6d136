"""Where records came from, so that they can be written again as they were."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from hashlib import file_digest
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from maskmeter.data.frames import Opened
from maskmeter.data.keys import Codes, KeySpace
from maskmeter.errors import FileError, SortedRecordsWarning
from maskmeter.formats.scanned import Source


@dataclass(frozen=True, eq=False, repr=False)
class Origin:
    """Where the records came from: the user's frame, its codes as they were read, and its file."""

    frame: nw.DataFrame[Any]
    codes: Codes
    source: Source | None = None
    state: tuple[int, int] | None = None  # size and time of change of the file
    named: bool = True  # False when the column names may be values of a record
    listed: bool = True  # False when they are not to be shown, for the same reason
    whole: bool = True  # False when the records are seen through some of their keys only
    reading: tuple[tuple[str, Any], ...] = ()  # how the file was read, where that was said

    @classmethod
    def of(cls, given: Opened, frame: nw.DataFrame[Any], codes: Codes) -> Origin:
        """Return the origin of records that were read from a file or a frame."""
        if given.path is None or given.file is None:
            return cls(frame, codes)
        file, columns = given.file, tuple(frame.columns)
        source = Source(given.path, columns, len(frame), file.codebook, file.dialect)
        return cls(frame, codes, source, _state(given.path), file.named, file.listed)

    def part(self, columns: list[int]) -> Origin:
        """Return the origin of the same records with some of their keys."""
        codes = self.codes[:, columns]
        return replace(self, codes=codes, source=None, state=None, whole=False)

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""
        return None if self.source is None else self.source.path

    def check_unchanged(self) -> Path:
        """Return the path of the file, which must be as it was when it was read."""
        if self.path is None or not self.path.is_file() or _state(self.path) != self.state:
            raise FileError(f"{str(self.path)!r} has changed since it was read. Read it again.")
        return self.path


FEW = 30  # records that may stand in order by chance


def warn_if_sorted(space: KeySpace, before: Codes, after: Codes) -> None:
    """Warn when a key was changed by which the records are sorted: those moved stand out of place."""
    for position, key in enumerate(space.keys):
        old = before[:, position].astype(np.int64)
        steps = np.diff(old)
        in_order = (steps >= 0).all() or (steps <= 0).all()
        if len(old) >= FEW and in_order and (old != after[:, position]).any():
            message = (
                f"The records are sorted by {key.name!r}, which was perturbed: changed records are out"
                " of order and can be recognised. Shuffle the records before you read them."
            )
            warnings.warn(message, SortedRecordsWarning, stacklevel=3)


def file_hash(path: Path) -> str:
    """Return a hash of what a file holds."""
    with path.open("rb") as file:
        return f"file sha256 {file_digest(file, 'sha256').hexdigest()}"


def _state(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns
