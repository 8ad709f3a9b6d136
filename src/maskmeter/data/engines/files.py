"""Several files as one: a folder, or a pattern such as census/*.parquet."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Literal

import polars as pl

from maskmeter import formats
from maskmeter.data.engines.engine import Engine
from maskmeter.data.engines.polars import PolarsEngine
from maskmeter.errors import FileError
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.format import Header
from maskmeter.plurals import counted, plural

EngineName = Literal["polars", "duckdb", "spark"]

PARQUET = (".parquet", ".pq")


def names_several(given: str | Path) -> bool:
    """Return True for a folder or a pattern, unless there is a file of that very name.

    >>> names_several("census/*.parquet"), names_several("census.parquet")
    (True, False)
    """
    path = Path(given).expanduser()
    return path.is_dir() or (has_magic(str(given)) and not path.exists())


def files_of(given: str | Path) -> tuple[Path, ...]:
    """Return the files in a folder, or of a pattern, by name; a single file is itself.

    What starts with a dot or an underscore, a file or a folder, is a mark of other programs or
    unfinished.
    """
    path = Path(given).expanduser()
    if not names_several(given):
        return (path.absolute(),)
    found = path.rglob("*") if path.is_dir() else map(Path, glob(str(path), recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
    above = len(path.parts) if path.is_dir() else -1  # of a pattern, the name of a file decides
    files = sorted(
        one.absolute()
        for one in found
        if one.is_file() and not any(part[0] in "._" for part in one.parts[above:])
    )
    if not files:
        where = "in the folder" if path.is_dir() else "that match the pattern"
        raise FileError(f"There are no files {where} {str(given)!r}.")
    endings = {one.suffix.lower() for one in files}
    if len(endings) > 1:
        raise FileError(
            f"The files of {str(given)!r} have different formats ({', '.join(sorted(endings))})."
            " Give a pattern for one of them, such as '*.parquet'."
        )
    return tuple(files)


def open_files(
    files: Sequence[Path], engine: EngineName, *, master: str | None, dialect: Dialect
) -> tuple[Engine, Header]:
    """Return the engine that holds the rows of some files, which must be alike, and their header."""
    header = formats.read_header(files[0], dialect)
    _check_alike(files, header)
    parquet = files[0].suffix.lower() in PARQUET
    if engine == "polars" and parquet:
        return PolarsEngine.of(pl.scan_parquet(list(files), glob=False), files, sliced=True), header
    if engine == "polars":
        scanned = [formats.read_rows(path, header, header.names) for path in files]
        return PolarsEngine.of(pl.concat(scanned), files), header
    if not parquet:
        raise FileError(
            f"{engine} reads Parquet files here, not {files[0].suffix.lower()!r}. Use the engine"
            " polars, or read the files yourself and give the relation or data frame."
        )
    if engine == "duckdb":
        from maskmeter.data.engines.duckdb import DuckDBEngine

        return DuckDBEngine.open(files, header.names), header
    from maskmeter.data.engines.spark import SparkEngine

    return SparkEngine.open(files, header.names, master), header


def _check_alike(files: Sequence[Path], first: Header) -> None:
    """Raise unless all files have the same columns, in the same order and of the same types."""
    schema = formats.read_rows(files[0], first, first.names).collect_schema()
    other = []
    for path in files[1:]:
        header = formats.read_header(path, first.dialect)
        if (
            header.names != first.names
            or formats.read_rows(path, header, header.names).collect_schema() != schema
        ):
            other.append(path)
    if other:
        raise FileError(
            f"{len(other):,} of {counted(len(files), 'file')} {plural(len(other), 'has', 'have')} other"
            f" columns or types than {files[0].name!r}, such as {other[0].name!r}. Give files with"
            " the same columns, in the same order."
        )
