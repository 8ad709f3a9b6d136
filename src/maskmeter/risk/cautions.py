"""What makes an estimate less good, each with the figure that shows it and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskmeter.errors import (
    ConvergenceWarning,
    FewUniquesWarning,
    LargeFractionWarning,
    ModelWarning,
    SmallWeightWarning,
    WeakFitWarning,
)
from maskmeter.loglinear.search import WEAK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskmeter.loglinear import LoglinearSearch

_FEW_UNIQUES = 50
_LARGE_FRACTION = 0.5


def cautions(search: LoglinearSearch, *, uniques: int) -> Iterator[ModelWarning]:
    """Yield a warning for everything that makes the estimate of a file's risk less good."""
    yield from _fit(search)
    if 0 < uniques < _FEW_UNIQUES:
        message = (
            f"The file has only {uniques} sample uniques: the model can hardly be tested on so"
            " few. Read the risk as an order of magnitude, or add keys."
        )
        yield FewUniquesWarning(message)
    yield from _sampling(search)


def _fit(search: LoglinearSearch) -> Iterator[ModelWarning]:
    z2 = search.goodness.z2
    if abs(z2) > WEAK:
        flaw, end = (
            ("misses structure", "over") if z2 > 0 else ("follows the sample closely", "under")
        )
        message = (
            f"z2 is {z2:.1f}, outside -{WEAK} to {WEAK}: the model {flaw} and the risk is likely"
            f" {end}stated. Use mm.search_loglinear, other terms, or coarser keys."
        )
        yield WeakFitWarning(message)
    if not all(one.model.converged for one in search.weighted):
        off = max(one.model.deviation for one in search.weighted)
        message = (
            f"A fit did not settle: its margins are off by {off:.1e} of the records. Use fewer"
            " terms or coarser keys."
        )
        yield ConvergenceWarning(message)


def _sampling(search: LoglinearSearch) -> Iterator[ModelWarning]:
    data = search.nearest.data
    fraction = float(data.inclusion(search.nearest.observed.codes).max())
    if fraction > _LARGE_FRACTION:
        message = (
            f"Up to {fraction:.0%} of the population was sampled: most of what the model estimates"
            " is in the file already. Use mm.exact_risk with population counts if you can."
        )
        yield LargeFractionWarning(message)
    small = 0 if data.weights is None else int((data.weights < 1).sum())
    if small:
        message = (
            f"{small:,} of {len(data):,} weights are below 1: a record stands at least for itself."
            " Check that the weights count units of the population."
        )
        yield SmallWeightWarning(message)
