"""One finding of a release check: what gives a file away, how much of it, and what mends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from maskmeter.plurals import counted
from maskmeter.release_check.mends import Mend

FindingKind: TypeAlias = Literal[
    "order",
    "column",
    "household",
    "stands-out",
    "earlier",
    "identifier",
    "near-unique",
    "date",
    "unread",
]
Severity: TypeAlias = Literal["blocker", "caution", "accepted", "passed"]

BLOCKING, WORRYING = 0.5, 0.1  # shares of the changed records
ENOUGH = 100  # changed records from which on their share decides, not its lower bound
_LEVEL = 0.01  # of the lower bound


@dataclass(frozen=True)
class ReleaseFinding:
    """What was looked at in a released file, and what it gives away.

    `found` of the `changed` records are recovered, or stand out; of `baseline` the method alone
    tells as much. For identifiers, `found` is the number of distinct values among `changed` records
    that have one.
    """

    kind: FindingKind
    key: str
    column: str
    found: int
    baseline: int
    changed: int
    severity: Severity
    mend: Mend = Mend()  # noqa: RUF009 - it is frozen
    reason: str = ""  # for which it was accepted
    note: str = ""

    @property
    def share(self) -> float:
        """Share of the changed records that are recovered beyond the baseline."""
        return (self.found - self.baseline) / max(self.changed, 1)

    @property
    def way(self) -> str:
        """What gives the records away, in a few words."""
        ways = {
            "order": "order of rows",
            "stands-out": f"{self.column} shows who was changed",
            "earlier": f"earlier release {self.column}",
        }
        return ways.get(self.kind, self.column)

    def __str__(self) -> str:
        """Return the finding in words; no value is shown."""
        words = f"{self.severity.capitalize()}: {self.what}"
        if self.severity == "accepted":
            return f"{words} Accepted because: {self.reason}"
        if self.severity == "passed" or not self.mend.words:
            return words
        lines = f" In a plan: {' or '.join(self.mend.lines)}." if self.mend.lines else ""
        return f"{words} {self.mend.words}{lines}"

    @property
    def what(self) -> str:
        """What was found, in a sentence; no value is shown."""
        said = f"{self._said()}{self.note}"
        return said[0].upper() + said[1:]

    def _said(self) -> str:
        if self.kind == "date":
            return f"{self.column!r} holds dates to the day."
        if self.kind == "unread":
            return f"{self.column!r} holds lists or bytes, which the check cannot look at."
        if self.kind in {"identifier", "near-unique"}:
            return (
                f"{self.column!r} has {self.found:,} distinct values in"
                f" {counted(self.changed, 'record')}."
            )
        told = f"(the method alone: {self.baseline:,})"
        of = f"{self.found:,} of {self.changed:,} changed values of {self.key!r}"
        if self.kind == "stands-out":
            return f"beside {self.column!r}, {of} stand out as changed {told}."
        places = {
            "order": "the order of rows",
            "household": f"the household ({self.column!r})",
            "earlier": f"the earlier release {self.column!r}",
        }
        return f"{places.get(self.kind, repr(self.column))} gives away {of} {told}."


def severity_of(*, gained: int, lost: int, changed: int) -> Severity:
    """Return how bad it is that `gained` records are told that the method does not tell, net of `lost`.

    With fewer than 100 changed records the lower 99 % bound of the share decides.

    >>> severity_of(gained=60, lost=0, changed=100), severity_of(gained=30, lost=0, changed=50)
    ('blocker', 'caution')
    """
    if not changed:
        return "passed"
    share = (gained - lost) / changed
    if changed < ENOUGH:
        share = _lower_bound(gained, changed) - lost / changed
    return "blocker" if share >= BLOCKING else "caution" if share >= WORRYING else "passed"


def _lower_bound(successes: int, trials: int) -> float:
    """Return the lower 99 % bound of a probability, by Clopper and Pearson."""
    from scipy.special import betaincinv

    return float(betaincinv(successes, trials - successes + 1, _LEVEL)) if successes else 0.0
