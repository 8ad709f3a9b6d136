"""What is kept of a decision: the plan file, the pack, and lines that make the release again."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import msgspec

from maskmeter.app.changes import without_steps
from maskmeter.app.command_lines import as_argument, shown_command
from maskmeter.app.state import BenchState, silent
from maskmeter.app.tries import TRYING
from maskmeter.checks import Progress
from maskmeter.errors import FileError
from maskmeter.evidence import Pack
from maskmeter.evidence.pack import write_pack
from maskmeter.files import check_new_folder, check_outside, whole
from maskmeter.plan import Plan, plan_text
from maskmeter.plan.file_keys import file_keys
from maskmeter.plan.paths import paths_of, with_paths
from maskmeter.plan.schema import Candidate
from maskmeter.plan.script import python_lines
from maskmeter.workflows import STEPS, settings_of, written_out

_PACK, _PLAN = "evidence", "plan.toml"  # the usual names of a pack and of a plan


class SavingBench(BenchState):
    """The state with what is written of it, below the start directory alone."""

    def save_plan(self, path: str) -> Path:
        """Write the plan to a new file below the start directory, and return where."""
        self.folder.writable(path)  # before an ending makes another name of it
        target = self.folder.writable(path if path.endswith(".toml") else f"{path}.toml")
        self._check_apart(target)
        folder = target.parent
        if not folder.is_dir():
            raise FileError(f"Cannot write {path!r}: there is no such folder.")
        saving, work = self.moment, self.work
        saved = self.saved_plan()
        plan = _from(folder, saved)
        with self._lock:  # another window may save under the same name
            if target.exists():
                raise FileError(
                    f"{self.folder.name(target)!r} already exists: choose another name."
                )
            with whole(target) as unfinished:
                unfinished.write_text(plan_text(plan), encoding="utf-8")
            self._plans[saving] = self.folder.name(target)
            if self.work == work and self._holds_all(saved):
                self._saved.add(work)
            self._changed()
        return target

    def _holds_all(self, saved: Plan) -> bool:
        """Return True when a plan has all that was tried; points that are set aside are in none."""
        kept = {repr(tuple(one.step)) for one in saved.candidate} | {repr(tuple(saved.step))}
        return all(steps in kept for _, steps in self._own_points)

    def _check_apart(self, target: Path) -> None:
        """Refuse to write into a folder whose files are read."""
        read = [] if self._open is None else [self._open.path]
        for one in (*read, *map(Path, paths_of(self.plan))):
            check_outside(target, one)

    def saved_plan(self) -> Plan:
        """Return the plan as it is saved: with the tables of the loss, and the map as candidates.

        A point with the steps of the plan itself is left out. A candidate that a plan file brought is
        kept even if it changes a column that is no key. A family has no place beside releases.
        """
        plan = self.plan
        if self.problem() is not None:
            return plan
        keys = file_keys(without_steps(plan))
        rest = [
            Candidate(one.label, list(one.steps))
            for one in self._tries.attempts.values()
            if (one.given or one.fits(keys))
            and one.steps
            and one.label != TRYING
            and list(one.steps) != list(plan.step)
        ]
        family = None if rest or plan.step else plan.family
        return msgspec.structs.replace(self._with_tables(plan), candidate=rest, family=family)

    def plan_text(self) -> str:
        """Return the plan as the file that the command reads; paths start at the start directory."""
        return plan_text(_from(self.folder.root, self.saved_plan()))

    @property
    def saved_pack(self) -> str:
        """The folder of the pack that was saved of the present plan; empty if none was."""
        return self._packs.get(self.moment, "")

    @property
    def plan_is_saved(self) -> bool:
        """Whether the present plan was saved."""
        return self.moment in self._plans

    @property
    def _made(self) -> str:
        """Where the provenance of the present release is, or will be."""
        return f"{self._pack}/internal/provenance.json"

    @property
    def _pack(self) -> str:
        """The folder of the pack of the present release, or its usual name."""
        return as_argument(self.saved_pack or _PACK)

    def python_lines(self) -> str:
        """Return the lines of Python that make and assess the same release, by its saved provenance."""
        task = self._opened.readings.task(self._with_tables(self.plan))
        out = f"{self._pack}-again"
        return python_lines(task, source=self._source, provenance=self._made, out=out)

    def repeat_line(self) -> str:
        """Return the command that makes the same release again, by its saved provenance."""
        out, source = f"{self._pack}-again", as_argument(self._source)
        return shown_command(["maskmeter", "assess", source, "--from", self._made, "--out", out])

    def command_line(self) -> str:
        """Return the command that assesses the file by the saved plan, with a draw of its own."""
        plan = as_argument(self._plans.get(self.moment, _PLAN))
        out, source = f"{self._pack}-anew", as_argument(self._source)
        return shown_command(["maskmeter", "assess", source, "--plan", plan, "--out", out])

    def save_pack(self, folder: str, progress: Progress | None = None) -> Pack:
        """Write the evidence pack of the saved plan to a new or empty folder below the start directory."""
        held, out, told = self._opened, self.folder.writable(folder), progress or silent
        self._check_apart(out)
        check_new_folder(out)  # before the work
        plan, saving = self.saved_plan(), self.moment
        settings = replace(settings_of(plan.report), invented=held.file.example)
        task, found = held.readings.assessment(plan, told)
        told(STEPS[4], 4, len(STEPS))
        if self.folder.writable(folder) != out:  # it was moved meanwhile
            raise FileError(f"The way to {folder!r} was changed meanwhile: save the pack again.")
        pack = write_pack(found, out, settings, plan=written_out(task))
        self._packs[saving] = self.folder.name(out)
        self._changed()
        return pack


def _from(folder: Path, plan: Plan) -> Plan:
    """Return a plan whose paths start at a folder."""
    return with_paths(plan, lambda name: Path(os.path.relpath(name, folder)).as_posix())
