"""What every engine offers: counts, columns, and changed rows that are counted or written."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from os import cpu_count, strerror
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PanicException

from maskmeter.data.ids import id_numbers, missing_ids
from maskmeter.errors import EngineError, FileError, MaskmeterError

COUNT, FIRST = "number of rows", "first id"  # beside columns that engines work out

Load: TypeAlias = "Callable[[], pl.DataFrame]"
Query: TypeAlias = "Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]]"

_VALUES_AT_ONCE = 1 << 23  # in a batch of rows
_MOST_ROWS, _FEWEST_ROWS = 1 << 20, 1 << 14
_SORTED_AT_ONCE = 1 << 26  # ids
_DENSE = 4  # times as many numbers as ids: these are ticked off, not sorted
_OS_ERROR = re.compile(r"os error (\d+)|Errno (\d+)")
_THREADS = min(cpu_count() or 1, 8)


@dataclass(frozen=True, eq=False)
class BatchMap:
    """A function of batches of rows, which an engine runs where the rows are.

    It gets the columns it `reads` and the number of the first row, and returns the columns of
    `like`: each of the type of the column that is named there, or 64-bit integers for None.
    """

    reads: tuple[str, ...]
    function: Callable[[pl.DataFrame, int], pl.DataFrame]
    like: Mapping[str, str | None]


class Tally(NamedTuple):
    """The distinct combinations of columns, how many rows have each, and the first id of these."""

    columns: pl.DataFrame
    rows: NDArray[np.int64]
    first: pl.Series | None = None


class Written(NamedTuple):
    """What takes the place of columns in a batch of rows, and which of the rows are kept."""

    columns: pl.DataFrame
    kept: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class BatchRewrite:
    """A function of batches of rows that gives columns which take the place of others.

    Columns in `kinds` become text (str) or numbers (float). Where rows are left out (`fewer`), no
    column may declare categories that only those had.
    """

    reads: tuple[str, ...]
    function: Callable[[pl.DataFrame, int], Written]
    kinds: Mapping[str, type[str | float]] = field(default_factory=dict)
    fewer: bool = False


@dataclass(frozen=True, eq=False)
class Engine(ABC):
    """Rows that stay where they are; inside, columns are called c0, c1, ... in their order.

    `files` are those that the rows were read from. `ordered` says that rows have numbers: they
    come one after another from one file.
    """

    label: ClassVar[str]

    names: tuple[str, ...]
    frame: Any  # of the engine's own kind
    files: tuple[Path, ...] = ()
    ordered: bool = False
    _distinct: set[str] = field(default_factory=set, init=False, repr=False)  # columns of ids

    @abstractmethod
    def counted_with(self, work: BatchMap) -> pl.DataFrame:
        """Return the distinct rows of a map with their number, under COUNT, and the first FIRST."""

    @abstractmethod
    def columns_with(self, work: BatchMap) -> pl.DataFrame:
        """Return all rows of a map."""

    @abstractmethod
    def write_with(self, folder: Path, work: BatchRewrite) -> None:
        """Write the rows with some columns replaced, as Parquet files in a folder."""

    @abstractmethod
    def repeated(self, name: str, records: int, ends: tuple[int, int] | None) -> int:
        """Return how many rows have an id that another row has; ids may be used, none is missing."""

    def repeated_ids(self, name: str) -> int:
        """Return how many rows have an id that another row has; every row must have a usable one."""
        if name in self._distinct:  # every step asks
            return 0
        column = nw.col(self.place(name))
        records, missing, least, most = self.collected(
            lambda rows: rows.select(
                nw.len().alias("n"),
                column.null_count().alias("m"),
                column.min().alias("least"),
                column.max().alias("most"),
            )
        ).row(0)
        if missing:
            raise missing_ids(name, missing, records)
        whole = isinstance(least, int) and not isinstance(least, bool)
        repeated = self.repeated(name, records, (least, most) if whole else None)
        if not repeated:
            self._distinct.add(name)
        return repeated

    def collected(self, query: Query, frame: Any = None) -> pl.DataFrame:
        """Return what a query of the rows gives, or of another frame: the engine works it out."""
        rows = self.frame if frame is None else frame
        found: pl.DataFrame = self.careful(lambda: self.in_memory(query(nw.from_native(rows))))
        return found

    def in_memory(self, frame: nw.LazyFrame[Any]) -> pl.DataFrame:
        """Return a frame of narwhals in memory."""
        found: pl.DataFrame = frame.collect(backend="polars").to_native()
        return found

    def careful(self, action: Callable[[], Any]) -> Any:
        """Return what an action on the rows gives; what the engine says may quote a record."""
        return careful(self.label, action)

    def place(self, name: str) -> str:
        """Return what a column is called inside."""
        return f"c{self.names.index(name)}"

    def count(self, names: Sequence[str], *, first: str | None = None) -> Tally:
        """Return the distinct combinations of columns with their number of rows.

        The first id is the smallest value of the column `first`: of a combination that one row has,
        it is that row's.
        """
        inside = [self.place(name) for name in names]
        figures = [nw.len().alias("n")]
        if first is not None:
            figures.append(nw.col(self.place(first)).min().alias("first"))
        found = self.collected(lambda rows: rows.group_by(inside).agg(*figures))
        columns = found.select(*inside).rename(dict(zip(inside, names, strict=True)))
        number = found["n"].to_numpy().astype(np.int64)
        return Tally(columns, number, None if first is None else found["first"].alias(first))

    def records(self) -> int:
        """Return the number of rows."""
        return int(self.collected(lambda rows: rows.select(nw.len().alias("n"))).item())

    def columns(self, names: Sequence[str]) -> pl.DataFrame:
        """Return some columns."""
        inside = [self.place(name) for name in names]
        found = self.collected(lambda rows: rows.select(*inside))
        return found.rename(dict(zip(inside, names, strict=True)))


def careful(label: str, action: Callable[[], Any]) -> Any:
    """Return what an engine gives; what it says may quote a record."""
    try:
        return action()
    except MaskmeterError:
        raise
    except (Exception, PanicException) as error:  # noqa: BLE001 - see above; a panic is no Exception
        known = _OS_ERROR.search(str(error)) if isinstance(error, OSError) else None
        if known:  # a full disk, say
            raise FileError(f"{label} stopped: {strerror(int(known[1] or known[2]))}.") from None
        raise EngineError(
            f"{label} could not work through the rows. Its own message may quote a record, so it is"
            f" not shown here: run a count of the rows in {label} to see it."
        ) from None


@dataclass(frozen=True, eq=False)
class BatchedEngine(Engine):
    """An engine that hands out its rows in batches, one after another; Python works on these."""

    @abstractmethod
    def batches(self, names: Sequence[str], rows: int) -> Iterator[tuple[int, Load]]:
        """Yield the number of the first row of each batch, and what gives some of its columns."""

    def counted_with(self, work: BatchMap) -> pl.DataFrame:
        """Return the distinct rows of a map with their number, under COUNT, and the first FIRST."""
        keys = [name for name in work.like if name != FIRST]
        tallies: list[pl.DataFrame] = []

        def tally(batch: pl.DataFrame, start: int) -> pl.DataFrame:
            return _tallied(
                work.function(batch, start).with_columns(pl.lit(1, pl.Int64).alias(COUNT)), keys
            )

        for found in self._mapped(work.reads, tally):
            tallies.append(found)
            if sum(map(len, tallies)) > 4 * max(map(len, tallies)):
                tallies = [_tallied(pl.concat(tallies), keys)]
        return _tallied(pl.concat(tallies), keys) if tallies else pl.DataFrame()

    def columns_with(self, work: BatchMap) -> pl.DataFrame:
        """Return all rows of a map."""
        found: pl.DataFrame = pl.concat(self._mapped(work.reads, work.function))
        return found

    def write_with(self, folder: Path, work: BatchRewrite) -> None:
        """Write the rows with some columns replaced, as Parquet files in a folder."""

        def write(batch: pl.DataFrame, start: int) -> None:
            columns, kept = work.function(batch.select(*work.reads), start)
            changed = batch.with_columns(columns)
            changed = changed if kept is None else changed.filter(kept)
            if work.fewer:
                listed = pl.selectors.by_dtype(pl.Enum, pl.Categorical)
                changed = changed.with_columns(listed.cast(pl.String))
            changed.write_parquet(folder / f"part-{start:015}.parquet")

        for _ in self._mapped(self.names, write):
            pass

    def repeated(self, name: str, records: int, ends: tuple[int, int] | None) -> int:
        """Return how many rows have an id that another row has; ids may be used, none is missing.

        Ids that lie close together are ticked off; others are sorted, not all at once.
        """
        if ends is not None and ends[1] - ends[0] < _DENSE * records:
            seen = np.zeros(ends[1] - ends[0] + 1, dtype=np.bool_)
            least = np.uint64(ends[0] % 2**64)
            for numbers in self._mapped([name], lambda batch, _: id_numbers(batch[name])):
                seen[numbers - least] = True
            return records - int(seen.sum())
        parts, repeated = records // _SORTED_AT_ONCE + 1, 0
        for part in range(parts):
            chosen = [
                numbers[numbers % np.uint64(parts) == part]
                for numbers in self._mapped([name], lambda batch, _: id_numbers(batch[name]))
            ]
            ids = np.concatenate(chosen)
            ids.sort()
            repeated += int((ids[1:] == ids[:-1]).sum())
        return repeated

    def _mapped(
        self, names: Sequence[str], action: Callable[[pl.DataFrame, int], Any]
    ) -> Iterator[Any]:
        """Yield what an action gives for each batch, in order; some batches are in work at a time."""
        rows = min(max(_VALUES_AT_ONCE // max(len(names), 1), _FEWEST_ROWS), _MOST_ROWS)
        rows = 1 << (rows.bit_length() - 1)  # as groups of rows in Parquet files often have
        batches = self.batches(names, rows)
        with ThreadPoolExecutor(_THREADS) as pool:
            working: deque[Future[Any]] = deque()
            while (batch := self.careful(lambda: next(batches, None))) is not None:
                working.append(pool.submit(_loaded, action, *batch))
                if len(working) > _THREADS:
                    yield self.careful(working.popleft().result)
            while working:
                yield self.careful(working.popleft().result)


def _loaded(action: Callable[[pl.DataFrame, int], Any], start: int, load: Load) -> Any:
    return action(load(), start)


def _tallied(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the distinct rows with the sum of COUNT and the smallest FIRST."""
    figures = [pl.col(COUNT).sum()]
    if FIRST in rows.columns:
        figures.append(pl.col(FIRST).min())
    return rows.group_by(keys).agg(figures) if keys else rows.select(figures)
