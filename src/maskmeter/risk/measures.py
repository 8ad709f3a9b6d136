"""The measures of risk that users call: arguments are checked, cautions become warnings."""

from __future__ import annotations

from typing import TypeVar

from maskmeter.checks import check_choice, check_whole
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import InputError, warn
from maskmeter.loglinear import DEFAULT_MODEL, LogLinear, LogLinearSearch, ShrunkLogLinear
from maskmeter.perturb import Release
from maskmeter.risk import known
from maskmeter.risk.estimation import Bootstrap, Interval, check_method, estimate
from maskmeter.risk.intruder import EXACT_MATCH, InclusionBy, Intruder
from maskmeter.risk.known import Formula, InSampleFormula, ReleasedCounts
from maskmeter.risk.models import Model, named
from maskmeter.risk.released_cells import Method, ReleasedCells, fitted_file
from maskmeter.risk.result import EstimatedRisk, Risk
from maskmeter.risk.sight import Sight
from maskmeter.risk.view import Errors, View
from maskmeter.streams import RandomSource, seed_of

RiskT = TypeVar("RiskT", bound=Risk)
_FEWEST_REPLICATIONS = 10


def exact_risk(
    data: Release | Microdata,
    population: KeyTable,
    *,
    intruder: Intruder = EXACT_MATCH,
    inclusion: InclusionBy = "true",
    misclassification: Errors = None,
) -> Risk:
    """Return the probability that a unique match is right, eq. (2.4), and its sum tau, eq. (2.8).

    A plain sample without misclassification gives 1 / F_j and its sum tau*.

    Parameters
    ----------
    data
        A release, or a sample as it was recorded.
    population
        Counts of the true keys in the population, from `mm.count`.
    intruder
        "exact-match" claims a match when exactly one record agrees: that is (2.4). "informed" knows
        the method and its rates, and names the likeliest person for each unique record.
    inclusion
        Whose fraction counts where it differs by a misclassified key: that of the "true" cell (the
        sample was drawn before keys were misclassified), or of the "recorded" one, as (2.4) has it.
        Where a matrix was fitted to the counts of the sample (a swap, invariant PRAM), "true" has
        the share of each category that was sampled, by its strata, in place of the fraction.
    misclassification
        For a file that was recorded with error: what is known about the errors. Those of a release
        come before its own misclassification.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"age": [1, 1, 1, 2, 2, 3], "sex": ["f", "m", "m", "f", "f", "m"]})
    >>> population = mm.count(people, keys=["age", "sex"])
    >>> sample = mm.read(people[[0, 3]], keys=population.space, fraction=1 / 3)
    >>> mm.exact_risk(sample, population).by_unique
    array([1. , 0.5])
    """
    check_choice(intruder, Intruder, name="intruder")
    view = _counted(data, population, misclassification, inclusion)
    return _told(known.exact(view.uniques, intruder))


def approximate_risk(
    data: Release | Microdata,
    population: KeyTable,
    *,
    formula: Formula = "2.5",
    released_counts: ReleasedCounts = "expected",
    misclassification: Errors = None,
    rng: RandomSource = None,
) -> Risk:
    """Return one of the paper's approximations to the exact risk.

    All need the population's released counts F~_j: "expected" under the misclassification, or
    "realised" by misclassifying once all units outside the sample (this takes `rng`).

    Parameters
    ----------
    formula
        "2.5" for small sampling fractions, "2.6" and "2.7" for small misclassification.
        "2.6 released" has F~_j wherever (2.6) has F_j: with it the paper's first table was
        computed, as its rows (2.5) and (2.6) show for swaps at random.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"age": [1, 1, 1, 2, 2, 3]})
    >>> population = mm.count(people, keys=["age"])
    >>> sample = mm.read(people[[0, 3]], keys=population.space, fraction=1 / 3)
    >>> errors = mm.Misclassification({"age": [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]})
    >>> mm.approximate_risk(sample, population, misclassification=errors).by_unique.round(4)
    array([0.2963, 0.4   ])
    """
    check_choice(formula, Formula, name="formula")
    check_choice(released_counts, ReleasedCounts, name="released_counts")
    view = _counted(data, population, misclassification)
    return _told(known.approximate(view.uniques, formula, released_counts, rng))


def correctly_classified_risk(data: Release | Microdata, population: KeyTable) -> Risk:
    """Return 1 / F_j for sample uniques that were not changed, eq. (2.9): tau*_CC is the total.

    It needs the truth, so it takes a release (or a sample that was recorded without error).

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"age": [1, 1, 1, 2, 2, 3]})
    >>> population = mm.count(people, keys=["age"])
    >>> sample = mm.read(people[[0, 3]], keys=population.space, fraction=1 / 3)
    >>> moved = sample.with_codes([[0], [2]])
    >>> release = mm.Release(sample, moved, {"age": mm.stay_or_move(3, stay=0.8)})
    >>> mm.correctly_classified_risk(release, population).by_unique.round(4)
    array([0.3333, 0.    ])
    """
    return _told(known.correctly_classified(_counted(data, population, None).uniques))


def in_sample_risk(data: Release | Microdata, *, formula: InSampleFormula = "2.2") -> Risk:
    """Return the risk from an intruder who knows that the target is in the sample.

    "2.2" is the measure of Gouweleeuw et al.; "2.4" the exact risk with pi_j = 1 and the original
    sample in place of the population. Both need the original sample, so they take a release (or a
    sample that was recorded without error).

    >>> import polars as pl, maskmeter as mm
    >>> sample = mm.read(pl.DataFrame({"age": [1, 2]}), keys=["age"])
    >>> release = mm.Release(sample, sample, {"age": mm.stay_or_move(2, stay=0.8)})
    >>> mm.in_sample_risk(release, formula="2.2").by_unique
    array([0.8, 0.8])
    """
    check_choice(formula, InSampleFormula, name="formula")
    return known.in_sample(View.of(data).sight, formula)


def estimate_risk(
    data: Release | Microdata,
    model: Model = DEFAULT_MODEL,
    *,
    method: Method | None = None,
    intruder: Intruder = EXACT_MATCH,
    inclusion: InclusionBy = "true",
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
        "shrunk", the default: the empirical-Bayes model of all margins (`mm.shrink_loglinear`).
        "score-path" or "forward": models that a search finds (`mm.search_loglinear`). Or a model
        that was fitted already, also by `mm.fit_loglinear`. Beyond 50 million cells "shrunk" gives
        way to the score path, and the result says so.
    method
        "expected", the default for a release: the exact risk (2.4) to expect given the original
        sample. "em", the default for a file recorded with error: the original counts are estimated
        from the released ones, then as "expected" with Poisson cells. "paper": the model of the
        released counts, times the chance to stay in the cell; it knows no informed intruder. A
        model of a release's released counts that is given without a method makes it "paper".
    intruder, inclusion
        As for `mm.exact_risk`.
    misclassification
        For a file that was recorded with error: what is known about the errors. Those of a release
        come before its own misclassification.
    interval
        "model" for the approximate 95 % interval by the model's variances, "bootstrap" for one by
        `replications` whole estimates on samples from the model (`rng` seeds them), or "none".
    household
        A column of the file that names households, to also get the risk of each.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=100_000)
    >>> people = mm.bernoulli_sample(census, fraction=0.1, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.1)
    >>> risk = mm.estimate_risk(sample)
    >>> round(risk.total), round(mm.exact_risk(sample, mm.count(census, keys=sample.space)).total)
    (169, 186)
    """
    check_choice(interval, Interval, name="interval")
    check_whole(replications, name="replications", least=_FEWEST_REPLICATIONS)
    check_choice(intruder, Intruder, name="intruder")
    name = named(model)
    view = View.of(
        data, errors=misclassification, sampled_by=inclusion, model=name or DEFAULT_MODEL
    )
    sight = view.sight
    if household is not None:
        sight.released.groups(household)  # refused before the work, if at all
    chosen = _method(sight, model) if method is None else method
    check_choice(chosen, Method, name="method")
    check_method(sight, chosen, intruder)
    if name is None:
        used = view.models.take(model, sight, chosen)
    else:
        used = view.models.for_file(fitted_file(sight, chosen))
    if interval == "bootstrap" and used.method == "given":
        raise InputError(
            'interval="bootstrap" repeats how the model was found. Give a model from'
            " mm.shrink_loglinear or mm.search_loglinear, or none: fixed terms would make the interval"
            " far too short."
        )
    return _told(
        estimate(
            ReleasedCells(sight, chosen, inclusion),
            used,
            intruder=intruder,
            household=household,
            interval=Bootstrap(replications, seed_of(rng)) if interval == "bootstrap" else interval,
        )
    )


def _method(sight: Sight, model: Model) -> Method:
    """Return the method that a model suggests, or the kind of file."""
    if sight.truth is None:
        return "em"
    nearest = model.nearest if isinstance(model, LogLinearSearch) else model
    fitted = nearest.data if isinstance(nearest, LogLinear | ShrunkLogLinear) else None
    of_released = fitted is not None and fitted == sight.released
    return "em" if of_released and sight.released != sight.truth else "expected"


def _counted(
    data: Release | Microdata,
    population: KeyTable,
    errors: Errors,
    inclusion: InclusionBy = "true",
) -> View:
    """Return the view of a file whose population was counted."""
    if population is None:
        raise InputError("Give the population as counts (mm.count).")
    return View.of(data, counts=population, errors=errors, sampled_by=inclusion)


def _told(risk: RiskT) -> RiskT:
    """Return a risk after warning the caller of its cautions."""
    warn(risk.cautions, stacklevel=4)
    return risk
