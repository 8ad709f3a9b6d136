"""Polars: files that are scanned, larger than memory perhaps. It comes with maskmeter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.data.engines.engine import BatchedEngine, Load


@dataclass(frozen=True, eq=False)
class PolarsEngine(BatchedEngine):
    """Files that Polars scans."""

    label: ClassVar[str] = "Polars"

    frame: pl.LazyFrame
    sliced: bool = False  # whether any part of the rows can be read by itself, as of Parquet

    @classmethod
    def of(
        cls, frame: pl.LazyFrame, files: Sequence[Path] = (), *, sliced: bool = False
    ) -> PolarsEngine:
        """Return the engine for a lazy frame, whose rows come from some files."""
        names = tuple(frame.collect_schema().names())
        inside = frame.select(pl.nth(at).alias(f"c{at}") for at in range(len(names)))
        return cls(names, inside, tuple(files), len(files) == 1, sliced)

    def in_memory(self, frame: nw.LazyFrame[Any]) -> pl.DataFrame:
        """Return a frame of narwhals in memory; rows stream through and are not kept."""
        lazy: pl.LazyFrame = nw.to_native(frame)
        return lazy.collect(engine="streaming")

    def batches(self, names: Sequence[str], rows: int) -> Iterator[tuple[int, Load]]:
        """Yield the number of the first row of each batch, and what gives some of its columns.

        Rows that stream in are read ahead, as far as memory goes; parts that are read one by one
        are not.
        """
        pairs = [(self.place(name), name) for name in names]
        scanned = self.frame.select(pl.col(one).alias(own) for one, own in pairs)
        if self.sliced:
            for start in range(0, self.records(), rows):
                yield start, scanned.slice(start, rows).collect
            return
        start = 0
        for batch in scanned.collect_batches(chunk_size=rows, engine="streaming"):
            yield start, partial(pl.DataFrame, batch)
            start += len(batch)
