"""Measure PRAM and swapping."""

from __future__ import annotations

from functools import partial
from typing import Any

import maskmeter as mm
from samples import whole_census
from timing import Values, best, best_of_each


def pram() -> Values:
    """Time of PRAM of one key of 1.47 million records (hold 0.1 s)."""
    from by_hand import pram_in_numpy, pram_in_pandas

    data, column = whole_census(), mm.synthetic_census()["lad"].to_pandas()
    return best_of_each(
        {
            "seconds": lambda: mm.Pram("lad", stay=0.8).apply(data, rng=1),
            "pandas": lambda: pram_in_pandas(column, stay=0.8, seed=1),
            "numpy": lambda: pram_in_numpy(column, stay=0.8, seed=1),
        }
    )


def swap() -> Values:
    """Time of swapping one key of 1.47 million records (hold 2 s)."""
    from by_hand import swap_in_numpy, swap_in_pandas

    data, column = whole_census(), mm.synthetic_census()["lad"].to_pandas()
    steps = {
        "seconds": mm.Swap("lad", 0.2),
        "of_sex": mm.Swap("sex", 0.2),
        "within": mm.Swap("lad", 0.2, within=("age", "sex", "marital")),
        "all": mm.Swap("lad", 1.0),
    }
    ours = {name: partial(step.apply, data, rng=1) for name, step in steps.items()}
    return best_of_each(
        {
            **ours,
            "pandas": lambda: swap_in_pandas(column, rate=0.2, seed=1),
            "numpy": lambda: swap_in_numpy(column, rate=0.2, seed=1),
        }
    )


def streamed_pram() -> Values:
    """Time of PRAM of 100 million records, in parts, against a bare numpy alias draw (hold 2x)."""
    import numpy as np

    size, part, parts = 11, 1_000_000, 100
    space = mm.KeySpace([mm.Key("lad", range(size))])
    codes: Any = np.random.default_rng(1).integers(0, size, (part, 1), dtype=np.uint8)
    mechanism = mm.Pram("lad", stay=0.8).mechanism(mm.KeyTable.of(space, codes))

    def ours() -> None:
        for start in range(0, part * parts, part):
            mechanism.draw(codes, rng=1, start=start)

    keep, other = mechanism.factors[0].alias.keep, mechanism.factors[0].alias.other

    def bare() -> None:
        rng = np.random.default_rng(1)
        for _ in range(parts):
            scaled = rng.random(part) * size
            column = scaled.astype(np.int64)
            place = codes[:, 0].astype(np.int64) * size + column
            np.where(scaled - column < keep[place], column, other[place]).astype(np.uint8)

    reference, taken = best(bare, times=1), best(ours, times=1)
    return {"seconds": taken, "ratio": taken / reference}
