"""The command, as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

ENVIRONMENT = {**os.environ, "COLUMNS": "80"}
COMMAND = [sys.executable, "-m", "maskmeter"]


def run(*arguments):
    return subprocess.run(  # noqa: S603 - our own command
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )


def test_demo_prints_one_table_that_fits_eighty_columns():
    done = run("demo", "--scale", "0.02")

    assert done.returncode == 0
    assert done.stderr == ""
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    for measure in ("tau*", "(2.8)", "(2.5)", "(2.6)", "(2.7)", "(2.9)"):
        assert f"│ {measure} " in done.stdout


def test_demo_gives_the_same_figures_to_machines_whenever_it_is_run():
    first, second = (run("demo", "--scale", "0.02", "--seed", "7", "--json") for _ in range(2))
    figures = json.loads(first.stdout)

    assert first.stdout == second.stdout
    assert figures["population"] == 29365
    assert figures["measures"]["(2.8)"]["total"] == pytest.approx(
        figures["measures"]["(2.7)"]["total"], rel=0.01
    )


@pytest.mark.parametrize(
    "arguments",
    [["demo", "--scale", "0"], ["demo", "--seed", "x"], ["nothing"], [], ["demo", "--colour"]],
)
def test_wrong_usage_ends_with_code_two_and_without_a_traceback(arguments):
    done = run(*arguments)

    assert done.returncode == 2
    assert "Usage:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help_has_an_example(arguments):
    done = run(*arguments)

    assert done.returncode == 0
    assert "maskmeter demo" in done.stdout


def test_version():
    assert run("--version").stdout.startswith("maskmeter, version ")


def test_interrupting_ends_with_code_130():
    with subprocess.Popen(  # noqa: S603 - our own command
        [*COMMAND, "demo", "--scale", "10"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "Interrupted." in complaint
    assert "Traceback" not in complaint
