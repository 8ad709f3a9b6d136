"""The chart library as one script, which takes over a second to put together and is then kept."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from maskmeter.files import whole

_SEAL = "\n// "  # before the hash that shows whether a kept script is whole


@cache
def chart_library() -> str:
    """Return the script that draws charts; it needs nothing else."""
    import vl_convert

    kept = _folder() / f"charts-{version('vl-convert-python')}.js"
    with suppress(OSError, UnicodeDecodeError):
        script, _, seal = kept.read_text(encoding="utf-8").rpartition(_SEAL)
        if seal == _hash(script):
            return script
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # Either would end the script, or begin a comment in it.
    script = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    with suppress(OSError):  # where nothing can be kept, it is put together each time
        kept.parent.mkdir(parents=True, exist_ok=True)
        with whole(kept) as unfinished:
            unfinished.write_bytes(f"{script}{_SEAL}{_hash(script)}".encode())
    return script


def _hash(script: str) -> str:
    return sha256(script.encode()).hexdigest()


def _folder() -> Path:
    """Return where programs keep what they can make again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "maskmeter"
