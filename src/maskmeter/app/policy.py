"""The content security policy of the page: what a browser may run, load and connect to."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256

_SCRIPT = re.compile(r"<script(?P<about>[^>]*)>(?P<code>.*?)</script>", re.DOTALL | re.IGNORECASE)


def policy_of(document: str) -> str:
    """Return the policy of a document: its own files, and the inline scripts that it has now.

    Shiny puts a script or two into the page; their hashes let these run and no other.

    >>> "'unsafe-inline'" in policy_of("<script>var a = 1</script>")
    False
    >>> policy_of("<script>var a = 1</script>").split(";")[1]
    " script-src 'self' 'sha256-h1HrJPkDwnmmTjhElzuRBLDNtr5UPz5PinuqE+ovmj8='"
    """
    return "; ".join(
        (
            "default-src 'none'",
            " ".join(["script-src 'self'", *_hashes(_inline(document))]),
            "style-src 'self'",
            "img-src 'self' data: blob:",
            "font-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _inline(document: str) -> list[str]:
    """Return the code of scripts that stand in a document and are run, each once."""
    found = [
        one["code"]
        for one in _SCRIPT.finditer(document)
        if "src=" not in one["about"] and "application/" not in one["about"]
    ]
    return list(dict.fromkeys(found))


def _hashes(scripts: Iterable[str]) -> list[str]:
    return [f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in scripts]
