"""Work beside the page: what is asked for last runs next, and files are written to their end."""

from __future__ import annotations

from threading import Event

import pytest

from maskmeter.app.jobs import Ending, Jobs
from maskmeter.errors import InputError


def task(begun, go):
    """Return work that tells when it has begun, and ends when it is let go."""

    def run(work):
        begun.set()
        while not go.wait(0.01):
            work("Going on", 0, 0)
        return "Done."

    return run


def test_other_work_stops_what_runs_but_not_what_writes_files():
    jobs, begun, go = Jobs(), Event(), Event()
    jobs.start("Looking", task(begun, Event()))
    assert begun.wait(5)
    begun.clear()
    jobs.start("Writing", task(begun, go), writes=True)
    assert begun.wait(5)
    with pytest.raises(InputError, match="Writing goes on"):
        jobs.start("Looking", task(begun, go))
    go.set()
    jobs.wait(5)

    assert jobs.outcome == Ending("Writing", "Done.")
    assert jobs.finished == 2


def test_writing_is_stopped_by_whoever_asks_for_it():
    jobs, begun = Jobs(), Event()
    jobs.start("Writing", task(begun, Event()), writes=True)
    assert begun.wait(5)
    jobs.cancel()
    jobs.start("Looking", lambda _: "Looked.")
    jobs.wait(5)

    assert jobs.outcome == Ending("Looking", "Looked.")
