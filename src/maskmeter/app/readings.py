"""What was read and assessed already, so that a change of the plan repeats only what it must."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from threading import RLock
from typing import Any, Generic, TypeVar

import msgspec

from maskmeter.checks import Progress
from maskmeter.errors import (
    MaskmeterWarning,
    PopulationMismatchWarning,
    caught_warnings,
    without_warnings,
)
from maskmeter.evidence.assessment import Assessment
from maskmeter.plan import Plan, PlanFile, Task, read_task
from maskmeter.plan.file_keys import reading_part
from maskmeter.riskutility.assessor import Assessor, altered_keys, carried_columns
from maskmeter.workflows import assess_task, assessor_of

T = TypeVar("T")


class Recent(Generic[T]):
    """The values that were used last, by what they were made for; safe for several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = RLock()

    def get(self, key: Hashable) -> T | None:
        """Return a value that is held, at once; None if it is not."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: Hashable, value: T) -> T:
        """Hold a value; the one that was not used for longest may go."""
        with self._lock:
            self._held[key] = value
            self._held.move_to_end(key)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return value

    def made(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a value that is held, or make it now."""
        held = self.get(key)
        return self.put(key, make()) if held is None else held


class Readings:
    """A file as plans read it: tasks, what measures candidates, and assessments."""

    def __init__(self, path: Path, *, seed: int) -> None:
        self.path = path
        self.seed = seed
        self._tasks: Recent[tuple[Task, tuple[str, ...]]] = Recent(4)
        self._assessors: Recent[Assessor] = Recent(8)
        self._assessments: Recent[tuple[Task, Assessment]] = Recent(6)
        self._shown: Recent[Any] = Recent(12)
        self._reading = RLock()  # nobody reads what another is reading

    def task(self, plan: Plan) -> Task:
        """Return a plan with everything it needs read; what is read in the same way is read once."""
        key = reading_part(plan)
        with self._reading:
            task, _ = self._tasks.made(key, lambda: self._read(plan))
            if task.sample.source is not None:
                task.sample.source.check_unchanged()
            return task if task.plan == plan else task.with_plan(plan)

    def cautions(self, plan: Plan) -> tuple[str, ...]:
        """Return what was said when the file was read as a plan reads it."""
        self.task(plan)
        held = self._tasks.get(reading_part(plan))
        return () if held is None else held[1]

    def _read(self, plan: Plan) -> tuple[Task, tuple[str, ...]]:
        with caught_warnings(MaskmeterWarning) as caught:
            task = read_task(PlanFile(plan), self.path)
        own = (one for one in caught if issubclass(one.category, PopulationMismatchWarning))
        return task, tuple(str(one.message) for one in own)

    def assessor(self, task: Task) -> Assessor:
        """Return what measures all candidates of a task, on the tables of the keys they change."""
        every = list(task.candidates.values())
        changed, loss = altered_keys(task.sample, every), task.plan.loss
        carried = carried_columns(every) | set(task.plan.release.drop)
        key = (reading_part(task.plan), tuple(changed), carried, tuple(loss.tables), loss.measure)
        return self._assessors.made(key, lambda: assessor_of(task, changed, every))

    def assessment(self, plan: Plan, progress: Progress) -> tuple[Task, Assessment]:
        """Return the assessment of a plan, drawn with the seed of the session."""

        def made() -> tuple[Task, Assessment]:
            progress("Reading the file", 0, 0)
            task = self.task(plan)
            progress("Protecting the file", 0, 0)
            with without_warnings():  # the figures say the same
                release = task.released(seed=self.seed)
            return task, assess_task(task, release, seed=self.seed, progress=progress)

        return self._assessments.made(encoded_plan(plan), made)

    def shown(self, plan: Plan, view: Callable[[Assessment], T]) -> T:
        """Return what a page shows of the assessment of a plan, made once."""
        held: T = self._shown.made(
            (view, encoded_plan(plan)), lambda: view(self.assessment(plan, lambda *_: None)[1])
        )
        return held

    def ready(self, plan: Plan, view: Callable[[Assessment], T]) -> T | None:
        """Return what a page shows of a plan that was assessed; None at once if it was not."""
        if self._assessments.get(encoded_plan(plan)) is None:
            return None
        return self.shown(plan, view)


def encoded_plan(plan: Plan) -> bytes:
    """Return a plan as bytes, to tell plans apart."""
    return msgspec.json.encode(plan)
