"""The state behind the page: a list of plans, the open file, and what was tried."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import NamedTuple, TypeAlias

import msgspec

from maskmeter.app.changes import (
    with_tables,
    without_candidates,
    without_steps,
)
from maskmeter.app.counting import EncodedColumns
from maskmeter.app.folder import StartFolder
from maskmeter.app.history import History
from maskmeter.app.opening import Opened, opened_example, opened_file
from maskmeter.app.problems import Problem, fault_of, keys_of, lack_of, words_of
from maskmeter.app.readings import FileState, Readings, Recent, file_state
from maskmeter.app.results import FileEntry, KeysNow, OpenedFile, SamplingNow
from maskmeter.app.tries import TRYING, Attempt, Tries
from maskmeter.checks import Progress
from maskmeter.errors import InputError
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.perturb.entries import StepEntries
from maskmeter.plan import Plan, Task, read_plan
from maskmeter.plan.paths import with_paths
from maskmeter.streams import seed_of

Change: TypeAlias = Plan | Callable[[Plan], Plan]

OF_THE_PLAN = "steps of the plan"
_EXAMPLE = "maskmeter-demo/survey.csv"  # where `maskmeter demo` writes it


def silent(_stage: str, _done: int, _of: int) -> None:
    """Tell nobody."""


class Open(NamedTuple):
    """The open file: what is known of it and of its state then, and what was read of it."""

    file: OpenedFile
    path: Path
    state: FileState
    readings: Readings
    columns: EncodedColumns
    keys: Recent[KeysNow]
    sampled: Recent[SamplingNow]
    problems: Recent[tuple[Problem | None]]


class BenchState:
    """The file, the plans with their position, and what was tried; each change makes new values.

    `version` grows with every change of what is shown.
    """

    def __init__(self, root: Path, *, allowed: Path | None = None, seed: int | None = None) -> None:
        self.folder = StartFolder.of(root, allowed)
        self._seed = seed_of(seed)
        self._lock = RLock()
        self._history = History()
        self._tries = Tries()
        self._open: Open | None = None
        self._opens = 0  # files so far
        self._example: TemporaryDirectory[str] | None = None
        self._packs: dict[Hashable, str] = {}  # folders of saved packs, by what was saved
        self._plans: dict[Hashable, str] = {}  # plan files, likewise
        self._saved: set[Hashable] = set()  # plans with their maps that were saved
        self.version = 0

    # -- plans ---------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The plan as it is now."""
        return self._history.plan

    def apply(self, change: Change) -> Plan:
        """Make another plan the present one, and return it; plans that were undone are forgotten."""
        with self._lock:
            plan = change if isinstance(change, Plan) else change(self.plan)
            return self._at(self._history.then(self._checked(_sound(plan))))

    @property
    def changed_on_disk(self) -> bool:
        """Whether the open file was written anew since it was opened."""
        held = self._open
        return held is not None and held.state != file_state(held.path)

    @property
    def unsaved(self) -> bool:
        """Whether the plan or the map was changed since the file was opened, and not saved so."""
        return (self.can_undo or bool(self._own_points)) and self.work not in self._saved

    @property
    def work(self) -> Hashable:
        """What is lost with a plan that is not saved."""
        return self.moment, self._own_points

    @property
    def _own_points(self) -> frozenset[tuple[str, str]]:
        """The points of the map that no plan file brought, with their steps."""
        return frozenset(
            (name, repr(one.steps))
            for name, one in self._tries.attempts.items()
            if one.steps and not one.given and name != TRYING
        )

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier plan."""
        return self._history.can_undo

    @property
    def can_redo(self) -> bool:
        """Whether a plan was undone."""
        return self._history.can_redo

    def undo(self) -> Plan:
        """Go back to the plan before, and return it."""
        with self._lock:
            return self._moved(self._history.undone())

    def redo(self) -> Plan:
        """Go on to the plan that was undone last, and return it."""
        with self._lock:
            return self._moved(self._history.redone())

    def open_plan(self, path: str) -> Plan:
        """Read a plan file below the start directory and apply it; its candidates go on the map."""
        where = self.folder.readable(path)
        read = read_plan(where).plan
        plan = with_paths(read, lambda name: str(where.parent / name))
        with self._lock:
            self.apply(plan)
            self._tries = self._tries.with_points(self.plan)
            self._changed()
            return self.plan

    # -- what the plan lacks -------------------------------------------------------------------

    def problem(self, progress: Progress | None = None) -> Problem | None:
        """Return what the plan still needs before the risk can be measured; None if nothing.

        It may read the file, several times if something is wrong: see `prepare`.
        """
        plan, held, told = self.plan, self._open, progress or silent
        lacks = self._lacks(plan, held)
        return lacks if lacks is not None or held is None else self._fault(plan, held, told)

    def prepare(self, progress: Progress | None = None) -> None:
        """Read the file as the plan says, so that `problem` and all that is ready come at once."""
        if self.problem(progress) is None:
            self._opened.readings.tables(without_candidates(self.plan))

    @property
    def prepared(self) -> bool:
        """Whether what was read so is still held, or why it cannot be read is known; at once."""
        plan, held = self.plan, self._open
        if held is None or self._lacks(plan, held) is not None:
            return True
        moment, own = self._moment(plan, held), without_candidates(plan)
        known = held.problems.get(moment)
        if known is not None and known[0] is not None:
            return True
        if not held.readings.holds(own):
            return False
        if known is None and not words_of(own, self._reader(held), self._with_tables):
            known = held.problems.put(moment, (None,))
        return known is not None  # what is wrong is looked for in the background

    @property
    def ready(self) -> bool:
        """Whether the plan lacks nothing and the file was read as it says."""
        return self.prepared and self.problem() is None

    @property
    def moment(self) -> Hashable:
        """What all that is shown depends on: the file that is open, its state, and the plan."""
        return self._moment(self.plan, self._open)

    def _moment(self, plan: Plan, held: Open | None) -> Hashable:
        reading = b"" if held is None else held.readings.reading(plan)
        return self._opens, reading, msgspec.json.encode(plan)

    def _lacks(self, plan: Plan, held: Open | None) -> Problem | None:
        """Return what a plan does not say, and what is wrong with the file without reading it."""
        if held is None:
            return Problem("No file is open yet.", "file")
        if held.state == (state := file_state(held.path)):
            return lack_of(plan)
        said = "has changed since it was opened: open it again" if state else "is no longer there"
        return Problem(f"{held.file.name} {said}.", "file")

    def _fault(self, plan: Plan, held: Open, told: Progress) -> Problem | None:
        """Return why the file cannot be assessed by a plan, with the tab where this is mended."""
        read = self._reader(held, told)

        def tables(part: Plan) -> Plan:
            told("Choosing the tables", 0, 0)
            return self._with_tables(part)

        def found() -> tuple[Problem | None]:
            return (fault_of(without_candidates(plan), read, tables),)

        return held.problems.made(self._moment(plan, held), found)[0]

    def _reader(self, held: Open, told: Progress = silent) -> Callable[[Plan], Task]:
        """Return what reads the file as a plan says."""

        def read(part: Plan) -> Task:
            told("Reading the file", 0, 0)
            self._checked(part)  # what a pattern of files stands for may have changed
            return held.readings.task(part)

        return read

    # -- plans as they are measured ------------------------------------------------------------

    def _with_tables(self, plan: Plan) -> Plan:
        """Return a plan as its release is measured: with the tables of all releases, no candidates."""
        own = without_candidates(plan)
        return with_tables(own, self._opened.readings.tables(own))

    def _base(self, plan: Plan | None = None) -> Plan:
        """Return the plan without its steps: with it the file is assessed as it is."""
        return without_steps(self._with_tables(self.plan if plan is None else plan))

    def _way(self, base: Plan) -> bytes:
        """Return how a plan measures its candidates: what is read, and the tables."""
        return self._opened.readings.reading(base) + msgspec.json.encode(base.loss)

    # -- file ----------------------------------------------------------------------------------

    @property
    def file(self) -> OpenedFile | None:
        """The file that is open."""
        return None if self._open is None else self._open.file

    def files(self, folder: str = "") -> tuple[FileEntry, ...]:
        """Return what lies in a folder and can be opened: folders first, then files and plans."""
        return self.folder.listing(folder)

    def open(
        self, path: str, progress: Progress | None = None, *, written: Dialect | None = None
    ) -> OpenedFile:
        """Open a file; the plan starts anew from the proposal of `plan init`.

        `written` says how a text file is, where that cannot be found out.
        """
        where, told = self.folder.readable(path), progress or silent
        told("Reading the file", 0, 0)
        state = file_state(where)
        found = opened_file(where, self.folder.name(where), written or Dialect(), progress=told)
        told("Reading the file", 0, 0)  # who stopped it meanwhile keeps what was open
        return self._take(found, where, state)

    def open_example(self, progress: Progress | None = None) -> OpenedFile:
        """Open the built-in example, a survey of invented people."""
        told = progress or silent
        told("Drawing the example", 0, 0)
        with self._lock:
            if self._example is None:
                self._example = TemporaryDirectory(prefix="maskmeter-")
            folder = Path(self._example.name)
        path, opened = opened_example(folder)
        told("Drawing the example", 0, 0)
        return self._take(opened, path, file_state(path))

    def close(self) -> None:
        """Remove the example, if it was opened."""
        with suppress(OSError):
            if self._example is not None:
                self._example.cleanup()

    # -- private -------------------------------------------------------------------------------

    def _take(self, opened: Opened, path: Path, state: FileState) -> OpenedFile:
        readings = Readings(path, seed=self._seed, records=opened.file.records, check=self._checked)
        with self._lock:
            before, history = self._open, History((opened.plan,))
            self._opens += 1
            self._open = Open(
                opened.file,
                path,
                state,
                readings,
                EncodedColumns(path),
                keys=Recent(16),
                sampled=Recent(16),
                problems=Recent(16),
            )
            if before is None:  # a plan may be opened first
                self._tries = Tries().with_points(self.plan)
                self._at(history if self.plan == Plan() else history.then(self.plan))
            elif before.path == path and before.state != state and _alike(self.plan, opened.plan):
                self._changed()  # it was written anew: the work goes on
            else:
                self._tries = Tries()
                self._at(history)
        return opened.file

    def _moved(self, history: History) -> Plan:
        """Go to another plan of the list; the candidates that it came with are on the map again."""
        before = self.plan.candidate
        plan = self._at(history)
        same, tries = plan.candidate == before, self._tries
        self._tries = tries.with_own(plan) if same else tries.with_points(plan)
        self._changed()
        return plan

    def _at(self, history: History) -> Plan:
        self._history = history
        self._tries = self._tries.following(history.plans[: history.at + 1])
        self._changed()
        return history.plan

    def _changed(self) -> None:
        with self._lock:
            self.version += 1

    def _checked(self, plan: Plan) -> Plan:
        """Return a plan whose paths are whole and lie in the start directory."""
        return with_paths(plan, lambda name: str(self.folder.readable(name)))

    def _keep(self, attempt: Attempt, *, of: Open) -> None:
        """Put an attempt on the map, if the file that it was measured on is still open."""
        with self._lock:
            if self._open is of:
                self._tries = self._tries.with_attempt(attempt)
                self._changed()

    def _keep_measured(self, attempt: Attempt, *, of: Open) -> None:
        """Keep what was measured of a point, if the map still has these steps under its label."""
        with self._lock:
            held = self._tries.attempts.get(attempt.label)
            if held is not None and held.steps == attempt.steps:
                self._keep(replace(attempt, given=held.given), of=of)

    @property
    def _opened(self) -> Open:
        held = self._open
        if held is None:
            raise InputError("Open a file first.")
        return held

    @property
    def keys(self) -> list[str]:
        """The keys of the plan, those of its scenarios included."""
        return keys_of(self.plan)

    @property
    def _source(self) -> str:
        held = self._opened
        return _EXAMPLE if held.file.example else self.folder.name(held.path)

    def _attempt(self, label: str) -> Attempt:
        found = self._tries.attempts.get(label)
        if found is None:
            raise InputError(f"No release on the map is labelled {label!r}.")
        return found

    def _steps_of(self, label: str) -> tuple[StepEntries, ...]:
        return self._attempt(label).steps


def _alike(plan: Plan, other: Plan) -> bool:
    """Return True when two plans read a text file in the same way."""
    ways = ((one.encoding, one.delimiter, one.decimal) for one in (plan.data, other.data))
    return next(ways) == next(ways)


def _sound(plan: Plan) -> Plan:
    """Return a plan that can be written and read again; controls may be given anything."""
    try:
        msgspec.json.encode(plan)  # a text may be none
        msgspec.convert(msgspec.to_builtins(plan), Plan)
    except (msgspec.MsgspecError, UnicodeError, TypeError):
        raise InputError("This is nothing that a plan can say.") from None
    return plan
