"""What a plan still needs before the risk can be measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from maskmeter.app.changes import (
    PARTS,
    with_fraction,
    with_population,
    with_target,
    without_part,
    without_steps,
)
from maskmeter.errors import MaskmeterError
from maskmeter.plan import Plan, Task


class Problem(NamedTuple):
    """What is missing or wrong, the tab where it is mended, and the part of the plan to take out.

    No control of the page mends such a part, which came with a plan file.
    """

    words: str
    tab: str
    part: str = ""


def keys_of(plan: Plan) -> list[str]:
    """Return the keys of a plan, those of its scenarios included."""
    known = [key for one in plan.scenario.values() for key in one.keys]
    return list(dict.fromkeys([*plan.data.keys, *known]))


def lack_of(plan: Plan) -> Problem | None:
    """Return what a plan does not say.

    >>> lack_of(Plan())
    Problem(words='Tick the columns that an intruder may know.', tab='keys', part='')
    """
    data = plan.data
    if not keys_of(plan):
        return Problem("Tick the columns that an intruder may know.", "keys")
    if data.fraction is None and data.weights is None and data.population is None:
        words = "Say how the file was sampled: a fraction, weights or a population file."
        return Problem(words, "sample")
    return None


def fault_of(
    plan: Plan, read: Callable[[Plan], Task], tables: Callable[[Plan], object]
) -> Problem | None:
    """Return why the file cannot be assessed by a plan.

    `read` reads it as a plan says, `tables` finds those of the loss.
    """
    found = _fault(plan, read, tables)
    if found is not None:
        for part in PARTS:
            less = without_part(plan, part)
            if less != plan and _fault(less, read, tables) != found:
                return found._replace(part=part)
    return found


def _fault(
    plan: Plan, read: Callable[[Plan], Task], tables: Callable[[Plan], object]
) -> Problem | None:
    """Return what fails first: the keys alone, then the sample, the target, and the steps."""
    whole = without_steps(with_target(plan, None))
    keys_alone = with_fraction(with_population(whole, ""), 0.5)
    try:
        made = read(plan)
        _ = made.target, made.steps, made.finish, made.family, tables(plan)
    except MaskmeterError as error:
        for part, tab in ((keys_alone, "keys"), (whole, "sample"), (without_steps(plan), "risk")):
            try:
                _ = read(part).target
            except MaskmeterError as earlier:
                return Problem(str(earlier), tab)
        return Problem(str(error), "protect")
    return None
