"""Measure log-linear models: fits, searches and the default estimate."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import maskmeter as mm
from peers import in_r
from samples import KEY_SIZES, linked_keys, paper_sized
from timing import Values, best


def fit_all_two_way() -> Values:
    """Time of the all-two-way fit, tau2 within 1e-3 of its limit (hold 0.5 s)."""
    import numpy as np

    sample, _ = paper_sized()
    taken = best(lambda: mm.fit_loglinear(sample, "all-two-way"), times=3)
    model = mm.fit_loglinear(sample, "all-two-way")
    limit = mm.fit_loglinear(sample, "all-two-way", tolerance=1e-9).taus()[1]
    off = abs(model.taus()[1] / limit - 1)
    targets = [(term, model.observed.margin(term)) for term in model.means.generators]
    table: Any = np.ones(sample.space.sizes)

    def dense_sweep() -> None:
        for term, target in targets:
            others = tuple(axis for axis in range(table.ndim) if axis not in term)
            margin = table.sum(axis=others, keepdims=True)
            scale = target.reshape(margin.shape) / np.maximum(margin, 1e-300)
            np.multiply(table, scale, out=table)

    dense = best(dense_sweep, times=3)
    return {
        "seconds": taken,
        "sweeps": model.sweeps,
        "ratio": taken / model.sweeps / dense,
        "off": off,
    }


def default_estimate() -> Values:
    """Time of the default estimate with its interval, over that of the score path and of R's loglin.

    Hold: at most the time of the score path, and a tenth of a forward search with loglin, all in
    one run.
    """
    sample, _ = paper_sized()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        ours = best(lambda: mm.estimate_risk(sample))
        path = best(lambda: mm.estimate_risk(sample, "score-path"))
    loglin, fits, _ = in_r("loglin_search.R", sample)
    return {
        "seconds": ours,
        "over_path": ours / path,
        "loglin": loglin,
        "fits": fits,
        "over_loglin": ours / loglin,
    }


def search() -> Values:
    """Time of the score path (hold 1 s)."""
    sample, _ = paper_sized()
    return {"seconds": best(lambda: mm.search_loglinear(sample), times=3)}


def forward_search() -> Values:
    """Time of the paper's search to abs(z2) < 1.96 (42 fits; R's loglin takes 10 s: hold 1 s)."""
    sample, _ = paper_sized()
    short = partial(mm.search_loglinear, sample, method="forward", enough=1.96)
    whole = partial(mm.search_loglinear, sample, method="forward")
    return {"seconds": best(short, times=3), "to_the_end": best(whole, times=2)}


def many_keys() -> Values:
    """Time of the score path and of the default estimate with 12 to 40 keys, and of drop-one.

    Hold, with 15,000 and with 200,000 records: 5 s up to 20 keys, 30 s with 40.
    """
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        for number in (12, 20, 30, 40):
            for records in (15_000, 200_000):
                data, name = linked_keys(KEY_SIZES[:number], records), f"{number}_{records}"
                found[f"search{name}"] = best(partial(mm.search_loglinear, data), times=1)
                found[f"estimate{name}"] = best(partial(mm.estimate_risk, data), times=1)
        data = linked_keys(KEY_SIZES[:15], 100_000)
        found["drop_one"] = best(partial(mm.risk_by_keys, data, subsets="drop-one"), times=1)
    return found
