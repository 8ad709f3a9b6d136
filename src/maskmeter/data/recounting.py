"""Records in an engine, counted again after a change, or collected for steps that need everybody."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from maskmeter.data.at_source import AtSource, CellPairs, RecordChange, RecordCodes
from maskmeter.data.engines import COUNT, FIRST, Engine
from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.data.source import Source
from maskmeter.errors import InputError


class Recounted(NamedTuple):
    """The same records three times, row by row: the truth, and before and after a change."""

    truth: Microdata
    before: Microdata
    after: Microdata

    @property
    def moved(self) -> int:
        """Number of records with other codes after the change."""
        return self.after.records_in((self.before.codes != self.after.codes).any(axis=1))


def parts_at_source(data: Microdata) -> tuple[Engine, AtSource]:
    """Return the engine that holds the records of a file, and how they are encoded there."""
    source, at = data.source, data.at_source
    if source is None or source.engine is None or at is None:
        raise InputError("These records do not stay in an engine.")
    source.check_unchanged()
    return source.engine, at


def recounted(data: Microdata, truth: Microdata, change: RecordChange) -> Recounted:
    """Return the counts of records in an engine after one more change."""
    engine, at = parts_at_source(data)
    at = replace(at, first=None)  # workers need no ids of others
    after = at.then(change)
    cells = CellPairs(at, after, data.space)
    found = engine.counted_with(cells.work)
    first = found[FIRST] if FIRST in found.columns else None
    after = replace(after, first=first)
    times, weights = found[COUNT].to_numpy(), None
    if at.weights is not None:
        weights = at.scaled(at.weights.weights(found["weights"]))

    also = {
        name: replace(column, codes=found[place].to_numpy())
        for (name, column), place in zip(data.also.items(), cells.also, strict=True)
    }

    def held(one: Microdata, kind: str) -> Microdata:
        return replace(
            one,
            codes=cells.codes_of(found, kind),
            times=times,
            weights=weights,
            also=also,
            source_codes=None,
            at_source=after,
        )

    return Recounted(held(truth, "t"), held(data, "b"), held(data, "a"))


def collected(data: Microdata, also: tuple[str, ...] = ()) -> tuple[Microdata, Codes]:
    """Return all records of an engine in memory, with their numbers and present codes; and true codes.

    Of other columns they have those in `also`.
    """
    engine, at = parts_at_source(data)
    if data.source is not None:
        data.source.check_names(also)
    named = tuple(dict.fromkeys((*also, *([] if at.weights is None else [at.weights.name]))))
    found = engine.columns_with(RecordCodes(at, data.space, named).work)
    words = sum(name[0] == "t" for name in found.columns)
    present, true = (
        data.space.from_words([found[f"{kind}{word}"].to_numpy() for word in range(words)])
        for kind in "at"
    )
    numbers = found["number"].to_numpy().view(np.uint64)
    own = found.select(pl.col(f"also {name}").alias(name) for name in named)
    held = Microdata(
        data.space,
        present,
        data.fraction,
        None if at.weights is None else at.scaled(at.weights.weights(own[at.weights.name])),
        data.codebook,
        Source.of(own) if named else None,
        reading=data.reading,
        ids=numbers,
    )
    return held, true
