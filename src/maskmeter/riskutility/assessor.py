"""A candidate's release, its risk and its loss, with what all candidates share worked out once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import check_choice, check_list, is_pair
from maskmeter.data.keys import KeySpace
from maskmeter.data.microdata import Microdata, check_microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import (
    FewUniquesWarning,
    InputError,
    MaskmeterWarning,
    ModelWarning,
    without_warnings,
)
from maskmeter.loglinear import LogLinear, LoglinearSearch, search_loglinear
from maskmeter.loss import Loss, information_loss
from maskmeter.loss.associations import strongest_associations
from maskmeter.perturb import Release, protect
from maskmeter.perturb.step import Step
from maskmeter.risk import Risk, estimate_risk, exact_risk

Steps: TypeAlias = Step | Sequence[Step]
Known: TypeAlias = (
    str | Sequence[str] | Sequence[Sequence[str]] | Mapping[str, Sequence[str]] | None
)
Tables: TypeAlias = tuple[str, str] | Sequence[tuple[str, str]] | None

Measure = Literal["worst", "raad", "rcv", "bvr"]

ASSOCIATIONS = 3  # of each perturbed key, the strongest ones: their tables always count
MOST_LOSS = 50.0  # beyond which a release is not useful
MOST_CHANGED = 0.5  # of the records in a key, beyond which a release is not useful


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
    """One release of a candidate, its risk in every scenario by name, and its loss."""

    release: Release
    risks: dict[str, Risk]
    loss: float
    worst: float  # the loss by its worst measure, whichever is asked for

    @property
    def risk(self) -> Risk:
        """The risk in the scenario with the most of it."""
        return max(self.risks.values(), key=lambda risk: risk.total)

    @property
    def upper(self) -> float:
        """Upper end of that risk."""
        return self.risk.upper

    @property
    def useful(self) -> bool:
        """Whether analysts can use it: loss at most 50, at most half of the records changed in a key."""
        changed = max(self.release.changed_by_key.values())
        return self.worst <= MOST_LOSS and changed <= MOST_CHANGED

    @property
    def assessable(self) -> bool:
        """Whether the risk of every scenario holds."""
        return all(risk.assessable for risk in self.risks.values())


@dataclass(frozen=True, eq=False)
class View:
    """The file as someone sees it who knows some of its keys, or all: then `names` is None."""

    scenario: str
    names: tuple[str, ...] | None
    population: KeyTable | None
    model: LogLinear | LoglinearSearch | None

    @classmethod
    def of(
        cls,
        sample: Microdata,
        scenario: str,
        names: tuple[str, ...] | None,
        population: KeyTable | None,
        model: LogLinear | LoglinearSearch | None,
    ) -> View:
        """Return it with the population, or the model, of the keys that are known."""
        if population is not None:
            known = population if names is None else population.project(names)
            return cls(scenario, names, known, None)
        if model is None:
            with without_warnings(ModelWarning):  # they are among the cautions of its risks
                model = search_loglinear(sample if names is None else sample.project(names))
        return cls(scenario, names, None, model)

    def risk(self, data: Release | Microdata) -> Risk:
        """Return the risk of a release, or of the file."""
        seen = data if self.names is None else data.project(self.names)
        if self.population is None:
            return estimate_risk(seen, self.model)
        return exact_risk(seen, self.population)


@dataclass(frozen=True, eq=False)
class Assessor:
    """What all candidates share, worked out once: the population or the model, tables and measure."""

    sample: Microdata
    views: tuple[View, ...]
    tables: tuple[tuple[str, str], ...]
    measure: Measure
    cautions: dict[str, ModelWarning] = field(default_factory=dict)  # by their words

    @classmethod
    def of(
        cls,
        sample: Microdata,
        perturbed: Iterable[str],
        *,
        population: KeyTable | None,
        model: LogLinear | LoglinearSearch | None,
        loss: Tables,
        measure: Measure,
        known: Known = None,
        associations: int = ASSOCIATIONS,
    ) -> Assessor:
        """Return it after the checks; without population and model, the default search is made.

        `perturbed` are the keys that some candidate changes, so that all have the same tables.
        """
        check_microdata(sample)
        check_choice(measure, Measure, name="measure")
        sets = _sets(known, sample.space)
        if model is not None and len(sets) > 1:
            raise InputError(
                "A `model` serves one set of known keys, but `known` has several. Leave `model` out."
            )
        tables = loss_tables(loss, sample, perturbed, associations=associations)
        if not tables:
            raise InputError(
                'No table to measure the loss on. Name one in `loss`, such as ("lad", "ethnicity");'
                " tables are chosen for you only where the file has columns with 2 to 50 categories"
                " beside the perturbed key."
            )
        views = tuple(
            View.of(sample, scenario, names, population, model) for scenario, names in sets.items()
        )
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
                Release.unchanged(self.sample)
                if steps is None
                else protect(self.sample, listed, rng=seed)
            )
            return self.assessed(release)

    def assessed(self, release: Release) -> Trial:
        """Return a release with its risk and loss."""
        risks = {view.scenario: view.risk(release) for view in self.views}
        for risk in risks.values():
            few = FewUniquesWarning  # of the release, not of the model
            self.cautions.update(
                (str(one), one) for one in risk.cautions if not isinstance(one, few)
            )
        found = [information_loss(release, rows=rows, columns=cols) for rows, cols in self.tables]
        loss = float(np.mean([distance(one, self.measure) for one in found]))
        return Trial(release, risks, loss, float(np.mean([one.worst for one in found])))


def perturbed_keys(sample: Microdata, candidates: Iterable[Steps]) -> list[str]:
    """Return the keys that some candidates change; what is no step is refused when it is applied."""
    steps: list[Any] = []
    for one in candidates:
        steps += one if isinstance(one, list | tuple) else [one]
    named = [name for step in steps for name in getattr(step, "perturbed_keys", ())]
    return [name for name in dict.fromkeys(named) if name in sample.space.names]


def release_cautions(label: str, trials: Sequence[Trial]) -> list[MaskmeterWarning]:
    """Return what the steps of a candidate warned of, its label in front; one draw speaks for all."""
    said = next((trial.release.cautions for trial in trials if trial.release.cautions), ())
    return [type(one)(f"{label}: {one}") for one in said]


def _sets(known: object, space: KeySpace) -> dict[str, tuple[str, ...] | None]:
    """Return the sets of keys that intruders know, by their scenarios; None stands for all keys."""
    if known is None:
        return {"all keys": None}

    def one(names: object) -> tuple[str, ...]:
        listed = space.chosen(names) if isinstance(names, str) else names
        return tuple(check_list(listed, name="known"))

    if isinstance(known, Mapping) and known:
        return {str(name): one(keys) for name, keys in known.items()}
    if isinstance(known, str) or all(isinstance(name, str) for name in one(known)):
        known = [known]
    sets = [one(names) for names in check_list(known, name="known")]
    return {", ".join(map(str, names)): names for names in sets}


def distance(loss: Loss, measure: Measure) -> float:
    """Return how far a table is from its ideal by a measure: 0 is unchanged.

    Where there was no association, or no variance between rows, there was none to lose.
    """
    if measure == "worst":
        return loss.worst
    if measure == "raad":
        return 100 - loss.raad
    if measure == "rcv":
        return abs(loss.rcv) if np.isfinite(loss.rcv) else 0.0
    changes = np.abs(list(loss.bvr.values()))
    return float(changes[np.isfinite(changes)].mean()) if np.isfinite(changes).any() else 0.0


def loss_tables(
    loss: object,
    sample: Microdata,
    perturbed: Iterable[str],
    *,
    associations: int = ASSOCIATIONS,
) -> tuple[tuple[str, str], ...]:
    """Return the tables that are named, and the strongest associations of the perturbed keys."""
    pairs = [] if loss is None else [loss] if is_pair(loss) else loss
    if not isinstance(pairs, list | tuple) or not all(map(is_pair, pairs)):
        raise InputError(
            '`loss` must be a pair of columns, such as ("lad", "ethnicity"), or a list of pairs.'
        )
    own = [(str(rows), str(columns)) for rows, columns in pairs]
    found = strongest_associations(sample, list(perturbed), number=associations)
    named = {frozenset(pair) for pair in own}
    return (*own, *(pair for pair in found if frozenset(pair) not in named))


def _spread(values: NDArray[np.float64]) -> float:
    """Return the standard deviation of replications; 0 when there is one."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0
