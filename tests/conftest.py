"""Settings and worlds that tests share."""

from __future__ import annotations

import os
import shutil
import time

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

import maskmeter as mm
from command import keep, run_process

settings.register_profile(
    "fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixed")

# Test false alarms share one chance in a million between fifty statistical tests.
FALSE_ALARM = 1e-6 / 50


@pytest.fixture(scope="session")
def seed():
    """A fixed seed, or the one that `make test-full` draws and prints."""
    return int(os.environ.get("MASKMETER_SEED", "2010"))


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """What fills a folder once in a run, whichever worker asks first; tests must not change it."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # the folder of all workers
        root = root.parent

    def filled(name, fill):
        folder, done = root / name, root / f"{name}.done"
        with FileLock(root / f"{name}.lock"):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of one that failed
                folder.mkdir()
                fill(folder)
                done.touch()
        return folder

    return filled


@pytest.fixture(scope="session")
def demo(once):
    """The folder with what the demonstration writes (`story`), prints and takes (`seconds`)."""

    def fill(folder):
        began = time.monotonic()
        keep(run_process("demo", "--out", folder / "story"), folder)
        (folder / "seconds").write_text(str(time.monotonic() - began))

    return once("demo", fill)


@pytest.fixture(scope="session")
def census():
    return mm.synthetic_census()


@pytest.fixture(scope="session")
def town():
    """A smaller census, of 200,000 people."""
    return mm.synthetic_census(size=200_000)


@pytest.fixture(scope="session")
def population(census):
    return mm.count(census, keys=census.columns)


def pytest_report_header():
    return f"MASKMETER_SEED={os.environ.get('MASKMETER_SEED', '2010')}"


# Folders whose files take longest: they come first, so that no processor waits for one at the end.
HEAVY = {"app", "browser", "chance", "laws", "studies", "docs"}


@pytest.hookimpl(trylast=True)  # after the order is drawn
def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: HEAVY.isdisjoint(item.path.parts))
    if os.environ.get("MASKMETER_FULL"):
        return
    left = {"full": "a long study: make test-full"}
    if not os.environ.get("MASKMETER_NO_SKIPS"):
        left["slow"] = "more cases: make test-full"
    for item in items:
        for name, reason in left.items():
            if item.get_closest_marker(name):  # a folder of that name is a keyword too
                item.add_marker(pytest.mark.skip(reason=reason))
