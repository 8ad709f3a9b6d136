"""Keep what Polars prints of its panics from the terminal: it is no sentence, and may quote a record."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STDERR = 2
_lock = threading.Lock()
_waiting: list[int] = []  # the copy of standard error, once for each read that goes on


@contextmanager
def unprinted() -> Iterator[None]:
    """Let nothing be printed below Python while a file is read; several threads may read at once."""
    with _lock:
        _waiting.append(_waiting[0] if _waiting else _turned_off())
    try:
        yield
    finally:
        with _lock:
            kept = _waiting.pop()
            if not _waiting and kept >= 0:
                os.dup2(kept, _STDERR)
                os.close(kept)


def _turned_off() -> int:
    """Return a copy of standard error, which then leads nowhere; -1 when there is none."""
    try:
        kept = os.dup(_STDERR)
    except OSError:
        return -1
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDERR)
    os.close(nowhere)
    return kept
