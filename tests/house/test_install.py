"""Installation: pinned requirements, the steps of the Makefile and continuous integration."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from needs import need_program

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FILES = [
    "requirements.txt",
    "requirements-extras.txt",
    "requirements-dev.txt",
    "requirements-bench.txt",
]
DEVELOPING = {"dev", "bench"}  # extras that users do not need


def name_of(requirement):
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower()


def pins(name):
    """Return the versions pinned for each package, and the number of hashes."""
    text = (ROOT / name).read_text(encoding="utf-8")
    found = {}
    for package, version in re.findall(r"^([a-z0-9._-]+)(?:\[\S+\])?==(\S+)", text, re.MULTILINE):
        found.setdefault(package, set()).add(version)
    return found, text.count("--hash=sha256:")


def asked_for(*extras):
    """Return the packages that the project requires, with those of the given extras."""
    project = PROJECT["project"]
    listed = [one for extra in extras for one in project["optional-dependencies"][extra]]
    return {name_of(one) for one in (*project["dependencies"], *listed)} - {"maskmeter"}


def test_requirements_include_no_development_tool():
    running, _ = pins("requirements.txt")

    assert asked_for() <= running.keys()
    assert not running.keys() & (asked_for("dev") - asked_for())
    assert len(running) < 35


def test_the_pinned_requirements_include_every_extra():
    """Spark refuses the pandas of the other tests, so that it has pins of its own."""
    extras = set(PROJECT["project"]["optional-dependencies"]) - DEVELOPING - {"spark"}

    assert asked_for(*extras) <= pins("requirements-extras.txt")[0].keys()
    assert asked_for("dev", *extras) <= pins("requirements-dev.txt")[0].keys()
    assert asked_for("spark") <= pins("requirements-spark.txt")[0].keys()
    assert asked_for("bench") <= pins("requirements-bench.txt")[0].keys()


@pytest.mark.parametrize("name", FILES)
def test_everything_is_pinned_to_one_version_and_hashed(name):
    found, hashes = pins(name)
    everything = {**pins("requirements-bench.txt")[0], **pins("requirements-dev.txt")[0]}

    assert hashes >= sum(map(len, found.values()))
    assert all(found[package] == everything[package] for package in found)


def test_spark_and_its_tests_are_pinned_and_hashed():
    found, hashes = pins("requirements-spark.txt")

    assert hashes >= sum(map(len, found.values()))
    assert set(PROJECT["dependency-groups"]["spark-tests"]) <= found.keys()
    assert all(one.startswith("2.") for one in found["pandas"])


def steps(target, folder, *variables):
    """Return the commands that make would run for a target on a fresh machine."""
    make = need_program("make", "apt-get install make")
    of_make = ("MAKE", "MFLAGS")  # set by the make that runs these tests
    own = {name: value for name, value in os.environ.items() if not name.startswith(of_make)}
    done = subprocess.run(  # noqa: S603 - found by name
        [make, "--dry-run", target, f"VENV={folder / 'none'}", *variables],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=own,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_only_the_tests_install_the_development_requirements(tmp_path):
    demo, test = steps("demo", tmp_path), steps("test", tmp_path)

    assert "-r requirements.txt" in demo
    assert "requirements-dev" not in demo
    assert demo.rstrip().endswith("-m maskmeter demo")
    assert test.index("-r requirements.txt") < test.index("-r requirements-dev.txt")
    for done in (demo, test):
        assert "Installing what maskmeter needs" in done
        assert "--quiet" not in done  # a minute without output looks like a hang


def test_only_benchmarks_install_the_peers(tmp_path):
    test, *measured = (steps(target, tmp_path) for target in ("test", "bench", "bench-check"))

    assert "requirements-bench" not in test
    for done, script in zip(measured, ("run.py --write", "check.py"), strict=True):
        assert done.index("-r requirements-dev.txt") < done.index("-r requirements-bench.txt")
        assert done.rstrip().endswith(f"benchmarks/{script}")


def test_spark_is_installed_only_where_there_is_java(tmp_path):
    new = f"SPARK_VENV={tmp_path / 'spark'}"
    here, there = (steps("test", tmp_path, new, f"JAVA={one}") for one in ("/bin/java", ""))

    assert "-r requirements-spark.txt" in here
    assert "-m pytest -m spark tests/engines" in here
    assert "spark.txt" not in there
    assert "there is no Java" in there
    assert 'test -z "$MASKMETER_NO_SKIPS"' in there  # where nothing may be left out, it fails
    assert "openjdk" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_tests_use_two_processors_and_measure_coverage_only_on_request(tmp_path):
    test, coverage = (steps("test", tmp_path, f"COVERAGE={one}") for one in ("", "1"))

    assert "-n 2 --dist loadfile" in test
    assert "--cov" not in test
    assert "--cov-fail-under=95" in coverage
    assert "make test COVERAGE=1" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def workflow():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["jobs"]


def commands(job):
    return [step["run"] for step in job["steps"] if "run" in step]


def test_ci_tests_every_python_version_and_smoke_tests_other_systems(workflow):
    test, smoke = workflow["test"], workflow["smoke"]

    assert test["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert commands(test) == ["make test"]
    assert smoke["strategy"]["matrix"]["os"] == ["windows-latest", "macos-latest"]
    assert commands(smoke) == ["python -m pip install .", "python tests/smoke.py"]


@pytest.mark.slow
def test_the_smoke_test_of_other_systems_passes_here(workflow):
    """Output has the encoding that Windows uses outside a terminal."""
    *_, words = commands(workflow["smoke"])
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, *words.split()[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("maskmeter ")
