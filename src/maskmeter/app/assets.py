"""The files of the page: style sheets and scripts, ours and those that draw charts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from threading import Thread

from maskmeter.app.guard import Asgi, Receive, Scope, Send
from maskmeter.page import drawing_script, style_sheet
from maskmeter.page.library import chart_library_beside

_PLACE = "/assets/"
_DARK = re.compile(
    r"@media screen and \(prefers-color-scheme: dark\) \{ (:root) \{(.*?)\} \}", re.DOTALL
)
_CSS, _JS = b"text/css; charset=utf-8", b"text/javascript; charset=utf-8"


def report_style() -> str:
    """Return the style sheet of our reports; a switch of the page chooses dark or light.

    >>> ':root[data-theme="dark"]' in report_style(), "@media screen" in report_style()
    (True, False)
    """
    dark = r':root[data-theme="dark"] { color-scheme: dark;\2}'
    return _DARK.sub(dark, style_sheet())


@cache
def _file(name: str) -> bytes:
    return files("maskmeter.app").joinpath("static", name).read_bytes()


_FILES: dict[str, tuple[bytes, Callable[[], bytes]]] = {
    "report.css": (_CSS, lambda: report_style().encode()),
    "app.css": (_CSS, lambda: _file("app.css")),
    "theme.js": (_JS, lambda: _file("theme.js")),
    "draw.js": (_JS, lambda: drawing_script().encode()),
    "app.js": (_JS, lambda: _file("app.js")),
    "charts.js": (_JS, lambda: chart_library_beside().encode()),
}


def with_assets(inner: Asgi) -> Asgi:
    """Return an application that answers for the files of the page, and passes the rest on."""
    # It may take two seconds, the first time.
    ready = Thread(target=chart_library_beside, daemon=True)
    ready.start()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        name = path.removeprefix(_PLACE)
        if scope["type"] != "http" or not path.startswith(_PLACE):
            await inner(scope, receive, send)
            return
        kind, made = _FILES.get(name, (b"text/plain", lambda: b""))
        if name == "charts.js":
            await asyncio.to_thread(ready.join)
        body = made()
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        status = 200 if name in _FILES else 404
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer
