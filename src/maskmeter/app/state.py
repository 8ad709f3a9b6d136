"""The state behind the page: a list of plans, the open file, and what was tried."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any, NamedTuple, TypeAlias

import msgspec

from maskmeter.app.counting import EncodedColumns
from maskmeter.app.folder import StartFolder
from maskmeter.app.history import History
from maskmeter.app.opening import Opened, opened_example, opened_file
from maskmeter.app.readings import Readings
from maskmeter.app.results import FileEntry, OpenedFile
from maskmeter.app.tries import Attempt, Tries
from maskmeter.checks import Progress
from maskmeter.errors import FileError, InputError, MaskmeterError, PlanError
from maskmeter.files import whole
from maskmeter.perturb.entries import StepEntries
from maskmeter.plan import Plan, plan_text, read_plan
from maskmeter.plan.paths import with_paths
from maskmeter.plan.schema import Candidate
from maskmeter.plan.script import python_lines
from maskmeter.streams import seed_of

Change: TypeAlias = Plan | Callable[[Plan], Plan]

OF_THE_PLAN = "steps of the plan"


class Open(NamedTuple):
    """The open file: what is known of it, and what was read of it."""

    file: OpenedFile
    path: Path
    readings: Readings
    columns: EncodedColumns


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
        self._example: TemporaryDirectory[str] | None = None
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
            return self._at(self._history.then(self._checked(plan)))

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
            return self._at(self._history.undone())

    def redo(self) -> Plan:
        """Go on to the plan that was undone last, and return it."""
        with self._lock:
            return self._at(self._history.redone())

    def open_plan(self, path: str) -> Plan:
        """Read a plan file below the start directory and apply it; its candidates go on the map."""
        where = self.folder.inside(path)
        read = read_plan(where).plan
        plan = with_paths(read, lambda name: str(where.parent / name))
        with self._lock:
            self.apply(plan)
            own = [Candidate(OF_THE_PLAN, plan.step)] if plan.step else []
            for one in (*self.plan.candidate, *own):
                self._tries = self._tries.with_attempt(Attempt(one.label, tuple(one.step)))
            self._changed()
            return self.plan

    def save_plan(self, path: str, *, replace: bool = False) -> Path:
        """Write the plan to a file below the start directory, and return where."""
        self.folder.inside(path)  # before an ending makes another name of it
        target = self.folder.inside(path if path.endswith(".toml") else f"{path}.toml")
        if target.exists() and not replace:
            raise FileError(f"{path!r} already exists: choose another name.")
        if not target.parent.is_dir():
            raise FileError(f"Cannot write {path!r}: there is no such folder.")
        folder = target.parent
        plan = with_paths(self.plan, lambda name: Path(os.path.relpath(name, folder)).as_posix())
        with whole(target) as unfinished:
            unfinished.write_text(plan_text(plan), encoding="utf-8")
        return target

    def plan_text(self) -> str:
        """Return the plan as the file that the command reads; paths start at the start directory."""
        root = self.folder.root
        return plan_text(with_paths(self.plan, lambda name: os.path.relpath(name, root)))

    def python_lines(self) -> str:
        """Return the lines of Python that make and assess the same release."""
        return python_lines(self._opened.readings.task(self.plan), source=self._source)

    def command_line(self, plan: str = "plan.toml", out: str = "evidence") -> str:
        """Return the command that assesses the file by the saved plan."""
        return f'maskmeter assess "{self._source}" --plan "{plan}" --out "{out}"'

    def problem(self) -> str | None:
        """Return what the plan still needs before the risk can be measured; None if nothing."""
        if self._open is None:
            return "Open a file first."
        data = self.plan.data
        if not data.keys and not self.plan.scenario:
            return "Tick the columns that an intruder may know."
        if data.fraction is None and data.weights is None and data.population is None:
            return "Say how the file was sampled: a fraction, weights or a population file."
        try:
            self._opened.readings.task(self.plan)
        except MaskmeterError as error:
            return str(error)
        return None

    # -- reload --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return file, plans, position and what was tried, as JSON can hold it; never the seed."""
        with self._lock:
            held = self._open
            tried = [
                {"label": one.label, "step": [msgspec.to_builtins(step) for step in one.steps]}
                for one in self._tries.attempts.values()
            ]
            return {
                "file": None if held is None else held.file.path,
                "example": held is not None and held.file.example,
                **self._history.as_data(),
                "tried": tried,
            }

    def restore(self, state: dict[str, Any], progress: Progress | None = None) -> None:
        """Go back to a state, as after a reload of the page; points are measured when they are wanted."""
        history = History.from_data(state)
        history = History(tuple(map(self._checked, history.plans)), history.at)
        try:
            tried = [msgspec.convert(one, Candidate) for one in state.get("tried", [])]
        except msgspec.ValidationError:
            raise PlanError("The state of the page cannot be read: open the file again.") from None
        if state.get("example"):
            self.open_example(progress)
        elif state.get("file") is not None:
            self.open(str(state["file"]), progress)
        with self._lock:
            for one in tried:
                checked = self._checked(Plan(candidate=[one])).candidate[0]
                attempt = Attempt(checked.label, tuple(checked.step))
                self._tries = self._tries.with_attempt(attempt)
            self._at(history)

    # -- file ----------------------------------------------------------------------------------

    @property
    def file(self) -> OpenedFile | None:
        """The file that is open."""
        return None if self._open is None else self._open.file

    def files(self, folder: str = "") -> tuple[FileEntry, ...]:
        """Return what lies in a folder and can be opened: folders first, then files and plans."""
        return self.folder.listing(folder)

    def open(self, path: str, progress: Progress | None = None) -> OpenedFile:
        """Open a file; the plan starts anew from the proposal of `plan init`."""
        where = self.folder.inside(path)
        if progress is not None:
            progress("Reading the file", 0, 0)
        return self._take(opened_file(where, self.folder.name(where)), where)

    def open_example(self, progress: Progress | None = None) -> OpenedFile:
        """Open the built-in example, a survey of invented people."""
        if progress is not None:
            progress("Drawing the example", 0, 0)
        with self._lock:
            if self._example is None:
                self._example = TemporaryDirectory(prefix="maskmeter-")
            folder = Path(self._example.name)
        path, opened = opened_example(folder)
        return self._take(opened, path)

    def close(self) -> None:
        """Remove the example, if it was opened."""
        with suppress(OSError):
            if self._example is not None:
                self._example.cleanup()

    # -- private -------------------------------------------------------------------------------

    def _take(self, opened: Opened, path: Path) -> OpenedFile:
        readings = Readings(path, seed=self._seed)
        with self._lock:
            self._open = Open(opened.file, path, readings, EncodedColumns(path))
            self._tries = Tries()
            self._at(History((opened.plan,)))
        return opened.file

    def _at(self, history: History) -> Plan:
        self._history = history
        self._changed()
        return history.plan

    def _changed(self) -> None:
        self.version += 1

    def _checked(self, plan: Plan) -> Plan:
        """Return a plan whose paths are whole and lie in the start directory."""
        return with_paths(plan, lambda name: str(self.folder.inside(name)))

    def _keep(self, attempt: Attempt) -> None:
        with self._lock:
            self._tries = self._tries.with_attempt(attempt)
            self._changed()

    @property
    def _opened(self) -> Open:
        held = self._open
        if held is None:
            raise InputError("Open a file first.")
        return held

    @property
    def _source(self) -> str:
        held = self._opened
        return self.folder.name(held.path) if not held.file.example else held.file.name

    def _steps_of(self, label: str) -> tuple[StepEntries, ...]:
        found = self._tries.attempts.get(label)
        if found is None:
            raise InputError(f"No release on the map is labelled {label!r}.")
        return found.steps
