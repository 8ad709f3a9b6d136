"""How much risk is allowed, and whether the risks of a release are within it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from maskmeter.checks import check_choice, check_number
from maskmeter.errors import InputError
from maskmeter.plurals import counted
from maskmeter.risk.result import Risk

DecidedBy = Literal["upper", "estimate"]
Verdict = Literal["met", "met at the estimate only", "not met", "not assessable"]
Figure = Literal["risk", "estimate", "upper end of the interval", "fit of the model"]


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
    """How many records may be matched correctly: a number, or a share of the sample uniques.

    The share is of the sample uniques of the unprotected file. An estimated risk must meet the
    target `by` the upper end of its interval, or by the estimate alone.

    >>> import maskmeter as mm
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.05, rng=1)
    >>> risk = mm.estimate_risk(mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05))
    >>> [mm.Target(max_total=most).decide(risk).verdict for most in (risk.upper, risk.total, 0)]
    ['met', 'met at the estimate only', 'not met']
    """

    max_share: float | None = None
    max_total: float | None = None
    by: DecidedBy = "upper"

    def __post_init__(self) -> None:
        """Check that the target is given in one of its two ways."""
        if (self.max_total is None) == (self.max_share is None):
            raise InputError("Give the target as either `max_share` or `max_total`, not both.")
        if self.max_total is not None:
            check_number(self.max_total, name="max_total", least=0)
        else:
            check_number(self.max_share, name="max_share", least=0, most=1)
        check_choice(self.by, DecidedBy, name="by")

    def allowed(self, uniques: int) -> float:
        """Return how many correct matches are allowed, with so many uniques in the unprotected file."""
        return float(self.max_share or 0) * uniques if self.max_total is None else self.max_total

    def decide(self, risks: Risk | Mapping[str, Risk]) -> Outcome:
        """Return whether a risk is within the target, or the risk of every scenario by its name."""
        named = {"": risks} if isinstance(risks, Risk) else dict(risks)
        excess = max(map(self._excess, named.values()))
        met = excess <= 0
        return Outcome(met, self._verdict(named), excess, None if met else self._binding(named))

    def _verdict(self, risks: Mapping[str, Risk]) -> Verdict:
        if not all(risk.assessable for risk in risks.values()):
            return "not assessable"
        if all(risk.upper <= self.allowed(risk.unprotected) for risk in risks.values()):
            return "met"
        if all(risk.total <= self.allowed(risk.unprotected) for risk in risks.values()):
            return "met at the estimate only"
        return "not met"

    def _excess(self, risk: Risk) -> float:
        """Return by how much the figure that counts is above the target."""
        if not risk.assessable:
            return np.inf
        figure = risk.upper if self.by == "upper" else risk.total
        return figure - self.allowed(risk.unprotected)

    def _binding(self, risks: Mapping[str, Risk]) -> Binding:
        """Return what keeps a release from meeting the target."""
        above = {name: risk.total > self.allowed(risk.unprotected) for name, risk in risks.items()}
        unfit = [name for name, risk in risks.items() if not risk.assessable]
        over = unfit or [name for name in risks if above[name]]
        figure: Figure = "fit of the model" if unfit else "estimate"
        if not over:
            over = [name for name, risk in risks.items() if self._excess(risk) > 0]
            figure = "upper end of the interval"
        if not unfit and all(risks[name].interval is None for name in over):
            figure = "risk"
        return Binding(figure, tuple(over) if len(risks) > 1 else ())

    def __str__(self) -> str:
        """Return the target in words."""
        if self.max_total is not None:
            return f"at most {counted(self.max_total, 'correct match', 'correct matches')}"
        return (
            f"at most {100 * float(self.max_share or 0):g}% of the sample uniques matched correctly"
        )
