"""Measure imports, packages and whole commands."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from timing import ROOT, Values, best, python


def imports() -> Values:
    """Import time against the libraries that are needed anyway (hold 1.3x), and --help (0.6 s)."""
    names = "import maskmeter as mm; [getattr(mm, name) for name in mm.__all__]"
    ours, every = python("import maskmeter"), python(names)
    plain = python("import numpy, polars, narwhals")
    command = [sys.executable, "-m", "maskmeter", "--help"]
    shown = best(lambda: subprocess.run(command, check=True, capture_output=True))  # noqa: S603 - our own command
    return {
        "seconds": ours,
        "every": every,
        "plain": plain,
        "ratio": ours / plain,
        "all_names": every / plain,
        "help": shown,
    }


def paper() -> Values:
    """Time and memory of `maskmeter paper` at full scale (hold 60 s and 2 GB)."""
    from maskmeter.studies.paper import run_paper

    with tempfile.TemporaryDirectory() as folder:
        return {"seconds": best(lambda: run_paper().write(folder), times=1)}


def demo() -> Values:
    """Time of `maskmeter demo`, and the disk that its files take."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "maskmeter", "demo", "--out", folder]
        taken = best(lambda: subprocess.run(command, check=True, capture_output=True), times=1)  # noqa: S603 - our own command
        files = [path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()]
    return {"seconds": taken, "disk": sum(files) / 1e6}


def packages() -> Values:
    """Count the packages that running needs, and that development needs, and their disk."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    run = _needed(project["dependencies"])
    own = [one for name in ("dev", "app", "duckdb", "r") for one in extras[name]]
    develop = run | _needed(own)
    return {
        "run": len(run),
        "run_disk": sum(run.values()) / 1e6,
        "develop": len(develop),
        "develop_disk": sum(develop.values()) / 1e6,
    }


def _needed(wanted: list[str]) -> dict[str, float]:
    """Return the installed packages that some requirements bring, and their size in bytes."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, float] = {}
    queue = [Requirement(one) for one in wanted]
    while queue:
        one = queue.pop()
        name = canonicalize_name(one.name)
        if name in found or name == "maskmeter":
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:  # for another system or Python
            continue
        paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
        found[name] = sum(path.stat().st_size for path in paths if path.is_file())
        for text in package.requires or ():
            more = Requirement(text)
            kinds = one.extras or {""}
            if more.marker is None or any(more.marker.evaluate({"extra": kind}) for kind in kinds):
                queue.append(more)
    return found


def suite() -> Values:
    """Time of `make test` (hold 5 minutes)."""
    command = ["make", "test"]
    run = partial(subprocess.run, command, cwd=ROOT, check=True, stdout=sys.stderr)
    return {"seconds": best(run, times=1)}
