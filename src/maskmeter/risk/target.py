"""How much risk is allowed, and whether the risks of a release are within it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from maskmeter.checks import check_choice, check_number
from maskmeter.errors import InputError
from maskmeter.plurals import counted
from maskmeter.risk.intruder import BY_WHOM, EXACT_MATCH, INFORMED, Intruder
from maskmeter.risk.result import Headline, Risk

DecidedBy = Literal["upper", "estimate"]
Verdict = Literal["met", "met at the estimate only", "not met", "not assessable"]
Figure = Literal[
    "risk", "estimate", "upper end of the interval", "largest risk of a record", "fit of the model"
]


@dataclass(frozen=True)
class Binding:
    """What keeps a release from meeting a target: a figure, and the scenarios where it is too high.

    Scenarios are named only where there are several.
    """

    figure: Figure
    scenarios: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it in words."""
        if not self.scenarios:
            return f"the {self.figure}"
        several = "s" if len(self.scenarios) > 1 else ""
        return f"the {self.figure} in the scenario{several} {', '.join(self.scenarios)}"


@dataclass(frozen=True)
class Outcome:
    """Whether a target is met in every scenario.

    `met` is decided by the figure that the target asks for, `verdict` says how well it is met
    whatever that figure is. `excess` is how far that figure is above the target in the scenario
    where it is furthest, and `binds` what keeps the target from being met.
    """

    met: bool
    verdict: Verdict
    excess: float
    binds: Binding | None


@dataclass(frozen=True, kw_only=True)
class Target:
    """How much risk is allowed: correct matches as a share or a number, or the risk of any record.

    `max_share` is of the sample uniques of the unprotected file, so that protection cannot dilute
    it; `max_record` is for the largest risk of a record, those that share their cell included. The
    `intruder` is one who knows the method unless another is named, for an agency cannot bank on
    secrecy. An estimated number of matches must meet the target `by` the upper end of its interval,
    or by the estimate alone; the risk of a record has no interval.

    >>> import maskmeter as mm
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.05, rng=1)
    >>> risk = mm.estimate_risk(mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05))
    >>> [mm.Target(max_total=most).decide(risk).verdict for most in (risk.upper, risk.total, 0)]
    ['met', 'met at the estimate only', 'not met']
    """

    max_share: float | None = None
    max_total: float | None = None
    max_record: float | None = None
    intruder: Intruder = INFORMED
    by: DecidedBy = "upper"

    def __post_init__(self) -> None:
        """Check that the target is given in one of its three ways."""
        given = {
            name: value
            for name in ("max_share", "max_total", "max_record")
            if (value := getattr(self, name)) is not None
        }
        if len(given) != 1:
            raise InputError(
                "Give the target as one of `max_share`, `max_total` and `max_record`, not"
                f" {'several' if given else 'none'} of them."
            )
        ((name, value),) = given.items()
        most = None if name == "max_total" else 1
        check_number(value, name=name, least=0, most=most)
        check_choice(self.intruder, Intruder, name="intruder")
        check_choice(self.by, DecidedBy, name="by")

    def allowed(self, uniques: int) -> float:
        """Return how much is allowed, with so many uniques in the unprotected file."""
        if self.max_share is not None:
            return self.max_share * uniques
        return float(self.max_total if self.max_record is None else self.max_record)  # type: ignore[arg-type]

    def layers(self) -> tuple[Target, ...]:
        """Return the same target by exact matching, then informed, then at the upper end as well."""
        choices: tuple[tuple[Intruder, DecidedBy], ...] = (
            (EXACT_MATCH, "estimate"),
            (INFORMED, "estimate"),
            (INFORMED, "upper"),
        )
        if self.max_record is not None:  # which has no interval
            choices = choices[:2]
        return tuple(replace(self, intruder=intruder, by=by) for intruder, by in choices)

    def decide(self, risks: Risk | Mapping[str, Risk] | Mapping[str, Headline]) -> Outcome:
        """Return whether a risk is within the target, or the risk of every scenario by its name."""
        named: dict[str, Risk | Headline] = {"": risks} if isinstance(risks, Risk) else dict(risks)
        for risk in named.values():
            self._check_intruder(risk)
        if not named:
            raise InputError("Give the risk of at least one scenario.")
        excess = max(map(self.excess, named.values()))
        met = excess <= 0
        return Outcome(met, self._verdict(named), excess, None if met else self._binding(named))

    def _check_intruder(self, risk: Risk | Headline) -> None:
        """Refuse the risk from another intruder; where nothing was misclassified all are the same."""
        if risk.intruder != self.intruder and risk.misclassified:
            raise InputError(
                f'The target is for intruder="{self.intruder}", but the risk was measured with'
                f' intruder="{risk.intruder}". Measure it again, or give the target this intruder.'
            )

    def figure(self, risk: Risk | Headline, by: DecidedBy | None = None) -> float:
        """Return the figure of a risk that is held against the target."""
        if self.max_record is not None:
            return risk.largest
        return risk.upper if (by or self.by) == "upper" else risk.total

    def excess(self, risk: Risk | Headline) -> float:
        """Return by how much a risk is above the target, below 0 where it is within it."""
        return self._excess(risk, self.by)

    def _excess(self, risk: Risk | Headline, by: DecidedBy) -> float:
        """Return by how much the figure that counts is above the target."""
        if not risk.assessable:
            return np.inf
        return self.figure(risk, by) - self.allowed(risk.unprotected)

    def _verdict(self, risks: Mapping[str, Risk | Headline]) -> Verdict:
        if not all(risk.assessable for risk in risks.values()):
            return "not assessable"
        if all(self._excess(risk, "upper") <= 0 for risk in risks.values()):
            return "met"
        if all(self._excess(risk, "estimate") <= 0 for risk in risks.values()):
            return "met at the estimate only"
        return "not met"

    def _binding(self, risks: Mapping[str, Risk | Headline]) -> Binding:
        """Return what keeps a release from meeting the target."""
        unfit = [name for name, risk in risks.items() if not risk.assessable]
        over = unfit or [name for name in risks if self._excess(risks[name], "estimate") > 0]
        figure: Figure = "fit of the model" if unfit else "estimate"
        if not over:
            over = [name for name, risk in risks.items() if self._excess(risk, self.by) > 0]
            figure = "upper end of the interval"
        if not unfit and all(risks[name].interval is None for name in over):
            figure = "risk"
        if not unfit and self.max_record is not None:
            figure = "largest risk of a record"
        return Binding(figure, tuple(over) if len(risks) > 1 else ())

    def __str__(self) -> str:
        """Return the target in words."""
        whom = BY_WHOM[self.intruder]
        if self.max_record is not None:
            return (
                f"no record with a chance above {self.max_record:g} to be matched correctly {whom}"
            )
        if self.max_total is not None:
            return f"at most {counted(self.max_total, 'correct match', 'correct matches')} {whom}"
        share = 100 * float(self.max_share or 0)
        return f"at most {share:g}% of the sample uniques matched correctly {whom}"
