"""The releases compared: their figures and their risk-utility map."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from maskmeter.assessment import Assessment
from maskmeter.evidence.wording import matches, percent
from maskmeter.page import Figure, Table, Text
from maskmeter.risk.target import Target
from maskmeter.riskutility import RiskUtilityMap
from maskmeter.riskutility.comparison import AXES

if TYPE_CHECKING:
    from maskmeter.page import Block


def choice_blocks(found: Assessment) -> Iterator[Block]:
    """Yield the releases compared, if any; their map is on the first screen."""
    if found.options is None:
        return
    if found.choice:
        yield Text(found.choice)
    yield Text(f"On the frontier, from least loss to least risk: {found.options.ranking}.")
    if len(found.scenarios) > 1:
        yield Text("Each release is shown at its worst scenario.")
    yield from option_blocks(found.options, chosen=found.chosen)


def map_figure(
    options: RiskUtilityMap, *, chosen: str = "", target: tuple[float, str] | None = None
) -> Figure:
    """Return the risk-utility map of some releases."""
    drawn = options.plot(chosen=chosen, target=target)
    return Figure("Risk and information loss of the releases compared", drawn)


def option_blocks(options: RiskUtilityMap, *, chosen: str = "") -> Iterator[Block]:
    """Yield the figures of the releases of a map."""
    rows = []
    for point in options.points:
        on = {"frontier": point.label in options.frontier, "chosen": point.label == chosen}
        rows.append(
            (
                point.label,
                matches(point.risk),
                matches(point.upper),
                f"{point.loss:.2f}",
                percent(point.share),
                percent(point.changed),
                ", ".join(word for word, true in on.items() if true),
            )
        )
    axis = AXES[options.measure]
    head = ("release", "correct matches", "upper end", axis, "share", "changed", "mark")
    yield Table("The releases compared", head, tuple(rows))
    for caution in options.cautions:
        yield Text(str(caution), "Caution")


def frontier_ends(options: RiskUtilityMap) -> str:
    """Return which releases have the least loss and the least risk, in a sentence."""
    told = [
        f"{label} ({matches(options[label].risk)} correct matches, loss {options[label].loss:.1f})"
        for label in options.frontier
    ]
    if len(told) == 1:
        return f"It is {told[0]}."
    return f"The frontier runs from the least loss, {told[0]}, to the least risk, {told[-1]}."


def target_line(
    options: RiskUtilityMap, target: Target | None, uniques: int | None
) -> tuple[float, str] | None:
    """Return the line of the target, where it is the same for all releases or nearly so.

    A share allows a number of matches that goes with the uniques of a release, and of a scenario:
    without `uniques` it has no line.
    """
    if target is None or (target.max_total is None and uniques is None):
        return None
    upper = not options.exact and target.by == "upper"
    words = "target for the upper end of the interval" if upper else "target"
    return target.allowed(uniques or 0), words
