"""What every tab of the page is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from htmltools import Tag as Element
from htmltools import TagList, tags

from maskmeter.app.blocks import first, shown
from maskmeter.app.controls import button, missing
from maskmeter.app.desk import Desk
from maskmeter.app.problems import Problem
from maskmeter.app.work import Work
from maskmeter.app.workbench import Workbench
from maskmeter.evidence.first_screen import top
from maskmeter.evidence.household_blocks import household_blocks
from maskmeter.evidence.schema import Figures
from maskmeter.page import Text

READING, MEASURING = "Reading the file", "Measuring the points"
_WAYS = {
    "file": "Open a file",
    "keys": "Choose the keys",
    "sample": "Say how it was sampled",
}
_NAMED = {
    "target": "the target",
    "step": "the steps",
    "family": "the family",
    "error": "the recording errors",
}


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
            read(desk, once=True)
        if self.begin is not None:
            self.begin(desk)


def read(desk: Desk, *, once: bool = False) -> None:
    """Read the file as the plan says, in the background."""
    desk.shared.follow(READING, lambda work: _read(desk.bench, work), once=once)


def _read(bench: Workbench, work: Work) -> None:
    bench.prepare(work)


def headline(figures: Figures, *, heading: str = "") -> TagList:
    """Return what a reader has to know first of an assessment, households included."""
    return TagList(first(top(figures), heading=heading), shown(household_blocks(figures)))


def cautions(figures: Figures) -> TagList:
    """Return why the figures of an assessment may mislead, each reason once."""
    said = dict.fromkeys(one.text for one in (*figures.cautions, *figures.worst.cautions))
    return shown(Text(one, "Caution") for one in said)


def idle(columns: Sequence[str]) -> Element | None:
    """Return a caution about columns that a release changes though nobody is taken to know them."""
    if not columns:
        return None
    words = (
        f"The release changes {' and '.join(columns)}, which no intruder is taken to know: that"
        " costs analysts something and protects nobody. Tick it as a key, or choose another release."
    )
    return tags.p(
        tags.strong("Caution.", class_="mark caution"), " ", words, class_="aside caution"
    )


def lacking(desk: Desk) -> TagList | None:
    """Return what has to be said before the risk can be measured, and the way there; None if nothing."""
    bench = desk.seen()
    if not bench.prepared:
        again = None if desk.quick.running else tags.p(button("Read it", "read", kind="main"))
        return TagList(tags.p("The file is read as the plan says.", class_="aside"), again)
    problem = bench.problem()
    if problem is None:
        return None
    if problem.part or problem.tab not in _WAYS:
        return fault(problem)
    return missing(problem.words, _WAYS[problem.tab], problem.tab)


def fault(problem: Problem) -> TagList:
    """Return what is wrong with a plan, and the button that takes the faulty part out of it."""
    words, part = tags.p(problem.words, class_="aside caution"), problem.part
    if not part:
        return TagList(words)
    table, _, entry = part.partition(".")
    named = _NAMED.get(part) or f"[{table}] {entry}"
    return TagList(words, tags.p(button(f"Take {named} out of the plan", "take-out", part)))
