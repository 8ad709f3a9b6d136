"""Why an estimate may mislead: each caution with the figure that shows it and what to do."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from maskmeter.errors import (
    Caution,
    FewRecordsWarning,
    FewUniquesWarning,
    HeavyErrorsWarning,
    LargeFractionWarning,
    SmallWeightWarning,
    UnevenWeightsWarning,
    UnfitModelWarning,
    WeakFitWarning,
)
from maskmeter.loglinear import FileModel, LogLinearSearch, ShrunkLogLinear
from maskmeter.loglinear.model import fit_cautions
from maskmeter.loglinear.search import WEAK, search_cautions
from maskmeter.plurals import counted, plural
from maskmeter.risk.result import UNUSABLE
from maskmeter.risk.sight import Sight

_FEW_UNIQUES = 50
_LARGE_FRACTION = 0.5
_LARGE_Z2 = 3.0  # of an empirical-Bayes model
_LOW_Z2 = 2.5  # the same below 0, where z2 is about -0.6 with a spread of 1 if the model holds
_FEW_RECORDS = 3_000
_LOST = 0.25  # of the differences between categories, that a matrix leaves of one at least
_LARGEST_MATRIX = 300  # categories of a factor whose matrix is looked at


def cautions(model: FileModel, *, uniques: int) -> Iterator[Caution]:
    """Yield the cautions about the estimate of a file's risk."""
    if not uniques:  # no model is needed to say that there is no risk
        return
    if abs(model.goodness.z2) > UNUSABLE:
        yield Caution(UnfitModelWarning, unfit(model.goodness.z2))
    yield from _shrunk(model) if isinstance(model, ShrunkLogLinear) else _searched(model)
    if uniques < _FEW_UNIQUES:
        text = (
            f"The file has only {counted(uniques, 'sample unique')}, too few to test the model."
            " Read the risk as an order of magnitude, or add keys."
        )
        yield Caution(FewUniquesWarning, text)
    yield from _sampling(model)


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


def too_much_error(sight: Sight) -> Iterator[Caution]:
    """Yield the caution that a key was recorded with so much error that its true counts are lost."""
    for factor in sight.mechanism.factors:
        if factor.size > _LARGEST_MATRIX:
            continue
        least = float(np.linalg.svd(factor.P, compute_uv=False).min())
        if least < _LOST:
            text = (
                f"{factor.name!r} was recorded with so much error that little is left to tell its true"
                " counts: the risk may be far too high. Give the population counts, or leave the key"
                " out of those that an intruder knows."
            )
            yield Caution(HeavyErrorsWarning, text)


def unfit(z2: float) -> str:
    """Return why there is no figure, and what to do."""
    return (
        "The risk is not assessable with these keys: the log-linear model does not fit the file (z2"
        f" is {z2:.1f}; outside -{UNUSABLE:g} to {UNUSABLE:g} the estimate is meaningless). Use fewer"
        " or coarser keys, or give the population counts."
    )


def _shrunk(model: ShrunkLogLinear) -> Iterator[Caution]:
    """Yield the cautions about the fit of the empirical-Bayes model."""
    z2, records = model.goodness.z2, model.observed.size
    if _LARGE_Z2 < z2 <= UNUSABLE:
        text = (
            f"z2 is {z2:.1f}, above {_LARGE_Z2:g}: the model misses structure, such as dependence"
            " between four keys, and the risk is likely overstated. Use coarser keys, or give the"
            " population counts."
        )
        yield Caution(WeakFitWarning, text)
    if -UNUSABLE <= z2 < -_LOW_Z2:
        text = (
            f"z2 is {z2:.1f}, below -{_LOW_Z2:g}: keys depend on each other in ways that the model spreads"
            " over too many cells, and the risk is likely understated; the upper end of the interval"
            ' allows for it. Compare model="score-path", or use fewer or coarser keys.'
        )
        yield Caution(WeakFitWarning, text)
    elif records < _FEW_RECORDS and z2 < 0:
        text = (
            f"The file has {counted(records, 'record')}, fewer than {_FEW_RECORDS:,}, and z2 is"
            f" {z2:.1f}: the risk is likely understated, by up to a fifth where keys depend on each"
            " other strongly. Use fewer or coarser keys, or give the population counts."
        )
        yield Caution(FewRecordsWarning, text)


def _searched(search: LogLinearSearch) -> Iterator[Caution]:
    """Yield the cautions about the fit of searched or given models."""
    yield from search_cautions(search)
    z2 = search.goodness.z2
    if WEAK < abs(z2) <= UNUSABLE and not any(search_cautions(search)):
        flaw, end = ("misses structure", "over") if z2 > 0 else ("overfits the sample", "under")
        what = "mm.shrink_loglinear or other terms" if search.method == "given" else "coarser keys"
        text = (
            f"z2 is {z2:.1f}, outside -{WEAK} to {WEAK}: the model {flaw} and the risk may be"
            f" {end}stated. Use {what}."
        )
        yield Caution(WeakFitWarning, text)
    for one in {id(one.model): one.model for one in search.weighted}.values():
        yield from fit_cautions(one)


def _sampling(model: FileModel) -> Iterator[Caution]:
    data = model.nearest.data
    fraction = float(data.inclusion(model.nearest.observed.codes).max())
    if fraction > _LARGE_FRACTION:
        text = (
            f"Up to {fraction:.0%} of the population was sampled, so most of the units that the model"
            " estimates are already in the file. Use mm.exact_risk with population counts if you can."
        )
        yield Caution(LargeFractionWarning, text)
    small = 0 if data.weights is None else data.records_in(data.weights < 1)
    if small:
        text = (
            f"{small:,} of {counted(len(data), 'weight')} {plural(small, 'is', 'are')} below 1, but a record"
            " represents at least itself."
            " Check that the weights count units of the population."
        )
        yield Caution(SmallWeightWarning, text)
