"""The figures of an assessment: its record-free form, from which everything is shown.

No record and no seed is in them. Counts are not rounded: they belong to the agency, and what the
public may see of them is decided in `redaction`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

import maskmeter
from maskmeter.data.microdata import Microdata
from maskmeter.data.varying import By
from maskmeter.errors import Caution
from maskmeter.evidence.check_figures import check_figures
from maskmeter.evidence.findings import Findings
from maskmeter.evidence.model_figures import finite, model_figures
from maskmeter.evidence.scenario import ScenarioRisk
from maskmeter.evidence.schema import (
    VERSION,
    Band,
    CautionFigures,
    Comparison,
    Figures,
    GroupFigures,
    HouseholdFigures,
    IntruderFigures,
    KeyFigures,
    LayerFigures,
    LossFigures,
    MapFigures,
    MarginFigures,
    Option,
    OtherMeasure,
    PairFigures,
    RiskFigures,
    SamplingFigures,
    ScenarioFigures,
    StepFigures,
    TargetFigures,
    WithoutKey,
)
from maskmeter.evidence.wording import (
    NOT_ASSESSED,
    NOT_CHECKED,
    NOT_COMPARED,
    NOT_GROUPED,
    SHARE,
    verdict,
)
from maskmeter.loss import Loss
from maskmeter.loss.tables import margin_frame
from maskmeter.perturb import Release
from maskmeter.perturb.step import Step
from maskmeter.risk import EstimatedRisk, Risk
from maskmeter.risk.by_keys import KeySubset
from maskmeter.risk.intruder import EXACT_MATCH, INFORMED, Intruder
from maskmeter.risk.target import Target
from maskmeter.riskutility import RiskUtilityMap
from maskmeter.riskutility.layers import Layer
from maskmeter.riskutility.riskmap import map_frame

DRIVING = 3  # keys that are named as those that carry the risk
HALF, FIFTH = 0.5, 0.2


def figures(found: Findings) -> Figures:
    """Return the figures of an assessment.

    >>> import maskmeter as mm
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05)
    >>> figures(mm.assess(sample)).worst.risk.uniques
    255
    """
    data, release, losses = found.released, found.release, found.losses
    known = Figures(
        schema_version=VERSION,
        maskmeter=maskmeter.__version__,
        rounded_to=None,
        mark=found.mark,
        verdict="",
        records=len(data),
        keys=key_figures(data),
        sampling=sampling_figures(data),
        population_known=found.exact,
        headline=found.worst.name,
        scenarios=tuple(_scenario(one, found) for one in found.scenarios),
        target=_target(found),
        check=None if found.check is None else check_figures(found.check),
        steps=() if release is None else step_figures(release),
        finish=_finish(release, named=True),
        public_finish=_finish(release, named=False),
        groups=() if release is None else _groups(release),
        changed=_changed(found.data),
        left_out=found.data.left_out if found.data.thinned else None,
        cautions=_cautions((*found.about_file, *found.private)),
        mean_loss=found.loss,
        loss=tuple(_loss(one, data) for one in found.tables),
        pairs=() if losses is None else _pairs(losses.tables, data.space.names),
        margins=()
        if losses is None
        else tuple(MarginFigures(*row) for row in margin_frame(losses.variables).iter_rows()),
        map=_map(found),
        layers=_layers(found),
        chosen=found.chosen or None,
        choice=found.choice or None,
        not_assessed=not_assessed(found),
        audit=found.audit,
    )
    return msgspec.structs.replace(known, verdict=verdict(known))


def _changed(release: Release) -> float | None:
    """Return the share of records with a changed value; None if all that was done is something else."""
    share = release.changed_records / max(len(release.released), 1)
    otherwise = bool(release.groups) or release.thinned
    return None if not release.mechanism.factors or (otherwise and not share) else share


def key_figures(data: Microdata) -> tuple[KeyFigures, ...]:
    """Return the keys of a file."""
    return tuple(KeyFigures(key.name, data.label(key.name), key.size) for key in data.space.keys)


def step_figures(release: Release) -> tuple[StepFigures, ...]:
    """Return what each step of a release did, over all its groups.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"lad": ["a", "b"] * 50, "sex": ["f", "m"] * 50})
    >>> sample = mm.read(people, keys=["lad", "sex"], fraction=0.1)
    >>> (step,) = step_figures(mm.Swap("lad", rate=0.2).apply(sample, rng=2010))
    >>> step.pattern, step.changed
    ('Swapping of lad: {share} exchanged it with another record.', 0.2)
    """
    steps = () if release.provenance is None else release.provenance.steps
    return tuple(_step(step, release) for step in steps)


def _step(step: Step, release: Release) -> StepFigures:
    done = [rate for rate in release.reported if rate.step == step.label]
    records = sum(rate.records for rate in done)
    of = max(records, 1)
    return StepFigures(
        label=step.label,
        pattern=step.describe(SHARE),
        records=records,
        asked=sum(rate.asked * rate.records for rate in done) / of,
        expected=sum(rate.expected * rate.records for rate in done) / of,
        changed=dict(release.changed_by_step)[step.label] / of,
        term=step.term,
        note=next((str(one) for one in release.rare if one.step == step.label), ""),
    )


def _finish(release: Release | None, *, named: bool) -> tuple[str, ...]:
    made = None if release is None else release.provenance
    return () if made is None else made.finish.describe(named=named)


def _groups(release: Release) -> tuple[GroupFigures, ...]:
    return tuple(
        GroupFigures(one.step, one.stratum, one.records, one.asked, one.expected, one.achieved)
        for one in release.reported
    )


def map_figures(options: RiskUtilityMap, target: Target | None, uniques: int | None) -> MapFigures:
    """Return the figures of a risk-utility map, and the level of risk that the target allows.

    A share allows a number of matches that goes with the `uniques` of the unprotected file: where
    these differ between scenarios they are None, and it allows no single number.
    """
    names = [one.name for one in msgspec.structs.fields(Option)]
    line = None
    single = target is not None and (target.max_total is not None or uniques is not None)
    if target is not None and target.max_record is None and single:
        upper = not options.exact and target.by == "upper"
        words = "target for the upper end of the interval" if upper else "target"
        line = target.allowed(uniques or 0), words
    return MapFigures(
        measure=options.measure,
        population_known=options.exact,
        intruder=options.intruder,
        frontiers={str(one): best for one, best in options.frontiers.items()},
        tables=options.tables,
        releases=tuple(
            Option(**{name: row[name] for name in names})
            for row in map_frame(options).iter_rows(named=True)
        ),
        cautions=_cautions(options.cautions),
        headline=options.headline,
        ranking=options.ranking,
        target=line,
        layers=layer_figures(options.layers),
    )


def layer_figures(layers: Iterable[Layer]) -> tuple[LayerFigures, ...]:
    """Return the layers of a target as figures."""
    return tuple(
        LayerFigures(one.intruder, one.by, one.label, one.matches, one.loss) for one in layers
    )


def _layers(found: Findings) -> tuple[LayerFigures, ...]:
    """Return what each layer of the target costs or, without a choice, whether this file meets it."""
    if found.options is not None:
        return layer_figures(found.options.layers)
    if found.target is None or not found.assessable:
        return ()
    own = "the file as it is" if found.release is None else "this release"
    listed = []
    for one in found.target.layers():
        risks = {scenario.name: scenario.after[one.intruder] for scenario in found.scenarios}
        met = one.decide(risks).met
        most = max(risk.upper if one.by == "upper" else risk.total for risk in risks.values())
        label = own if met else None
        listed.append(Layer(one.intruder, one.by, label, most, found.loss or 0.0))
    return layer_figures(listed)


def comparison_figures(
    options: RiskUtilityMap,
    sample: Microdata,
    scenarios: Mapping[str, Sequence[str]],
    target: Target | None,
) -> Comparison:
    """Return the figures of a comparison: its map, and the keys that each intruder knows."""
    known = {name: tuple(keys) for name, keys in scenarios.items()}
    uniques = None
    if len(known) <= 1:
        uniques = sample.project(next(iter(known.values()), sample.space.names)).uniques
    drawn = map_figures(options, target, uniques)
    return Comparison(VERSION, maskmeter.__version__, key_figures(sample), known, drawn)


def _map(found: Findings) -> MapFigures | None:
    if found.options is None:
        return None
    uniques = None if len(found.scenarios) > 1 else found.worst.risk.unprotected
    return map_figures(found.options, found.target, uniques)


def sampling_figures(data: Microdata) -> SamplingFigures:
    """Return how the records of a file were sampled."""
    varying = isinstance(data.fraction, By)
    return SamplingFigures(
        fraction=None if varying else data.fraction,  # type: ignore[arg-type]
        varies_by=data.fraction.keys if isinstance(data.fraction, By) else (),
        weighted=data.weights is not None,
        weights_total=None if data.weights is None else data.units,
    )


def _cautions(cautions: Iterable[Caution]) -> tuple[CautionFigures, ...]:
    return tuple(CautionFigures(one.kind.__name__, one.text, one.public_text) for one in cautions)


def _target(found: Findings) -> TargetFigures | None:
    target = found.target
    if target is None:
        return None
    outcome = found.outcome or target.decide({one.name: one.risk for one in found.scenarios})
    least = [
        one.name for one in found.scenarios if target.decide(one.risk).verdict == outcome.verdict
    ]
    return TargetFigures(
        words=str(target),
        max_total=target.max_total,
        max_share=target.max_share,
        max_record=target.max_record,
        intruder=target.intruder,
        by=target.by,
        met=outcome.met,
        verdict=outcome.verdict,
        failing=() if outcome.verdict == "met" else tuple(least),
        allowed=target.allowed(found.worst.risk.unprotected),
    )


def not_assessed(found: Findings) -> tuple[str, ...]:
    """Return what an assessment leaves out, in sentences."""
    kinds = {one.kind for one in found.check.findings} if found.check is not None else set()
    unseen = () if found.check is not None else (NOT_CHECKED,)
    alone = () if "earlier" in kinds else (NOT_COMPARED,)
    homes = () if found.household is not None else (NOT_GROUPED,)
    return (*NOT_ASSESSED, *homes, *unseen, *alone)


def _scenario(one: ScenarioRisk, found: Findings) -> ScenarioFigures:
    risk = one.risk
    return ScenarioFigures(
        name=one.name,
        keys=one.keys,
        intruder=one.intruder,
        risks=_risks(one.after),
        unprotected=None if one.before is None else _risks(one.before),
        assumptions=_assumptions(one, found.released.space.names),
        cautions=_cautions(one.cautions),
        drivers=tuple(key for key, _ in one.driving[:DRIVING]),
        without_one_key=tuple(_without(*pair) for pair in one.driving),
        better_without=tuple(_without(*pair) for pair in one.better_without),
        other_measures=tuple(OtherMeasure(name, words, m.total) for name, words, m in one.others),
        bands=tuple(Band(*row) for row in one.bands().iter_rows()),
        model=model_figures(risk) if isinstance(risk, EstimatedRisk) else None,
        households=_households(one),
        many_keys=one.many,
        summed=one.summed,
    )


def _households(one: ScenarioRisk) -> HouseholdFigures | None:
    known, risk = one.households, one.risk
    if known is None:
        return None
    return HouseholdFigures(
        column=known.household,
        households=known.households,
        matched=float(risk.by_household.sum()) if isinstance(risk, EstimatedRisk) else None,
        uniques=known.uniques,
        at_least=known.at_least,
        at_most=known.at_most,
        total=known.total,
    )


def _assumptions(one: ScenarioRisk, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the assumptions behind the figures of a scenario, as sentences."""
    listed = [text[0].upper() + text[1:] + "." for text in one.risk.assumptions]
    listed.append(
        "The intruder knows the true keys of people in the population and looks them up in the released"
        " file."
    )
    if one.keys != keys:
        listed.append(
            "Steps and sampling fractions that depend on keys the intruder does not know are averaged"
            " over records that agree on the known keys, which is an approximation."
        )
    return tuple(dict.fromkeys(listed))


def _without(key: str, one: KeySubset) -> WithoutKey:
    return WithoutKey(key, one.uniques, one.risk, one.without_error)


def _risks(risks: Mapping[Intruder, Risk]) -> IntruderFigures:
    return IntruderFigures(_risk(risks[EXACT_MATCH]), _risk(risks[INFORMED]))


def _risk(risk: Risk) -> RiskFigures:
    return RiskFigures(
        measure=risk.measure,
        assessable=risk.assessable,
        total=risk.total,
        uniques=risk.uniques,
        share=risk.share,
        interval=risk.interval,
        largest=risk.largest,
        above_half=risk.above(HALF),
        above_fifth=risk.above(FIFTH),
        without_target=risk.without_target,
        cell_sizes=tuple(risk.data.cell_sizes),
    )


def _loss(loss: Loss, data: Microdata) -> LossFigures:
    """Return the information loss of a table, its columns by their labels."""
    rows, columns = loss.rows.name, loss.columns.name
    keys = data.space.names
    titles = (KeyFigures(name, data.label(name), 0).title for name in (rows, columns))
    return LossFigures(
        title=" x ".join(titles),
        rows=rows,
        columns=columns,
        worst=loss.worst,
        raad=loss.raad,
        rcv=finite(loss.rcv),
        bvr={
            data.value_label(columns, one) if columns in keys else str(one): finite(change)
            for one, change in loss.bvr.items()
        },
    )


def _pairs(tables: Iterable[Loss], keys: tuple[str, ...]) -> tuple[PairFigures, ...]:
    """Return the tables of two keys, in the order of the keys."""
    listed = [PairFigures(one.rows.name, one.columns.name, one.raad) for one in tables]
    return tuple(sorted(listed, key=lambda one: (keys.index(one.rows), keys.index(one.columns))))
