"""The figures of an assessment for machines: `assessment.json`, whose form is versioned.

No record and no seed is in it. Counts are not rounded: it belongs to the agency.
"""

from __future__ import annotations

from math import isfinite

import msgspec

import maskmeter
from maskmeter.assessment import FIFTH, HALF, Assessment, ScenarioRisk
from maskmeter.data.microdata import Microdata
from maskmeter.evidence.wording import NOT_ASSESSED, Changed, verdict
from maskmeter.loss import Loss
from maskmeter.perturb import Release
from maskmeter.risk import EstimatedRisk, Risk
from maskmeter.riskutility import RiskUtilityMap

VERSION = 1


class _Figures(msgspec.Struct, frozen=True):
    """A part of the file; entries may be added to it."""


class KeyFigures(_Figures, frozen=True):
    """A key of the file."""

    name: str
    label: str
    categories: int


class RiskFigures(_Figures, frozen=True):
    """A risk measure: correct matches to expect among the sample uniques."""

    measure: str
    total: float
    uniques: int
    cell_sizes: list[int]  # records in cells of 1, 2, 3, 4, and 5 or more
    share: float
    interval: tuple[float, float] | None
    above_half: int
    above_fifth: int
    without_target: int


class ModelStep(_Figures, frozen=True):
    """A model on the path of the search."""

    added: str
    parameters: int
    z1: float | None
    z2: float | None
    tau1: float | None
    tau2: float | None


class ModelFigures(_Figures, frozen=True):
    """The log-linear model that the estimate rests on."""

    search: str
    terms: list[str]
    z1: float | None
    z2: float | None
    tau1: float
    tau2: float
    path: list[ModelStep]


class WithoutKey(_Figures, frozen=True):
    """The risk when one key is not known."""

    key: str
    uniques: int
    total: float
    unprotected: float


class Band(_Figures, frozen=True):
    """How many sample uniques have a risk in a band."""

    low: float
    high: float
    uniques: int


class ScenarioFigures(_Figures, frozen=True):
    """The risk when an intruder knows some keys."""

    name: str
    keys: list[str]
    risk: RiskFigures
    unprotected: RiskFigures | None
    other_measures: dict[str, RiskFigures]
    without_one_key: list[WithoutKey]
    better_without: list[str]
    bands: list[Band]
    model: ModelFigures | None
    households: float | None
    assessable: bool
    assumptions: list[str]
    cautions: list[str]


class TargetFigures(_Figures, frozen=True):
    """The target of risk and whether it is met in every scenario."""

    max_total: float | None
    max_share: float | None
    met: bool


class LossFigures(_Figures, frozen=True):
    """The information loss of a two-way table."""

    rows: str
    columns: str
    worst: float
    raad: float
    rcv: float | None
    bvr: dict[str, float | None]


class StepFigures(_Figures, frozen=True):
    """A step in words, with the share of its records that were asked for and changed."""

    words: str
    records: int
    changed: float
    asked: float


class Option(_Figures, frozen=True):
    """A release on the risk-utility map."""

    label: str
    changed: float
    risk: float
    share: float
    upper: float
    loss: float
    frontier: bool


class Figures(_Figures, frozen=True):
    """All of `assessment.json`."""

    schema_version: int
    maskmeter: str
    mark: str | None  # of the target: met, met at the estimate only, not met, not assessable
    verdict: str
    records: int
    keys: list[KeyFigures]
    population_known: bool
    headline: str
    scenarios: list[ScenarioFigures]
    target: TargetFigures | None
    steps: list[StepFigures]
    changed: float
    cautions: list[str]  # of the release
    loss: list[LossFigures]
    options: list[Option]
    chosen: str | None
    choice: str | None  # why it was chosen, in words
    not_assessed: list[str]


class Comparison(_Figures, frozen=True):
    """All of `comparison.json`."""

    schema_version: int
    maskmeter: str
    measure: str
    population_known: bool
    frontier: list[str]
    options: list[Option]
    cautions: list[str]


def comparison_figures(options: RiskUtilityMap) -> Comparison:
    """Return the figures of a risk-utility map."""
    return Comparison(
        VERSION,
        maskmeter.__version__,
        options.measure,
        options.exact,
        list(options.frontier),
        option_figures(options),
        [str(caution) for caution in options.cautions],
    )


def figures(found: Assessment) -> Figures:
    """Return the figures of an assessment.

    >>> import maskmeter as mm
    >>> from maskmeter.assessment import assess
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05)
    >>> figures(assess(sample)).scenarios[0].risk.uniques
    255
    """
    data, release = found.released, found.release
    return Figures(
        schema_version=VERSION,
        maskmeter=maskmeter.__version__,
        mark=found.mark,
        verdict=verdict(found),
        records=len(data),
        keys=[KeyFigures(key.name, data.label(key.name), key.size) for key in data.space.keys],
        population_known=not isinstance(found.worst.risk, EstimatedRisk),
        headline=found.worst.name,
        scenarios=[_scenario(one) for one in found.scenarios],
        target=None
        if found.target is None
        else TargetFigures(found.target.max_total, found.target.max_share, bool(found.met)),
        steps=[] if release is None else _steps(release),
        changed=0.0 if release is None else float(release.changed.mean()),
        cautions=[]
        if release is None
        else [str(one) for one in (*release.cautions, *found.private)],
        loss=[loss_figures(one, data) for one in found.tables],
        options=[] if found.options is None else option_figures(found.options),
        chosen=found.chosen or None,
        choice=found.choice or None,
        not_assessed=list(NOT_ASSESSED),
    )


def _steps(release: Release) -> list[StepFigures]:
    listed = []
    for step in () if release.provenance is None else release.provenance.steps:
        done = Changed.by(step, release)
        share = done.changed / max(done.records, 1)
        listed.append(StepFigures(step.describe(str(done)), done.records, share, done.asked))
    return listed


def encoded(value: msgspec.Struct) -> bytes:
    """Return a struct as indented JSON, ending with a line end."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def option_figures(options: RiskUtilityMap) -> list[Option]:
    """Return the releases of a risk-utility map."""
    best = options.frontier
    return [
        Option(p.label, p.changed, p.risk, p.share, p.upper, p.loss, p.label in best)
        for p in options.points
    ]


def _scenario(one: ScenarioRisk) -> ScenarioFigures:
    risk = one.risk
    return ScenarioFigures(
        name=one.name,
        keys=list(one.keys),
        risk=_risk(risk),
        unprotected=None if one.before is None else _risk(one.before),
        other_measures={equation: _risk(other) for equation, _, other in one.others},
        without_one_key=[
            WithoutKey(key, subset.uniques, subset.risk, subset.without_error)
            for key, subset in one.left_out
        ],
        better_without=[key for key, _ in one.better_without],
        bands=[Band(low, high, count) for low, high, count in one.bands().iter_rows()],
        model=_model(risk) if isinstance(risk, EstimatedRisk) else None,
        households=float(risk.by_household.sum())
        if isinstance(risk, EstimatedRisk) and risk.household is not None
        else None,
        assessable=one.risk.assessable,
        assumptions=list(risk.assumptions),
        cautions=[str(caution) for caution in risk.cautions],
    )


def _risk(risk: Risk) -> RiskFigures:
    return RiskFigures(
        measure=risk.measure,
        total=risk.total,
        uniques=risk.uniques,
        cell_sizes=list(risk.data.cell_sizes),
        share=risk.share,
        interval=risk.interval,
        above_half=risk.above(HALF),
        above_fifth=risk.above(FIFTH),
        without_target=risk.without_target,
    )


def _model(risk: EstimatedRisk) -> ModelFigures:
    search = risk.search
    return ModelFigures(
        search=search.method,
        terms=list(search.terms),
        z1=_finite(search.goodness.z1),
        z2=_finite(search.goodness.z2),
        tau1=risk.tau1,
        tau2=risk.tau2,
        path=[
            ModelStep(
                step.added,
                step.parameters,
                _finite(step.z1),
                _finite(step.z2),
                _finite(step.tau1),
                _finite(step.tau2),
            )
            for step in search.path
        ],
    )


def loss_figures(loss: Loss, data: Microdata) -> LossFigures:
    """Return the information loss of a table, its columns by their labels."""
    named = loss.columns.name
    keys = data.space.names
    return LossFigures(
        rows=loss.rows.name,
        columns=named,
        worst=loss.worst,
        raad=loss.raad,
        rcv=_finite(loss.rcv),
        bvr={
            data.value_label(named, category) if named in keys else str(category): _finite(change)
            for category, change in loss.bvr.items()
        },
    )


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None
