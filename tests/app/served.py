"""The page as a process of its own, and the ways that tests talk to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Queue
from threading import Thread

from shiny.reactive import _core
from websockets.sync.client import connect

from maskmeter.app.serving import PageServer

LONGEST = 20.0  # seconds to wait for anything


@dataclass
class Served:
    """A page that is served: its process, its port, and the one-time token of its address."""

    process: subprocess.Popen | None
    address: str
    began: float  # when it was started
    cookie: str = field(default="")

    @property
    def port(self):
        return int(re.search(r":(\d+)/", self.address)[1])

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self):
        return self.address.partition("token=")[2]

    def ask(self, path="/", *, method="GET", host=None, known=True, **headers):
        """Return the status, the headers and the text of an answer."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST)
        link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        link.putheader("Host", f"127.0.0.1:{self.port}" if host is None else host)
        if known and self.cookie:
            link.putheader("Cookie", self.cookie)
        for name, value in headers.items():
            link.putheader(name.replace("_", "-"), value)
        link.endheaders()
        answer = link.getresponse()
        said = answer.read().decode(errors="replace")
        link.close()
        return answer.status, answer.headers, said

    def log_in(self):
        """Exchange the token for the cookie, as a browser does; return the answer."""
        status, headers, said = self.ask(f"/?token={self.token}", known=False)
        self.cookie = (headers["Set-Cookie"] or "").partition(";")[0]
        return status, headers, said

    def talk(self, **options):
        """Return a connection such as the page has; it says that all outputs are seen."""
        more = {"Cookie": self.cookie} if self.cookie else {}
        options = {"origin": self.origin, "additional_headers": more, "proxy": None} | options
        return connect(
            f"ws://127.0.0.1:{self.port}/websocket/", max_size=None, max_queue=None, **options
        )

    def memory(self):
        """Return the most megabytes that the server has held so far."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as lines:  # noqa: PTH123 - no file
            most = next(line for line in lines if line.startswith("VmHWM"))
        return int(most.split()[1]) / 1024


@contextmanager
def served_here(folder, file=None):
    """Serve the page from a thread of this process, where coverage is measured."""
    began, told = time.monotonic(), Queue()
    # Shiny has one lock for a process, which belongs to the loop of the first server in it.
    _core._reactive_environment._lock = None
    page = PageServer(folder, file=file)
    thread = Thread(target=page.run, args=[told.put])
    thread.start()
    try:
        yield Served(None, told.get(timeout=LONGEST), began)
    finally:
        page.stop()
        thread.join(LONGEST)
    assert not thread.is_alive()


@contextmanager
def served(folder, *arguments, env=None):
    """Serve the page from a folder; interrupt it at the end, as Ctrl-C does."""
    began = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "maskmeter", "app", *map(str, arguments), "--no-browser"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        line = process.stdout.readline()
        assert "http://127.0.0.1:" in line, process.stderr.read()
        yield Served(process, line.split()[-1], began)
    finally:
        stopped(process)


def stopped(process):
    """Interrupt the server, if it runs; return its exit code and what it said on standard error."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=LONGEST)
    return process.returncode, said


OUTPUTS = ("status", "about", "file_open", "file_list", "key_columns", "key_counts")


class Talk:
    """What a page says to the server over a connection, and the last value of each output."""

    def __init__(self, link, outputs=OUTPUTS):
        self.link, self.shown = link, {}
        seen = {f".clientdata_output_{name}_hidden": False for name in outputs}
        self._send("init", {**seen, "tab": "file"})

    def _send(self, method, data):
        self.link.send(json.dumps({"method": method, "data": data}))

    def do(self, action, value=""):
        """Ask for an action, as a control does."""
        self._send("update", {"act": {"do": action, "value": value}})

    def until(self, true):
        """Read what the server sends until something is true of the outputs; return them as text."""
        ends = time.monotonic() + LONGEST
        while not true(self.text):
            message = json.loads(self.link.recv(timeout=max(ends - time.monotonic(), 0.1)))
            self.shown.update(message.get("values", {}))
        return self.text

    @property
    def text(self):
        return json.dumps(self.shown)
