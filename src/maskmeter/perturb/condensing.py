"""A release of many records as counts: every figure is the same, and takes less time and memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from maskmeter.data.microdata import Microdata
from maskmeter.perturb.release import Release
from maskmeter.types import Integers


def condensed(release: Release) -> Release:
    """Return a release with a row for each combination of true and released keys and weight.

    Its records are those of the file, so that risks can be told for each of them. Tables of loss by
    other columns need the whole release.

    >>> import maskmeter as mm
    >>> sample = mm.read(mm.synthetic_census(size=20_000), keys=["lad", "sex"], fraction=0.1)
    >>> few = condensed(mm.Swap("lad", rate=0.2).apply(sample, rng=1))
    >>> len(few.released), len(few.released.codes) < 500
    (20000, True)
    """
    truth, released, original = release.truth, release.released, release.original
    rows, times = _combinations(truth, released)
    true, after = (_counted(one, rows, times, held=one) for one in (truth, released))
    if released is truth:
        after = true
    if truth is original:
        before = true
    else:
        before = _counted(original, *_combinations(original), held=original)
    # What was kept of the original is in the counts.
    return replace(release, original=before, truth=true, released=after, kept=None)


def _combinations(*files: Microdata) -> tuple[Integers, Integers]:
    """Return a row of each combination that the same records have in some files, and its records."""
    words = [word for one in files for word in one.space.words(one.codes)]
    columns: dict[str, Any] = {str(at): word for at, word in enumerate(words)}
    weights = files[0].weights
    if weights is not None:
        columns["weights"] = weights
    rows = pl.DataFrame(columns).with_row_index("row")
    found = rows.group_by(list(columns)).agg(pl.col("row").min(), pl.len()).sort("row")
    return found["row"].to_numpy().astype(np.int64), found["len"].to_numpy().astype(np.int64)


def _counted(data: Microdata, rows: Integers, times: Integers, *, held: Microdata) -> Microdata:
    """Return some rows of a file, each of which stands for several records that are `held`."""
    return replace(
        data,
        codes=data.codes[rows],
        weights=None if data.weights is None else data.weights[rows],
        times=times,
        source=None,
        source_codes=None,
        rows=None,
        carried={},
        ids=None,
        held=held,
    )
