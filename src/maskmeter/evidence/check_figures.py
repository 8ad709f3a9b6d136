"""The release check as figures, and what is said of them."""

from __future__ import annotations

from maskmeter.evidence.model_figures import Part
from maskmeter.plurals import counted, plural
from maskmeter.release_check import ReleaseCheck, ReleaseFinding

_NAMED = 2  # blockers that a verdict names

# What the public reads of an accepted finding: its kind, and no count.
ACCEPTED = {
    "order": "The order of the records tells some of the changed values.",
    "column": "A column of the file tells some of the changed values.",
    "household": "Members of a household tell some of the changed values of one another.",
    "stands-out": "Some changed values stand out beside a column of the file.",
    "earlier": "An earlier release of the same file tells some of the changed values.",
    "identifier": "A column that identifies records is in the file.",
    "near-unique": "A column in which most records have values of their own is in the file.",
    "date": "Dates to the day are in the file.",
    "unread": "A column that the release check cannot look at is in the file.",
}


class FindingFigures(Part, frozen=True):
    """What the release check looked at, and what it gives away, in words; counts the agency's own.

    `mend` says what mends it, `lines` are those of a plan that do.
    """

    severity: str
    kind: str
    key: str
    column: str
    text: str
    found: int | None = None
    baseline: int | None = None
    changed: int | None = None
    mend: str = ""
    lines: tuple[str, ...] = ()
    reason: str = ""


class CheckFigures(Part, frozen=True):
    """The release check: whether it is passed, and its findings, the worst first.

    To the public only what was accepted is `told`.
    """

    passed: bool
    findings: tuple[FindingFigures, ...]
    told: str = "all"  # or "accepted"

    def of(self, severity: str) -> tuple[FindingFigures, ...]:
        """Return the findings of a severity."""
        return tuple(one for one in self.findings if one.severity == severity)


def check_figures(check: ReleaseCheck) -> CheckFigures:
    """Return the findings of a release check as figures."""
    return CheckFigures(check.passed, tuple(map(_finding, check.findings)))


def _finding(one: ReleaseFinding) -> FindingFigures:
    return FindingFigures(
        severity=one.severity,
        kind=one.kind,
        key=one.key,
        column=one.column,
        text=one.what,
        found=one.found,
        baseline=one.baseline,
        changed=one.changed,
        mend=one.mend.words,
        lines=one.mend.lines,
        reason=one.reason,
    )


def public_check(check: CheckFigures) -> CheckFigures:
    """Return whether the check is passed, and what was accepted; the rest would tell where to look."""
    accepted = (
        FindingFigures(
            one.severity, one.kind, "", one.column, ACCEPTED[one.kind], reason=one.reason
        )
        for one in check.of("accepted")
    )
    return CheckFigures(check.passed, tuple(dict.fromkeys(accepted)), "accepted")


def check_sentence(check: CheckFigures | None) -> list[str]:
    """Return that the file gives itself away, if it does, and how; nothing if it does not."""
    if check is None or check.passed:
        return []
    blockers = check.of("blocker")
    if not blockers:  # the public is not told which
        return ["The release check is not passed: the file gives itself away."]
    number = counted(len(blockers), "blocker")
    worst = ", the worst first" if len(blockers) > 1 else ""
    told = " ".join(one.text for one in blockers[:_NAMED])
    return [f"The release check is not passed, with {number}{worst}: {told}"]


def checked(check: CheckFigures) -> str:
    """Return how many findings of each severity the release check has.

    >>> checked(CheckFigures(True, ()))
    'The release check is passed, with no blocker and no caution.'
    """
    passed = "passed" if check.passed else "not passed"
    if check.told == "accepted":
        return f"The release check is {passed}."
    parts = [
        counted(len(check.of(one)), one) if check.of(one) else f"no {one}"
        for one in ("blocker", "caution")
    ]
    accepted = len(check.of("accepted"))
    more = f"; {counted(accepted, 'finding')} {plural(accepted, 'was', 'were')} accepted"
    return f"The release check is {passed}, with {' and '.join(parts)}{more if accepted else ''}."
