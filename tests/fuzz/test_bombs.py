"""Files made to fill the memory or to hang: one sentence, exit code 1, under 1 GB and 10 seconds."""

from __future__ import annotations

import os
import re
import sys
import time

import pytest

from command import run, run_python
from fuzz.bombs import DATA, PEOPLE, PLANS, PROVENANCES, r_zeros, sparse, special, workbook

SECONDS, MEGABYTES = 10, 1_000
HAS_PIPES = hasattr(os, "mkfifo")

# A bound that does not hold must fail the test, and not fill the machine that runs it.
MEASURED = """
import resource, signal, sys
from maskmeter.cli import main
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
signal.alarm(60)
try:
    main(sys.argv[1:])
finally:
    sys.stderr.flush()
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def check_refused(done, seconds):
    assert done.returncode == 1, done.stderr
    assert re.fullmatch(r"maskmeter: [^\n]+\.\n", done.stderr), done.stderr[:500]
    assert seconds < SECONDS


def refused(folder, *words):
    """Check that a command refuses what it is given, and return what it says."""
    began, there = time.monotonic(), set(folder.rglob("*"))
    done = run(*words, folder=folder)
    check_refused(done, time.monotonic() - began)
    assert set(folder.rglob("*")) == there
    return done.stderr


def refused_within_bounds(folder, *words):
    """Check the same in a process of its own, and that it stays small."""
    began = time.monotonic()
    done = run_python(MEASURED, *words, folder=folder)
    check_refused(done, time.monotonic() - began)
    assert int(re.search(r"VmHWM:\s+(\d+) kB", done.stdout)[1]) / 1024 < MEGABYTES
    return done.stderr


def assessed(file, *more):
    return ("assess", file, "--keys", "sex", "--fraction", "0.1", "--out", "pack", *more)


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE.format(w=2), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", DATA)
def test_a_file_that_stands_for_an_enormous_one_is_refused(name, tmp_path):
    DATA[name](tmp_path / name)

    assert f"Cannot read {name!r}" in refused(tmp_path, *assessed(name))


def test_a_line_of_50_gb_in_another_encoding_is_refused(tmp_path):
    sparse(tmp_path / "line.csv", b"sex,age\n1,2\n")

    assert "a line of over" in refused(tmp_path, *assessed("line.csv", "--encoding", "cp1252"))


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_that_asks_for_too_much_is_refused(name, people, tmp_path):
    (tmp_path / "plan.toml").write_text(PLANS[name], encoding="utf-8")

    assert "plan" in refused(tmp_path, "assess", people, "--plan", "plan.toml", "--out", "pack")


@pytest.mark.parametrize("name", PROVENANCES)
def test_a_provenance_that_nests_too_deep_is_refused(name, people, tmp_path):
    (tmp_path / "made.json").write_text(PROVENANCES[name], encoding="utf-8")

    told = refused(tmp_path, "protect", people, "--from", "made.json", "--out", "safe.csv")
    assert "is not a provenance.json" in told


@pytest.mark.parametrize("option", ["--plan", "--from"])
def test_a_plan_or_a_provenance_of_50_gb_is_refused(option, people, tmp_path):
    sparse(tmp_path / "huge")

    told = refused(tmp_path, "assess", people, option, "huge", "--out", "pack")
    assert "it has 53,687,091,200 bytes" in told


@pytest.mark.skipif(not HAS_PIPES, reason="this system has no pipes with names")
def test_devices_and_pipes_are_refused_whatever_they_stand_for(people, tmp_path):
    (tmp_path / "matrix.toml").write_text(
        '[data]\nkeys = ["sex"]\nfraction = 0.1\n[[error]]\nkey = "sex"\nmatrix = "pipe.csv"\n'
    )
    for path in special(tmp_path):
        for words in (
            assessed(path),
            assessed(people, "--population", path),
            ("plan", "init", path),
            ("assess", people, "--plan", path, "--out", "pack"),
            ("assess", people, "--from", path, "--out", "pack"),
            ("protect", people, "--plan", path, "--out", "safe.csv"),
        ):
            assert "it is not a regular file" in refused(tmp_path, *words)
    os.mkfifo(tmp_path / "pipe.csv")
    told = refused(tmp_path, "assess", people, "--plan", "matrix.toml", "--out", "pack")
    assert "it is not a regular file" in told


def test_300_000_keys_on_the_command_line_are_refused(people, tmp_path):
    keys = ",".join(f"k{number}" for number in range(300_000))

    told = refused(tmp_path, "assess", people, "--keys", keys, "--fraction", "0.1", "--out", "pack")
    assert "300,000 keys are too many" in told


@pytest.mark.parametrize("weight", ["1e308", "1e300", "1e16"])
def test_weights_that_no_population_has_are_refused(weight, tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE.format(w=weight), encoding="utf-8")

    told = refused(tmp_path, "assess", "people.csv", "--keys", "sex,age", "--weights", "w", "--out", "pack")  # fmt: skip
    assert "more than any population has" in told
    assert weight not in told


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux")
@pytest.mark.parametrize("name", ["line-later.csv", "deep.rds"])
def test_refusing_takes_little_memory(name, tmp_path):
    DATA[name](tmp_path / name)

    refused_within_bounds(tmp_path, *assessed(name))


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux")
def test_refusing_any_of_them_takes_little_memory(people, tmp_path):
    for name, write in DATA.items():
        write(tmp_path / name)
        refused_within_bounds(tmp_path, *assessed(name))
    for packed in ("gzip", "bz2", "xz"):
        r_zeros(tmp_path / "large.rds", packed, 2_000)
        refused_within_bounds(tmp_path, *assessed("large.rds"))
    workbook(tmp_path / "large.xlsx", *[b"<row><c><v>1</v></c></row>" * 40_000] * 1_000)
    refused_within_bounds(tmp_path, *assessed("large.xlsx"))
    for text in PLANS.values():
        (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
        refused_within_bounds(tmp_path, "assess", people, "--plan", "plan.toml", "--out", "pack")
    for path in special(tmp_path):
        refused_within_bounds(tmp_path, "assess", people, "--plan", path, "--out", "pack")


def test_real_files_are_far_within_the_bounds(tmp_path):
    """A million records of which each has one of two values take less than the bounds allow."""
    import polars as pl

    records = pl.DataFrame({"sex": ["a", "b"] * 500_000})
    for name in ("people.parquet", "people.csv"):
        getattr(records, f"write_{name.split('.')[1]}")(tmp_path / name)
        done = run("plan", "init", tmp_path / name, "--out", tmp_path / f"{name}.toml")
        assert done.returncode == 0, done.stderr
