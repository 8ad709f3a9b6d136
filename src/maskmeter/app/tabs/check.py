"""The tab of the release check: whether the file gives itself away, and what mends it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from htmltools import Tag, TagChild, TagList, tags
from shiny import ui

from maskmeter.app.blocks import shown
from maskmeter.app.controls import button, missing, onward
from maskmeter.app.desk import Desk
from maskmeter.app.outputs import render_part
from maskmeter.app.tabs.tab import Tab, cautions, headline, idle, lacking
from maskmeter.app.work import Work
from maskmeter.app.workbench import Workbench, accepts
from maskmeter.errors import InputError
from maskmeter.evidence.check_blocks import check_blocks
from maskmeter.evidence.check_figures import CheckFigures, FindingFigures, checked
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

    @render_part
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
        said = idle(bench.idle_changes)
        return TagList(said) if found.check is None else TagList(_outcome(found.check), said)

    @render_part
    def check_findings() -> TagList | None:
        found = desk.assessed()
        if found is None or found.check is None:
            return None
        return _findings(found.check)

    @render_part
    def check_risk() -> TagList | None:
        found = desk.assessed()
        if found is None:
            return None
        top = headline(found.figures, heading="The risk that is left")
        return TagList(top, cautions(found.figures))

    @render_part
    def check_next() -> TagList | None:
        return TagList(onward("Decide", "decide")) if desk.assessed() is not None else None

    _actions(desk)


def _actions(desk: Desk) -> None:
    bench = desk.bench

    def mend(asked: str) -> str:
        one, line = _finding(bench, asked)
        bench.mend(one, line)
        return "The plan is changed: the release is checked again."

    def accept(asked: Mapping[str, str]) -> str:
        one, _ = _finding(bench, asked["value"])
        bench.mend(one, "", reason=asked["text"])
        return "The finding is accepted: reports show the reason."

    desk.on("mend", mend)
    desk.on("accept", accept)
    desk.on("check", lambda _: desk.shared.again(WORK, lambda work: _check(bench, work)))


def begin(desk: Desk) -> None:
    """Check the release, if there is one and it was not checked yet."""
    bench = desk.bench
    if bench.ready and bench.plan.step and bench.assessed_ready is None:
        desk.shared.once(WORK, lambda work: _check(bench, work))


def _check(bench: Workbench, work: Work) -> None:
    bench.assess(work)


def _name(one: FindingFigures, line: str = "") -> str:
    """Return what a button says of the finding, and of the line, that it stands for."""
    return json.dumps([one.kind, one.key, one.column, line])


def _finding(bench: Workbench, asked: str) -> tuple[FindingFigures, str]:
    """Return the finding and the line that a button stands for, if the release still has it."""
    ready = bench.assessed_ready
    findings = () if ready is None or ready.check is None else ready.check.findings
    for one in findings:
        for line in ("", *one.lines):
            if _name(one, line) == asked:
                return one, line
    raise InputError("The release has changed since: look at its check again.")


def _outcome(check: CheckFigures) -> TagList:
    mark = "Passed" if check.passed else "Not passed"
    return TagList(
        tags.p(mark, class_=f"verdict {'good' if check.passed else 'bad'}"),
        tags.p(checked(check), class_="lead"),
    )


def _findings(check: CheckFigures) -> TagList:
    """Return each finding that matters with what mends it, then the rest."""
    listed = (*check.of("blocker"), *check.of("caution"))
    rest = [one for one in check_blocks(check) if isinstance(one, Fold)]
    accepted = (
        Text(f"{one.text} Reason: {one.reason}", "Accepted") for one in check.of("accepted")
    )
    return TagList(*map(_card, listed), shown(accepted), shown(rest))


def _card(one: FindingFigures) -> Tag:
    parts: list[TagChild] = [
        tags.p(one.severity, class_=f"severity {_TONES[one.severity]}".strip()),
        tags.p(one.text),
    ]
    if one.mend:
        parts.append(tags.p(one.mend, class_="under"))
    lines = [_line(one, line) for line in one.lines if not accepts(line)]
    if lines:
        parts.append(tags.ul(*lines, class_="mends"))
    parts.append(_acceptance(one))
    return tags.article(*parts, class_=f"finding {one.severity}")


def _line(one: FindingFigures, line: str) -> Tag:
    """Return a line that mends a finding, with its button unless it has to be completed first."""
    if "..." in line:
        return tags.li(tags.span("In the plan file:"), tags.code(line))
    press = button("Apply", "mend", _name(one, line), aria_label=f"Apply {line}")
    return tags.li(press, tags.code(line))


def _acceptance(one: FindingFigures) -> Tag:
    """Return the controls that accept a finding for a reason."""
    name = f"reason {_name(one)}"
    line = tags.input(type="text", data_line=name, autocomplete="off")
    return tags.details(
        tags.summary("Or accept it"),
        tags.label(tags.span("The reason why it may stay, for the reports"), line, class_="field"),
        button("Accept it", "accept", _name(one), data_from=name),
    )


CHECK = Tab("check", "Check", "Does the release give itself away?", panel, connect, begin)
