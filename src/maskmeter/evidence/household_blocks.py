"""What a report says of households: how many an intruder who knows all members would match."""

from __future__ import annotations

from collections.abc import Iterator

from maskmeter.evidence.schema import Figures, HouseholdFigures
from maskmeter.evidence.wording import Numbers
from maskmeter.page import Block, Text

_WHO = "Households: an intruder who knows all members of a household is expected to match"


def household_words(figures: Figures) -> Iterator[str]:
    """Yield the risk of households in a sentence, and that a target does not hold it."""
    known = figures.worst.households
    if known is None or (known.total is None and not figures.assessable):
        return
    target = "" if figures.target is None else " The target is about single records."
    yield household_sentence(known, figures.rounded_to) + target


def household_blocks(figures: Figures) -> Iterator[Block]:
    """Yield the risk of households; bounds of a model are left out where it does not fit."""
    yield from map(Text, household_words(figures))


def household_sentence(known: HouseholdFigures, rounded_to: int | None) -> str:
    """Return the households that are matched correctly in a sentence: exactly, or within bounds.

    >>> household_sentence(HouseholdFigures("hh", 3035, 139.0, 1902, 88.2, 1902.0), None)
    'Households: an intruder who knows all members of a household is expected to match at least 88 and at most 1,902 of 3,035 correctly. A population with household numbers would give the exact figure.'
    >>> household_sentence(HouseholdFigures("", 3030, None, 1900, None, 1910.0), 10)
    'Households: an intruder who knows all members of a household is expected to match at most 1,910 of about 3,030 correctly.'
    """
    say = Numbers(rounded_to)
    among = f"of {say.count(known.households)} correctly."
    if known.total is not None:
        unique = (
            f"{say.count(known.uniques)} of them are unique on the keys of all members together."
        )
        return f"{_WHO} {say.about(known.total)} {among} {unique}"
    if known.at_most is None:
        return f"{_WHO} {say.matches(None)} {among}"
    ends = f"at most {known.at_most:,.0f} {among}"
    if known.at_least is not None:
        ends = f"at least {say.matches(known.at_least).removeprefix('about ')} and {ends}"
    more = (
        ""
        if not known.column
        else (" A population with household numbers would give the exact figure.")
    )
    return f"{_WHO} {ends}{more}"
