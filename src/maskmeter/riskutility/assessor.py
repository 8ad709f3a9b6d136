"""A candidate's release, its risk and its loss, with what all candidates share worked out once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from maskmeter.checks import check_choice, is_pair
from maskmeter.data.microdata import Microdata
from maskmeter.errors import Caution, FewUniquesWarning, InputError, without_warnings
from maskmeter.loss import Loss, information_loss
from maskmeter.loss.associations import strongest_associations
from maskmeter.perturb import Release, protect
from maskmeter.perturb.step import Step
from maskmeter.risk import Risk
from maskmeter.risk.intruder import EXACT_MATCH, INFORMED, Intruder
from maskmeter.risk.result import Headline
from maskmeter.risk.view import View
from maskmeter.types import Array

Steps: TypeAlias = Step | Sequence[Step]
Tables: TypeAlias = tuple[str, str] | Sequence[tuple[str, str]] | None

Measure = Literal["worst", "raad", "rcv", "bvr"]

ASSOCIATIONS = 3  # of each perturbed key, the strongest ones: their tables always count
MOST_LOSS = 50.0  # beyond which a release is not useful
MOST_CHANGED = 0.5  # of the records in a key, beyond which a release is not useful


@dataclass(frozen=True)
class Trial:
    """One release of a candidate, its loss, and its risk from each intruder in every scenario."""

    release: Release
    risks: dict[Intruder, dict[str, Risk]]
    loss: float
    worst: float  # the loss by its worst measure, whichever is asked for
    losses: Mapping[tuple[str, str], Loss] = field(default_factory=dict, repr=False)  # by table

    def risk(self, intruder: Intruder) -> Risk:
        """Return the risk from an intruder in the scenario with the most of it."""
        return max(self.risks[intruder].values(), key=lambda risk: risk.total)

    @property
    def useful(self) -> bool:
        """Whether analysts can use it: loss at most 50, at most half of the records changed in a key."""
        changed = max(self.release.changed_by_key.values())
        return self.worst <= MOST_LOSS and changed <= MOST_CHANGED

    @property
    def cautions(self) -> list[Caution]:
        """Why the estimates may mislead, whatever the release."""
        risks = [risk for one in self.risks.values() for risk in one.values()]
        said = [caution for risk in risks for caution in risk.cautions]
        return [one for one in said if one.kind is not FewUniquesWarning]

    @property
    def draw(self) -> Draw:
        """What is kept of it where nobody needs its records."""
        release = self.release
        return Draw(
            release.truth.share(release.changed),
            release.left_out,
            self.loss,
            self.useful,
            {
                intruder: {name: risk.headline for name, risk in risks.items()}
                for intruder, risks in self.risks.items()
            },
            tuple(self.cautions),
            tuple(release.cautions),
        )


@dataclass(frozen=True)
class Draw:
    """The figures of one release of a candidate: many are kept, so that no record is among them."""

    changed: float  # share of the released records
    left_out: float  # share of the original records
    loss: float
    useful: bool
    risks: Mapping[Intruder, Mapping[str, Headline]]  # in every scenario
    cautions: tuple[Caution, ...]  # why the estimates may mislead, whatever the release
    warned: tuple[Caution, ...]  # what the steps warned of

    def risk(self, intruder: Intruder) -> Headline:
        """Return the risk from an intruder in the scenario with the most of it."""
        return max(self.risks[intruder].values(), key=lambda risk: risk.total)

    @property
    def assessable(self) -> bool:
        """Whether the risk of every scenario holds."""
        return all(risk.assessable for risk in self.risks[EXACT_MATCH].values())


@dataclass(frozen=True)
class Point:
    """A candidate on the map: means over its replications, and their standard deviations.

    `risk` is that from an intruder who matches exactly, `informed` that from one who knows the
    method; `upper` is the upper end of the interval of each, and the risk itself when the population
    is known. Shares are of the sample uniques of the unprotected file. `loss` is a distance from
    the unchanged table: smaller is better.
    """

    label: str
    changed: float  # share of the released records
    left_out: float  # share of the original records
    risk: float
    risk_sd: float
    share: float
    upper: float
    informed: float
    informed_sd: float
    informed_share: float
    informed_upper: float
    loss: float
    loss_sd: float
    replications: int

    @classmethod
    def of(cls, label: str, draws: Sequence[Draw]) -> Point:
        """Return the place of a candidate that was drawn some times."""
        loss = np.array([one.loss for one in draws])
        matched, informed = (
            [one.risk(intruder) for one in draws] for intruder in (EXACT_MATCH, INFORMED)
        )
        return cls(
            label,
            changed=float(np.mean([one.changed for one in draws])),
            left_out=float(np.mean([one.left_out for one in draws])),
            **_figures(matched, "risk", ""),
            **_figures(informed, "informed", "informed_"),
            loss=float(loss.mean()),
            loss_sd=_spread(loss),
            replications=len(draws),
        )

    def matches(self, intruder: Intruder) -> tuple[float, float]:
        """Return the correct matches to expect of an intruder, and the upper end of their interval."""
        if intruder == INFORMED:
            return self.informed, self.informed_upper
        return self.risk, self.upper


def _figures(risks: Sequence[Headline], name: str, prefix: str) -> dict[str, float]:
    """Return the means of some risks, and the spread of their totals."""
    totals = np.array([risk.total for risk in risks])
    return {
        name: float(totals.mean()),
        f"{name}_sd": _spread(totals),
        f"{prefix}share": float(np.mean([risk.share for risk in risks])),
        f"{prefix}upper": float(np.mean([risk.upper for risk in risks])),
    }


@dataclass(frozen=True, eq=False)
class Assessor:
    """What all candidates share: the views of intruders on the file, the tables and the measure."""

    sample: Microdata
    views: dict[str, View]
    tables: tuple[tuple[str, str], ...]
    measure: Measure

    @classmethod
    def of(
        cls,
        sample: Microdata,
        views: dict[str, View],
        perturbed: Iterable[str],
        *,
        loss: Tables,
        measure: Measure,
        associations: int = ASSOCIATIONS,
        carried: Collection[str] = (),
    ) -> Assessor:
        """Return it after the checks; `perturbed` are the keys that some candidate changes."""
        check_choice(measure, Measure, name="measure")
        sample.check_held("Comparing releases")
        tables = loss_tables(loss, sample, perturbed, associations=associations, carried=carried)
        if not tables:
            raise InputError(
                'No table to measure the loss on. Name one in `loss`, such as ("lad", "ethnicity");'
                " tables are chosen for you only where the file has columns with 2 to 50 categories"
                " beside the perturbed key."
            )
        return cls(sample, views, tables, measure)

    @property
    def exact(self) -> bool:
        """Whether the population is known."""
        return all(view.counts is not None for view in self.views.values())

    def trial(self, candidate: Steps | Release | None, *, seed: int) -> Trial:
        """Return one release of a candidate with its risk and loss; None leaves the file alone."""
        release = candidate if isinstance(candidate, Release) else self._made(candidate, seed)
        if release.original != self.sample:
            raise InputError(
                "A release among the candidates was made from another file. Give releases of this"
                " file, or the steps that make them."
            )
        seen = {name: view.with_release(release) for name, view in self.views.items()}
        risks: dict[Intruder, dict[str, Risk]] = {
            intruder: {name: view.risk(intruder=intruder) for name, view in seen.items()}
            for intruder in (INFORMED, EXACT_MATCH)  # the first brings the second with it
        }
        return self.measured(Trial(release, risks, 0.0, 0.0))

    def loss(self, steps: Steps, *, seed: int) -> float:
        """Return the loss of a candidate alone, without its risk."""
        return self.measured(Trial(self._made(steps, seed), {}, 0.0, 0.0)).loss

    def measured(self, trial: Trial) -> Trial:
        """Return a trial with its loss on these tables; those it has been measured on are not again."""
        losses = dict(trial.losses)
        for pair in self.tables:
            if pair not in losses:
                rows, columns = pair
                losses[pair] = information_loss(trial.release, rows=rows, columns=columns)
        own = [losses[pair] for pair in self.tables]
        loss = float(np.mean([distance(one, self.measure) for one in own]))
        worst = float(np.mean([one.worst for one in own]))
        return replace(trial, loss=loss, worst=worst, losses=losses)

    def _made(self, steps: Steps | None, seed: int) -> Release:
        if steps is None:
            return Release.unchanged(self.sample)
        listed: Any = steps if isinstance(steps, list | tuple) else [steps]
        with without_warnings():  # the path or the map shows what was achieved
            return protect(self.sample, listed, rng=seed)


def carried_columns(candidates: Iterable[Steps | Release]) -> frozenset[str]:
    """Return the columns that travel with a key in some candidate, or are dropped.

    A table of a key and what travels with it never changes.
    """
    named: set[str] = set()
    for one in candidates:
        if isinstance(one, Release):
            named |= one.released.carried.keys() | set(one.released.dropped)
        for part in one if isinstance(one, list | tuple) else [one]:
            named |= set(getattr(part, "carry", ()))
    return frozenset(named)


def altered_keys(sample: Microdata, candidates: Iterable[Steps | Release]) -> list[str]:
    """Return the keys that candidates alter, in the order of the file; all keys if they alter none.

    What is no step is refused when it is applied.
    """
    named: set[str] = set()
    for one in candidates:
        parts: Any = one if isinstance(one, list | tuple) else [one]
        named |= {name for part in parts for name in getattr(part, "altered_keys", ())}
    return [name for name in sample.space.names if name in named or not named]


def release_cautions(label: str, draws: Sequence[Draw]) -> list[Caution]:
    """Return what the steps of a candidate warned of, its label in front; one draw speaks for all."""
    said = next((one.warned for one in draws if one.warned), ())
    return [Caution(one.kind, f"{label}: {one}", one.public_text) for one in said]


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
    carried: Collection[str] = (),
) -> tuple[tuple[str, str], ...]:
    """Return the tables that are named, and the strongest associations of the perturbed keys."""
    own = named_tables(loss)
    found = strongest_associations(sample, list(perturbed), number=associations, without=carried)
    named = {frozenset(pair) for pair in own}
    return (*own, *(pair for pair in found if frozenset(pair) not in named))


def named_tables(loss: object) -> tuple[tuple[str, str], ...]:
    """Return the tables that are named: a pair of columns, or a list of pairs.

    >>> named_tables(("lad", "ethnicity"))
    (('lad', 'ethnicity'),)
    """
    pairs = [] if loss is None else [loss] if is_pair(loss) else loss
    if not isinstance(pairs, list | tuple) or not all(map(is_pair, pairs)):
        raise InputError(
            '`loss` must be a pair of columns, such as ("lad", "ethnicity"), or a list of pairs.'
        )
    return tuple((str(rows), str(columns)) for rows, columns in pairs)


def _spread(values: Array) -> float:
    """Return the standard deviation of replications; 0 when there is one."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0
