"""Commands as they are typed, to repeat elsewhere what the page did."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from unicodedata import category

_CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}
UNTYPED = "A name has characters that cannot be typed: rename the file or the folder first."


def shown_command(words: Sequence[str]) -> str:
    r"""Return a command as it is typed on this system, every odd character quoted.

    A terminal may run what control characters in a name say: then no command is shown.

    >>> shown_command(["maskmeter", "assess", "my survey.sav"]) in (
    ...     "maskmeter assess 'my survey.sav'", 'maskmeter assess "my survey.sav"')
    True
    >>> shown_command(["maskmeter", "assess", "two\nlines.csv"]) == UNTYPED
    True
    """
    if not all(map(can_be_typed, words)):
        return UNTYPED
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def can_be_typed(text: str) -> bool:
    r"""Return True for a text without characters that control a terminal or the order of letters.

    >>> can_be_typed("Umfrage 2019.csv"), can_be_typed("two\nlines.csv")
    (True, False)
    """
    return not any(category(one) in _CONTROLS for one in text)


def as_argument(path: str) -> str:
    """Return a path that no command takes for an option.

    >>> as_argument("--out=x.csv"), as_argument("survey.sav")
    ('./--out=x.csv', 'survey.sav')
    """
    return f"./{path}" if path.startswith("-") else path
