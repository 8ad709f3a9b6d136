"""A candidate's release, its risk and its loss, with what all candidates share worked out once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maskmeter._checks import check_choice, check_list, is_pair
from maskmeter.errors import FewUniquesWarning, InputError, ModelWarning, without_warnings
from maskmeter.loglinear import LogLinear, LoglinearSearch, search_loglinear
from maskmeter.microdata import check_microdata
from maskmeter.misclassification import Misclassification
from maskmeter.perturb import Release, protect
from maskmeter.risk import estimate_risk, exact_risk
from maskmeter.utility import information_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskmeter.microdata import Microdata
    from maskmeter.perturb.step import Step
    from maskmeter.risk import Risk
    from maskmeter.table import KeyTable
    from maskmeter.utility import Loss

    Steps = Step | Sequence[Step]
    Known = Sequence[str] | Sequence[Sequence[str]] | None

Measure = Literal["raad", "rcv", "bvr"]


@dataclass(frozen=True)
class Point:
    """A candidate on the map: means over its replications, and their standard deviations.

    `upper` is the upper end of the interval of an estimated risk, and the risk itself when the
    population is known. `loss` is a distance from the unchanged table: smaller is better.
    """

    label: str
    changed: float
    risk: float
    risk_sd: float
    share: float
    upper: float
    loss: float
    loss_sd: float
    replications: int

    @classmethod
    def of(cls, label: str, trials: Sequence[Trial]) -> Point:
        """Return the place of a candidate that was tried some times."""
        risk = np.array([trial.risk.total for trial in trials])
        loss = np.array([trial.loss for trial in trials])
        return cls(
            label,
            changed=float(np.mean([trial.release.changed.mean() for trial in trials])),
            risk=float(risk.mean()),
            risk_sd=_spread(risk),
            share=float(np.mean([trial.risk.share for trial in trials])),
            upper=float(np.mean([trial.upper for trial in trials])),
            loss=float(loss.mean()),
            loss_sd=_spread(loss),
            replications=len(trials),
        )


@dataclass(frozen=True)
class Trial:
    """One release of a candidate, its risk in every scenario, and its loss."""

    release: Release
    risks: tuple[Risk, ...]
    loss: float

    @property
    def risk(self) -> Risk:
        """The risk in the scenario with the most of it."""
        return max(self.risks, key=lambda risk: risk.total)

    @property
    def upper(self) -> float:
        """Upper end of that risk."""
        return self.risk.upper


@dataclass(frozen=True, eq=False)
class View:
    """The file as someone sees it who knows some of its keys, or all: then `names` is None."""

    names: tuple[str, ...] | None
    population: KeyTable | None
    model: LogLinear | LoglinearSearch | None

    @classmethod
    def of(
        cls,
        sample: Microdata,
        names: tuple[str, ...] | None,
        population: KeyTable | None,
        model: LogLinear | LoglinearSearch | None,
    ) -> View:
        """Return it with the population, or the model, of the keys that are known."""
        if population is not None:
            known = population if names is None else population.project(names)
            return cls(names, known, None)
        if model is None:
            with without_warnings(ModelWarning):  # they are among the cautions of its risks
                model = search_loglinear(sample if names is None else sample.project(names))
        return cls(names, None, model)

    def risk(self, data: Release | Microdata) -> Risk:
        """Return the risk of a release, or of the file."""
        seen = data if self.names is None else data.project(self.names)
        if self.population is None:
            return estimate_risk(seen, self.model)
        return exact_risk(seen, self.population)


@dataclass(frozen=True, eq=False)
class Assessor:
    """What all candidates share, worked out once: the population or the model, and the measure."""

    sample: Microdata
    views: tuple[View, ...]
    tables: tuple[tuple[str, str], ...]
    measure: Measure
    cautions: dict[str, ModelWarning] = field(default_factory=dict)  # by their words

    @classmethod
    def of(
        cls,
        sample: Microdata,
        *,
        population: KeyTable | None,
        model: LogLinear | LoglinearSearch | None,
        loss: tuple[str, str] | Sequence[tuple[str, str]],
        measure: Measure,
        known: Known = None,
    ) -> Assessor:
        """Return it after the checks; without population and model, the default search is made."""
        check_microdata(sample)
        check_choice(measure, Measure, name="measure")
        sets = _sets(known)
        if model is not None and len(sets) > 1:
            message = "A `model` serves one set of known keys: leave it out."
            raise InputError(message)
        tables = _tables(loss)
        views = tuple(View.of(sample, names, population, model) for names in sets)
        return cls(sample, views, tables, measure)

    @property
    def exact(self) -> bool:
        """Whether the population is known."""
        return self.views[0].population is not None

    def trial(self, steps: Steps | None, *, seed: int) -> Trial:
        """Return one release of a candidate with its risk and loss; None leaves the file alone."""
        listed: Any = steps if isinstance(steps, list | tuple) else [steps]
        with without_warnings():  # the path or the map shows what was achieved
            release = (
                Release(self.sample, self.sample, Misclassification({}).on(self.sample))
                if steps is None
                else protect(self.sample, listed, rng=seed)
            )
            return self.assessed(release)

    def assessed(self, release: Release) -> Trial:
        """Return a release with its risk and loss."""
        risks = tuple(view.risk(release) for view in self.views)
        for risk in risks:
            few = FewUniquesWarning  # of the release, not of the model
            self.cautions.update(
                (str(one), one) for one in risk.cautions if not isinstance(one, few)
            )
        found = [information_loss(release, rows=rows, columns=cols) for rows, cols in self.tables]
        loss = float(np.mean([distance(one, self.measure) for one in found]))
        return Trial(release, risks, loss)

    def point(self, label: str, steps: Steps, *, seeds: Sequence[int]) -> Point:
        """Return a candidate's place on the map."""
        return Point.of(label, [self.trial(steps, seed=seed) for seed in seeds])


def _sets(known: object) -> list[tuple[str, ...] | None]:
    """Return the sets of keys that intruders know; None stands for all keys."""
    if known is None:
        return [None]
    listed = check_list(known, name="known")
    if all(isinstance(name, str) for name in listed):
        return [tuple(listed)]
    return [tuple(check_list(names, name="known")) for names in listed]


def distance(loss: Loss, measure: Measure) -> float:
    """Return how far a table is from its ideal by a measure: 0 is unchanged.

    Where there was no association, or no variance between rows, there was none to lose.
    """
    if measure == "raad":
        return 100 - loss.raad
    if measure == "rcv":
        return abs(loss.rcv) if np.isfinite(loss.rcv) else 0.0
    changes = np.abs(list(loss.bvr.values()))
    return float(changes[np.isfinite(changes)].mean()) if np.isfinite(changes).any() else 0.0


def _tables(loss: object) -> tuple[tuple[str, str], ...]:
    pairs = [loss] if is_pair(loss) else loss
    if not isinstance(pairs, list | tuple) or not pairs or not all(map(is_pair, pairs)):
        message = (
            '`loss` must be a pair of columns, such as ("lad", "ethnicity"), or a list of pairs.'
        )
        raise InputError(message)
    return tuple((str(rows), str(columns)) for rows, columns in pairs)


def _spread(values: NDArray[np.float64]) -> float:
    """Return the standard deviation of replications; 0 when there is one."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0
