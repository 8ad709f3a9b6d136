"""The page: its frame, its tabs, and the Shiny application behind them."""

from __future__ import annotations

from htmltools import Tag, TagList, tags
from shiny import App, Inputs, Outputs, Session, reactive, ui

from maskmeter.app import changes, controls
from maskmeter.app.desk import Desk, Shared
from maskmeter.app.outputs import render_part
from maskmeter.app.state import OF_THE_PLAN
from maskmeter.app.tabs import TABS, Tab
from maskmeter.app.tabs.tab import read
from maskmeter.app.work import Stage
from maskmeter.plurals import counted

_DEPENDENCIES = '<meta name="shiny-dependency-placeholder" content="">'


def application(shared: Shared) -> App:
    """Return the Shiny application of a workbench."""

    def server(given: Inputs, output: Outputs, session: Session) -> None:  # noqa: ARG001 - Shiny's own
        desk = Desk(shared)
        desk.connect(given, session)
        _frame(desk)
        for tab in TABS:
            tab.connect(desk)

        @reactive.effect
        @reactive.event(given.tab, ignore_init=True)
        def _turned() -> None:
            desk.say("")

        @reactive.effect(priority=1)  # before the outputs, which then show what was quick to do
        async def _start() -> None:
            """Start the work of a tab when it is opened, or when the plan has changed in it."""
            desk.seen()
            for tab in TABS:
                if given.tab() == tab.name:
                    await desk.guarded(tab.start, desk)

    app = App(ui.page_html(document()), server)
    app.sanitize_errors = True  # errors of libraries may hold values of the file
    app.sanitize_error_msg = "This could not be shown."
    return app


def document() -> str:
    """Return the HTML of the page without anything of a file."""
    head = tags.head(
        tags.meta(charset="utf-8"),
        tags.meta(name="viewport", content="width=device-width, initial-scale=1"),
        tags.meta(name="color-scheme", content="light dark"),
        tags.title("maskmeter"),
        tags.link(rel="icon", href="data:,"),
        tags.script(src="assets/theme.js"),
        tags.link(rel="stylesheet", href="assets/report.css"),
        "DEPENDENCIES",
        tags.link(rel="stylesheet", href="assets/app.css"),
        tags.script(src="assets/draw.js"),
        tags.script(src="assets/app.js"),
    )
    body = tags.body(
        tags.a("Skip to the content", class_="skip", href="#content"),
        tags.header(_bar(), _steps(), class_="top"),
        tags.main(*map(_panel, TABS), id="content", tabindex="-1"),
        tags.footer(
            tags.p(
                "Everything stays on this machine. This page shows figures that only the agency"
                " may see."
            )
        ),
        _status(),
    )
    text = str(tags.html(head, body, lang="en"))
    return "<!DOCTYPE html>\n" + text.replace("DEPENDENCIES", _DEPENDENCIES, 1)


def _bar() -> Tag:
    return tags.div(
        tags.h1("maskmeter"),
        tags.div(ui.output_ui("about"), class_="about"),
        tags.div(
            ui.output_ui("history"),
            tags.button(
                "Dark", type="button", class_="button quiet", id="theme", aria_pressed="false"
            ),
            class_="tools",
        ),
        class_="bar",
    )


def _status() -> Tag:
    """Return the place for what goes on, and for what was said last."""
    return tags.div(
        # The button stays while the stages beside it change: a click on it is never lost.
        tags.div(ui.output_ui("working"), ui.output_ui("stopping"), class_="work"),
        tags.div(ui.output_ui("status"), role="status", aria_live="polite"),
        class_="status",
    )


def _steps() -> Tag:
    listed = (
        tags.li(tags.a(tags.span(str(place), class_="place"), " ", tab.title, href=f"#{tab.name}"))
        for place, tab in enumerate(TABS, 1)
    )
    return tags.nav(tags.ol(*listed), class_="steps", aria_label="Steps")


def _panel(tab: Tab) -> Tag:
    return tags.section(
        tags.h2(tab.heading, tabindex="-1"),
        tab.panel(),
        id=tab.name,
        class_="panel",
        hidden="hidden",
    )


def _frame(desk: Desk) -> None:
    """Connect what stands around the tabs: the file, undo and redo, and what goes on."""

    @render_part
    def about() -> TagList:
        bench = desk.seen()
        file = bench.file
        if file is None:
            return TagList(tags.span("No file is open."))
        keys = len(bench.keys)
        parts = [file.name, counted(file.records, "record")]
        if keys:
            parts.append(counted(keys, "key"))
        if bench.plan.step:
            parts.append(bench.chosen or OF_THE_PLAN)
        return TagList(*(tags.span(one) for one in parts))

    @render_part
    def history() -> TagList:
        bench = desk.seen()
        return TagList(
            _step_button("Undo", "undo", able=bench.can_undo),
            _step_button("Redo", "redo", able=bench.can_redo),
        )

    _say_what_goes_on(desk)
    desk.on("undo", lambda _: _moved(desk, back=True))
    desk.on("redo", lambda _: _moved(desk, back=False))
    desk.on("read", lambda _: read(desk))
    desk.on("take-out", lambda part: _take_out(desk, part))


def _say_what_goes_on(desk: Desk) -> None:
    @render_part
    def working() -> Tag | None:
        running = desk.moving()
        return None if running is None else _progress(*running)

    @render_part
    def stopping() -> Tag | None:
        return None if desk.moving() is None else controls.button("Stop", "stop", kind="quiet")

    @render_part
    def status() -> Tag | None:
        running, (words, failed) = desk.moving(), desk.notice()
        if running is not None:
            return tags.p(running[0], class_="unseen")  # said once, not at every stage
        return tags.p(words, class_="notice failed" if failed else "notice") if words else None

    desk.on("stop", lambda _: desk.shared.stop())


def _take_out(desk: Desk, part: str) -> None:
    if part in changes.PARTS:
        desk.bench.apply(lambda plan: changes.without_part(plan, part))


def _moved(desk: Desk, *, back: bool) -> str:
    """Go to the plan before, or to the one that was undone; return what differs."""
    # The forms show what the plan says.
    desk.shared.change(sampled="", resting="", measured=None)
    desk.shared.ask_anew()
    before = desk.bench.plan
    after = desk.bench.undo() if back else desk.bench.redo()
    named = changes.differing(before, after)
    return f"{'Undone' if back else 'Done again'}: {', '.join(named)}." if named else ""


def _step_button(words: str, do: str, *, able: bool) -> Tag:
    return controls.button(words, do, kind="quiet", **({} if able else {"disabled": "disabled"}))


def _progress(name: str, stage: Stage) -> Tag:
    """Return what runs, and how far it is."""
    said, done, of = stage
    bar = tags.progress({"value": str(done), "max": str(of)} if of else {}, aria_label=name)
    of_them = f" ({done:,} of {of:,})" if of else f" ({done:,} so far)" if done else ""
    return tags.div(
        tags.span(f"{said or name}{of_them}"),
        bar,
        class_="working",
    )
