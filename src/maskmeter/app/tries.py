"""What was tried: releases under labels, measured once for each way in which the file is read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from maskmeter.app.results import Tried
from maskmeter.app.settings import named
from maskmeter.checks import Progress
from maskmeter.errors import InputError
from maskmeter.perturb.entries import StepEntries
from maskmeter.plan import Plan, Task
from maskmeter.plan.schema import Candidate
from maskmeter.risk.intruder import INFORMED
from maskmeter.risk.target import Target
from maskmeter.riskutility import RiskUtilityMap
from maskmeter.riskutility.assessor import Assessor, Draw, Point, release_cautions
from maskmeter.riskutility.comparison import map_of, replication_seeds
from maskmeter.riskutility.layers import target_layers
from maskmeter.riskutility.riskmap import UNCHANGED

TRYING = "this setting"  # the point of a slider that moves: it gets a label when it rests
DRAWS = 5  # of a refined point
MOST = 200  # points on the map
_RESERVED = {TRYING, UNCHANGED}  # labels that no plan file gives to its points


@dataclass(frozen=True)
class Attempt:
    """A way to protect the file under a label, and what was measured of it: the first draw, then others.

    `measured` tells how the file was read and on which tables the loss was measured; `given` that
    a plan file brought it.
    """

    label: str
    steps: tuple[StepEntries, ...]
    draws: tuple[Draw, ...] = ()
    measured: bytes = b""
    given: bool = False

    @property
    def refined(self) -> bool:
        """Whether it was drawn more than once."""
        return len(self.draws) > 1

    def fits(self, keys: Collection[str]) -> bool:
        """Return True when it changes and depends on none but these keys."""
        return all(key in keys for one in self.steps for key in one.keys_used())


@dataclass(frozen=True, eq=False)
class Tries:
    """All attempts, by label; values that never change."""

    attempts: Mapping[str, Attempt] = field(default_factory=dict)

    def with_attempt(self, one: Attempt) -> Tries:
        """Return them with one more, in place of that with the same label."""
        own = [name for name, held in self.attempts.items() if not held.given]
        if len(own) >= MOST and one.label not in self.attempts and not one.given:
            raise InputError(f"There are {MOST} points on the map: remove some first.")
        return Tries({**self.attempts, one.label: one})

    def without(self, label: str) -> Tries:
        """Return them without one."""
        return Tries({name: one for name, one in self.attempts.items() if name != label})

    def renamed(self, label: str, to: str) -> Tries:
        """Return them with one under another label."""
        one = self.attempts.get(label)
        return self if one is None else self.without(label).with_attempt(replace(one, label=to))

    def with_points(self, plan: Plan) -> Tries:
        """Return them with the candidates of a plan, and its steps under a label that names them.

        They take the place of those that another plan brought, and not of those that were tried.
        """
        found, placed = self, set()
        for one in plan.candidate:
            steps = tuple(one.step)
            label = found.free_label(one.label, steps) if one.label in placed else one.label
            found, label = found._brought(label, steps)
            placed.add(label)
        return found.with_own(plan)

    def with_own(self, plan: Plan) -> Tries:
        """Return them with the steps of a plan, if they are not there yet."""
        listed = tuple(plan.step)
        there = any(one.steps == listed for name, one in self.attempts.items() if name != TRYING)
        if there or not listed:
            return self
        return self._brought(self.free_label(named(listed), listed), listed)[0]

    def _brought(self, label: str, steps: tuple[StepEntries, ...]) -> tuple[Tries, str]:
        """Return them with a point that a plan file brought, and its label."""
        held = self.attempts.get(label)
        if label in _RESERVED or (held is not None and not held.given):
            label = self.free_label(label, steps)
            held = self.attempts.get(label)
        own = held is not None and not held.given
        return self if own else self.with_attempt(Attempt(label, steps, given=True)), label

    def with_steps(self, steps: Sequence[StepEntries], label: str) -> Tries:
        """Return them with steps that are yet to be measured, under a label that is free for them."""
        listed = tuple(steps)
        return self.with_attempt(Attempt(self.free_label(label, listed), listed))

    def following(self, plans: Sequence[Plan]) -> Tries:
        """Return them without what came with plan files that none of these plans is from."""
        known = [one.step for plan in plans for one in plan.candidate]
        known += [plan.step for plan in plans]
        left = [
            (name, one)
            for name, one in self.attempts.items()
            if not one.given or list(one.steps) in known
        ]
        return Tries(dict(left))

    def free_label(self, label: str, steps: tuple[StepEntries, ...]) -> str:
        """Return a label, with a number if other steps have it already."""
        number, found = 1, label
        while found in _RESERVED or (
            found in self.attempts and self.attempts[found].steps != steps
        ):
            number += 1
            found = f"{label} ({number})"
        return found

    def of(self, keys: Collection[str]) -> list[Attempt]:
        """Return those that need none but these keys: others wait until theirs are ticked again."""
        return [one for one in self.attempts.values() if one.fits(keys)]


def mended_label(label: str, before: Sequence[StepEntries], after: Sequence[StepEntries]) -> str:
    """Return the label of steps that were mended: what travels with their keys now is named."""
    old, new = ([*_carried(before)], [*_carried(after)])
    added = [one for one in dict.fromkeys(new) if one not in old]
    return f"{label} with {', '.join(added)}" if added else f"{label}, mended"


def _carried(steps: Sequence[StepEntries]) -> Iterator[str]:
    for one in steps:
        yield from getattr(one, "carry", ())


def with_attempt(base: Plan, one: Attempt) -> Plan:
    """Return a plan of which an attempt is the only candidate."""
    listed = [Candidate(one.label, list(one.steps))] if one.steps else []
    return msgspec.structs.replace(base, candidate=listed)


def first_draw(attempt: Attempt, task: Task, assessor: Assessor, *, seed: int) -> Draw:
    """Return the first draw of an attempt, which `task` has as a candidate."""
    steps = task.candidates[attempt.label] if attempt.steps else None
    return assessor.trial(steps, seed=seed).draw


def refined(
    attempt: Attempt, task: Task, assessor: Assessor, *, seed: int, progress: Progress
) -> Attempt:
    """Return an attempt with more draws."""
    steps, draws = task.candidates[attempt.label], list(attempt.draws[:1])
    for number, other in enumerate(replication_seeds(seed, DRAWS)[1:], start=1):
        progress(f"Drawing again: {attempt.label}", number, DRAWS)
        draws.append(assessor.trial(steps, seed=other).draw)
    return replace(attempt, draws=tuple(draws))


def _point(one: Attempt) -> Point:
    """Return the place of the release itself, and how far its figures spread over the draws."""
    own, spread = Point.of(one.label, one.draws[:1]), Point.of(one.label, one.draws)
    return replace(
        own,
        risk_sd=spread.risk_sd,
        informed_sd=spread.informed_sd,
        loss_sd=spread.loss_sd,
        replications=spread.replications,
    )


@dataclass(frozen=True, eq=False)
class Measured:
    """Attempts that were measured in the same way, and the target of the plan."""

    attempts: Sequence[Attempt]
    assessor: Assessor
    target: Target | None

    @property
    def tried(self) -> tuple[Tried, ...]:
        """Each attempt with its place on the map."""
        return tuple(map(self._tried, self.attempts))

    def _tried(self, one: Attempt) -> Tried:
        first, target = one.draws[0], self.target
        decided = None if target is None else target.decide(first.risks[target.intruder])
        return Tried(
            one.label,
            one.steps,
            _point(one),
            verdict=None if decided is None else decided.verdict,
            meets=decided is not None and decided.met and first.useful,
            refined=one.refined,
            assessable=first.assessable,
            cautions=tuple(str(caution) for caution in release_cautions(one.label, one.draws)),
        )

    def map(self) -> RiskUtilityMap:
        """Return the map of the attempts."""
        points = [one.point for one in self.tried]
        cautions = [said for one in self.attempts for draw in one.draws for said in draw.cautions]
        cautions += [
            said for one in self.attempts for said in release_cautions(one.label, one.draws)
        ]
        first = [(point, one.draws[0]) for point, one in zip(points, self.attempts, strict=True)]
        target = self.target
        return map_of(
            points,
            self.assessor,
            cautions,
            intruder=INFORMED if target is None else target.intruder,
            layers=() if target is None else target_layers(target, first),
        )


AS_IT_IS = Attempt(UNCHANGED, ())
