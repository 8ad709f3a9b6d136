"""The first tab: which file is opened, and which plan."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from htmltools import Tag, TagList, tags
from shiny import ui

from maskmeter.app.blocks import facts
from maskmeter.app.controls import button, choice, entry, onward
from maskmeter.app.desk import Desk
from maskmeter.app.outputs import render_part
from maskmeter.app.problems import Problem
from maskmeter.app.results import FileEntry, OpenedFile
from maskmeter.app.tabs.tab import Tab
from maskmeter.app.work import Work
from maskmeter.errors import FileError
from maskmeter.formats.csv_dialect import DELIMITERS, Dialect
from maskmeter.page import Fact
from maskmeter.plurals import counted

_NOTHING = (
    "Nothing here can be opened. The page opens text (.csv, .tsv), SPSS, Stata, SAS, Excel, Parquet,"
    " Arrow and R files, and plans (.toml)."
)
_TEXT = (".csv", ".tsv", ".txt")
_FOUND_OUT = {"": "found out"}
_UNITS = ("bytes", "kB", "MB", "GB")


def panel() -> TagList:
    """Return the tab: what is open, and what can be."""
    return TagList(
        ui.output_ui("file_open"),
        tags.h3("Open a file"),
        ui.output_ui("file_list"),
        ui.output_ui("file_written"),
        tags.h3("Or look around first"),
        tags.p(
            "The built-in example is a survey of 14,662 invented people.",
            class_="under",
        ),
        tags.p(button("Open the example", "example")),
    )


def connect(desk: Desk) -> None:
    """Say what the tab shows, and what its controls do."""

    @render_part
    def file_open() -> TagList | None:
        bench = desk.seen()
        if bench.file is None:
            return None
        problem = bench.problem() if bench.changed_on_disk else None
        return TagList(
            None if problem is None else _changed(problem, bench.file), _opened(bench.file)
        )

    @render_part
    def file_list() -> TagList:
        return _listed(desk.seen().folder.root, *desk.listed())

    @render_part
    def file_written() -> TagList:
        desk.seen()
        return TagList(_written(desk.draft.written, doubted=desk.draft.doubted))

    _actions(desk)


def _actions(desk: Desk) -> None:
    def open_file(path: str) -> str | None:
        asked = _asked(desk, path)
        if asked is None:
            desk.jobs.start("Opening the file", lambda work: _open(desk, path, work))
        return asked

    def open_example(_: str) -> str | None:
        asked = _asked(desk, "the example")
        if asked is None:
            desk.jobs.start("Opening the example", lambda work: _open_example(desk, work))
        return asked

    def open_plan(path: str) -> str:
        desk.bench.open_plan(path)
        desk.shared.clear(written=desk.draft.written, written_for=desk.draft.written_for)
        words, unknown = f"Opened the plan {path}.", len(desk.bench.unknown_keys)
        if unknown:
            words += f" It has {counted(unknown, 'key')} that this file does not have: see Keys."
        return words

    def look_inside(path: str) -> None:
        desk.bench.files(path)  # it refuses what is no folder here
        desk.shared.change(folder=path)

    for name in ("encoding", "delimiter", "decimal"):
        desk.on(name, partial(_say_how, desk, name))
    desk.on("folder", look_inside)
    desk.on("open", open_file)
    desk.on("example", open_example)
    desk.on("open-plan", open_plan)


def _asked(desk: Desk, path: str) -> str | None:
    """Return the question whether work may be lost that is not saved; None where it was answered."""
    bench = desk.bench
    leaving = (path, bench.work)
    if (
        bench.file is None
        or not bench.unsaved
        or bench.changed_on_disk
        or desk.draft.leaving == leaving
    ):
        return None
    desk.shared.change(leaving=leaving)
    return (
        f"The plan and the map of {bench.file.name} are not saved. Save the plan on the last tab, or"
        f" press again to leave them and open {path}."
    )


def _open(desk: Desk, path: str, work: Work) -> str:
    draft = desk.draft
    how = draft.written if draft.written_for in ("", path) else Dialect()
    try:
        name = desk.bench.open(path, work, written=how).name
    except FileError as error:
        if not path.lower().endswith(_TEXT):
            raise
        desk.shared.change(doubted=True)
        raise FileError(
            f"{error} If it is read wrongly, say below the list how it is written."
        ) from None
    desk.shared.clear(written=how, written_for=path)
    return f"Opened {name}."


def _open_example(desk: Desk, work: Work) -> str:
    name = desk.bench.open_example(work).name
    desk.shared.clear()
    return f"Opened {name}."


def _say_how(desk: Desk, name: str, value: str) -> None:
    how = replace(desk.draft.written, **{name: value or None})
    desk.shared.change(written=how, written_for="")


def _written(how: Dialect, *, doubted: bool) -> Tag:
    """Return the controls of how a text file is written."""
    said = doubted or any((how.encoding, how.delimiter, how.decimal))
    return tags.details(
        tags.summary("If a text file is read wrongly"),
        tags.p("Say how it is written, and open it again.", class_="under"),
        entry("Encoding", "encoding", how.encoding or "", note="Such as cp1252 or latin-1."),
        choice(
            "Mark between columns",
            "delimiter",
            _FOUND_OUT | DELIMITERS,
            chosen=how.delimiter or "",
        ),
        choice(
            "Decimal mark",
            "decimal",
            _FOUND_OUT | {".": "point", ",": "comma"},
            chosen=how.decimal or "",
        ),
        {"open": "open"} if said else {},
    )


def _changed(problem: Problem, file: OpenedFile) -> TagList:
    """Return that the open file is another one by now, and the button that opens it again."""
    words = tags.p(problem.words, class_="aside caution")
    again = tags.p(button("Open it again", "open", file.path, kind="main"))
    return TagList(words, None if file.example else again)


def _opened(file: OpenedFile) -> TagList:
    proposed = sum(one.role == "key" for one in file.columns)
    listed = (
        Fact("Open", file.name),
        Fact("Records", f"{file.records:,}"),
        Fact("Columns", f"{len(file.columns):,}", f"{proposed:,} may be keys"),
    )
    return TagList(facts(listed), onward("Choose the keys", "keys"))


def _listed(root: Path, folder: str, entries: tuple[FileEntry, ...]) -> TagList:
    """Return a folder: where it is, and what can be opened there."""
    rows = [_row(one) for one in entries]
    head = tags.tr(
        tags.th("name", scope="col"),
        tags.th("kind", scope="col"),
        tags.th("size", scope="col", class_="figure"),
    )
    drawn = tags.table(
        tags.caption("Files that can be opened", class_="unseen"),
        tags.thead(head),
        tags.tbody(rows),
    )
    place = tags.p(_crumbs(root, folder), class_="crumbs")
    if not rows:
        return TagList(place, tags.p(_NOTHING, class_="under"))
    held = tags.div(drawn, class_="wide", tabindex="0", role="group", aria_label="Files")
    return TagList(place, held)


def _row(one: FileEntry) -> Tag:
    """Return a line of the list; its name is the button that opens it."""
    words, do = {
        "folder": ("Look inside", "folder"),
        "plan": ("Open the plan", "open-plan"),
    }.get(one.kind, ("Open", "open"))
    named = f"{one.name}/" if one.kind == "folder" else one.name
    kind = one.format if one.kind == "data" else one.kind
    return tags.tr(
        tags.th(
            button(named, do, one.path, kind="crumb", aria_label=f"{words}: {one.name}"),
            scope="row",
        ),
        tags.td(kind),
        tags.td("" if one.kind == "folder" else size(one.size), class_="figure"),
    )


def _crumbs(root: Path, folder: str) -> TagList:
    """Return the way from the start directory to a folder, each part of it a button."""
    parts = [part for part in folder.split("/") if part]
    found = [button(root.name or str(root), "folder", "", kind="crumb", title=str(root))]
    for place, part in enumerate(parts, 1):
        found += [tags.span(" / "), button(part, "folder", "/".join(parts[:place]), kind="crumb")]
    return TagList("In ", *found)


def size(many: float) -> str:
    """Return a size of a file in words.

    >>> size(120), size(1_500), size(100_000_000)
    ('120 bytes', '1.5 kB', '100 MB')
    """
    place = 0
    while many >= 1000 and place < len(_UNITS) - 1:
        many, place = many / 1000, place + 1
    return f"{many:.3g} {_UNITS[place]}"


FILE = Tab("file", "File", "Which file is to be released?", panel, connect, reads=False)
