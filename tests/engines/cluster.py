"""A Spark cluster on this machine: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

PATIENCE = 120  # seconds, for a machine that does much else
SMALL_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # compiles little


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(kind, *arguments, folder):
    """Return the process of a master or worker, in a group with the executors it starts."""
    home = Path(find_spec("pyspark").origin).parent
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home), "JDK_JAVA_OPTIONS": SMALL_JAVA}
    return subprocess.Popen(  # noqa: S603 - a part of Spark
        [home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, **own, "PYSPARK_PYTHON": sys.executable},
        start_new_session=True,
    )  # fmt: skip


def answers(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def wait(ready, seconds=PATIENCE):
    until = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < until, "Spark does not start."
        time.sleep(0.1)


@contextmanager
def cluster(folder, *, workers):
    """Yield the address of a new master and the processes of its workers; all of them end here."""
    port = free_port()
    running = [
        start("master.Master", "--port", str(port), "--webui-port", str(free_port()), folder=folder)
    ]
    address = f"spark://127.0.0.1:{port}"
    try:
        wait(lambda: answers(port))
        for number in range(workers):
            own = folder / f"worker {number}"
            own.mkdir()
            given = ["--cores", "1", "--memory", "1g", "--webui-port", str(free_port())]
            running.append(
                start("worker.Worker", *given, "--work-dir", str(own), address, folder=own)
            )
        yield address, running[1:]
    finally:
        for one in running:
            end(one)


def end(process):
    """Kill a process and those it started, as a machine that fails does."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait(PATIENCE)
