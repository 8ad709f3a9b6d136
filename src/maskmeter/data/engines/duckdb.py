"""DuckDB: relations as they are, and Parquet files."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from maskmeter.data.engines.engine import BatchedEngine, Load, careful
from maskmeter.optional import need


@dataclass(frozen=True, eq=False)
class DuckDBEngine(BatchedEngine):
    """A relation of DuckDB. The rows of one file keep their order; those of a query have none."""

    label: ClassVar[str] = "DuckDB"

    @classmethod
    def of(cls, relation: Any) -> DuckDBEngine:
        """Return the engine for a relation."""
        return cls._of(relation, tuple(relation.columns))

    @classmethod
    def _of(cls, relation: Any, names: tuple[str, ...], files: Sequence[Path] = ()) -> DuckDBEngine:
        # DuckDB renames columns of files whose names differ in case only.
        listed = ", ".join(f"{_quoted(own)} AS c{at}" for at, own in enumerate(relation.columns))
        inside = careful(cls.label, lambda: relation.project(listed))
        return cls(names, inside, tuple(files), ordered=len(files) == 1)

    @classmethod
    def open(cls, files: Sequence[Path], names: tuple[str, ...]) -> DuckDBEngine:
        """Return the engine for Parquet files with some columns, in a database that is not kept."""
        duckdb = need("duckdb", extra="duckdb")
        # Nothing is fetched from the network, and what does not fit in memory goes to a folder
        # that is removed in the end.
        folder = tempfile.mkdtemp(prefix="maskmeter-")
        offline = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
        database = duckdb.connect(config={**offline, "temp_directory": folder})
        paths = [escape(str(one)) for one in files]  # DuckDB reads them as patterns
        try:
            relation = careful(cls.label, lambda: database.read_parquet(paths))
            engine = cls._of(relation, names, files)
        except BaseException:
            _close(database, folder)
            raise
        weakref.finalize(engine, _close, database, folder)
        return engine

    def batches(self, names: Sequence[str], rows: int) -> Iterator[tuple[int, Load]]:
        """Yield the number of the first row of each batch, and what gives some of its columns."""
        inside, start = ", ".join(self.place(name) for name in names), 0
        for batch in self.frame.project(inside).to_arrow_reader(rows):
            yield start, partial(_in_polars, batch, list(names))
            start += batch.num_rows


def _in_polars(batch: Any, names: list[str]) -> pl.DataFrame:
    made: Any = pl.from_arrow(batch)
    made.columns = names
    return made  # type: ignore[no-any-return]


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _close(database: Any, folder: str) -> None:
    database.close()
    shutil.rmtree(folder, ignore_errors=True)
