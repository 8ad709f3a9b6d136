"""The command, as a user meets it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ENVIRONMENT = {**os.environ, "COLUMNS": "80"}
COMMAND = [sys.executable, "-m", "maskmeter"]


def run(*arguments):
    return subprocess.run(  # noqa: S603 - our own command
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )


def test_demo_tells_the_whole_story_in_eighty_columns(tmp_path):
    out = tmp_path / "story"
    began = time.monotonic()
    done = run("demo", "--out", str(out))

    assert done.returncode == 0
    assert done.stderr == ""
    assert time.monotonic() - began < 60
    told = [line for line in done.stdout.splitlines() if not line.startswith("Wrote ")]
    assert max(map(len, told[:-2])) <= 80
    for measure in ("tau*", "estimate", "(2.8)", "(2.5)", "(2.6)", "(2.7)", "(2.9)"):
        assert f"│ {measure} " in done.stdout
    assert "loses least" in done.stdout
    assert f"The report is {out / 'evidence' / 'internal.html'}" in "".join(
        done.stdout.splitlines()
    )
    wrote = [Path(path) for path in re.findall(r"Wrote (.*)", done.stdout)]
    assert all(path.is_file() for path in wrote)
    assert {path.name for path in wrote} >= {"survey.csv", "plan.toml", "protected.csv"}
    again = run(
        "find",
        str(out / "survey.csv"),
        "--plan",
        str(out / "plan.toml"),
        "--seed",
        "2010",
        "--out",
        str(tmp_path / "again"),
    )
    assert again.returncode == 0  # the story can be told again with the command it stands for
    assert (tmp_path / "again" / "protected.csv").read_bytes() == (
        out / "evidence" / "protected.csv"
    ).read_bytes()


def test_demo_gives_the_same_figures_to_machines_whenever_it_is_run(tmp_path):
    options = ("--scale", "0.02", "--seed", "7", "--json", "--out", str(tmp_path))
    first, second = (run("demo", *options) for _ in range(2))
    figures = json.loads(first.stdout)

    assert first.stdout == second.stdout
    assert figures["population"] == 29365
    assert figures["measures"]["(2.8)"]["total"] == pytest.approx(
        figures["measures"]["(2.7)"]["total"], rel=0.05
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--scale", "0"],
        ["paper", "--scale", "nan"],
        ["demo", "--seed", "x"],
        ["nothing"],
        [],
        ["demo", "--colour"],
    ],
)
def test_wrong_usage_ends_with_code_two_and_without_a_traceback(arguments):
    done = run(*arguments)

    assert done.returncode == 2
    assert "Usage:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["paper", "--help"]])
def test_help_has_an_example(arguments):
    done = run(*arguments)

    assert done.returncode == 0
    assert re.search("maskmeter (demo|paper)", done.stdout)


def test_paper_prints_tables_that_fit_and_writes_what_it_says(tmp_path):
    done = run("paper", "--scale", "0.01", "--out", str(tmp_path / "out"))

    assert done.returncode == 0
    assert done.stderr == ""
    lines = [line for line in done.stdout.splitlines() if not line.startswith("Wrote ")]
    assert max(map(len, lines)) <= 80
    assert "tau*_CC (2.9)" in done.stdout
    assert "Holds: " in done.stdout
    wrote = re.findall(r"Wrote (.*)", done.stdout)
    assert {Path(path).name for path in wrote} == {one.name for one in (tmp_path / "out").iterdir()}


def test_paper_gives_the_same_figures_to_machines_whenever_it_is_run():
    first, second = (run("paper", "--scale", "0.01", "--json") for _ in range(2))

    assert first.stdout == second.stdout
    assert set(json.loads(first.stdout)["table1"]) == {"tau_star", "columns", "10%", "20%"}


def test_a_page_that_cannot_be_written_is_said_in_a_line(tmp_path):
    (tmp_path / "taken").write_text("x")
    done = run("paper", "--scale", "0.01", "--out", str(tmp_path / "taken" / "out"))

    assert done.returncode == 1
    assert done.stderr.startswith("maskmeter: Cannot write to")
    assert "Traceback" not in done.stderr


def test_version():
    assert run("--version").stdout.startswith("maskmeter, version ")


def test_interrupting_ends_with_code_130_and_leaves_nothing_behind(tmp_path):
    with subprocess.Popen(  # noqa: S603 - our own command
        [*COMMAND, "paper", "--out", str(tmp_path / "out")],
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
    assert not list(tmp_path.iterdir())
