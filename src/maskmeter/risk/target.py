"""How much risk is allowed, and whether a risk is within it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from maskmeter.checks import check_choice, is_number, shown
from maskmeter.errors import InputError
from maskmeter.plurals import counted
from maskmeter.risk import Risk

By = Literal["upper", "estimate"]
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
class Target:
    """How much risk is allowed: in all, or as a share of the sample uniques of the unprotected file.

    An estimated risk must meet it `by` the upper end of its interval, or by the estimate alone.
    """

    total: float | None
    share: float | None
    by: By = "upper"

    @classmethod
    def of(
        cls, *, max_total: float | None = None, max_share: float | None = None, by: By = "upper"
    ) -> Target:
        """Return a target that is given in one of two ways."""
        if (max_total is None) == (max_share is None):
            raise InputError("Give the target as either `max_share` or `max_total`, not both.")
        for name, value, most in (("max_total", max_total, np.inf), ("max_share", max_share, 1.0)):
            if value is not None and (not is_number(value) or not 0 <= value <= most):
                raise InputError(
                    f"`{name}` must be a number from 0 to {most:g}, not {shown(value)}."
                )
        check_choice(by, By, name="by")
        return cls(max_total, max_share, by)

    def most(self, uniques: int) -> float:
        """Return how many correct matches are allowed, with so many uniques in the unprotected file."""
        return float(self.share or 0) * uniques if self.total is None else self.total

    def verdict(self, *risks: Risk) -> Verdict:
        """Return whether a risk meets the target, whatever `by` asks for; the worst of several.

        >>> import maskmeter as mm
        >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.05, rng=1)
        >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05)
        >>> risk = mm.estimate_risk(sample)
        >>> [Target.of(max_total=total).verdict(risk) for total in (risk.upper, risk.total, 0)]
        ['met', 'met at the estimate only', 'not met']
        """
        if not all(risk.assessable for risk in risks):
            return "not assessable"
        if all(risk.upper <= self.most(risk.base) for risk in risks):
            return "met"
        if all(risk.total <= self.most(risk.base) for risk in risks):
            return "met at the estimate only"
        return "not met"

    def met_by(self, *risks: Risk) -> bool:
        """Return True when all risks are within the target, by the figure that it asks for."""
        return self.excess(*risks) <= 0

    def excess(self, *risks: Risk) -> float:
        """Return by how much the figure that counts is above the target, where that is most."""
        return max(self._figure(risk) - self.most(risk.base) for risk in risks)

    def binding(self, risks: Mapping[str, Risk]) -> Binding | None:
        """Return what keeps a release from meeting the target; None when it is met.

        `risks` are those of each scenario by its name.
        """
        over = [name for name, one in risks.items() if not one.assessable]
        figure: Figure = "fit of the model"
        if not over:
            over = [name for name, one in risks.items() if one.total > self.most(one.base)]
            figure = "estimate"
        if not over:
            over = [name for name, one in risks.items() if not self.met_by(one)]
            figure = "upper end of the interval"
        if not over:
            return None
        if figure != "fit of the model" and all(risks[name].interval is None for name in over):
            figure = "risk"
        return Binding(figure, tuple(over) if len(risks) > 1 else ())

    def _figure(self, risk: Risk) -> float:
        if not risk.assessable:
            return np.inf
        return risk.upper if self.by == "upper" else risk.total

    def __str__(self) -> str:
        """Return the target in words."""
        if self.total is not None:
            return f"at most {counted(self.total, 'correct match', 'correct matches')}"
        return f"at most {100 * float(self.share or 0):g}% of the sample uniques matched correctly"
