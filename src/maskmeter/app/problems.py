"""What a plan still needs before the risk can be measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

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


Reader: TypeAlias = Callable[[Plan], Task]
Tables: TypeAlias = Callable[[Plan], object]


def fault_of(plan: Plan, read: Reader, tables: Tables) -> Problem | None:
    """Return why the file cannot be assessed by a plan.

    `read` reads it as a plan says, `tables` finds those of the loss.
    """
    wrong = words_of(plan, read, tables)
    if not wrong:
        return None
    less = {part: without_part(plan, part) for part in PARTS}
    mends = (
        part for part, one in less.items() if one != plan and words_of(one, read, tables) != wrong
    )
    return _placed(plan, read, wrong)._replace(part=next(mends, ""))


def words_of(plan: Plan, read: Reader, tables: Tables) -> str:
    """Return in words why the file cannot be assessed by a plan; empty if it can."""
    try:
        made = read(plan)
        _ = made.target, made.steps, made.finish, made.family, tables(plan)
    except MaskmeterError as error:
        return str(error)
    return ""


def _placed(plan: Plan, read: Reader, wrong: str) -> Problem:
    """Return what fails first: the keys alone, then the sample, the target, and the steps."""
    whole = without_steps(with_target(plan, None))
    keys_alone = with_fraction(with_population(whole, ""), 0.5)
    for part, tab in ((keys_alone, "keys"), (whole, "sample"), (without_steps(plan), "risk")):
        try:
            _ = read(part).target
        except MaskmeterError as earlier:
            return Problem(str(earlier), tab)
    return Problem(wrong, "protect")
