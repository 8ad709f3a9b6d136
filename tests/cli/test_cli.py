"""The command as users run it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import warnings
from pathlib import Path

import pytest
import rich.progress

from command import INSTALLED, MODULE, kept, run, run_process
from maskmeter.cli import main
from maskmeter.cli.main import commands
from maskmeter.cli.terminal import progress_bar
from maskmeter.errors import MaskmeterWarning


def test_demo_prints_all_measures_in_eighty_columns(demo, tmp_path):
    done, out = kept(demo), demo / "story"

    assert done.returncode == 0
    assert done.stderr == ""
    assert float((demo / "seconds").read_text()) < 60
    told = [line for line in done.stdout.splitlines() if not line.startswith("Wrote ")]
    assert max(map(len, told[:-2])) <= 80
    for measure in ("tau*", "estimate", "(2.8)", "(2.5)", "(2.6)", "(2.7)", "(2.9)"):
        assert f"│ {measure} " in done.stdout
    assert "loses least" in done.stdout
    assert f"The report is {out / 'evidence' / 'internal' / 'internal.html'}" in "".join(
        done.stdout.splitlines()
    )
    wrote = [Path(path) for path in re.findall(r"Wrote (.*)", done.stdout)]
    assert all(path.is_file() for path in wrote)
    assert {path.name for path in wrote} >= {"survey.csv", "plan.toml", "protected.csv"}
    made = out / "evidence" / "internal" / "provenance.json"
    again = run("assess", out / "survey.csv", "--from", made, "--out", tmp_path / "again")
    assert again.returncode == 0  # the release can be recreated from its evidence
    assert (tmp_path / "again" / "protected.csv").read_bytes() == (
        out / "evidence" / "protected.csv"
    ).read_bytes()


@pytest.mark.slow
def test_demo_prints_the_same_json_on_every_run(tmp_path):
    options = ("--scale", "0.02", "--seed", "7", "--json", "--out", "story")
    first = run("demo", *options, folder=tmp_path)
    second = run_process("demo", *options, cwd=tmp_path)  # another process has another hash seed
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
def test_usage_errors_exit_with_two_and_no_traceback(arguments):
    done = run(*arguments)

    assert done.returncode == 2
    assert "Usage:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["paper", "--help"]])
def test_help_has_an_example(arguments):
    done = run(*arguments)

    assert done.returncode == 0
    assert re.search("maskmeter (demo|paper)", done.stdout)


def test_help_describes_every_command_in_one_full_line():
    shown = run("--help").stdout

    assert all(f"\n  {name} " in shown for name in commands.list_commands(None))
    assert "..." not in shown.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("command", "option", "words"),
    [
        ("assess", "--plan", "Plan file. Command-line options override it."),
        ("assess", "--missing", "How to treat records without a value for a key."),
        ("protect", "--from", "Recreate the release recorded in this provenance.json."),
        ("find", "--out", "Output folder, new or empty."),
    ],
)
def test_help_describes_options_in_plain_words(command, option, words):
    shown = " ".join(run(command, "--help").stdout.split())

    assert re.search(rf"{option} \S+ {re.escape(words)}", shown)


def test_an_unwritable_folder_gives_an_error_without_a_traceback(tmp_path):
    (tmp_path / "taken").write_text("x")
    done = run("paper", "--scale", "0.01", "--out", tmp_path / "taken" / "out")

    assert done.returncode == 1
    assert done.stderr.startswith("maskmeter: Cannot write to")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("installed", [INSTALLED, MODULE], ids=["script", "module"])
def test_the_command_runs_as_a_script_and_as_a_module(installed):
    done = run_process("--version", command=installed)

    assert done.stdout.startswith("maskmeter, version ")
    assert done.returncode == 0
    assert run_process("nothing", command=installed).returncode == 2


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_exits_with_130_and_leaves_nothing(tmp_path, sent):
    def interruptible():  # background jobs of a shell ignore interrupts
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(  # noqa: S603 - our own command
        [*MODULE, "paper", "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "FORCE_COLOR": "1"},  # show progress as on a terminal
        preexec_fn=interruptible,  # noqa: PLW1509 - it starts no thread
    ) as process:
        late = threading.Timer(60, process.kill)  # do not wait for the whole paper
        late.start()
        begun = process.stderr.read(1)
        process.send_signal(sent)
        _, complaint = process.communicate()
        late.cancel()

    assert begun
    assert process.returncode == 130
    assert "Interrupted." in complaint
    assert "Traceback" not in complaint
    assert not list(tmp_path.iterdir())


@pytest.fixture
def probe(monkeypatch):
    """Return a function that replaces what the command runs."""

    def put(function):
        monkeypatch.setattr(commands, "main", lambda *_, **__: function())

    return put


def test_cautions_are_printed_once_and_not_in_the_next_run(probe):
    def warn():
        for _ in range(2):
            warnings.warn("mind this", MaskmeterWarning, stacklevel=1)

    probe(warn)
    first = run("demo")
    probe(lambda: 0)
    second = run("demo")

    assert first.stderr == "Caution: mind this\n"
    assert second.stderr == ""


def test_the_command_restores_how_warnings_are_handled(probe):
    probe(lambda: 0)
    before = (warnings.showwarning, list(warnings.filters))
    with pytest.raises(SystemExit):
        main([])

    assert (warnings.showwarning, list(warnings.filters)) == before


LEAKS = {
    "environment": lambda _: os.environ.update(LEFT="behind"),
    "handler": lambda _: signal.signal(signal.SIGINT, lambda *_: None),
    "threads": lambda end: threading.Thread(target=end.wait).start(),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_run_fails_if_a_command_changes_its_environment(leak, probe):
    end, handler = threading.Event(), signal.getsignal(signal.SIGINT)
    probe(lambda: LEAKS[leak](end) and 0)
    try:
        with pytest.raises(AssertionError, match=f"leaves its .*{leak}.* changed"):
            run("demo")
    finally:
        end.set()
        os.environ.pop("LEFT", None)
        signal.signal(signal.SIGINT, handler)


def test_a_bar_takes_every_stage_and_keeps_its_place_where_the_length_is_unknown(monkeypatch):
    moved = []
    monkeypatch.setattr(
        rich.progress.Progress, "update", lambda *_, **options: moved.append(options)
    )
    with progress_bar(quiet=True) as progress:
        progress("RS20", 3, 8)
        progress("Writing", 1, 0)

    assert [one["description"] for one in moved] == ["RS20", "Writing"]
    assert [(one["completed"], one["total"]) for one in moved] == [(3, 8), (None, None)]
