"""The chart library as one script, which takes over a second to put together and is then kept."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from maskmeter.files import whole

_SEAL = "\n// "  # before the hash that shows whether a kept script is whole
_HELD: dict[Path, str] = {}  # in memory, by where it is kept


def chart_library() -> str:
    """Return the script that draws charts; it needs nothing else."""
    place = _place()
    if place not in _HELD:
        script = _kept(place)
        if script is None:
            script = _put_together()
            with suppress(OSError):  # where nothing can be kept, it is put together each time
                _keep(place, script)
        _HELD[place] = script
    return _HELD[place]


def chart_library_beside() -> str:
    """Return the same, put together by another process while this one goes on; nothing is written."""
    place = _place()
    if place not in _HELD:
        script = _kept(place)
        _HELD[place] = _put_together_beside() if script is None else script
    return _HELD[place]


def _put_together() -> str:
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # Either would end the script, or begin a comment in it.
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _put_together_beside() -> str:
    # In this process no other thread would run meanwhile, and its memory would not come back.
    with suppress(OSError, subprocess.SubprocessError, UnicodeDecodeError):
        command = [sys.executable, "-c", f"from {__name__} import _print; _print()"]
        done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - this module
        return done.stdout.decode()
    return _put_together()


def _print() -> None:
    sys.stdout.buffer.write(_put_together().encode())


def _kept(place: Path) -> str | None:
    """Return the script that was kept; None if there is none, or not all of it."""
    with suppress(OSError, UnicodeDecodeError):
        script, _, seal = place.read_text(encoding="utf-8").rpartition(_SEAL)
        if seal == _hash(script):
            return script
    return None


def _keep(place: Path, script: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with whole(place) as unfinished:
        unfinished.write_bytes(f"{script}{_SEAL}{_hash(script)}".encode())


def _hash(script: str) -> str:
    return sha256(script.encode()).hexdigest()


def _place() -> Path:
    return _folder() / f"charts-{version('vl-convert-python')}.js"


def _folder() -> Path:
    """Return where programs keep what they can make again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "maskmeter"
