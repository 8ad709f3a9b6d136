"""Engines: where records stay that are not held in memory. Polars, DuckDB and Spark."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from maskmeter.data.engines.engine import (
    COUNT,
    FIRST,
    BatchMap,
    BatchRewrite,
    Engine,
    Tally,
    Written,
)

__all__ = [
    "COUNT",
    "FIRST",
    "BatchMap",
    "BatchRewrite",
    "Engine",
    "Tally",
    "Written",
    "engine_of",
]


def engine_of(frame: Any) -> Engine | None:
    """Return the engine that holds a frame of narwhals; None for those that are read into memory."""
    if not isinstance(frame, nw.LazyFrame):
        return None
    if frame.implementation.is_duckdb():
        from maskmeter.data.engines.duckdb import DuckDBEngine

        return DuckDBEngine.of(nw.to_native(frame))
    if frame.implementation.is_pyspark():
        from maskmeter.data.engines.spark import SparkEngine

        return SparkEngine.of(nw.to_native(frame))
    return None
