"""The tab of the release check: whether the file gives itself away, and what mends it."""

from __future__ import annotations

from htmltools import Tag, TagChild, TagList, tags
from shiny import render, ui

from maskmeter.app.blocks import first, shown
from maskmeter.app.controls import button, entry, missing, onward
from maskmeter.app.desk import Desk
from maskmeter.app.tabs.tab import Tab, lacking
from maskmeter.app.work import Work
from maskmeter.app.workbench import Workbench
from maskmeter.errors import InputError
from maskmeter.evidence.check_blocks import check_blocks
from maskmeter.evidence.check_figures import CheckFigures, FindingFigures, checked
from maskmeter.evidence.first_screen import top
from maskmeter.page import Fold, Text

WORK = "Checking the release"
_TONES = {"blocker": "bad", "caution": "", "accepted": "good", "passed": "good"}


def panel() -> TagList:
    """Return the tab: the outcome, and each finding."""
    return TagList(
        ui.output_ui("check_top"),
        ui.output_ui("check_findings"),
        ui.output_ui("check_risk"),
        ui.output_ui("check_next"),
    )


def connect(desk: Desk) -> None:
    """Say what the tab shows, and what its controls do."""
    bench = desk.bench

    @render.ui
    def check_top() -> TagList | None:
        lacks = lacking(desk)
        if lacks is not None:
            return lacks
        if not bench.plan.step:
            return missing(
                "Nothing is changed yet: choose how the file is protected.", "Protect it", "protect"
            )
        found = desk.assessed()
        if found is None:
            words = "The release is assessed in full, as the command does it."
            start = button("Check the release", "check", kind="main")
            return TagList(tags.p(words), None if desk.moving() else start)
        return None if found.check is None else _outcome(found.check)

    @render.ui
    def check_findings() -> TagList | None:
        found = desk.assessed()
        if found is None or found.check is None:
            return None
        return _findings(found.check, desk.draft.reason)

    @render.ui
    def check_risk() -> TagList | None:
        found = desk.assessed()
        return None if found is None else first(top(found.figures), heading="The risk that is left")

    @render.ui
    def check_next() -> TagList | None:
        return TagList(onward("Decide", "decide")) if desk.assessed() is not None else None

    _actions(desk)


def _actions(desk: Desk) -> None:
    bench = desk.bench

    def mend(value: str) -> str:
        one, line = _finding(bench, value)
        if "accept" in line.split("=")[0] and not desk.draft.reason.strip():
            raise InputError("Say why it may stay: write the reason first.")
        bench.mend(one, line, reason=desk.draft.reason)
        return "The plan is changed: the release is checked again."

    desk.on("mend", mend)
    desk.on("reason", lambda words: desk.shared.change(reason=words))
    desk.on("check", lambda _: desk.shared.again(WORK, lambda work: _check(bench, work)))


def begin(desk: Desk) -> None:
    """Check the release, if there is one and it was not checked yet."""
    bench = desk.bench
    if bench.ready and bench.plan.step and bench.assessed_ready is None:
        desk.shared.once(WORK, lambda work: _check(bench, work))


def _check(bench: Workbench, work: Work) -> None:
    bench.assess(work)


def _finding(bench: Workbench, value: str) -> tuple[FindingFigures, str]:
    """Return the finding and the line that a button stands for: their places in the list."""
    found = bench.assessed_ready
    try:
        place, line = (int(part) for part in value.split("/"))
        one = found.check.findings[place]  # type: ignore[union-attr]
        return one, one.lines[line]
    except (AttributeError, IndexError, ValueError):
        raise InputError("The release has changed since: look at its check again.") from None


def _outcome(check: CheckFigures) -> TagList:
    mark = "Passed" if check.passed else "Not passed"
    return TagList(
        tags.p(mark, class_=f"verdict {'good' if check.passed else 'bad'}"),
        tags.p(checked(check), class_="lead"),
    )


def _findings(check: CheckFigures, reason: str) -> TagList:
    """Return each finding that matters with what mends it, then the rest."""
    open_ones = [
        (place, one)
        for place, one in enumerate(check.findings)
        if one.severity in ("blocker", "caution")
    ]
    rest = [one for one in check_blocks(check) if isinstance(one, Fold)]
    return TagList(
        *(_card(place, one, reason) for place, one in open_ones),
        shown(Text(f"{one.text} Reason: {one.reason}", "Accepted") for one in check.of("accepted")),
        shown(rest),
    )


def _card(place: int, one: FindingFigures, reason: str) -> Tag:
    parts: list[TagChild] = [
        tags.p(one.severity, class_=f"severity {_TONES[one.severity]}".strip()),
        tags.p(one.text),
    ]
    if one.mend:
        parts.append(tags.p(one.mend, class_="under"))
    buttons = [
        tags.li(
            button("Apply", "mend", f"{place}/{at}", aria_label=f"Apply {line}"), tags.code(line)
        )
        for at, line in enumerate(one.lines)
        if "..." not in line or "accept" in line
    ]
    if buttons:
        parts.append(tags.ul(*buttons, class_="mends"))
    if any("accept" in line for line in one.lines):
        parts.append(entry("Reason why it may stay", "reason", reason))
    return tags.article(*parts, class_=f"finding {one.severity}")


CHECK = Tab("check", "Check", "Does the release give itself away?", panel, connect, begin)
