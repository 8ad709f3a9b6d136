"""The page for the public: what was done, how much risk is left, and what that rests on.

It may say less than the agency's report, never anything better: risks are rounded up, and no figure
on it tells a small count. Counts go into it rounded, and nothing else is computed from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING

from maskmeter.assessment import DRIVING, Assessment
from maskmeter.evidence.wording import (
    NOT_ASSESSED,
    assumptions,
    marked,
    percent,
    sampling,
    steps_in_words,
    target_sentence,
    titled,
)
from maskmeter.page import Points, Section, Table, Text, Top, filled
from maskmeter.plurals import counted
from maskmeter.risk import EstimatedRisk, Risk

if TYPE_CHECKING:
    from maskmeter.page import Block


@dataclass(frozen=True)
class Policy:
    """What the public may see: no count below `smallest`, and rates of change only if wanted."""

    smallest: int = 10
    rates: bool = False

    def count(self, number: float) -> str:
        """Return a count of records, rounded down to a multiple of the smallest.

        >>> Policy().count(3), Policy().count(2752), Policy().count(0)
        ('fewer than 10', 'about 2,750', '0')
        """
        return self._told(number, floor(number / self.smallest))

    def matches(self, number: float) -> str:
        """Return expected correct matches, rounded up to a multiple of the smallest.

        >>> Policy().matches(6.0), Policy().matches(68.9)
        ('fewer than 10', 'about 70')
        """
        return self._told(number, ceil(number / self.smallest))

    def loss(self, loss: float, records: int) -> str:
        """Return a loss in percent, rounded up so that it tells of no fewer than `smallest` records.

        A record that moves changes two cells of a table.

        >>> Policy().loss(4.3, 14_662), Policy().loss(4.3, 200), Policy().loss(12.5, 160)
        ('5', '10', '13')
        """
        step = max(1.0, 200 * self.smallest / records)
        return f"{ceil(ceil(loss / step - 1e-9) * step - 1e-9)}"

    def _told(self, number: float, multiple: int) -> str:
        if not number:
            return "0"
        if number < self.smallest:
            return f"fewer than {self.smallest}"
        exact = "" if self.smallest == 1 else "about "
        return f"{exact}{multiple * self.smallest:,}"


def public_top(found: Assessment, policy: Policy) -> Top:
    """Return the first screen of the page."""
    if not found.assessable:
        lead = "The risk could not be assessed with these keys: no log-linear model fits the file."
        return Top(lead, *marked(found))
    under = " ".join([*_beside(found, policy), *target_sentence(found)])
    return Top(_lead(found, policy), *marked(found), under)


def _lead(found: Assessment, policy: Policy) -> str:
    """Return the risk in one sentence."""
    risk = found.worst.risk
    if not risk.uniques:
        return "No record is unique on the keys, so no unique match can be made."
    if risk.uniques < policy.smallest:
        return f"{policy.count(risk.uniques).capitalize()} records are unique on the keys and could be matched."
    several = len(found.scenarios)
    told = f"{policy.matches(risk.total)} of {policy.count(risk.uniques)}"
    told = f"in the worst of {several} scenarios, {told}" if several > 1 else told
    return f"{told[0].upper()}{told[1:]} unique records could be matched correctly."


def _beside(found: Assessment, policy: Policy) -> Iterator[str]:
    """Yield the interval, the risk without protection, and whether an intruder could do better."""
    worst, before = found.worst, found.worst.before
    if found.release is not None and not found.release.changed.any():
        yield "No record was changed."
    if worst.risk.uniques < policy.smallest:
        return
    if worst.risk.interval is not None and worst.risk.upper >= policy.smallest:
        low, high = worst.risk.interval
        yield f"The approximate 95 % interval is {policy.count(low)} to {policy.matches(high)}."
    if before is not None and before.uniques >= policy.smallest:
        yield (
            f"Without protection, {policy.matches(before.total)} of {policy.count(before.uniques)}"
            " could be matched correctly."
        )
    for key, one in worst.better_without[:1]:
        yield (
            f"An intruder who ignores {titled(found.released, key)} would do better: {policy.matches(one.risk)} of"
            f" {policy.count(one.uniques)} unique records."
        )


def public_sections(found: Assessment, policy: Policy) -> list[Section]:
    """Return the sections of the page; those that have nothing to say are left out."""
    parts: tuple[tuple[str, Iterable[Block]], ...] = (
        ("What was assessed", _what(found)),
        ("How the file was protected", _how(found, policy)),
        ("The risk", _risk(found, policy)),
        ("Information loss", _loss(found, policy)),
        ("What was not assessed", [Points(NOT_ASSESSED)]),
    )
    return filled(parts)


def _what(found: Assessment) -> Iterator[Block]:
    data = found.released
    yield Text(
        f"A file of {counted(len(data), 'record')} with {counted(len(data.space.keys), 'key')}."
        f" Sampling: {sampling(data, total=False)}."
    )
    rows = tuple((titled(data, key.name), f"{key.size:,}") for key in data.space.keys)
    yield Table("The keys an intruder may know", ("key", "categories"), rows)
    if len(found.scenarios) > 1:
        yield Points(tuple(f"{one.name}: {', '.join(one.keys)}." for one in found.scenarios))
    if found.assessable:
        yield Text("The figures assume the following:")
        yield Points(assumptions(found.worst, found))


def _how(found: Assessment, policy: Policy) -> Iterator[Block]:
    release = found.release
    if release is None:
        return
    listed = steps_in_words(release, lambda rate: _changed(rate.changed, rate.records, policy))
    if listed:
        yield Points(listed)
    if policy.rates:
        told = _changed(int(release.changed.sum()), len(release.changed), policy)
        yield Text(f"In total, {told} were changed in at least one key.")


def _changed(number: int, records: int, policy: Policy) -> str:
    """Return how many records were changed, if the public may know."""
    if not number:
        return "no records"
    if not policy.rates:
        return "some records"
    if number < policy.smallest:
        return f"{policy.count(number)} records"
    below = floor(number / policy.smallest) * policy.smallest
    return f"about {percent(below / records)} of the records"


def _risk(found: Assessment, policy: Policy) -> Iterator[Block]:
    if found.assessable:
        yield from _figures(found, policy)
    if isinstance(found.worst.risk, EstimatedRisk):
        # Its terms, parameters or z2 would tell which of a few changed records were which.
        yield Text("The risk was estimated from the file by a log-linear model of the keys.")
    for words in dict.fromkeys(caution.public_text for caution in found.cautions):
        yield Text(words, "Caution")


def _figures(found: Assessment, policy: Policy) -> Iterator[Block]:
    """Yield the risk of every scenario, and the keys that carry it."""
    rows = [(name, *_measured(risk, policy)) for name, risk in found.named]
    head = ("scenario", "unique records", "correct matches")
    yield Table("Expected correct matches among the unique records", head, tuple(rows))
    if policy.smallest > 1:
        yield Text(
            "Correct matches are rounded up, and unique records down, to multiples of"
            f" {policy.smallest}."
        )
    left = found.worst.driving
    if len(left) > DRIVING and found.worst.risk.uniques >= policy.smallest:
        named = ", ".join(titled(found.released, key) for key, _ in left[:DRIVING])
        yield Text(f"The keys that drive the risk: {named}.")


def _measured(risk: Risk, policy: Policy) -> tuple[str, str]:
    if 0 < risk.uniques < policy.smallest:  # where each match is right they would be the same
        return policy.count(risk.uniques), "not shown"
    return policy.count(risk.uniques), policy.matches(risk.total)


def _loss(found: Assessment, policy: Policy) -> Iterator[Block]:
    """Yield the mean loss alone: that of single tables would tell what was exchanged for what."""
    if found.loss is not None:
        lost = policy.loss(found.loss, len(found.released))
        yield Text(
            f"Two-way tables of the protected file lose at most {lost} % on average: cells and"
            " associations, 0 is unchanged."
        )
