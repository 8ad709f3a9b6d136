"""Risk when only the sample is known: section 3 of Shlomo and Skinner (2010), and beyond."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from maskmeter.checks import check_choice, check_whole
from maskmeter.data.microdata import Microdata
from maskmeter.errors import InputError, ModelWarning, without_warnings
from maskmeter.loglinear import LogLinear, LoglinearSearch, search_loglinear
from maskmeter.perturb import Release
from maskmeter.risk.assessed import Assessed, Method
from maskmeter.risk.cautions import cautions
from maskmeter.risk.interval import Z, bootstrap_errors, standard_error
from maskmeter.risk.result import EstimatedRisk
from maskmeter.risk.uniques import Errors, check_data, check_possible, known_mechanism
from maskmeter.streams import RandomSource, seed_of
from maskmeter.types import Array

Model: TypeAlias = LogLinear | LoglinearSearch | None

Interval = Literal["model", "bootstrap", "none"]

_FEWEST_REPLICATIONS = 10
_COUNTS: dict[Method, Literal["original", "released"]] = {
    "expected": "original",
    "paper": "released",
    "em": "released",
}


def estimate_risk(
    data: Release | Microdata,
    model: Model = None,
    *,
    method: Method | None = None,
    misclassification: Errors = None,
    interval: Interval = "model",
    household: str | None = None,
    replications: int = 100,
    rng: RandomSource = 0,
) -> EstimatedRisk:
    """Return the risk of a file whose population is not known, by a log-linear model of its keys.

    Parameters
    ----------
    data
        A release, or a sample as it was recorded.
    model
        From `mm.search_loglinear` or `mm.fit_loglinear`; without one the default search is made.
    method
        "expected", the default for a release: the exact risk (2.4) to expect given the original
        sample. "paper": the model of the released counts, times the chance to stay in the cell;
        the default for a file recorded with error. "em": the original counts are estimated from
        the released ones, then as "expected" with Poisson cells. A model decides if it is given
        without a method.
    misclassification
        For a file that was recorded with error: what is known about the errors. Those of a release
        come before its own misclassification.
    interval
        "model" for the approximate 95 % interval by the model's variances, "bootstrap" for one by
        `replications` whole searches on samples from the model (`rng` seeds them), or "none".
    household
        A column of the file that names households, to also get the risk of each.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=100_000)
    >>> people = mm.bernoulli_sample(census, fraction=0.1, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.1)
    >>> risk = mm.estimate_risk(sample)
    >>> round(risk.total), round(mm.exact_risk(sample, mm.count(census, keys=sample.space)).total)
    (168, 186)
    """
    check_data(data)
    check_choice(interval, Interval, name="interval")
    check_whole(replications, name="replications", least=_FEWEST_REPLICATIONS)
    assessed = _assessed(data, model, method, misclassification)
    if household is not None:
        assessed.released.column(household)  # refused before the work, if at all
    search = _searched(model, assessed)
    parts = [assessed.risk(one.model, one.phi) for one in search.weighted]
    shares = [one.weight for one in search.weighted]
    by_record = np.average(parts, axis=0, weights=shares)[assessed.table.place]
    risk = _result(assessed, search, by_record, household)
    if isinstance(data, Release):
        risk = replace(risk, unprotected=data.original.uniques)
    for caution in risk.cautions:
        warnings.warn(caution, stacklevel=2)
    if interval == "none" or not risk.uniques:
        return risk if interval == "none" else risk.with_interval(0.0, 0.0)
    if interval == "bootstrap":
        return risk.with_interval(*_bootstrapped(risk, replications, seed_of(rng)))
    return risk.with_interval(*_modelled(risk, assessed, parts))


def _assessed(
    data: Release | Microdata, model: Model, method: Method | None, errors: Errors
) -> Assessed:
    """Return the file with the method that is asked for, or that its model or its kind suggest."""
    released, original, mechanism = known_mechanism(data, errors)
    if method is None:
        known = original is not None
        if known and isinstance(data, Release) and isinstance(model, LogLinear | LoglinearSearch):
            nearest = model.nearest if isinstance(model, LoglinearSearch) else model
            known = nearest.data == original or nearest.data != released
        method = "expected" if known else "paper"
    check_choice(method, Method, name="method")
    if method == "expected" and original is None:
        raise InputError(
            'Method "expected" needs the true keys of the sample, which are unknown when it was'
            ' recorded with error. Use method="paper" or method="em".'
        )
    if original is None:
        check_possible(released, mechanism)
    fitted = original if method == "expected" and original is not None else released
    return Assessed(released, fitted, mechanism, method)


def _searched(model: object, assessed: Assessed) -> LoglinearSearch:
    """Return the models to use, which must describe the counts that the method needs."""
    fitted, wanted = assessed.fitted, _COUNTS[assessed.method]
    if model is None:
        with without_warnings(ModelWarning):  # what it warns of is among the cautions
            return search_loglinear(fitted, counts=wanted)
    if isinstance(model, LogLinear):
        model = LoglinearSearch.of(model)
    if not isinstance(model, LoglinearSearch):
        raise InputError(
            "Give a model from mm.search_loglinear or mm.fit_loglinear, not a"
            f" {type(model).__name__}."
        )
    if model.nearest.data is not fitted and model.nearest.data != fitted:
        raise InputError(
            f"The model was not fitted to the {wanted} counts of this file, which method"
            f' "{assessed.method}" needs. Fit it to this file with counts="{wanted}", or leave'
            " `model` out."
        )
    return model


def _result(
    assessed: Assessed, search: LoglinearSearch, by_record: Array, household: str | None
) -> EstimatedRisk:
    changed = bool(assessed.mechanism.factors)
    return EstimatedRisk(
        f"Estimated risk ({assessed.method})" if changed else "Estimated risk",
        assessed.released,
        assessed.records,
        by_record[assessed.records],
        without_target=0,
        ruled=True,
        assumptions=(
            "misclassification matrix known" if changed else "nothing misclassified",
            "population counts follow the model",
            "the intruder does not know who is in the sample",
        ),
        search=search,
        method=assessed.method,
        every=by_record,
        tau1=search.tau1,
        tau2=search.tau2,
        cautions=(*cautions(search, uniques=len(assessed.records)), *assessed.cautions),
        household=household,
    )


def _modelled(risk: EstimatedRisk, assessed: Assessed, parts: list[Array]) -> tuple[float, float]:
    """Return [min, max] of nearest model, A and B, widened by the nearest model's standard error.

    After misclassification the standard error is scaled as the estimate is.
    """
    search, unique = risk.search, assessed.table.records == 1
    totals = [float(part[unique].sum()) for part in parts]
    ends = []
    for estimate in ("A", "B"):
        chosen = [i for i, one in enumerate(search.weighted) if one.estimate == estimate]
        if chosen:
            weights = [search.weighted[i].weight for i in chosen]
            ends.append(float(np.average([totals[i] for i in chosen], weights=weights)))
    known = {
        id(one.model): t for one, t in zip(search.weighted, totals, strict=True) if not one.phi
    }
    if id(search.nearest) in known:
        ends.append(known[id(search.nearest)])
    else:
        ends.append(float(assessed.risk(search.nearest, 0.0)[unique].sum()))
    half = _scaled(Z * standard_error(search.nearest), risk)
    return min(ends) - half, max(ends) + half


def _bootstrapped(risk: EstimatedRisk, replications: int, seed: int) -> tuple[float, float]:
    """Return the estimate with the root mean square error of whole searches on drawn samples."""
    if risk.search.method == "given":
        raise InputError(
            'interval="bootstrap" repeats the model search. Give a model from mm.search_loglinear,'
            " or none: a fixed model would make the interval far too short."
        )
    errors = bootstrap_errors(risk.search, replications=replications, seed=seed)
    half = _scaled(Z * float(np.hypot(errors.mean(), errors.std())), risk)
    return risk.total - half, risk.total + half


def _scaled(half: float, risk: EstimatedRisk) -> float:
    """Return a half-width for tau2 as one for the adjusted total, which is smaller or larger."""
    return half * risk.total / risk.tau2 if risk.tau2 else half
