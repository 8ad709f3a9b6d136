"""Why an estimate may mislead: each caution with the figure that shows it and what to do."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from maskmeter.errors import (
    Caution,
    FewUniquesWarning,
    LargeFractionWarning,
    SmallWeightWarning,
    UnevenWeightsWarning,
    UnfitModelWarning,
    WeakFitWarning,
)
from maskmeter.loglinear import LogLinearSearch
from maskmeter.loglinear.model import fit_cautions
from maskmeter.loglinear.search import WEAK, search_cautions
from maskmeter.plurals import counted, plural
from maskmeter.risk.result import UNUSABLE
from maskmeter.risk.sight import Sight

_FEW_UNIQUES = 50
_LARGE_FRACTION = 0.5


def cautions(search: LogLinearSearch, *, uniques: int) -> Iterator[Caution]:
    """Yield the cautions about the estimate of a file's risk."""
    if not uniques:  # no model is needed to say that there is no risk
        return
    if abs(search.goodness.z2) > UNUSABLE:
        yield Caution(UnfitModelWarning, unfit(search.goodness.z2))
    yield from search_cautions(search)
    yield from _fit(search)
    if uniques < _FEW_UNIQUES:
        text = (
            f"The file has only {counted(uniques, 'sample unique')}, too few to test the model."
            " Read the risk as an order of magnitude, or add keys."
        )
        yield Caution(FewUniquesWarning, text)
    yield from _sampling(search)


def weighted_unevenly(sight: Sight, *, told: Collection[str] = ()) -> Iterator[Caution]:
    """Yield the caution that sampling rates differ by a misclassified key, which only weights tell.

    Of keys whose counts are told beside those of the population, the counts tell it too.
    """
    uneven = [name for name in sight.unevenly_weighted if name not in told]
    if uneven:
        text = (
            f"The weights differ between the categories of {' and '.join(uneven)}, which"
            f" {plural(len(uneven), 'was', 'were')} changed, but one sampling fraction"
            " stands for all records: the risk may be too low. Give `fraction` by that key beside the"
            " weights, and do not release weights that tell it."
        )
        yield Caution(UnevenWeightsWarning, text)


def unfit(z2: float) -> str:
    """Return why there is no figure, and what to do."""
    return (
        "The risk is not assessable with these keys: the log-linear model does not fit the file (z2"
        f" is {z2:.1f}; outside -{UNUSABLE:g} to {UNUSABLE:g} the estimate is meaningless). Use fewer"
        " or coarser keys, or give the population counts."
    )


def _fit(search: LogLinearSearch) -> Iterator[Caution]:
    z2 = search.goodness.z2
    if WEAK < abs(z2) <= UNUSABLE and not any(search_cautions(search)):
        flaw, end = ("misses structure", "over") if z2 > 0 else ("overfits the sample", "under")
        what = "mm.search_loglinear or other terms" if search.method == "given" else "coarser keys"
        text = (
            f"z2 is {z2:.1f}, outside -{WEAK} to {WEAK}: the model {flaw} and the risk may be"
            f" {end}stated. Use {what}."
        )
        yield Caution(WeakFitWarning, text)
    for one in {id(one.model): one.model for one in search.weighted}.values():
        yield from fit_cautions(one)


def _sampling(search: LogLinearSearch) -> Iterator[Caution]:
    data = search.nearest.data
    fraction = float(data.inclusion(search.nearest.observed.codes).max())
    if fraction > _LARGE_FRACTION:
        text = (
            f"Up to {fraction:.0%} of the population was sampled, so most of the units that the model"
            " estimates are already in the file. Use mm.exact_risk with population counts if you can."
        )
        yield Caution(LargeFractionWarning, text)
    small = 0 if data.weights is None else int((data.weights < 1).sum())
    if small:
        text = (
            f"{small:,} of {counted(len(data), 'weight')} {plural(small, 'is', 'are')} below 1, but a record"
            " represents at least itself."
            " Check that the weights count units of the population."
        )
        yield Caution(SmallWeightWarning, text)
