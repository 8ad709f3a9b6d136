"""Who may talk to the page: one browser on this machine, with a key that it was given once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Any, TypeAlias
from urllib.parse import parse_qs

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Asgi: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

FORBIDDEN, NOT_ALLOWED, SEE_OTHER = 403, 405, 303
_USUAL = 80  # port of http
_READS = ("GET", "HEAD")
_TO_PAGE = (b"location", b"/")

HOST = "This page answers only to its own address on this machine."
ORIGIN = "Another site asked for this page, which answers only to itself."
METHOD = "This page is only read: nothing can be sent to it in this way."
USED = (
    "This link was used already, or is not the right one. Start maskmeter app again for a new one."
)
KEY = "Open the page with the link that maskmeter app printed when it started."


def new_token() -> str:
    """Return a token that nobody can guess."""
    return token_urlsafe(32)


class Guard:
    """An ASGI application that lets one browser through to another application.

    The browser shows a one-time token, and gets a cookie that no script can read and that is not sent
    from other sites. All that comes without it, from another origin or under another host name is refused, and every
    answer has headers that forbid scripts, frames and requests from elsewhere.
    """

    def __init__(self, inner: Asgi, *, port: int, token: str, policy: str) -> None:
        self._inner = inner
        named = [f"127.0.0.1:{port}", f"localhost:{port}"]
        # Browsers leave out the port where it is the usual one.
        named += ["127.0.0.1", "localhost"] if port == _USUAL else []
        self._hosts = frozenset(named)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._cookie = f"maskmeter-{port}"
        self._key = new_token()
        self._token: str | None = token
        self._headers = _headers(policy)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request or a connection on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        given = _given(scope)
        fault = self._fault(scope, given)
        if fault is not None:
            await self._refuse(scope, send, *fault)
        elif scope["type"] == "http" and scope["method"] == "GET" and "token" in _query(scope):
            await self._exchange(scope, send, known=self._known(given))
        elif not self._known(given):
            await self._refuse(scope, send, FORBIDDEN, KEY)
        else:
            await self._inner(scope, receive, self._covered(send))

    def _fault(self, scope: Scope, given: dict[str, list[str]]) -> tuple[int, str] | None:
        """Return why a request is refused whoever sends it, or None."""
        if len(given.get("host", [])) != 1 or given["host"][0].lower() not in self._hosts:
            return FORBIDDEN, HOST
        from_elsewhere = any(one not in self._origins for one in given.get("origin", []))
        writes = scope["type"] == "websocket" or scope["method"] not in _READS
        if from_elsewhere or (writes and not given.get("origin")):
            return FORBIDDEN, ORIGIN
        if scope["type"] == "http" and writes:
            return NOT_ALLOWED, METHOD
        return None

    def _known(self, given: dict[str, list[str]]) -> bool:
        """Return True when the cookie is the one that the token was exchanged for."""
        # Whatever else serves pages on this machine may have set cookies of any form beside it.
        pairs = (
            one.strip().partition("=")
            for line in given.get("cookie", [])
            for one in line.split(";")
        )
        shown = [value for name, _, value in pairs if name == self._cookie]
        return len(shown) == 1 and compare_digest(shown[0].encode(), self._key.encode())

    async def _exchange(self, scope: Scope, send: Send, *, known: bool) -> None:
        """Take the token, once, and give the cookie at an address without it.

        Who has the cookie already gets to that address whatever the token.
        """
        if known:
            await _answer(send, SEE_OTHER, "", [*self._headers, _TO_PAGE])
            return
        shown, token = _query(scope)["token"], self._token
        if (
            token is None
            or len(shown) != 1
            or not compare_digest(shown[0].encode(), token.encode())
        ):
            await self._refuse(scope, send, FORBIDDEN, USED)
            return
        self._token = None
        cookie = f"{self._cookie}={self._key}; Path=/; HttpOnly; SameSite=Strict"
        given = (b"set-cookie", cookie.encode())
        await _answer(send, SEE_OTHER, "", [*self._headers, _TO_PAGE, given])

    async def _refuse(self, scope: Scope, send: Send, status: int, words: str) -> None:
        if scope["type"] == "websocket":  # before it is accepted, so that the browser sees a 403
            await send({"type": "websocket.close", "code": 1008})
            return
        await _answer(send, status, words + "\n", self._headers)

    def _covered(self, send: Send) -> Send:
        """Return `send` with our headers on every answer, in place of the application's own."""
        ours = {name for name, _ in self._headers}

        async def covered(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [one for one in message.get("headers", []) if one[0].lower() not in ours]
                message = {**message, "headers": [*kept, *self._headers]}
            await send(message)

        return covered


def _headers(policy: str) -> list[tuple[bytes, bytes]]:
    named = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=()",
        "cache-control": "no-store",
    }
    return [(name.encode(), value.encode()) for name, value in named.items()]


def _given(scope: Scope) -> dict[str, list[str]]:
    """Return the headers of a request, each with all its values."""
    found: dict[str, list[str]] = {}
    for name, value in scope.get("headers", []):
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _query(scope: Scope) -> dict[str, list[str]]:
    return parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)


async def _answer(send: Send, status: int, words: str, headers: list[tuple[bytes, bytes]]) -> None:
    body = words.encode()
    about = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": [*about, *headers]})
    await send({"type": "http.response.body", "body": body})
