"""Our Spark session: it starts without a word, listens on loopback, and says what it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engines.cluster import PATIENCE, SMALL_JAVA, cluster
from engines.places import KEYS, SPARK, people, write_parts
from rejection import rejected

pytestmark = list(SPARK)

SCRIPT = """
import os, sys
import maskmeter as mm
from maskmeter.data.engines import spark_session as spark

def start(master):
    try:
        return spark.spark_session(master)
    except mm.MaskmeterError as error:
        print(error)

path, before = os.environ["PATH"], set(os.environ)
os.environ["PATH"] = "nowhere"
start("local[1]")
os.environ["JAVA_HOME"] = "nowhere"
start("local[1]")
del os.environ["JAVA_HOME"]
os.environ["PATH"] = path
for master in ("spark://127.0.0.1:1", "spark://nowhere", "spark://here:there", "nonsense"):
    start(master)
print(len(mm.read(sys.argv[1], keys=sys.argv[2], engine="spark", master="local[1]")))
start("local[2]")
print(set(os.environ) - before)
"""


def run(script, *arguments, folder):
    """Return the lines that a script prints, whose temporary files are in a folder."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "TMPDIR": str(folder),
            "_JAVA_OPTIONS": f"{SMALL_JAVA} -Djava.io.tmpdir={folder}",
        },
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_session_is_quiet_and_says_what_it_lacks(tmp_path):
    parts, folder = write_parts(people(50), tmp_path, 2), tmp_path / "temporary"
    folder.mkdir()
    lines = run(SCRIPT, parts, ",".join(KEYS), folder=folder)

    no_java, no_home, refused, no_port, no_number, nonsense, records, other, left = lines
    assert "there is no java here" in no_java
    assert "no java in JAVA_HOME (nowhere)" in no_home
    assert "No Spark master answers at 'spark://127.0.0.1:1'" in refused
    assert all("give spark://HOST:PORT" in one for one in (no_port, no_number))
    assert "did not start with the master 'nonsense'" in nonsense
    assert records == "50"
    assert "runs in this process already, but not at 'local[2]'" in other
    assert left == "set()"
    until = time.monotonic() + PATIENCE  # Java tidies up when Python has ended
    while list(folder.iterdir()) and time.monotonic() < until:
        time.sleep(0.1)
    assert list(folder.iterdir()) == []


@pytest.mark.full
def test_a_master_without_workers_is_told(tmp_path):
    script = (
        "import sys, maskmeter as mm\n"
        "from maskmeter.data.engines import spark_session as spark\n"
        "spark.WAIT = 1.0\n"
        "try: spark.spark_session(sys.argv[1])\n"
        "except mm.MaskmeterError as error: print(error)\n"
    )
    with cluster(tmp_path, workers=0) as (address, _):
        (told,) = run(script, address, folder=tmp_path)

    assert told.startswith(f"The Spark master at '{address}' has no worker that takes up work.")


def listening(process):
    """Return the addresses that a process listens on, in hexadecimal."""
    own = {str(one.readlink()) for one in Path(f"/proc/{process}/fd").iterdir() if one.is_symlink()}
    for kind in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{kind}").read_text().splitlines()[1:]:
            _, address, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in own:
                yield address.partition(":")[0]


def test_a_session_on_this_machine_listens_on_loopback_only(spark):
    java = spark.sparkContext._gateway.proc.pid
    found = set(listening(java))

    loopback = {"0100007F", "0" * 24 + "01000000", "0000000000000000FFFF00000100007F"}
    assert found
    assert found <= loopback


def test_a_running_session_is_used_as_it_is(spark):
    from maskmeter.data.engines.spark_session import spark_session

    assert spark_session(None) is spark
    assert spark_session("local[2]") is spark
    rejected(lambda: spark_session("local[7]"), "runs in this process already")
