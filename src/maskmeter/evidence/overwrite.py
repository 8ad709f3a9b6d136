"""Where a release goes: its names, and checks that nothing is overwritten.

None of these checks needs the results, so commands and reports make them before they begin.
"""

from __future__ import annotations

from pathlib import Path

from maskmeter import formats
from maskmeter.errors import FileError, PlanError
from maskmeter.evidence.provenance import read_provenance
from maskmeter.files import check_new_folder, check_outside, check_parent, remove_leftovers

PROVENANCE = "provenance.json"


def protected_name(source: Path | None, ending: str | None, *, several: bool) -> str:
    """Return the name of the protected file: the format it came in, if that can be written.

    Records that stay in an engine, `several` files perhaps, get a folder.
    """
    if several and ending is not None:
        raise FileError(
            "Several files are written as Parquet files in a folder: leave out --format."
        )
    own = ".parquet" if source is None or not source.suffix else source.suffix.lower()
    return "protected" + ("" if several else ending or (own if formats.can_write(own) else ".sav"))


def beside(path: Path) -> Path:
    """Return where the provenance of a protected file goes."""
    return path.with_name(f"{path.name}.{PROVENANCE}")


def check_file(
    path: Path, source: Path | None, *, seed: int | None = None, several: bool = False
) -> Path:
    """Return where a protected file may be written, with its provenance beside it.

    What a run that was killed left of both is removed. With a seed, the provenance may be there
    already if it records that very seed. Records that stay in an engine, `several` files perhaps,
    go to a new folder.
    """
    if several:
        check_parent(path)
        target = check_new_folder(path, source)
    else:
        target = formats.check_target(path, source)
        check_outside(target, source)
        remove_leftovers(target)
        if target.exists():
            raise FileError(
                f"{str(path)!r} already exists and may be a release that others hold: choose"
                " another name."
            )
    _check_provenance(beside(target), seed)
    return target


def _check_provenance(path: Path, seed: int | None) -> None:
    """Refuse a name whose provenance is there: that of a release that another seed made."""
    if not path.exists():
        return
    try:
        same = seed is not None and read_provenance(path).seed == str(seed)
    except PlanError:  # not a provenance of ours
        same = False
    if not same:
        raise FileError(
            f"{str(path)!r} is the provenance of another release, which nobody could recreate"
            " without it: move it, or write elsewhere."
        )
