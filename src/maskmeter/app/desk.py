"""One window of the page: what it shows is read here, and what its controls ask for is done here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from shiny import Inputs, Session, reactive

from maskmeter.app.jobs import Jobs
from maskmeter.app.results import Assessed, RiskNow, SideBySide
from maskmeter.app.settings import Setting
from maskmeter.app.work import Stage, Work
from maskmeter.app.workbench import Workbench
from maskmeter.errors import MaskmeterError
from maskmeter.plan import Plan

Handler: TypeAlias = Callable[[Any], object]
Running: TypeAlias = "tuple[str, Stage] | None"

_LOOK = 0.12  # seconds between two looks at what other windows and the background did


@dataclass(frozen=True)
class Draft:
    """What controls are set to that is no part of the plan: the page comes back to it after a reload."""

    folder: str = ""
    sampled: str = ""  # the kind of sampling that is being entered
    setting: Setting = field(default_factory=lambda: Setting("swap"))
    threshold: float = 0.5
    pair: tuple[str, str] = ("", "")
    reason: str = ""
    join: tuple[str, ...] = ()  # categories that are ticked to be joined


class Shared:
    """What all windows of the page have in common: the workbench, the background work, the draft."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.jobs = Jobs()
        self.draft = Draft()
        self.drafts = 0  # so far
        self.compared: SideBySide | None = None  # two releases, last
        # The plan, and how many points had to be measured, when work was last started.
        self.asked: dict[str, tuple[Plan, int]] = {}

    def change(self, **entries: Any) -> None:
        """Set a control that is no part of the plan."""
        self.draft = replace(self.draft, **entries)
        self.drafts += 1

    def once(self, name: str, task: Callable[[Work], object]) -> None:
        """Start background work when nothing else runs, unless it was started in this state already."""
        state = (self.bench.plan, self.bench.pending)
        if self.jobs.running is None and self.asked.get(name) != state:
            self.asked[name] = state
            self.jobs.start(name, task)

    def again(self, name: str, task: Callable[[Work], object]) -> None:
        """Start background work, whether it was started before or not."""
        self.asked[name] = (self.bench.plan, self.bench.pending)
        self.jobs.start(name, task)


def _of_release(bench: Workbench) -> Assessed | None:
    return bench.assessed_ready if bench.plan.step else None


class Desk:
    """A window's view of what is shared.

    Outputs call `seen` to be made again whenever the state changes, and `moving` while work goes
    on. Controls name an action and a value; a tab says with `on` what an action does.
    """

    def __init__(self, shared: Shared) -> None:
        self.shared, self.bench, self.jobs = shared, shared.bench, shared.jobs
        self._state: reactive.Value[tuple[int, ...]] = reactive.Value(self._version())
        self._stage: reactive.Value[Running] = reactive.Value(self.jobs.running)
        self._late: reactive.Value[tuple[int, ...]] = reactive.Value(self._version())
        self._notice: reactive.Value[tuple[str, bool]] = reactive.Value(("", False))
        self._handlers: dict[str, Handler] = {}
        self._wake = asyncio.Event()
        self._risk = reactive.calc(lambda: self.seen().risk_ready)  # once for all outputs
        self._assessed = reactive.calc(lambda: _of_release(self.seen()))

    def _version(self) -> tuple[int, ...]:
        return (self.bench.version, self.jobs.finished, self.shared.drafts)

    @property
    def draft(self) -> Draft:
        """What controls are set to that is no part of the plan."""
        return self.shared.draft

    def risk(self) -> RiskNow | None:
        """Return the risk before protection, if it was measured."""
        return self._risk()

    def assessed(self) -> Assessed | None:
        """Return the assessment of the release, if it was made and the plan makes a release."""
        return self._assessed()

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
        self._look()  # what ended before is not said after this
        self.say("")
        try:
            words = await asyncio.to_thread(handler, asked.get("value"))
        except MaskmeterError as error:
            self.say(str(error), failed=True)
        except Exception as error:  # noqa: BLE001 - its text may hold values of the file
            self.say(f"This did not work ({type(error).__name__}).", failed=True)
        else:
            if isinstance(words, str):
                self.say(words)
        self._look()
        self._wake.set()

    def _look(self) -> None:
        """Notice what has changed."""
        with reactive.isolate():
            if self._late.get() != self._state.get():
                self._late.set(self._state.get())
            if self._state.get() != self._version():
                ended = self._state.get()[1] != self.jobs.finished
                self._state.set(self._version())
                if ended and self.jobs.outcome is not None and self.jobs.outcome.words:
                    self.say(self.jobs.outcome.words, failed=self.jobs.outcome.failed)
            if self._stage.get() != self.jobs.running:
                self._stage.set(self.jobs.running)

    def _changed(self) -> bool:
        with reactive.isolate():
            return (
                self._state.get() != self._version()
                or self._stage.get() != self.jobs.running
                or self._late.get() != self._state.get()
            )

    async def _watch(self) -> None:
        """Look at the state for as long as the window is open."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), _LOOK)
            self._wake.clear()
            if self._changed():
                async with reactive.lock():
                    self._look()
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
