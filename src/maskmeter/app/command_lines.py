"""Commands as they are typed, to repeat elsewhere what the page did."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence


def shown_command(words: Sequence[str]) -> str:
    """Return a command as it is typed on this system, every odd character quoted.

    >>> shown_command(["maskmeter", "assess", "my survey.sav"]) in (
    ...     "maskmeter assess 'my survey.sav'", 'maskmeter assess "my survey.sav"')
    True
    """
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
