"""What every tab of the page is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from htmltools import TagList, tags

from maskmeter.app.controls import missing
from maskmeter.app.desk import Desk
from maskmeter.app.work import Work
from maskmeter.app.workbench import Workbench

READING = "Reading the file"
_WAYS = {"file": "Open a file", "keys": "Choose the keys", "sample": "Say how it was sampled"}


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
    reads: bool = True  # whether it shows something of the file as the plan reads it

    def start(self, desk: Desk) -> None:
        """Start the work that the tab needs: reading the file comes first."""
        bench = desk.bench
        if self.reads and not bench.prepared:
            desk.shared.follow(READING, lambda work: _read(bench, work), once=True)
        if self.begin is not None:
            self.begin(desk)


def _read(bench: Workbench, work: Work) -> None:
    work(READING, 0, 0)
    bench.problem()


def lacking(desk: Desk) -> TagList | None:
    """Return what has to be said before the risk can be measured, and the way there; None if nothing."""
    bench = desk.seen()
    if not bench.prepared:
        return TagList(tags.p("The file is read as the plan says.", class_="aside"))
    problem = bench.problem()
    return None if problem is None else missing(problem.words, _WAYS[problem.tab], problem.tab)
