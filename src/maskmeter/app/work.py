"""Long work that tells how far it is, and that somebody may stop."""

from __future__ import annotations

from threading import Event
from typing import NamedTuple

from maskmeter.errors import MaskmeterError


class Cancelled(Exception):  # noqa: N818 - it is an outcome, not a fault
    """Somebody stopped the work. It is none of our errors, which work may catch and go on."""

    def __init__(self) -> None:
        super().__init__("The work was stopped.")


def fault_words(error: Exception) -> str:
    """Return what may be shown of an error: our own texts hold no value of a file, others may.

    >>> fault_words(ValueError("a value of the file"))
    'This did not work (ValueError).'
    """
    if isinstance(error, MaskmeterError):
        return str(error)
    return f"This did not work ({type(error).__name__})."


class Stage(NamedTuple):
    """How far work is: what it does now, how much is done and of how much (0 where unknown)."""

    name: str = ""
    done: int = 0
    of: int = 0


class Work:
    """The progress of one piece of work: call it as it goes on, read `stage`, or `cancel` it.

    It may be read and cancelled from another thread than the one that works.

    >>> work = Work()
    >>> work("Measuring the risk", 1, 2)
    >>> work.stage.name, work.stage.done
    ('Measuring the risk', 1)
    >>> work.cancel()
    >>> work("Measuring the loss", 2, 2)
    Traceback (most recent call last):
    maskmeter.app.work.Cancelled: The work was stopped.
    """

    def __init__(self) -> None:
        self._stopped = Event()
        self.stage = Stage()

    def __call__(self, stage: str, done: int, of: int) -> None:
        """Note how far the work is; raise if it was cancelled."""
        if self._stopped.is_set():
            raise Cancelled
        self.stage = Stage(stage, done, of)

    def cancel(self) -> None:
        """Stop the work when it next tells how far it is."""
        self._stopped.set()

    @property
    def cancelled(self) -> bool:
        """Whether somebody stopped it."""
        return self._stopped.is_set()
