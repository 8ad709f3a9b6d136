"""The server of the page: on this machine only, for one browser, until somebody stops it.

Its address is told before the libraries behind the page are loaded: the browser starts meanwhile,
and waits at the socket, which listens already.
"""

from __future__ import annotations

import socket
import warnings
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event, Timer
from typing import TYPE_CHECKING, Any

from maskmeter.app.guard import Guard, new_token
from maskmeter.errors import FileError, InputError, MaskmeterWarning

if TYPE_CHECKING:
    from maskmeter.app.desk import Shared
    from maskmeter.app.work import Work
    from maskmeter.app.workbench import Workbench

LOOPBACK = "127.0.0.1"
_LARGEST = 1_000_000  # bytes of a message: controls send little
_WAITING = 100  # connections, before the page answers


class PageServer:
    """A page and the server that it has on this machine; it listens from the beginning.

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
        self._root, self._file = root, file
        self._listening = _listening(port)
        self._port, self._token = self._listening.getsockname()[1], new_token()
        self._ended = Event()

    @property
    def address(self) -> str:
        """The address that opens the page, once."""
        return f"http://{LOOPBACK}:{self._port}/?token={self._token}"

    def run(self, tell: Callable[[str], object]) -> None:
        """Tell the address, and serve the page until it is interrupted or stopped."""
        tell(self.address)
        shared = None
        try:
            shared = self._shared()
            # Not with `without_warnings`, which other threads would wait for.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MaskmeterWarning)  # results say it
                self._serve(shared)
        finally:
            if shared is not None:
                shared.end()
                shared.bench.close()
            self._listening.close()

    def _shared(self) -> Shared:
        from maskmeter.app.desk import Shared
        from maskmeter.app.workbench import Workbench

        shared = Shared(Workbench(self._root, allowed=self._file))
        if self._file is not None:
            shared.jobs.start("Opening the file", partial(_open, shared.bench, self._file))
        return shared

    def _serve(self, shared: Shared) -> None:
        from maskmeter.app.assets import with_assets
        from maskmeter.app.page import application
        from maskmeter.app.policy import policy_of

        app = application(shared)
        policy = policy_of(app.ui["html"])  # type: ignore[index]
        guard = Guard(with_assets(app), port=self._port, token=self._token, policy=policy)
        self._uvicorn(guard).run([self._listening])

    def _uvicorn(self, app: Any) -> Any:
        """Return the web server, which ends when the page is stopped."""
        import uvicorn

        ended = self._ended

        class EndingServer(uvicorn.Server):
            async def on_tick(self, counter: int) -> bool:
                return await super().on_tick(counter) or ended.is_set()

        return EndingServer(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                ws_max_size=_LARGEST,
                ws_ping_interval=None,  # a machine that slept has not lost its own connection
                timeout_graceful_shutdown=1,
                lifespan="on",
            )
        )

    def stop(self) -> None:
        """End the server, from another thread."""
        self._ended.set()


def serve(
    file: Path | None, *, port: int = 0, browse: bool = True, tell: Callable[[str], object] = print
) -> None:
    """Serve the page until it is interrupted; `tell` is given its address."""
    page = PageServer(Path.cwd(), file=file, port=port)

    def told(address: str) -> None:
        tell(address)
        if browse:
            opening = Timer(0.0, webbrowser.open, [address])
            opening.daemon = True
            opening.start()

    page.run(told)


def _open(bench: Workbench, file: Path, work: Work) -> str:
    if file.suffix.lower() == ".toml":
        bench.open_plan(str(file.resolve()))
        return f"Opened the plan {file.name}. Now open its file."
    return f"Opened {bench.open(str(file.resolve()), work).name}."


def _listening(port: int) -> socket.socket:
    """Return a socket on the loopback interface; port 0 takes a free one."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # A port that was used just now is free again; on Windows, that same option would let another
    # program take ours.
    alone = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
    found.setsockopt(socket.SOL_SOCKET, alone, 1)
    try:
        found.bind((LOOPBACK, port))
        found.listen(_WAITING)
    except OSError:
        found.close()
        raise InputError(
            f"Port {port} is taken or not allowed: give another with --port, or none for a free one."
        ) from None
    return found
