"""The choices that were open: the risk-utility map, for those who may know the rates and those who may not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskmeter.evidence.words import matches, percent, told
from maskmeter.page import Figure, Table, Text
from maskmeter.riskutility.comparison import AXES, UNCHANGED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskmeter.evidence.assessment import Assessment
    from maskmeter.evidence.words import Audience
    from maskmeter.page import Block
    from maskmeter.riskutility import RiskUtilityMap


def choice_blocks(found: Assessment, audience: Audience) -> Iterator[Block]:
    """Yield the map of an assessment, if candidates were compared."""
    if found.options is None:
        return
    options, chosen = found.options, found.chosen
    if not audience.shows_rates:
        options, chosen = _numbered(options, chosen)
    yield Text(options.summary().split("\n")[1])
    if len(found.scenarios) > 1:
        yield Text("Every release stands with the scenario that is worst for it.")
    level = _level(found)
    if audience.public and found.target is not None and found.target.total is None:
        level = None  # a line at a share of the uniques would tell how many there are
    yield from option_blocks(options, audience, chosen=chosen, target=level)


def _numbered(options: RiskUtilityMap, chosen: str) -> tuple[RiskUtilityMap, str]:
    """Return a map whose labels tell no rate, and the new label of a release."""
    called = {
        point.label: point.label if point.label == UNCHANGED else f"release {number}"
        for number, point in enumerate(options.points, start=1)
    }
    points = tuple(replace(point, label=called[point.label]) for point in options.points)
    best = tuple(called[label] for label in options.frontier)
    return replace(options, points=points, frontier=best), called.get(chosen, "")


def option_blocks(
    options: RiskUtilityMap,
    audience: Audience,
    *,
    chosen: str = "",
    target: tuple[float, str] | None = None,
) -> Iterator[Block]:
    """Yield the risk-utility map of some releases and their figures."""
    yield Figure(
        "Risk against information loss of the releases that were compared",
        options.plot(chosen=chosen, target=target, rates=audience.shows_rates),
    )
    rows = []
    for point in options.points:
        on = {"frontier": point.label in options.frontier, "chosen": point.label == chosen}
        marks = ", ".join(word for word, true in on.items() if true)
        shares = (percent(point.share), percent(point.changed))
        rates = shares if audience.shows_rates else ()
        figures = (matches(point.risk), matches(point.upper), f"{point.loss:.2f}")
        rows.append((point.label, *figures, *rates, marks))
    heads = ("share", "changed") if audience.shows_rates else ()
    head = (
        "release",
        "correct matches",
        "upper end",
        AXES[options.measure],
        *heads,
        "mark",
    )
    yield Table("The releases that were compared", head, tuple(rows))
    for caution in options.cautions:
        yield Text(told(caution, audience), "Caution")


def _level(found: Assessment) -> tuple[float, str] | None:
    """Return the line of the target, where it is the same for all releases or nearly so.

    A share allows a number of matches that goes with the uniques of a release, and of a scenario.
    """
    if found.target is None or (found.target.total is None and len(found.scenarios) > 1):
        return None
    estimated = found.options is not None and not found.options.exact
    words = "target for the upper end of the interval" if estimated else "target"
    return found.target.most(found.worst.risk.uniques), words
