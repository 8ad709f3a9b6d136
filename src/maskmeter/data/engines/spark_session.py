"""The Spark session that reads files: quiet, on loopback unless on a cluster, with our Python."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from maskmeter.data.engines.engine import careful
from maskmeter.errors import EngineError
from maskmeter.optional import need

WAIT = 60.0  # seconds for a worker to take up work
ANSWER = 5.0  # seconds for a master to answer

_NAME = "maskmeter"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # what it logs may quote a record
    "spark.executor.syncLogLevel.enabled": "true",
    "spark.sql.caseSensitive": "true",  # files may have columns "age" and "Age"
}
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def spark_session(master: str | None) -> Any:
    """Return a session of Spark, on a cluster or on all processors of this machine.

    A session that runs already is used as it is. Workers run our Python, or the one that the
    variable PYSPARK_PYTHON names: on a cluster it must have maskmeter, and the same version of
    Python as here.
    """
    sql = need("pyspark.sql", extra="spark")
    running = sql.SparkSession.getActiveSession()
    if running is not None:
        return _at(running, master)
    _check_java()
    if master is not None:
        _check_answers(master)
    session = _started(master or "local[*]")
    if master is not None and not _is_local(master):
        _await_workers(session, master)
    return session


def stop_ours() -> None:
    """Stop the session that we have started, if any, and with it all its tasks; cancel those of others."""
    session = need("pyspark.sql", extra="spark").SparkSession.getActiveSession()
    if session is None:
        return
    session.sparkContext.cancelAllJobs()
    if session.sparkContext.appName == _NAME:
        session.stop()


def _at(session: Any, master: str | None) -> Any:
    """Return a session that runs already, which must be at the master that was asked for."""
    if master is not None and session.sparkContext.master != master:
        raise EngineError(
            f"A Spark session runs in this process already, but not at {master!r}. Stop it first"
            " (pyspark.sql.SparkSession.active().stop()), or leave out the master."
        )
    return session


def _started(master: str) -> Any:
    """Return a new session; neither its Java process nor a message of its own is heard."""
    launch = need("pyspark.java_gateway", extra="spark").launch_gateway
    pyspark = need("pyspark", extra="spark")
    settings = _SETTINGS | (_LOOPBACK if _is_local(master) else {})
    conf = pyspark.SparkConf().setAppName(_NAME).setMaster(master)
    conf.setAll(settings.items())
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        with _our_python():
            # One serves all sessions of a process, so that it gets no setting of this one.
            gateway = pyspark.SparkContext._gateway or launch(None, silent)  # noqa: SLF001 - there is no other way
            context = pyspark.SparkContext(conf=conf, gateway=gateway)
            return need("pyspark.sql", extra="spark").SparkSession(context)
    except Exception:  # noqa: BLE001 - whatever Java or Spark say of their settings
        raise EngineError(
            f"Spark did not start with the master {master!r}. It needs Java 17 or newer, and a"
            " master such as local[*] or spark://HOST:PORT."
        ) from None


@contextmanager
def _our_python() -> Iterator[None]:
    """Let Spark find our Python for its workers: the system's own would lack our packages.

    What Spark adds to the environment is its default.
    """
    before = set(os.environ)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        yield
    finally:
        for name in set(os.environ) - before:
            del os.environ[name]


def _is_local(master: str) -> bool:
    return master.partition("[")[0] == "local"


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if not found:
        where = f"in JAVA_HOME ({home})" if home else "here"
        raise EngineError(
            f"Spark needs Java 17 or newer, and there is no java {where}. Install it (on Debian and"
            " Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME."
        )


def _check_answers(master: str) -> None:
    """Raise unless somebody answers at the address of a standalone master."""
    address = urlsplit(master)
    if address.scheme != "spark":
        return
    try:
        host, port = address.hostname, address.port
    except ValueError:  # no number
        host = port = None
    if host is None or port is None:
        raise EngineError(f"{master!r} is no address of a Spark master: give spark://HOST:PORT.")
    try:
        socket.create_connection((host, port), timeout=ANSWER).close()
    except OSError:
        raise EngineError(
            f"No Spark master answers at {master!r}. Start one, or leave out --master to use this"
            " machine."
        ) from None


def _await_workers(session: Any, master: str) -> None:
    """Raise unless some worker of a cluster takes up work soon."""
    status = session.sparkContext._jsc.sc()  # noqa: SLF001 - there is no other way
    until = time.monotonic() + WAIT
    # The driver is one of those that have memory.
    while careful("Spark", lambda: status.getExecutorMemoryStatus().size()) < 2:
        if time.monotonic() > until:
            session.stop()
            raise EngineError(
                f"The Spark master at {master!r} has no worker that takes up work. Start some, with"
                " enough memory."
            )
        time.sleep(0.2)
