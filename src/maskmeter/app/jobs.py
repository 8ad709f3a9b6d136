"""Long work in the background: one piece at a time, seen and stopped from any window of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, Thread
from typing import TypeAlias

from maskmeter.app.work import Cancelled, Stage, Work
from maskmeter.errors import MaskmeterError

Task: TypeAlias = Callable[[Work], object]
_LAST = 5.0  # seconds that stopped work has to put things in order when the page ends


@dataclass(frozen=True)
class Ending:
    """How work ended: what it was, and what to say of it; `failed` if something was wrong."""

    name: str
    words: str = ""
    failed: bool = False


class Jobs:
    """Work that runs beside the page. What is asked for last runs next; the rest is stopped.

    >>> jobs = Jobs()
    >>> jobs.start("Count", lambda work: work("Counting", 1, 1))
    >>> jobs.wait()
    >>> jobs.running, jobs.outcome
    (None, Ending(name='Count', words='', failed=False))
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._current: tuple[str, Work, Thread] | None = None
        self.outcome: Ending | None = None
        self.finished = 0  # pieces of work so far

    @property
    def running(self) -> tuple[str, Stage] | None:
        """What runs now, and how far it is."""
        current = self._current
        return None if current is None else (current[0], current[1].stage)

    def start(self, name: str, task: Task) -> None:
        """Run a task in a thread; what runs already is stopped first."""
        work = Work()
        with self._lock:
            before = self._current
            if before is not None:
                before[1].cancel()
            thread = Thread(target=self._run, args=(name, task, work, before), daemon=True)
            self._current = (name, work, thread)
            self.outcome = None
        thread.start()

    def cancel(self) -> None:
        """Stop what runs, when it next says how far it is."""
        current = self._current
        if current is not None:
            current[1].cancel()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until nothing runs."""
        current = self._current
        if current is not None:
            current[2].join(seconds)

    def end(self) -> None:
        """Stop what runs, and give it a moment to remove what is unfinished."""
        self.cancel()
        self.wait(_LAST)

    def _run(
        self, name: str, task: Task, work: Work, before: tuple[str, Work, Thread] | None
    ) -> None:
        if before is not None:
            before[2].join()
        outcome = _ended(name, task, work)
        with self._lock:
            if self._current is not None and self._current[1] is work:
                self._current = None
                self.outcome = outcome
            self.finished += 1


def _ended(name: str, task: Task, work: Work) -> Ending:
    """Run a task and say how it ended; an error of another library may hold values, and is not told."""
    try:
        words = task(work)
    except Cancelled:
        return Ending(name, "Stopped.")
    except MaskmeterError as error:
        return Ending(name, str(error), failed=True)
    except MemoryError:
        return Ending(name, "There is not enough memory for this.", failed=True)
    except Exception as error:  # noqa: BLE001 - the page goes on
        return Ending(name, f"This did not work ({type(error).__name__}).", failed=True)
    return Ending(name, words if isinstance(words, str) else "")
