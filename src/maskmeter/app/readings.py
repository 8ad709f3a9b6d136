"""What was read and assessed already, so that a change of the plan repeats only what it must."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from maskmeter.checks import Progress
from maskmeter.data.engines.files import files_of, names_several
from maskmeter.errors import (
    MaskmeterError,
    MaskmeterWarning,
    PopulationMismatchWarning,
    caught_warnings,
    without_warnings,
)
from maskmeter.evidence.assessment import Assessment
from maskmeter.plan import Plan, PlanFile, Task, read_task
from maskmeter.plan.file_keys import reading_part
from maskmeter.plan.paths import paths_of
from maskmeter.riskutility.assessor import Assessor, loss_tables
from maskmeter.workflows import STEPS, assess_task

T = TypeVar("T")
# The name, the size and the time of each file.
FileState: TypeAlias = tuple[tuple[str, int, int], ...]

_MANY = 200_000  # records, beyond which little is held


class Recent(Generic[T]):
    """The values that were used last, by what they were made for; safe for several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = RLock()
        self._making: dict[Hashable, Lock] = {}  # nobody makes what another is making

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
        if held is not None:
            return held
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:
            held = self.get(key)
            try:
                return self.put(key, make()) if held is None else held
            finally:
                with self._lock:
                    self._making.pop(key, None)


class Readings:
    """A file as plans read it: tasks, what measures candidates, and assessments.

    All are held for as long as the files that a plan names stay as they are.
    """

    def __init__(
        self, path: Path, *, seed: int, records: int, check: Callable[[Plan], object]
    ) -> None:
        self.path = path
        self.seed = seed
        self._check = check  # refuses paths of a plan that lead elsewhere by now
        large = records > _MANY
        self._tasks: Recent[tuple[Task, tuple[str, ...]]] = Recent(2 if large else 4)
        self._assessors: Recent[Assessor] = Recent(1 if large else 4)
        self._faults: Recent[MaskmeterError] = Recent(8)
        self._tables: Recent[list[tuple[str, str]]] = Recent(8)
        self._assessments: Recent[tuple[Task, Assessment]] = Recent(2 if large else 6)
        self._shown: Recent[Any] = Recent(12)

    def reading(self, plan: Plan) -> bytes:
        """Return what tells apart ways to read the file: what a plan says, and the state of its files."""
        files = [self.path, *map(Path, paths_of(plan))]
        return reading_part(plan) + repr([file_state(one) for one in files]).encode()

    def task(self, plan: Plan) -> Task:
        """Return a plan with everything it needs read; what is read in the same way is read once."""
        fault = self._faults.get(self._asked(plan))
        if fault is not None:
            raise fault.with_traceback(None)
        task, _ = self._tasks.made(self.reading(plan), lambda: self._read(plan))
        if task.sample.source is not None:
            task.sample.source.check_unchanged()
        return task if task.plan == plan else task.with_plan(plan)

    def cautions(self, plan: Plan) -> tuple[str, ...]:
        """Return what was said when the file was read as a plan reads it."""
        self.task(plan)
        held = self._tasks.get(self.reading(plan))
        return () if held is None else held[1]

    def holds(self, plan: Plan) -> bool:
        """Return True when `task` and `tables` answer at once: the file was read as a plan says."""
        read = self._tasks.get(self.reading(plan)) is not None
        return read and self._tables.get(self._named(plan)) is not None

    def _asked(self, plan: Plan) -> bytes:
        """Return all that a file may be refused for when it is read."""
        return self.reading(plan) + msgspec.json.encode((plan.loss, plan.check, plan.release))

    def _read(self, plan: Plan) -> tuple[Task, tuple[str, ...]]:
        with caught_warnings(MaskmeterWarning) as caught:
            try:
                self._check(plan)
                task = read_task(PlanFile(plan), self.path)
            except MaskmeterError as error:
                self._faults.put(self._asked(plan), error)
                raise
        own = (one for one in caught if issubclass(one.category, PopulationMismatchWarning))
        return task, tuple(str(one.message) for one in own)

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        """Return the tables on which everything that the page shows measures the loss.

        Those that the plan names, and the strongest associations of all keys, whichever of them a
        release changes: so that one release has one loss on every tab. Columns that are dropped are
        in none of them.
        """
        task = self.task(plan)
        _, named, dropped = asked = self._named(plan)
        return self._tables.made(
            asked,
            lambda: list(
                loss_tables(list(named), task.sample, task.sample.space.names, carried=dropped)
            ),
        )

    def _named(self, plan: Plan) -> tuple[bytes, tuple[tuple[str, str], ...], frozenset[str]]:
        """Return what the tables of a plan depend on."""
        return self.reading(plan), tuple(plan.loss.tables), frozenset(plan.release.drop)

    def assessor(self, plan: Plan) -> Assessor:
        """Return what measures releases of the file on the tables that a plan names, and no others."""
        task, loss = self.task(plan), plan.loss
        return self._assessors.made(
            (self.reading(plan), tuple(loss.tables), loss.measure),
            lambda: Assessor.of(
                task.sample,
                task.views,
                task.sample.space.names,
                loss=task.tables,
                measure=loss.measure,
                associations=0,
            ),
        )

    def assessment(self, plan: Plan, progress: Progress) -> tuple[Task, Assessment]:
        """Return the assessment of a plan, drawn with the seed of the session."""

        def made() -> tuple[Task, Assessment]:
            progress(STEPS[0], 0, len(STEPS))
            task = self.task(plan)
            progress(STEPS[1], 1, len(STEPS))
            with without_warnings():  # the figures say the same
                release = task.released(seed=self.seed)
            return task, assess_task(task, release, seed=self.seed, progress=progress)

        return self._assessments.made(self._whole(plan), made)

    def shown(self, plan: Plan, view: Callable[[Assessment], T]) -> T:
        """Return what a page shows of the assessment of a plan, made once."""
        held: T = self._shown.made(
            (view, self._whole(plan)), lambda: view(self.assessment(plan, lambda *_: None)[1])
        )
        return held

    def ready(self, plan: Plan, view: Callable[[Assessment], T]) -> T | None:
        """Return what a page shows of a plan that was assessed; None at once if it was not."""
        held: T | None = self._shown.get((view, self._whole(plan)))
        if held is None and self._assessments.get(self._whole(plan)) is not None:
            held = self.shown(plan, view)
        return held

    def _whole(self, plan: Plan) -> bytes:
        """Return what tells apart all that a plan says, and the state of the files it names."""
        return msgspec.json.encode(plan) + self.reading(plan)


def file_state(path: Path) -> FileState:
    """Return what changes when a file is written, or one of the files of a folder or a pattern.

    It is empty where there is none.
    """
    try:
        listed = files_of(path) if names_several(path) else (path,)
        states = ((str(one), one.stat()) for one in listed)
        return tuple((name, state.st_size, state.st_mtime_ns) for name, state in states)
    except (MaskmeterError, OSError):
        return ()
