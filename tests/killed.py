"""Runs that are killed: at a system call of their choice, or at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from command import COLUMNS, MODULE

# Calls that change what is on the disk, or promise that it is there.
CALLS = ("mkdir", "open", "fsync", "replace", "unlink", "rmdir")

# Kills its own process just before, or just after, the n-th of some calls.
AT_CALL = """
import os, signal, sys

def kill_at(names, number, when):
    seen = 0

    def counted(call):
        def killing(*arguments, **options):
            nonlocal seen
            seen += 1
            if (seen, when) == (number, "before"):
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return call(*arguments, **options)
            finally:
                if (seen, when) == (number, "after"):
                    os.kill(os.getpid(), signal.SIGKILL)

        return killing

    for name in names:
        setattr(os, name, counted(getattr(os, name)))
"""

COMMAND = (
    AT_CALL
    + """
number, when = int(sys.argv.pop(1)), sys.argv.pop(1)
from maskmeter.cli import main
import maskmeter.workflows
kill_at(["replace"], number, when)
main()
"""
)


def killed_at_rename(number, when, *arguments):
    """Run the command until just `when` ("before" or "after") one of its renames."""
    words = [sys.executable, "-c", COMMAND, str(number), when, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, check=False, env=os.environ | COLUMNS)  # noqa: S603
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def killed_after(seconds, *arguments, hidden=None):
    """Run the command, and kill it some seconds after it began, or after `hidden` appeared."""
    words = [*MODULE, *map(str, arguments)]
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    while hidden is not None and run.poll() is None and not Path(hidden).exists():
        time.sleep(0.001)
    try:
        run.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        run.kill()
    return run.wait() != 0
