"""Finding the release that costs least among those that meet a target of risk."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from maskmeter.checks import Progress, check_progress, shown
from maskmeter.data.microdata import Microdata, check_microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import InputError, TargetWarning, warn
from maskmeter.loglinear import DEFAULT_MODEL
from maskmeter.perturb import Release
from maskmeter.risk.models import Model
from maskmeter.risk.target import Target
from maskmeter.risk.view import Errors, Known, views
from maskmeter.riskutility.assessor import (
    Assessor,
    Measure,
    Steps,
    Tables,
    altered_keys,
    carried_columns,
)
from maskmeter.riskutility.choice import FoundRelease
from maskmeter.riskutility.comparison import check_candidates
from maskmeter.riskutility.family import Family
from maskmeter.riskutility.riskmap import UNCHANGED
from maskmeter.riskutility.search import found_release
from maskmeter.streams import RandomSource, seed_of


def find_release(
    data: Microdata,
    *,
    target: Target,
    family: Family | None = None,
    candidates: Mapping[str, Steps | Release] | None = None,
    known: Known = None,
    population: KeyTable | None = None,
    misclassification: Errors = None,
    loss: Tables = None,
    measure: Measure = "worst",
    model: Model = DEFAULT_MODEL,
    rng: RandomSource = None,
    progress: Progress | None = None,
) -> FoundRelease:
    """Return the useful release with the least information loss whose risk meets a target.

    The file as it is comes first. A `family` is searched for the lowest rate of each of its methods
    that meets the target, up to the rate where a release is no longer useful (a loss over 50, or
    over half of the records changed in a key); `candidates` are each tried once. With neither,
    records whose other keys are rare exchange a key (`mm.Redraw`): every key that may reach the
    target is searched, and two together if none will do. Where no useful release meets the target
    the nearest one is returned, with a warning that says what binds.

    Parameters
    ----------
    target
        How much risk is allowed, such as `mm.Target(max_share=0.05)`.
    known, population, misclassification, loss, measure, model, progress
        As for `mm.compare`; the strongest associations of each changed key always count.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=50_000)
    >>> population = mm.count(census, keys=["lad", "age", "ethnicity"])
    >>> people = mm.bernoulli_sample(census, fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=population.space, fraction=0.05)
    >>> target = mm.Target(max_share=0.15)
    >>> family = mm.Family("lad", methods=("swap",), target="ethnicity")
    >>> swap = mm.find_release(sample, target=target, family=family, population=population, rng=1)
    >>> redraw = mm.find_release(sample, target=target, population=population, rng=1)
    >>> swap.label, redraw.label
    ('targeted swap 9%', 'redraw lad < 39.1')
    """
    if not isinstance(target, Target):
        raise InputError(f"`target` must be an mm.Target, not {shown(target)}.")
    check_microdata(data)
    check_progress(progress)
    if family is not None and candidates is not None:
        raise InputError(
            "Give a `family` to search, or `candidates` to choose from, or neither, but not both."
        )
    if family is not None and not isinstance(family, Family):
        raise InputError(f"`family` must be an mm.Family, not {shown(family)}.")
    if candidates is not None:
        check_candidates(candidates, UNCHANGED)
    if family is not None:
        data.space.index(family.key)
    changed = family.altered_keys if family else altered_keys(data, (candidates or {}).values())
    seen = views(data, known, counts=population, errors=misclassification, model=model)
    found = found_release(
        Assessor.of(
            data,
            seen,
            changed,
            loss=loss,
            measure=measure,
            carried=carried_columns((candidates or {}).values()),
        ),
        target,
        family=family,
        candidates=candidates,
        seed=seed_of(rng),
        progress=progress,
    )
    if not found.met and found.verdict != "not assessable":  # that is among the cautions
        warnings.warn(found.summary(), TargetWarning, stacklevel=2)
    warn(found.tried.cautions)
    return found
