"""The last tab: two releases side by side, and everything that is kept of the decision."""

from __future__ import annotations

from collections.abc import Iterator

from htmltools import Tag, TagList, tags
from shiny import ui

from maskmeter.app.blocks import table
from maskmeter.app.controls import button, choice, group, missing
from maskmeter.app.desk import Desk
from maskmeter.app.outputs import render_part
from maskmeter.app.results import SideBySide
from maskmeter.app.tabs.tab import MEASURING, Tab, cautions, headline, lacking
from maskmeter.app.tries import TRYING
from maskmeter.app.work import Work
from maskmeter.app.workbench import Workbench
from maskmeter.errors import InputError
from maskmeter.page import Table
from maskmeter.plurals import counted

EXAMPLE = "The file of the example is written by: maskmeter demo"
COMPARE, SAVE = "Comparing two releases", "Writing the evidence"


def panel() -> TagList:
    """Return the tab: the decision, the comparison, and what is saved."""
    return TagList(
        ui.output_ui("decide_top"),
        ui.output_ui("decide_pair"),
        ui.output_ui("decide_beside"),
        ui.output_ui("decide_save"),
        ui.output_ui("decide_copy"),
    )


def connect(desk: Desk) -> None:
    """Say what the tab shows, and what its controls do."""
    _show(desk)
    _show_saving(desk)
    _actions(desk)


def _show(desk: Desk) -> None:
    @render_part
    def decide_top() -> TagList:
        bench = desk.seen()
        lacks = lacking(desk)
        if lacks is not None:
            return lacks
        found = desk.assessed()
        if found is not None:
            return TagList(headline(found.figures), cautions(found.figures))
        if not bench.plan.step:
            return missing(
                "No release is chosen yet. What is saved now is about the file as it is.",
                "Choose a release",
                "protect",
            )
        return missing("The release was not checked yet.", "Check it", "check")

    @render_part
    def decide_pair() -> TagList | None:
        labels = _labels(desk.seen())
        if len(labels) < 2:
            return None
        one, two = _pair(desk, labels)
        return TagList(
            group(
                "Two releases side by side",
                choice("This", "pair-one", labels, chosen=one),
                choice("and this", "pair-two", labels, chosen=two),
                button("Compare", "compare"),
            )
        )

    @render_part
    def decide_beside() -> TagList | None:
        bench = desk.seen()
        labels = _labels(bench)
        pair = _pair(desk, labels) if len(labels) > 1 else ("", "")
        found = bench.side_by_side_ready(pair) if pair[0] != pair[1] else None
        return None if found is None else TagList(table(_beside(found)))


def _show_saving(desk: Desk) -> None:
    @render_part
    def decide_save() -> TagList | None:
        bench = desk.seen()
        return _saving() if bench.ready else None

    @render_part
    def decide_copy() -> TagList | None:
        bench = desk.seen()
        if not bench.ready:
            return None
        return TagList(
            tags.h3("Repeat it elsewhere"),
            *(tags.p(one, class_="under") for one in _before_repeating(bench)),
            tags.p(EXAMPLE, class_="under")
            if bench.file is not None and bench.file.example
            else None,
            _copied("The plan file", "plan-text", bench.plan_text()),
            _copied("The command, for the same release", "repeat", bench.repeat_line()),
            _copied("The command, for a new draw of the plan", "command", bench.command_line()),
            _copied("The same release in Python", "python", bench.python_lines()),
        )


def _before_repeating(bench: Workbench) -> Iterator[str]:
    """Yield what has to be saved before the lines to copy will work."""
    if not bench.saved_pack and bench.plan.step:
        yield "Save the pack first: it keeps the seed of this very release."
    if not bench.plan_is_saved:
        yield "For a new draw save the plan first: its command names the file."


def _actions(desk: Desk) -> None:
    bench = desk.bench

    def compare(_: str) -> None:
        one, two = _pair(desk, _labels(bench))
        if one == two:
            raise InputError("Choose two different releases to compare.")
        desk.jobs.start(COMPARE, lambda work: _compare(bench, (one, two), work))

    def save_pack(folder: str) -> None:
        name = _named(folder, "Name the folder first.")

        def task(work: Work) -> str:
            pack = bench.save_pack(name, work)
            return f"Wrote {counted(len(pack.files), 'file')} to {name}."

        desk.jobs.start(SAVE, task, writes=True)

    def save_plan(path: str) -> str:
        return f"Wrote {bench.save_plan(_named(path, 'Name the plan file first.')).name}."

    desk.on("pair-one", lambda label: desk.shared.change(pair=(label, desk.draft.pair[1])))
    desk.on("pair-two", lambda label: desk.shared.change(pair=(desk.draft.pair[0], label)))
    desk.on("compare", compare)
    desk.on("save-pack", save_pack)
    desk.on("save-plan", save_plan)


def _compare(bench: Workbench, pair: tuple[str, str], work: Work) -> None:
    bench.side_by_side(pair, work)


def _labels(bench: Workbench) -> list[str]:
    """Return the releases that can be compared: all points but that of a slider that moves."""
    return [one.label for one in bench.tried if one.label != TRYING]


def _named(given: str, words: str) -> str:
    if not given.strip():
        raise InputError(words)
    return given.strip()


def _pair(desk: Desk, labels: list[str]) -> tuple[str, str]:
    """Return the releases to compare: those asked for, else the file as it is and the chosen one."""
    one, two = desk.draft.pair
    chosen = desk.bench.chosen
    last = chosen if chosen in labels[1:] else labels[-1]
    return (one if one in labels else labels[0], two if two in labels else last)


def _beside(found: SideBySide) -> Table:
    rows = tuple((name, *values) for name, values in found.rows)
    return Table("Two releases side by side", ("figure", *found.labels), rows)


def _saving() -> TagList:
    """Return the controls that write files; nothing else on the page does."""
    return TagList(
        tags.h3("Save"),
        tags.div(
            _save("Folder of the evidence pack", "save-pack", "evidence", "Save the pack"),
            _save("Plan file", "save-plan", "plan.toml", "Save the plan"),
            class_="saving",
        ),
        tags.p(
            "Both are written below the directory where the page was started, and never over"
            " something that is there. The pack keeps this very release; a plan is drawn anew.",
            class_="under",
        ),
    )


def _save(words: str, do: str, usual: str, press: str) -> Tag:
    """Return a line for a name, and the button that sends it."""
    line = tags.input(
        type="text", data_line=do, value=usual, autocomplete="off", spellcheck="false"
    )
    return tags.div(
        tags.label(tags.span(words), line, class_="field"),
        button(press, do, kind="main", data_from=do),
        class_="save-as",
    )


def _copied(title: str, name: str, text: str) -> Tag:
    return tags.details(
        tags.summary(title),
        tags.pre(tags.code(text), data_text=name, tabindex="0"),
        tags.p(
            tags.button("Copy", type="button", class_="button quiet", data_copy=name),
        ),
        class_="fold",
    )


def begin(desk: Desk) -> None:
    """Measure the points that wait for it: a release that was mended is one."""
    bench = desk.bench
    if bench.ready and bench.pending:
        desk.shared.follow(MEASURING, bench.measure, once=True)


DECIDE = Tab("decide", "Decide", "What is released?", panel, connect, begin)
