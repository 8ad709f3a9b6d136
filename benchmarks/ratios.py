"""Our time against that of each peer, and the floor below which it must not fall.

A ratio is the peer's time over ours, so that more is better. To add a peer, time it in a function
of one of the modules that `run.py` lists, name both times here, and give the ratio a floor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Figures: TypeAlias = Mapping[str, Mapping[str, float]]

FLOORS = Path(__file__).with_name("floors.json")


@dataclass(frozen=True, slots=True)
class Ratio:
    """Some work, a peer that does it, and where the two times are: `figure.value`."""

    work: str
    peer: str
    theirs: str
    ours: str

    def times(self, figures: Figures) -> tuple[float, float]:
        """Return the peer's time and ours."""
        (figure, theirs), (other, ours) = self.theirs.split("."), self.ours.split(".")
        return figures[figure][theirs], figures[other][ours]


_COUNT = "count 14.7 million rows by six keys"
_PRAM = "PRAM of one key of 1.47 million records"
_SWAP = "swap of 20 % of one key of 1.47 million records"
_FIT = "all-two-way fit of 538,560 cells, tau2 to 1e-4"
_SEARCH = "forward search to abs(z2) < 1.96, 538,560 cells"
_NEEDED = "import of numpy, polars and narwhals"

RATIOS = {
    "fit_loglin_sweep": Ratio(
        "a sweep of the all-two-way fit", "R's loglin", "fit_peers.loglin_sweep", "fit_peers.sweep"
    ),
    "fit_loglin": Ratio(
        _FIT, "R's loglin, as many sweeps", "fit_peers.loglin", "fit_peers.seconds"
    ),
    "fit_glum": Ratio(_FIT, "glum", "fit_peers.glum", "fit_peers.seconds"),
    "fit_sklearn": Ratio(
        _FIT, "scikit-learn, newton-cholesky", "fit_peers.sklearn", "fit_peers.seconds"
    ),
    "search_loglin": Ratio(
        _SEARCH, "R's loglin, same rule", "default_estimate.loglin", "forward_search.seconds"
    ),
    "estimate_loglin": Ratio(
        "default estimate with its interval, 538,560 cells",
        "forward search with R's loglin",
        "default_estimate.loglin",
        "default_estimate.seconds",
    ),
    "count_polars": Ratio(_COUNT, "bare Polars", "counting.polars", "counting.seconds"),
    "count_duckdb": Ratio(_COUNT, "bare DuckDB", "counting.duckdb", "counting.seconds"),
    "pram_pandas": Ratio(_PRAM, "pandas with labels", "pram.pandas", "pram.seconds"),
    "pram_numpy": Ratio(_PRAM, "numpy on category codes", "pram.numpy", "pram.seconds"),
    "swap_pandas": Ratio(_SWAP, "pandas with labels", "swap.pandas", "swap.seconds"),
    "swap_numpy": Ratio(_SWAP, "numpy on category codes", "swap.numpy", "swap.seconds"),
    "large_count": Ratio(
        "count 100 million rows by six keys",
        "bare Polars",
        "hundred_million.polars_count",
        "hundred_million.count_seconds",
    ),
    "large_pram": Ratio(
        "draw and write a PRAM of one key of 100 million rows",
        "bare Polars that scans and writes the rows",
        "hundred_million.polars_write",
        "hundred_million.draw_seconds",
    ),
    "large_protect": Ratio(
        "`maskmeter protect`, the same with counts, a check of ids and provenance",
        "bare Polars that scans and writes the rows",
        "hundred_million.polars_write",
        "hundred_million.protect_seconds",
    ),
    "assess_million": Ratio(
        "`maskmeter assess` of 1 million rows with a swap",
        "maskmeter at commit d8889f3",
        "assessments.first_1000000",
        "assessments.ours_1000000",
    ),
    "assess_millions": Ratio(
        "`maskmeter assess` of 5 million rows with a swap",
        "maskmeter at commit d8889f3",
        "assessments.first_5000000",
        "assessments.ours_5000000",
    ),
    "spark_count": Ratio(
        "count 5 million rows by six keys, in Polars",
        "the same in Spark on this machine",
        "engines.spark_count",
        "engines.polars_count",
    ),
    "spark_pram": Ratio(
        "PRAM of one key of 5 million rows, in Polars",
        "the same in Spark on this machine",
        "engines.spark_pram",
        "engines.polars_pram",
    ),
    "import": Ratio("`import maskmeter`", _NEEDED, "imports.plain", "imports.seconds"),
    "import_all": Ratio(
        "`import maskmeter` with every public name", _NEEDED, "imports.plain", "imports.every"
    ),
    "help": Ratio("`maskmeter --help`", _NEEDED, "imports.plain", "imports.help"),
}
# The figures that hold the times.
MEASURED = tuple(
    dict.fromkeys(
        where.split(".")[0] for one in RATIOS.values() for where in (one.theirs, one.ours)
    )
)


def ratios(figures: Figures) -> dict[str, float]:
    """Return every ratio: the peer's time over ours."""
    found = {}
    for name, one in RATIOS.items():
        theirs, ours = one.times(figures)
        found[name] = float(f"{theirs / ours:.4g}")
    return found


def floors() -> dict[str, float]:
    """Return the floor of each ratio."""
    kept: dict[str, Any] = json.loads(FLOORS.read_text(encoding="utf-8"))["floors"]
    return {name: float(one["floor"]) for name, one in kept.items()}


def faults(found: Mapping[str, float], least: Mapping[str, float]) -> list[str]:
    """Return a sentence for each ratio below its floor, and for each that lacks a ratio or a floor."""
    told = [f"{name} has a floor but was not measured." for name in least if name not in found]
    for name, ratio in found.items():
        if name not in least:
            told.append(f"{name} has no floor in {FLOORS.name}.")
        elif ratio < least[name]:
            told.append(
                f"{name} is {ratio:.2f}, below its floor of {least[name]:.2f}:"
                f" {RATIOS[name].work}, against {RATIOS[name].peer}."
            )
    return told
