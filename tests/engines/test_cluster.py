"""A real cluster: a worker that is killed in the middle of the work changes nothing in the result."""

from __future__ import annotations

import os
import subprocess
import sys

import polars as pl
import pytest

import maskmeter as mm
from engines.cluster import PATIENCE, cluster
from engines.places import KEYS, SPARK, assert_same, people, protect, write_parts

pytestmark = [*SPARK, pytest.mark.full]

# A thread waits for the work to be under way, kills a worker with its executors, and says whether
# the work went on.
SCRIPT = """
import os, signal, sys, threading, time
from pathlib import Path
import maskmeter as mm
from maskmeter.data.engines.spark_session import spark_session

master, parts, out, victim, when = sys.argv[1:]
session = spark_session(master)
for name in ("maxPartitionBytes", "openCostInBytes"):
    session.conf.set(f"spark.sql.files.{name}", "64k")  # a task for each file
session.conf.set("spark.sql.shuffle.partitions", 4)
tracker, phase = session.sparkContext.statusTracker(), None

def executors():
    return session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1

def tasks():
    stages = [tracker.getStageInfo(one) for one in tracker.getActiveStageIds()]
    return [one for one in stages if one and one.numActiveTasks and one.numCompletedTasks > 3]

def kill():
    while phase != when or not tasks():
        time.sleep(0.005)
    os.killpg(int(victim), signal.SIGKILL)
    busy = [(one.numCompletedTasks, one.numTasks) for one in tasks()]
    print("running", any(done < every for done, every in busy), flush=True)

while executors() < 2:
    time.sleep(0.1)
killer = threading.Thread(target=kill, daemon=True)
killer.start()
keys = ["lad", "age", "sex"]
phase = "count"
mm.count(parts, keys=keys, engine="spark", master=master).to_frame().write_parquet(f"{out}.parquet")
sample = mm.read(parts, keys=keys, fraction=0.05, id="person", engine="spark", master=master)
phase = "draw"
release = mm.protect(sample, [mm.Pram("age", stay=0.8)], rng=2010)
phase = "write"
release.write(out)
killer.join(1)
print("executors", executors(), flush=True)
"""


@pytest.mark.parametrize("when", ["count", "draw", "write"])
def test_a_worker_that_is_killed_changes_nothing(tmp_path, when):
    frame, out = people(30_000), tmp_path / "out"
    parts = write_parts(frame, tmp_path, 60)
    with cluster(tmp_path, workers=2) as (address, workers):
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-c", SCRIPT, address, parts, out, str(workers[0].pid), when],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
            timeout=3 * PATIENCE,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert workers[0].wait(PATIENCE) < 0
        assert workers[1].poll() is None

    assert done.stdout.splitlines() == ["running True", "executors 1"]
    expected = protect(
        mm.read(frame, keys=KEYS, fraction=0.05, id="person"), [mm.Pram("age", stay=0.8)]
    )
    counted = pl.read_parquet(f"{out}.parquet")
    assert counted.sort(KEYS).equals(mm.count(frame, keys=KEYS).to_frame().sort(KEYS))
    files = sorted(out.iterdir())
    assert {one.suffix for one in files} == {".parquet"}
    assert_same(pl.concat(map(pl.read_parquet, files)), expected.to_frame())
