"""Time an action: the best of several runs, and of each the shorter of elapsed and processor time.

Waiting for other work does not count in this way.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

Values: TypeAlias = dict[str, float]

ROOT = Path(__file__).parents[1]


def best(action: Callable[[], object], *, times: int = 5) -> float:
    """Return the shortest of several times, in seconds."""
    return min(_once(action) for _ in range(times))


def best_of_each(actions: Mapping[str, Callable[[], object]], *, times: int = 5) -> Values:
    """Return the shortest time of each action; they take turns, so that all meet the same load."""
    rounds = [{name: _once(action) for name, action in actions.items()} for _ in range(times)]
    return {name: min(one[name] for one in rounds) for name in actions}


def _once(action: Callable[[], object]) -> float:
    start, used = time.perf_counter(), _processor()
    action()
    return min(time.perf_counter() - start, _processor() - used)


def _processor() -> float:
    """Return the processor time of this process and of those it started, in seconds."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def python(code: str) -> float:
    """Return how long a new interpreter takes to run some code."""
    return best(lambda: subprocess.run([sys.executable, "-c", code], check=True))  # noqa: S603 - our own code
