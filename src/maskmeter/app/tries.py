"""What was tried: releases under labels, measured once for each way in which the file is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import msgspec

from maskmeter.app.results import Tried
from maskmeter.checks import Progress
from maskmeter.perturb.entries import StepEntries
from maskmeter.plan import Plan, Task
from maskmeter.plan.file_keys import reading_part
from maskmeter.plan.schema import Candidate
from maskmeter.risk.intruder import INFORMED
from maskmeter.risk.target import Target
from maskmeter.riskutility import RiskUtilityMap
from maskmeter.riskutility.assessor import (
    Assessor,
    Point,
    Trial,
    release_cautions,
)
from maskmeter.riskutility.comparison import map_of, replication_seeds
from maskmeter.riskutility.layers import target_layers
from maskmeter.riskutility.riskmap import UNCHANGED

DRAWS = 5  # of a refined point
MOST = 60  # points on the map


@dataclass(frozen=True, eq=False)
class Attempt:
    """A way to protect the file under a label, and what was measured of it: the first draw, then others."""

    label: str
    steps: tuple[StepEntries, ...]
    draws: tuple[Trial, ...] = ()
    reading: bytes = b""  # how the file was read when it was measured
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Tries:
    """All attempts, by label; values that never change."""

    attempts: Mapping[str, Attempt] = field(default_factory=dict)

    def with_attempt(self, one: Attempt) -> Tries:
        """Return them with one more, in place of that with the same label; the oldest may go."""
        kept = {label: old for label, old in self.attempts.items() if label != one.label}
        listed = [*kept.items(), (one.label, one)][-MOST:]
        return Tries(dict(listed))

    def without(self, label: str) -> Tries:
        """Return them without one."""
        return Tries({name: one for name, one in self.attempts.items() if name != label})

    def plan(self, base: Plan, *more: Attempt) -> Plan:
        """Return the plan of which all attempts are candidates: it says what must be read."""
        every = {**self.attempts, **{one.label: one for one in more}}
        listed = [Candidate(one.label, list(one.steps)) for one in every.values() if one.steps]
        return msgspec.structs.replace(base, candidate=listed)

    def pending(self, base: Plan) -> list[Attempt]:
        """Return the attempts that were not measured with the file as the plan reads it now."""
        reading = reading_part(self.plan(base))
        return [one for one in self.attempts.values() if one.reading != reading]


def measured(attempt: Attempt, task: Task, assessor: Assessor, *, seed: int) -> Attempt:
    """Return an attempt with its first draw measured; `task` has it as a candidate."""
    begun = perf_counter()
    steps = task.candidates[attempt.label] if attempt.steps else None
    trial = assessor.trial(steps, seed=seed)
    taken = perf_counter() - begun
    return replace(attempt, draws=(trial,), reading=reading_part(task.plan), seconds=taken)


def refined(
    attempt: Attempt, task: Task, assessor: Assessor, *, seed: int, progress: Progress
) -> Attempt:
    """Return an attempt with more draws."""
    steps, draws = task.candidates[attempt.label], list(attempt.draws[:1])
    for number, other in enumerate(replication_seeds(seed, DRAWS)[1:], start=1):
        progress(f"Drawing again: {attempt.label}", number, DRAWS)
        draws.append(assessor.trial(steps, seed=other))
    return replace(attempt, draws=tuple(draws))


@dataclass(frozen=True, eq=False)
class Measured:
    """Attempts that were measured with one way to read the file, on the tables of all their keys."""

    attempts: tuple[Attempt, ...]
    assessor: Assessor
    target: Target | None

    @classmethod
    def of(cls, attempts: Sequence[Attempt], task: Task, assessor: Assessor) -> Measured:
        """Return the attempts with their loss on the tables that a comparison of them all takes."""
        again = tuple(
            replace(one, draws=tuple(assessor.measured(trial) for trial in one.draws))
            for one in attempts
        )
        return cls(again, assessor, task.target)

    @property
    def tried(self) -> tuple[Tried, ...]:
        """Each attempt with its place on the map."""
        return tuple(map(self._tried, self.attempts))

    def _tried(self, one: Attempt) -> Tried:
        first, target = one.draws[0], self.target
        verdict = None if target is None else target.decide(first.risks[target.intruder]).verdict
        return Tried(
            one.label,
            one.steps,
            Point.of(one.label, one.draws),
            useful=first.useful,
            verdict=verdict,
            refined=len(one.draws) > 1,
            seconds=one.seconds,
            cautions=tuple(str(caution) for caution in release_cautions(one.label, one.draws)),
        )

    def map(self) -> RiskUtilityMap:
        """Return the map of the attempts."""
        tried = self.tried
        points = [one.point for one in tried]
        drawn = [trial for one in self.attempts for trial in one.draws]
        cautions = [caution for trial in drawn for caution in trial.cautions]
        cautions += [
            caution for one in self.attempts for caution in release_cautions(one.label, one.draws)
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
