"""Spark: data frames as they are, and Parquet files; rows are changed on the workers."""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from maskmeter.data.engines.engine import COUNT, FIRST, BatchMap, BatchRewrite, Engine, careful
from maskmeter.data.engines.spark_session import spark_session, stop_ours
from maskmeter.data.ids import EXACT, id_numbers, unusable_ids
from maskmeter.errors import EngineError, MaskmeterError
from maskmeter.optional import need

_MARK = token_hex()  # no record can hold it
_TOLD = re.compile(f"{_MARK}(.*?){_MARK}", re.DOTALL)
_PATTERN = re.compile(r"[\\*?\[\]{}]")  # marks with a meaning of their own in paths to read

_GATEWAY = ("root", "py4j.clientserver", "py4j.java_gateway")  # they log when work is interrupted


@dataclass(frozen=True, eq=False)
class SparkEngine(Engine):
    """A data frame of Spark. Its rows have no order: draws go by their ids."""

    label: ClassVar[str] = "Spark"

    @classmethod
    def of(cls, frame: Any) -> SparkEngine:
        """Return the engine for a data frame."""
        return cls._of(frame, tuple(frame.columns))

    @classmethod
    def _of(cls, frame: Any, names: tuple[str, ...], files: Sequence[Path] = ()) -> SparkEngine:
        inside = _careful(lambda: frame.toDF(*(f"c{at}" for at in range(len(names)))))
        return cls(names, inside, tuple(files))

    @classmethod
    def open(
        cls, files: Sequence[Path], names: tuple[str, ...], master: str | None = None
    ) -> SparkEngine:
        """Return the engine for Parquet files with some columns, on a cluster or on this machine."""
        session = spark_session(master)
        paths = [_PATTERN.sub(r"\\\g<0>", _address(path)) for path in files]
        return cls._of(_careful(lambda: session.read.parquet(*paths)), names, files)

    def careful(self, action: Callable[[], Any]) -> Any:
        """Return what an action on the rows gives; what the engine says may quote a record."""
        return _careful(action)

    def counted_with(self, work: BatchMap) -> pl.DataFrame:
        """Return the distinct rows of a map with their number, under COUNT, and the first FIRST."""
        places = {name: f"m{at}" for at, name in enumerate(work.like)}
        keys = [place for name, place in places.items() if name != FIRST]
        figures = [nw.len().alias("n")]
        if FIRST in places:
            figures.append(nw.col(places[FIRST]).min())
        mapped = self._mapped(work)
        found = self.collected(lambda rows: rows.group_by(keys).agg(*figures), mapped)
        return found.rename({"n": COUNT, **{place: name for name, place in places.items()}})

    def columns_with(self, work: BatchMap) -> pl.DataFrame:
        """Return all rows of a map."""
        found = self.collected(lambda rows: rows, self._mapped(work))
        return found.rename({f"m{at}": name for at, name in enumerate(work.like)})

    def _mapped(self, work: BatchMap) -> Any:
        """Return the data frame of a map, with columns m0, m1, ..."""
        types = need("pyspark.sql.types", extra="spark")
        kinds = {one.name: one.dataType for one in self.frame.schema}
        schema = types.StructType(
            [
                types.StructField(
                    f"m{at}", types.LongType() if own is None else kinds[self.place(own)]
                )
                for at, own in enumerate(work.like.values())
            ]
        )
        rows = self.frame.select(*(self.place(name) for name in work.reads))
        # Spark carries this function to the workers: it must not hold on to a frame or a session.
        function, reads, gives = _telling(work.function), list(work.reads), list(work.like)

        def mapped(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                part = _in_polars(batch, reads)
                yield from _in_arrow(function(part, 0).select(gives), schema)

        return _careful(lambda: rows.mapInArrow(mapped, schema))

    def write_with(self, folder: Path, work: BatchRewrite) -> None:
        """Write the rows with some columns replaced, as Parquet files in a folder."""
        types = need("pyspark.sql.types", extra="spark")
        names, function, reads = list(self.names), _telling(work.function), list(work.reads)
        plain = {str: types.StringType(), float: types.DoubleType()}
        kinds = {self.place(name): plain[kind] for name, kind in work.kinds.items()}
        schema = types.StructType(
            [
                types.StructField(one.name, kinds.get(one.name, one.dataType))
                for one in self.frame.schema
            ]
        )
        places = [names.index(name) for name in reads]

        def changed(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                part = _in_polars(batch.select(places), reads)
                columns, kept = function(part, 0)
                made = _replaced(batch, names, columns, schema)
                yield made if kept is None else _filtered(made, kept)

        def write() -> None:
            mapped = self.frame.mapInArrow(changed, schema).toDF(*self.names)
            mapped.write.mode("append").parquet(_address(folder.absolute()))

        self.careful(write)
        for left in (*folder.glob(".*.crc"), *folder.glob("_*")):  # sums of bytes, and marks
            shutil.rmtree(left) if left.is_dir() else left.unlink()

    def repeated(self, name: str, records: int, ends: tuple[int, int] | None) -> int:  # noqa: ARG002 - Spark sorts as it likes
        """Return how many rows have an id that another row has; ids may be used, none is missing."""
        inside = self.place(name)
        column = nw.col(inside)
        first = self.collected(lambda rows: rows.select(inside).head(1))[inside]
        id_numbers(first.alias(name))  # refused by its type, if at all
        if first.dtype == pl.String:  # what counts is the number that its hash is
            numbers = self._mapped(BatchMap((name,), partial(_numbers, name), {"number": None}))
            query = [nw.col("m0").n_unique().alias("d")]
            return records - int(self.collected(lambda rows: rows.select(*query), numbers).item())
        figures = [column.n_unique().alias("d")]
        if first.dtype.is_float():
            whole = column.is_finite() & (column.round(0) == column) & (column.abs() <= EXACT)
            figures.append((~whole).any().alias("b"))
        distinct, *bad = self.collected(lambda rows: rows.select(*figures)).row(0)
        if any(bad):
            raise unusable_ids(name, "numbers that are not whole, or too large to be exact")
        return int(records - distinct)


def _numbers(name: str, part: pl.DataFrame, start: int) -> pl.DataFrame:  # noqa: ARG001 - ids need no rows
    return pl.DataFrame({"number": id_numbers(part[name]).view(np.int64)})


def _careful(action: Callable[[], Any]) -> Any:
    """Return what an action gives; of what Spark and its workers say, only our own is passed on."""

    def heard() -> Any:
        try:
            return action()
        except Exception as error:
            told = _TOLD.search(str(error))
            if told is None:
                raise
            raise EngineError(told[1]) from None

    with _without_log():
        try:
            return careful("Spark", heard)
        except KeyboardInterrupt:
            stop_ours()  # tasks that go on would write again what is removed
            raise


@contextmanager
def _without_log() -> Iterator[None]:
    """Silence what pyspark itself writes of an error, which may quote a record too."""
    logger = need("pyspark.logger", extra="spark").PySparkLogger
    loggers = [logger.getLogger(f"{kind}QueryContextLogger") for kind in ("DataFrame", "SQL")]
    loggers += [logging.getLogger(name) for name in _GATEWAY]
    before = [one.disabled for one in loggers]
    for one in loggers:
        one.disabled = True
    try:
        yield
    finally:
        for one, disabled in zip(loggers, before, strict=True):
            one.disabled = disabled


def _telling(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for workers, whose errors reach us as text: our own can be told by a mark."""
    mark = _MARK

    def called(part: pl.DataFrame, start: int) -> Any:
        try:
            return function(part, start)
        except MaskmeterError as error:
            raise RuntimeError(f"{mark}{error}{mark}") from None

    return called


def _address(path: Path) -> str:
    """Return the address of a file for Spark, which takes a path without a scheme to be elsewhere.

    >>> _address(Path("/data/a census"))
    'file:/data/a census'
    """
    return f"file:/{path.as_posix().lstrip('/')}"


def _in_polars(batch: Any, names: list[str]) -> pl.DataFrame:
    made: Any = pl.from_arrow(batch)
    made.columns = names
    return made  # type: ignore[no-any-return]


def _in_arrow(frame: pl.DataFrame, schema: Any) -> Iterator[Any]:
    """Yield a frame as batches of Arrow, with the types of a Spark schema."""
    wanted = _arrow_schema(schema)
    table = frame.to_arrow().rename_columns(wanted.names)
    yield from table.cast(wanted).combine_chunks().to_batches()


def _replaced(batch: Any, names: list[str], columns: pl.DataFrame, schema: Any) -> Any:
    """Return a batch of Arrow with some columns replaced; the others are passed on as they are."""
    arrow = need("pyarrow", extra="spark")
    wanted = _arrow_schema(schema)
    arrays = list(batch.columns)
    for column in columns:
        at = names.index(column.name)
        arrays[at] = column.to_arrow().cast(wanted.field(at).type)
    made = [one.cast(field.type) for one, field in zip(arrays, wanted, strict=True)]
    return arrow.RecordBatch.from_arrays(made, schema=wanted)


def _filtered(batch: Any, kept: Any) -> Any:
    arrow = need("pyarrow", extra="spark")
    return batch.filter(arrow.array(kept))


def _arrow_schema(schema: Any) -> Any:
    return need("pyspark.sql.pandas.types", extra="spark").to_arrow_schema(schema)
