"""Measure files that are larger than memory should hold, and engines that hold them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import ROOT, Values

KEYS = ["lad", "sex", "age", "marital", "ethnicity", "activity"]
ROWS, SHARED_ROWS, SMALL = 100_000_000, 5_000_000, 1_000
FIRST_EDITION = "d8889f3"
SPARK = ROOT / ".venv-spark" / "bin" / "python"
PLAN = f"""\
[data]
keys = {json.dumps(KEYS)}
fraction = 0.1
[[step]]
method = "METHOD"
key = "lad"
RATE
"""

# Parts of a million people, drawn from the synthetic census, and their numbers.
MAKE = """
import sys, numpy as np, polars as pl, maskmeter as mm
rows, folder = int(sys.argv[1]), sys.argv[2]
census, rng, size = mm.synthetic_census(), np.random.default_rng(1), 1 << 20
census = census.with_columns(pl.all().cast(pl.String))  # as other programs write them
for start in range(0, rows, size):
    drawn = census[rng.integers(0, len(census), min(size, rows - start))]
    people = drawn.with_columns(person=pl.int_range(start, start + len(drawn), dtype=pl.Int64))
    people.write_parquet(f"{folder}/{start:012}.parquet")
"""
CENSUS = """
import sys, maskmeter as mm
mm.synthetic_census(size=int(sys.argv[1])).write_parquet(sys.argv[2])
"""
BARE = f"""
import sys, polars as pl
scanned = pl.scan_parquet(sys.argv[2])
if sys.argv[1] == "count":
    scanned.group_by({KEYS!r}).len().collect(engine="streaming")
else:
    scanned.sink_parquet(sys.argv[3])
"""
COUNT = f"""
import sys, maskmeter as mm
mm.count(sys.argv[2], keys={KEYS!r}, engine=sys.argv[1])
"""
DRAW = f"""
import sys, time, maskmeter as mm
sample = mm.read(sys.argv[1], keys={KEYS!r}, fraction=0.1, id="person", engine="polars")
release = mm.Pram("lad", stay=0.9).apply(sample, rng=1)
start = time.perf_counter()
release.write(sys.argv[2])
print(time.perf_counter() - start)
"""
ENGINE = f"""
import sys, time, maskmeter as mm
path, engine, out = sys.argv[1:4]
kept = mm.count(path, keys={KEYS!r}, engine=engine)  # starts Spark
start = time.perf_counter()
sample = mm.read(path, keys={KEYS!r}, fraction=0.5, id="person", engine=engine)
counted = time.perf_counter()
release = mm.Pram("lad", stay=0.9).apply(sample, rng=1)
release.write(out)
print(counted - start, time.perf_counter() - counted)
"""


def _run(*command: object, python: Path | str = sys.executable, **more: str) -> tuple[Values, str]:
    """Return how long a process takes, how much memory it needs, and what it prints."""
    start = time.perf_counter()
    environment = os.environ | more
    with subprocess.Popen(  # noqa: S603 - our own code
        [str(python), *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as process:
        told = process.stdout.read() if process.stdout else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"A measured process failed: {command[:2]}")
    return {"seconds": time.perf_counter() - start, "peak": used.ru_maxrss / 1024}, told


def _made(folder: Path, rows: int) -> Path:
    """Return a folder of Parquet files with so many people, in parts of a million."""
    made = folder / f"people-{rows}"
    made.mkdir()
    _run("-c", MAKE, rows, made)
    return made


def _plan(folder: Path, method: str, rate: str) -> Path:
    path = folder / f"{method}.toml"
    path.write_text(PLAN.replace("METHOD", method).replace("RATE", rate), encoding="utf-8")
    return path


def hundred_million() -> Values:
    """Time and memory of 1e8 rows: counted, PRAMmed and assessed, beside bare Polars.

    Hold: 2 GB, and 1.5 times bare Polars that counts, and that scans and writes, the same files.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people = _made(folder, ROWS)
        plan, engine = _plan(folder, "pram", "stay = 0.9"), ("--engine", "polars", "--id", "person")
        bare_count, _ = _run("-c", BARE, "count", people / "*.parquet")
        count, _ = _run("-c", COUNT, "polars", people)
        bare_write, _ = _run("-c", BARE, "write", people / "*.parquet", folder / "bare.parquet")
        (folder / "bare.parquet").unlink()
        safe, pack = folder / "safe", folder / "pack"
        draw, told = _run("-c", DRAW, people, safe)
        draw["seconds"] = float(told)
        shutil.rmtree(safe)
        command = ("-m", "maskmeter", "protect", people, "--plan", plan, *engine, "--quiet")
        protect, _ = _run(*command, "--out", safe)
        shutil.rmtree(safe)
        command = ("-m", "maskmeter", "assess", people, "--plan", plan, *engine, "--quiet")
        assess, _ = _run(*command, "--out", pack)
    runs = {"count": count, "draw": draw, "protect": protect, "assess": assess}
    found = {f"{name}_{what}": one[what] for name, one in runs.items() for what in one}
    return found | {"polars_count": bare_count["seconds"], "polars_write": bare_write["seconds"]}


def assessments() -> Values:
    """Time and memory of `maskmeter assess` with a swap, beside the first edition in the same run.

    Hold: half of its time with 1e6 and 5e6 rows, and 150 and 600 MB above a run on 1,000 rows.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = subprocess.run(  # noqa: S603 - a commit of this repository
            ["git", "archive", FIRST_EDITION, "src"],  # noqa: S607 - wherever git is
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)  # noqa: S603, S607 - as above
        plan = _plan(folder, "swap", "rate = 0.2")
        found: Values = {}
        for size in (SMALL, 1_000_000, SHARED_ROWS):
            people = folder / f"{size}.parquet"
            _run("-c", CENSUS, size, people)
            for edition, code in (("ours", ROOT / "src"), ("first", folder / "src")):
                out = folder / f"{edition}-{size}"
                command = ("-m", "maskmeter", "assess", people, "--plan", plan, "--quiet")
                one, _ = _run(*command, "--out", out, PYTHONPATH=str(code))
                found |= {f"{edition}_{size}": one["seconds"], f"{edition}_mb_{size}": one["peak"]}
    for size in (1_000_000, SHARED_ROWS):
        found[f"above_{size}"] = found[f"ours_mb_{size}"] - found[f"ours_mb_{SMALL}"]
    return found


def engines() -> Values:
    """Time of counting and PRAM of 5e6 rows by Polars, DuckDB and Spark on this machine."""
    found: Values = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people = _made(folder, SHARED_ROWS)
        for engine in ("polars", "duckdb", "spark"):
            python = SPARK if engine == "spark" else sys.executable
            command = ("-c", ENGINE, people, engine, folder / engine)
            used, told = _run(*command, python=python, PYTHONPATH=str(ROOT / "src"))
            count, change = map(float, told.split())
            found |= {f"{engine}_count": count, f"{engine}_pram": change}
            found[f"{engine}_peak"] = used["peak"]
    return found
