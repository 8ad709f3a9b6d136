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

    assert jobs.told_since(0) == Ending("Writing", "Done.")
    assert jobs.finished == 2


def test_writing_is_stopped_by_whoever_asks_for_it():
    jobs, begun = Jobs(), Event()
    jobs.start("Writing", task(begun, Event()), writes=True)
    assert begun.wait(5)
    jobs.cancel()
    jobs.start("Looking", lambda _: "Looked.")
    jobs.wait(5)

    assert jobs.told_since(0) == Ending("Looking", "Looked.")


def test_settings_that_others_took_the_place_of_are_not_measured():
    jobs, begun, go, done = Jobs(), Event(), Event(), []

    def first(_):
        begun.set()
        go.wait(5)

    jobs.start("Trying", first)
    assert begun.wait(5)
    for number in range(10):
        jobs.start("Trying", lambda _, number=number: done.append(number))
    go.set()
    jobs.wait(5)

    assert done == [9]
    assert jobs.finished == 11


def test_work_that_is_stopped_before_it_begins_is_said_to_be_stopped():
    jobs, begun, go, done = Jobs(), Event(), Event(), []
    jobs.start("Looking", lambda _: (begun.set(), go.wait(5)))
    assert begun.wait(5)
    jobs.start("Trying", lambda _: done.append(1))
    jobs.cancel()
    go.set()
    jobs.wait(5)

    assert (jobs.told_since(0), done) == (Ending("Trying", "Stopped."), [])


def test_a_failure_is_told_also_when_other_work_has_begun_meanwhile():
    jobs = Jobs()
    jobs.start("Writing", lambda _: 1 / 0)
    jobs.wait(5)
    jobs.start("Looking", lambda _: "Looked.")
    jobs.wait(5)

    assert jobs.told_since(0) == Ending(
        "Writing", "This did not work (ZeroDivisionError).", failed=True
    )
    assert jobs.told_since(1) == Ending("Looking", "Looked.")
    assert jobs.told_since(2) is None
