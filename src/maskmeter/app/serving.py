"""The server of the page: on this machine only, for one browser, until somebody stops it."""

from __future__ import annotations

import socket
import warnings
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

import uvicorn

from maskmeter.app.assets import with_assets
from maskmeter.app.desk import Shared
from maskmeter.app.guard import Guard
from maskmeter.app.page import application
from maskmeter.app.policy import policy_of
from maskmeter.app.work import Work
from maskmeter.app.workbench import Workbench
from maskmeter.errors import FileError, InputError, MaskmeterWarning

LOOPBACK = "127.0.0.1"
_LARGEST = 1_000_000  # bytes of a message: controls send little


class PageServer:
    """A page and the server that it has on this machine.

    Parameters
    ----------
    root
        The start directory: the page reads and writes there and below.
    file
        A file to open at once, wherever it is.
    port
        0 takes a free one.
    """

    def __init__(self, root: Path, *, file: Path | None = None, port: int = 0) -> None:
        if file is not None and not file.exists():
            raise FileError(f"There is no file {str(file)!r}.")
        self.bench = Workbench(root, allowed=file)
        self._shared = Shared(self.bench)
        self._listening = _listening(port)
        app = application(self._shared)
        port = self._listening.getsockname()[1]
        self._guard = Guard(with_assets(app), port=port, policy=policy_of(app.ui["html"]))  # type: ignore[index]
        self._server = _TellingServer(_settings(self._guard))
        if file is not None:
            self._shared.jobs.start("Opening the file", partial(_open, self.bench, file))

    def run(self, tell: Callable[[str], object]) -> None:
        """Serve the page until it is interrupted or stopped; `tell` is given its address."""
        self._server.tell = partial(tell, self._guard.address)
        try:
            # Not with `without_warnings`, which other threads would wait for.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MaskmeterWarning)  # results say it
                self._server.run([self._listening])
        finally:
            self._shared.end()
            self.bench.close()
            self._listening.close()

    def stop(self) -> None:
        """End the server, from another thread."""
        self._server.should_exit = True


def serve(
    file: Path | None, *, port: int = 0, browse: bool = True, tell: Callable[[str], object] = print
) -> None:
    """Serve the page until it is interrupted; `tell` is given its address once it answers."""
    page = PageServer(Path.cwd(), file=file, port=port)

    def told(address: str) -> None:
        tell(address)
        if browse:
            opening = Timer(0.0, webbrowser.open, [address])
            opening.daemon = True
            opening.start()

    page.run(told)


def _open(bench: Workbench, file: Path, work: Work) -> str:
    return f"Opened {bench.open(str(file.resolve()), work).name}."


class _TellingServer(uvicorn.Server):
    """A server that tells when it listens."""

    tell: Callable[[], object]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.tell()


def _settings(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws_max_size=_LARGEST,
        timeout_graceful_shutdown=1,
        lifespan="on",
    )


def _listening(port: int) -> socket.socket:
    """Return a socket on the loopback interface; port 0 takes a free one."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOOPBACK, port))
    except OSError:
        found.close()
        raise InputError(
            f"Port {port} is taken or not allowed: give another with --port, or none for a free one."
        ) from None
    return found
