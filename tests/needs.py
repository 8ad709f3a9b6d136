"""Programs that some tests need and that pip does not bring."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest


def need_program(name, advice, *, check=None):
    """Return where a program is, or skip the test and say how to get it.

    `check` are arguments that it must survive. With MASKMETER_NO_SKIPS set the test fails instead:
    there, nothing may be left out unseen.
    """
    found = shutil.which(name)
    if found is not None and (check is None or _survives([found, *check])):
        return found
    message = f"{name} is not here as this test needs it: {advice}"
    if os.environ.get("MASKMETER_NO_SKIPS"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)
    return None


def _survives(command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603 - found by name


def need_haven():
    """Return Rscript, with haven to read SPSS and Stata files."""
    advice = "apt-get install r-base-core r-cran-haven"
    return need_program("Rscript", advice, check=["-e", "library(haven)"])


def need_reticulate():
    """Return Rscript, with reticulate to call Python from R, and haven."""
    advice = "apt-get install r-base-core r-cran-reticulate r-cran-haven"
    return need_program("Rscript", advice, check=["-e", "library(reticulate); library(haven)"])


def run_r(code, *, calls_python=False):
    """Return what R prints; with `calls_python` it calls this very Python."""
    program = need_reticulate() if calls_python else need_haven()
    done = subprocess.run(  # noqa: S603 - found by name
        [program, "-e", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RETICULATE_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
