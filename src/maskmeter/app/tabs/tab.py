"""What every tab of the page is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from htmltools import TagList

from maskmeter.app.controls import missing
from maskmeter.app.desk import Desk
from maskmeter.app.workbench import Workbench


@dataclass(frozen=True)
class Tab:
    """A step of the way: its name in the address, its title among the steps, and its heading.

    `panel` returns its HTML before anything is known, `connect` says what its outputs show and its
    controls do, `begin` starts the background work that it needs, if it needs any.
    """

    name: str
    title: str
    heading: str
    panel: Callable[[], TagList]
    connect: Callable[[Desk], None]
    begin: Callable[[Desk], None] | None = None


def lacking(bench: Workbench) -> TagList | None:
    """Return what has to be said before the risk can be measured, and the way there; None if nothing."""
    if bench.file is None:
        return missing("No file is open yet.", "Open a file", "file")
    problem = bench.problem()
    if problem is None:
        return None
    keyed = bool(bench.plan.data.keys)
    where = ("Say how it was sampled", "sample") if keyed else ("Choose the keys", "keys")
    return missing(problem, *where)
