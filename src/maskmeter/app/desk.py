"""One window of the page: what it shows is read here, and what its controls ask for is done here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock
from time import monotonic
from typing import Any, TypeAlias

from shiny import Inputs, Session, reactive

from maskmeter.app.jobs import Ending, Jobs
from maskmeter.app.results import Assessed, FileEntry, RiskNow
from maskmeter.app.settings import Setting
from maskmeter.app.work import Stage, Work, fault_words
from maskmeter.app.workbench import Workbench
from maskmeter.errors import FileError
from maskmeter.formats.csv_dialect import Dialect

Handler: TypeAlias = Callable[[Any], object]
Running: TypeAlias = "tuple[str, Stage] | None"

_LOOK = 0.1  # seconds between two looks at what other windows and the background did
_PAUSE = 0.15  # seconds after a control was used in which nothing slow is made
_LONGEST = 1.0  # seconds that it waits at most
_MOMENT = 0.25  # seconds that quick work has before the page shows that it goes on


@dataclass(frozen=True)
class Draft:
    """What controls are set to that is no part of the plan: the page comes back to it after a reload."""

    folder: str = ""
    written: Dialect = field(default_factory=Dialect)  # what a text file is said to be
    written_for: str = ""  # the file that was opened so; none was yet
    doubted: bool = False  # whether a text file could not be opened
    leaving: tuple[str, Hashable] = ("", None)  # what was to be opened, and what would be lost
    sampled: str = ""  # the kind of sampling that is being entered
    setting: Setting = field(default_factory=lambda: Setting("swap"))
    resting: str = ""  # the label that the setting has on the map; none while a slider moves
    measured: Setting | None = None  # the setting that the figures under the controls are of
    threshold: float = 0.5
    pair: tuple[str, str] = ("", "")
    join: tuple[str, ...] = ()  # categories that are ticked to be joined


class Shared:
    """What all windows of the page have in common: the workbench, the background work, the draft.

    `jobs` is work that a reader waits for, `quick` what follows every control at once; each has a
    thread of its own, so that a slider can be moved while a search goes on.
    """

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.jobs, self.quick = Jobs(), Jobs()
        self.draft = Draft()
        self.drafts = 0  # so far
        self._lock = Lock()
        # What was shown, and which points had to be measured, when work was last started.
        self._asked: dict[str, tuple[Hashable, frozenset[str]]] = {}

    def change(self, **entries: Any) -> None:
        """Set a control that is no part of the plan; windows look again if it was set otherwise."""
        with self._lock:  # work in the background sets some too
            self._set(replace(self.draft, **entries))

    def tried(self, setting: Setting, label: str = "") -> None:
        """Note that a setting was measured, and its label on the map if the controls still say the same."""
        with self._lock:
            if self.draft.setting == setting:
                self._set(replace(self.draft, resting=label, measured=setting))

    def _set(self, draft: Draft) -> None:
        if draft != self.draft:
            self.draft = draft
            self.drafts += 1

    def ask_anew(self) -> None:
        """Let work be started again that was asked for in a state that comes back."""
        self._asked.clear()

    def clear(self, **entries: Any) -> None:
        """Set the controls back, as for another file, but for some entries; the folder stays open."""
        self.change(**{**vars(Draft()), "folder": self.draft.folder, **entries})

    def once(self, name: str, task: Callable[[Work], object]) -> None:
        """Start work, unless it was started in this state already or another piece of it runs."""
        if self._is_new(name, self.jobs):
            self.again(name, task)

    def again(self, name: str, task: Callable[[Work], object]) -> None:
        """Start work, whether it was started before or not."""
        self._asked[name] = self._state()
        self.jobs.start(name, task)

    def follow(self, name: str, task: Callable[[Work], object], *, once: bool = False) -> None:
        """Do what follows a control; it has a moment to end, before the page shows that it goes on."""
        if not once or self._is_new(name, self.quick):
            self._asked[name] = self._state()
            self.quick.start(name, task)
            self.quick.wait(_MOMENT)

    def _is_new(self, name: str, lane: Jobs) -> bool:
        """Return True unless work was asked for in this state, for all the points that wait now."""
        running, (moment, waiting) = lane.running, self._state()
        before, asked = self._asked.get(name, (None, frozenset()))
        new = before != moment or not waiting <= asked
        return new and (running is None or running[0] == name)

    def stop(self) -> None:
        """Stop what a reader waits for; if that is nothing, what follows the controls."""
        (self.quick if self.jobs.running is None else self.jobs).cancel()

    def end(self) -> None:
        """Stop all work."""
        self.quick.end()
        self.jobs.end()

    def _state(self) -> tuple[Hashable, frozenset[str]]:
        return self.bench.moment, self.bench.waiting


def _of_release(bench: Workbench) -> Assessed | None:
    return bench.assessed_ready if bench.plan.step else None


class Desk:
    """A window's view of what is shared.

    Outputs call `seen` to be made again whenever the state changes, and `moving` while work goes
    on. Controls name an action and a value; a tab says with `on` what an action does.
    """

    def __init__(self, shared: Shared) -> None:
        self.shared, self.bench = shared, shared.bench
        self.jobs, self.quick = shared.jobs, shared.quick
        self._state: reactive.Value[tuple[int, ...]] = reactive.Value(self._version())
        self._stage: reactive.Value[Running] = reactive.Value(self._running)
        self._late: reactive.Value[tuple[int, ...]] = reactive.Value(self._version())
        # A file that was named at the start may have been refused before any window was open.
        told = shared.jobs.told_since(0) if shared.bench.file is None else None
        self._notice: reactive.Value[tuple[str, bool]] = reactive.Value(
            ("", False) if told is None else (told.words, told.failed)
        )
        self._handlers: dict[str, Handler] = {}
        self._charts: dict[str, tuple[object, Any]] = {}
        self._wake = asyncio.Event()
        self._acted = self._drawn = 0.0  # when a control was last used, and a chart drawn
        self._risk = reactive.calc(lambda: self.seen().risk_ready)  # once for all outputs
        self._assessed = reactive.calc(lambda: _of_release(self.seen()))

    def _version(self) -> tuple[int, ...]:
        ended = (self.jobs.finished, self.quick.finished)
        return (*ended, self.bench.version, self.shared.drafts)

    @property
    def _running(self) -> Running:
        """What is shown of the work that goes on."""
        return self.jobs.running or self.quick.lasting

    @property
    def draft(self) -> Draft:
        """What controls are set to that is no part of the plan."""
        return self.shared.draft

    def listed(self) -> tuple[str, tuple[FileEntry, ...]]:
        """Return the folder that is open and what can be opened there; it may be gone by now."""
        folder = self.draft.folder
        try:
            return folder, self.bench.files(folder)
        except FileError:
            return "", self.bench.files()

    def risk(self) -> RiskNow | None:
        """Return the risk before protection, if it was measured."""
        return self._risk()

    def assessed(self) -> Assessed | None:
        """Return the assessment of the release, if it was made and the plan makes a release."""
        return self._assessed()

    def late_risk(self) -> RiskNow | None:
        """Return the same for what takes longer to make."""
        return self.seen_late().risk_ready

    def drawn(self, name: str, of: object, draw: Callable[[], Any]) -> Any:
        """Return a chart of something that never changes, drawn once as long as it is shown."""
        held = self._charts.get(name)
        if held is None or held[0] is not of:
            held = self._charts[name] = (of, draw())
        return held[1]

    def seen(self) -> Workbench:
        """Return the workbench; what reads it here is made again when it changes."""
        self._state.get()
        return self.bench

    def seen_late(self) -> Workbench:
        """Return the workbench; what reads it here is made again after what is quicker to make."""
        self._late.get()
        return self.bench

    def moving(self) -> Running:
        """Return what runs in the background and how far it is; what reads it here follows it."""
        return self._stage.get()

    def notice(self) -> tuple[str, bool]:
        """Return what was said last, and whether something was wrong."""
        return self._notice.get()

    def say(self, words: str, *, failed: bool = False) -> None:
        """Tell the reader something."""
        self._notice.set((words, failed))

    def on(self, action: str, handler: Handler) -> None:
        """Do this when a control asks for an action; `handler` takes its value."""
        self._handlers[action] = handler

    async def act(self, asked: dict[str, Any]) -> None:
        """Do what a control asks for, outside the loop that answers the browser."""
        handler = self._handlers.get(str(asked.get("do")))
        if handler is None:
            return
        told = self._look()  # what ended before is not said after this, unless it failed
        if told is None or not told.failed:
            self.say("")
        words = await self.guarded(handler, asked.get("value"))
        if isinstance(words, str):
            self.say(words)
        self._look()
        self._acted = monotonic()
        self._wake.set()

    async def guarded(self, do: Callable[[Any], object], value: Any) -> object:
        """Do something outside the loop that answers the browser; say it if that fails."""
        try:
            return await asyncio.to_thread(do, value)
        except Exception as error:  # noqa: BLE001 - its text may hold values of the file
            self.say(fault_words(error), failed=True)
        return None

    def _look(self) -> Ending | None:
        """Notice what has changed; return what was said of work that has ended."""
        told = None
        with reactive.isolate():
            before, now = self._state.get(), self._version()
            if before != now:
                self._state.set(now)
                for lane, finished in zip((self.jobs, self.quick), before, strict=False):
                    ending = lane.told_since(finished)
                    if ending is not None:
                        self.say(ending.words, failed=ending.failed)
                        told = ending
            if self._stage.get() != self._running:
                self._stage.set(self._running)
        return told

    def _look_late(self) -> None:
        """Let what takes longer to make follow as well."""
        self._drawn = monotonic()
        with reactive.isolate():
            self._late.set(self._state.get())

    def _changed(self) -> bool:
        with reactive.isolate():
            return self._state.get() != self._version() or self._stage.get() != self._running

    def _trails(self) -> bool:
        """Return True when what takes longer is behind, and no slider has moved just now."""
        now = monotonic()
        with reactive.isolate():
            behind = self._late.get() != self._state.get()
        return behind and (now - self._acted > _PAUSE or now - self._drawn > _LONGEST)

    async def _watch(self) -> None:
        """Look at the state for as long as the window is open."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), _LOOK)
            self._wake.clear()
            for true, look in ((self._changed, self._look), (self._trails, self._look_late)):
                if true():
                    async with reactive.lock():
                        look()
                        await reactive.flush()

    def connect(self, given: Inputs, session: Session) -> None:
        """Listen to the controls, and look at the state now and then."""

        @reactive.effect
        @reactive.event(given.act)
        async def _act() -> None:
            asked = given.act()
            if isinstance(asked, dict):
                await self.act(asked)

        watching = asyncio.get_running_loop().create_task(self._watch())

        @session.on_ended
        def _end() -> None:
            watching.cancel()
