"""Our command, run in this process or, where a test needs one, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from contextlib import chdir
from pathlib import Path
from secrets import randbits
from unittest.mock import patch

import polars  # noqa: F401, ICN001 - it changes the environment when it is first loaded
from click.testing import CliRunner

from maskmeter import streams
from maskmeter.cli import main

INSTALLED = [str(Path(sys.executable).with_name("maskmeter"))]
MODULE = [sys.executable, "-m", "maskmeter"]
COLUMNS = {"COLUMNS": "80"}
DRAWN = 2**127 + 2010


def run(*arguments, folder=".", env=None, drawn=None):
    """Return what the command did, without the seconds that a process takes to import it all.

    With `drawn`, such as DRAWN, the system draws that seed.
    """
    words, before, threads = list(map(str, arguments)), _surroundings(), set(threading.enumerate())
    with (
        chdir(folder),
        CliRunner().isolation(env={**COLUMNS, **(env or {})}) as written,
        patch.object(streams, "randbits", randbits if drawn is None else lambda _: drawn),
    ):
        code = _exit_code(words)
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = (stream.getvalue().decode() for stream in written[:2])
    changed = [what for what, value in _surroundings().items() if value != before[what]]
    changed += ["threads"] * (not set(threading.enumerate()) <= threads)
    assert not changed, f"{words[:1]} leaves its {' and '.join(changed)} changed"
    return subprocess.CompletedProcess(words, code, out, err)


def run_process(*arguments, command=MODULE, env=None, **options):
    """Return what the command did in a process of its own, where coverage is not measured."""
    return subprocess.run(  # noqa: S603 - our own command
        [*command, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **COLUMNS, **(env or {})},
        **options,
    )


HIDE = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Hide())
"""


def run_python(code, *arguments, hidden=(), folder="."):
    """Return what Python code did in a process of its own, where the `hidden` libraries are missing."""
    hide = HIDE.format(hidden=set(hidden)) if hidden else ""
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", hide + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )


def keep(done, folder):
    """Write what a command printed to a folder that other tests read."""
    (folder / "printed.json").write_text(json.dumps(vars(done)), encoding="utf-8")


def kept(folder):
    """Return what a command printed that ran for other tests too."""
    return subprocess.CompletedProcess(**json.loads((folder / "printed.json").read_text("utf-8")))


def _exit_code(words):
    try:
        main(words)
    except SystemExit as end:
        return end.code


def _surroundings():
    """Return what a command that runs beside others must leave as it is."""
    return {
        "folder": Path.cwd(),
        "environment": dict(os.environ),
        "filters of warnings": list(warnings.filters),
        "way to show warnings": warnings.showwarning,
        "handler of interrupts": signal.getsignal(signal.SIGINT),
    }
