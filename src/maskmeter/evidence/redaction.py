"""The one gate to the public: figures in, the same figures rounded, joined and trimmed out.

The public may be told less than the agency, never anything better: risks are rounded up and numbers
of records down, and nothing that passes tells a small count. What may not pass becomes None or
empty, and whatever shows the figures then leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from msgspec.structs import replace

from maskmeter.evidence.check_figures import public_check
from maskmeter.evidence.figures import DRIVING
from maskmeter.evidence.schema import (
    CautionFigures,
    Figures,
    HouseholdFigures,
    IntruderFigures,
    RiskFigures,
    ScenarioFigures,
    StepFigures,
    WithoutKey,
)
from maskmeter.evidence.wording import SHARE, verdict
from maskmeter.loss import Loss

WITHHELD = "withheld"  # in the place of a name


@dataclass(frozen=True)
class Policy:
    """What the public may see: no count below `smallest`, and rates of change only if wanted."""

    smallest: int = 10
    rates: bool = False

    def down(self, number: float | None) -> int | None:
        """Return a number of records, rounded down; None if it is too small to be shown.

        >>> Policy().down(2752), Policy().down(3), Policy().down(0)
        (2750, None, 0)
        """
        return self._multiple(number, 0 if number is None else floor(number / self.smallest))

    def up(self, number: float | None) -> int | None:
        """Return expected correct matches, rounded up; None if they are too few to be shown.

        >>> Policy().up(68.9), Policy().up(6.0)
        (70, None)
        """
        return self._multiple(number, 0 if number is None else ceil(number / self.smallest))

    def loss(self, loss: float, records: int) -> int:
        """Return a loss in percent, rounded up so that it tells of no fewer than `smallest` records.

        A record that moves changes two cells of a table.

        >>> Policy().loss(4.3, 14_662), Policy().loss(4.3, 200), Policy().loss(12.5, 160)
        (5, 10, 13)
        """
        step = max(1.0, 200 * self.smallest / records)
        return ceil(ceil(loss / step - 1e-9) * step - 1e-9)

    def share(self, share: float, records: int) -> float | None:
        """Return the share of records changed, rounded down; None if too few were, 0 if none.

        >>> Policy().share(0.138, 1000), Policy().share(0.005, 1000), Policy().share(0.0, 1000)
        (0.13, None, 0.0)
        """
        number = self.down(round(share * records))
        return None if number is None else number / max(records, 1)

    def _multiple(self, number: float | None, times: int) -> int | None:
        if number is None or 0 < number < self.smallest:
            return None
        return times * self.smallest


def redact(figures: Figures, policy: Policy) -> Figures:
    """Return what the public may see of the figures of an assessment.

    >>> import maskmeter as mm
    >>> from maskmeter.evidence.figures import figures
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05)
    >>> known = figures(mm.assess(sample))
    >>> known.worst.risk.uniques, redact(known, Policy()).worst.risk.uniques
    (255, 250)
    """
    held, loss = figures.assessable, figures.mean_loss
    worst = figures.worst if held else None
    told = Figures(  # every entry is named, so that none passes by default
        schema_version=figures.schema_version,
        maskmeter=figures.maskmeter,
        rounded_to=policy.smallest,
        mark=figures.mark,
        verdict="",
        records=figures.records,
        keys=figures.keys,
        sampling=replace(figures.sampling, weights_total=None),
        population_known=figures.population_known,
        headline=figures.headline,
        scenarios=tuple(
            _scenario(one if held else _unheld(one), policy, worst=one is worst)
            for one in figures.scenarios
        ),
        target=None if figures.target is None else replace(figures.target, allowed=None),
        check=None if figures.check is None else public_check(figures.check),
        steps=tuple(_step(one, policy) for one in figures.steps),
        finish=figures.public_finish,
        public_finish=figures.public_finish,
        groups=(),
        changed=_changed(figures, policy),
        left_out=None
        if figures.left_out is None or not policy.rates
        else policy.share(figures.left_out, figures.records),
        cautions=_cautions(figures.cautions),
        mean_loss=None if loss is None else policy.loss(loss, figures.records),
        loss=(),
        pairs=(),
        margins=(),
        map=None,
        layers=(),
        chosen=None,
        choice=None,
        not_assessed=figures.not_assessed,
        audit=None,  # counts of changed records by column would tell where to look for them
    )
    return replace(told, verdict=verdict(told))


def withhold_small(figures: Figures, tables: Iterable[Loss], smallest: int) -> Figures:
    """Return the agency's figures without the names of categories that few records have.

    `tables` are those of `figures.loss`. A group of a step is named by its categories, and the
    between-row variance of a table is listed by them; nothing else in the figures names one.
    """
    groups = tuple(
        one if one.records >= smallest else replace(one, group=WITHHELD) for one in figures.groups
    )
    loss = tuple(
        replace(known, bvr=_held_by_many(known.bvr, table, smallest))
        for known, table in zip(figures.loss, tables, strict=True)
    )
    return replace(figures, groups=groups, loss=loss)


def _held_by_many(
    bvr: dict[str, float | None], table: Loss, smallest: int
) -> dict[str, float | None]:
    """Return the entries of the columns that enough records have, before and after protection.

    Weighted counts may be larger than the numbers of records, so both must be large enough.
    """
    before = np.bincount(table.columns.before, minlength=len(table.columns.categories))
    held = np.min([before, *(counts.sum(axis=0) for counts in table.tables)], axis=0)
    if len(held) != len(bvr):  # two categories share a label
        return {}
    return {
        name: change for (name, change), of in zip(bvr.items(), held, strict=True) if of >= smallest
    }


def _unheld(one: ScenarioFigures) -> ScenarioFigures:
    """Return a scenario of a file whose risk is not assessable as a whole: no figure of it holds."""
    before = one.unprotected
    return replace(
        one,
        risks=_both(one.risks, lambda risk: replace(risk, assessable=False)),
        unprotected=None
        if before is None
        else _both(before, lambda risk: replace(risk, assessable=False)),
    )


def _both(risks: IntruderFigures, change: Callable[[RiskFigures], RiskFigures]) -> IntruderFigures:
    """Return the risks from both intruders after the same change."""
    return IntruderFigures(change(risks.exact_match), change(risks.informed))


def _scenario(one: ScenarioFigures, policy: Policy, *, worst: bool) -> ScenarioFigures:
    """Return a scenario: the interval and the keys that matter only of the worst one.

    The terms, the parameters or the fit of a model would tell which of a few changed records were
    which, so none of it passes.
    """
    few = (one.risk.uniques or 0) < policy.smallest
    named = worst and not few
    return ScenarioFigures(
        name=one.name,
        keys=one.keys,
        intruder=one.intruder,
        risks=_both(
            one.risks, lambda risk: _risk(risk, policy, interval=worst and risk is one.risk)
        ),
        unprotected=None
        if one.unprotected is None
        else _both(one.unprotected, lambda risk: _risk(risk, policy, interval=False)),
        assumptions=one.assumptions,
        cautions=_cautions(one.cautions),
        drivers=one.drivers if named and len(one.without_one_key) > DRIVING else (),
        better_without=tuple(_ignored(key, policy) for key in one.better_without[:1] if named),
        households=_households(one.households, policy) if worst else None,
        many_keys=one.many_keys,
    )


def _risk(risk: RiskFigures, policy: Policy, *, interval: bool) -> RiskFigures:
    """Return a risk; where few records are unique, their matches would be the same count."""
    uniques = policy.down(risk.uniques)
    if uniques is None or not risk.assessable:
        return RiskFigures(risk.measure, risk.assessable, total=None, uniques=uniques)
    ends = risk.interval if interval else None
    told = None
    if ends is not None and (ends[1] or 0) >= policy.smallest:
        told = (policy.down(ends[0]), policy.up(ends[1]))
    return RiskFigures(
        risk.measure,
        risk.assessable,
        total=policy.up(risk.total),
        uniques=uniques,
        interval=told,
    )


def _households(known: HouseholdFigures | None, policy: Policy) -> HouseholdFigures | None:
    """Return the risk of households: bounds are widened, and the column is not named.

    It would tell where to look for members who no longer agree. Members one by one tell less than
    the bounds.
    """
    if known is None:
        return None
    return HouseholdFigures(
        column="",
        households=policy.down(known.households),
        matched=None,
        uniques=policy.down(known.uniques),
        at_least=policy.down(known.at_least),
        at_most=policy.up(known.at_most),
        total=policy.up(known.total),
    )


def _ignored(one: WithoutKey, policy: Policy) -> WithoutKey:
    return WithoutKey(one.key, policy.down(one.uniques), policy.up(one.total), None)


def _step(step: StepFigures, policy: Policy) -> StepFigures:
    """Return a step with the share of records it changed, or with words in its place."""
    records, share = step.records or 0, step.changed or 0.0
    told = policy.share(share, records)
    if policy.rates and told:
        return StepFigures("", step.pattern, None, None, None, told, step.term)
    words = "some records"
    if not share:
        words = "no records"
    elif policy.rates:
        words = f"fewer than {policy.smallest} records"
    said = step.pattern.replace(SHARE, words)
    return StepFigures("", said, None, None, None, None, step.term)


def _changed(figures: Figures, policy: Policy) -> float | None:
    """Return the share of records that were changed, if the public may know it or there were none."""
    if figures.changed is None or not (policy.rates or figures.changed == 0):
        return None
    return policy.share(figures.changed, figures.records)


def _cautions(cautions: Iterable[CautionFigures]) -> tuple[CautionFigures, ...]:
    """Return the cautions in the words for the public, each once."""
    told = [
        CautionFigures(one.kind, one.public_text, one.public_text)
        for one in cautions
        if one.public_text
    ]
    return tuple(dict.fromkeys(told))
