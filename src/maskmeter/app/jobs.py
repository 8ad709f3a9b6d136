"""Long work in the background: one piece at a time, seen and stopped from any window of the page."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, Thread
from time import monotonic
from typing import NamedTuple, TypeAlias

from maskmeter.app.work import Cancelled, Stage, Work, fault_words
from maskmeter.errors import InputError

Task: TypeAlias = Callable[[Work], object]
_LAST = 5.0  # seconds that stopped work has to put things in order when the page ends
_SHORT = 0.5  # seconds of work that nobody needs to be told of
_TOLD = 20  # endings that a window may not have seen yet


@dataclass(frozen=True)
class Ending:
    """How work ended: what it was, and what to say of it; `failed` if something was wrong."""

    name: str
    words: str = ""
    failed: bool = False


class _Running(NamedTuple):
    name: str
    work: Work
    thread: Thread
    begun: float
    writes: bool


class Jobs:
    """Work that runs beside the page. What is asked for last runs next; the rest is stopped or left out.

    Work that writes files is not stopped by other work, which is refused meanwhile.

    >>> jobs = Jobs()
    >>> jobs.start("Count", lambda work: "Counted.")
    >>> jobs.wait()
    >>> jobs.running, jobs.told_since(0)
    (None, Ending(name='Count', words='Counted.', failed=False))
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._current: _Running | None = None
        self._endings: deque[tuple[int, Ending]] = deque(maxlen=_TOLD)
        self.finished = 0  # pieces of work so far

    @property
    def running(self) -> tuple[str, Stage] | None:
        """What runs now, and how far it is."""
        current = self._current
        if current is None:
            return None
        stage = current.work.stage
        if current.work.cancelled:  # it ends when it next looks up
            stage = stage._replace(name=f"Stopping: {stage.name or current.name}")
        return current.name, stage

    @property
    def lasting(self) -> tuple[str, Stage] | None:
        """What runs, once it has run for half a second."""
        current = self._current
        return self.running if current and monotonic() - current.begun > _SHORT else None

    def told_since(self, finished: int) -> Ending | None:
        """Return what has to be said of work that ended after so many pieces: failures come first."""
        new = [one for number, one in tuple(self._endings) if number > finished and one.words]
        failed = [one for one in new if one.failed]
        return next(reversed(failed or new), None)

    def start(self, name: str, task: Task, *, writes: bool = False) -> None:
        """Run a task in a thread; what runs already is stopped first, unless it writes files."""
        work = Work()
        with self._lock:
            before = self._current
            if before is not None and before.writes and not before.work.cancelled:
                raise InputError(f"{before.name} goes on: wait until it is done, or stop it.")
            if before is not None:
                before.work.cancel()
            thread = Thread(target=self._run, args=(name, task, work, before), daemon=True)
            self._current = _Running(name, work, thread, monotonic(), writes)
            thread.start()  # before anybody can wait for it

    def cancel(self) -> None:
        """Stop what runs, when it next says how far it is."""
        current = self._current
        if current is not None:
            current.work.cancel()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until nothing runs."""
        current = self._current
        if current is not None:
            current.thread.join(seconds)

    def end(self) -> None:
        """Stop what runs, and give it a moment to remove what is unfinished."""
        self.cancel()
        self.wait(_LAST)

    def _run(self, name: str, task: Task, work: Work, before: _Running | None) -> None:
        if before is not None:
            before.thread.join()
        ending = _ended(name, task, work)
        with self._lock:
            self.finished += 1
            if self._current is not None and self._current.work is work:
                self._current = None
                self._endings.append((self.finished, ending))


def _ended(name: str, task: Task, work: Work) -> Ending:
    """Run a task and say how it ended; an error of another library may hold values, and is not told."""
    stopped = Ending(name, "Stopped.")
    if work.cancelled:  # before it began
        return stopped
    try:
        words = task(work)
    except Cancelled:
        return stopped
    except MemoryError:
        return Ending(name, "There is not enough memory for this.", failed=True)
    except Exception as error:  # noqa: BLE001 - the page goes on
        return Ending(name, fault_words(error), failed=True)
    return Ending(name, words if isinstance(words, str) else "")
