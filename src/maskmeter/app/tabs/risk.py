"""The tab of the risk before protection: the mark, the number, and what is behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from htmltools import TagList, tags
from shiny import ui

from maskmeter.app.blocks import shown, table
from maskmeter.app.controls import button, given_number, number, onward, slider
from maskmeter.app.desk import Desk
from maskmeter.app.outputs import chart_place, render_chart, render_part
from maskmeter.app.results import RiskNow
from maskmeter.app.tabs.tab import Tab, cautions, headline, lacking
from maskmeter.app.target import connect_target, target_form
from maskmeter.app.work import Work
from maskmeter.app.workbench import Workbench
from maskmeter.evidence.drawings import drivers_chart, path_chart
from maskmeter.evidence.first_screen import of_the_file
from maskmeter.evidence.model_figures import ModelFigures
from maskmeter.evidence.sections import reductions, risk_table, sections
from maskmeter.page import Table
from maskmeter.risk.curve import AtThreshold

WORK = "Measuring the risk"


def panel() -> TagList:
    """Return the tab: the risk, its curve, its keys and its model."""
    return TagList(
        ui.output_ui("risk_top"),
        ui.output_ui("risk_target"),
        tags.div(
            tags.div(chart_place("risk_curve", drag="threshold")),
            tags.div(ui.output_ui("risk_handle"), ui.output_ui("risk_coupled")),
            class_="beside",
        ),
        tags.div(
            tags.div(chart_place("risk_drivers")),
            tags.div(ui.output_ui("risk_keys")),
            class_="beside",
        ),
        ui.output_ui("risk_rest"),
        tags.details(
            tags.summary("The model behind the estimate"),
            ui.output_ui("risk_model"),
            chart_place("risk_path"),
            class_="fold",
        ),
        ui.output_ui("risk_next"),
    )


def connect(desk: Desk) -> None:
    """Say what the tab shows, and what its controls do."""
    _show_risk(desk)
    _show_curve(desk)
    _show_behind(desk)
    connect_target(desk)
    desk.on("measure", lambda _: desk.shared.again(WORK, lambda work: _measure(desk.bench, work)))
    desk.on("threshold", lambda value: _couple(desk, lambda at: at.at_threshold(_share(value))))
    desk.on("records", lambda value: _records_above(desk, round(given_number(value))))
    desk.on("matches", lambda value: _couple(desk, lambda at: at.at_matches(given_number(value))))


def begin(desk: Desk) -> None:
    """Measure the risk, if all is known that it takes and it was not measured yet."""
    bench = desk.bench
    if bench.ready and bench.risk_ready is None:
        desk.shared.once(WORK, lambda work: _measure(bench, work))


def _measure(bench: Workbench, work: Work) -> None:
    bench.risk_now(work)


def _couple(desk: Desk, read: Callable[[Any], AtThreshold]) -> None:
    found = desk.bench.risk_ready
    if found is not None:
        desk.shared.change(threshold=read(found.curve).threshold)


def _records_above(desk: Desk, asked: int) -> str | None:
    """Set the threshold by a number of records; say it if some of them have the same risk."""
    _couple(desk, lambda at: at.at_records(asked))
    found = desk.bench.risk_ready
    if found is None:
        return None
    above = found.curve.at_threshold(desk.draft.threshold).records
    if above >= min(asked, len(found.curve)):
        return None
    return f"Records with the same risk count together: no more than {above:,} fit in {asked:,}."


def _share(value: str | float) -> float:
    return min(max(given_number(value) / 100, 0.0), 1.0)


def _show_risk(desk: Desk) -> None:
    @render_part
    def risk_top() -> TagList:
        lacks = lacking(desk)
        if lacks is not None:
            return lacks
        found = desk.risk()
        if found is None:
            return TagList(
                tags.p("The risk of the file is measured before anything is changed."),
                button("Measure the risk", "measure", kind="main") if not desk.moving() else None,
            )
        return headline(of_the_file(found.figures))

    @render_part
    def risk_target() -> TagList | None:
        bench = desk.seen()
        return TagList(target_form(bench.plan.target)) if bench.ready else None

    @render_part
    def risk_next() -> TagList | None:
        return TagList(onward("Protect the file", "protect")) if desk.risk() else None


def _found(desk: Desk, *, late: bool = False) -> RiskNow | None:
    """Return the risk, if it was measured and its figures hold."""
    found = desk.late_risk() if late else desk.risk()
    return found if found is not None and found.figures.assessable else None


def _show_curve(desk: Desk) -> None:
    @render_chart
    def risk_curve() -> Any:
        found = _found(desk, late=True)
        if found is None or not len(found.curve):
            return None
        return found.curve.plot(threshold=desk.draft.threshold)

    @render_part
    def risk_handle() -> TagList | None:
        found = _found(desk)
        if found is None or not len(found.curve):
            return None
        value = round(100 * desk.draft.threshold, 1)
        return TagList(
            slider("Threshold of risk", "threshold", value, low=0, high=100, step=0.5, unit="%"),
            tags.p("Move it here, or drag its line in the curve.", class_="under"),
        )

    @render_part
    def risk_coupled() -> TagList | None:
        found = _found(desk)
        if found is None or not len(found.curve):
            return None
        at = found.curve.at_threshold(desk.draft.threshold)
        of = f"of {len(found.curve):,} unique records"
        total = f"of {found.curve.total:,.1f} in all"
        return TagList(
            number("Records above it", "records", at.records, note=of, min="0", step="1"),
            number("Matches among them", "matches", round(at.matches, 1), note=total, min="0"),
        )


def _show_behind(desk: Desk) -> None:
    @render_chart
    def risk_drivers() -> Any:
        found = _found(desk, late=True)
        if found is None or not found.worst.without_one_key:
            return None
        return desk.drawn("drivers", found, lambda: drivers_chart(found.figures))

    @render_part
    def risk_keys() -> TagList | None:
        found = _found(desk)
        rows = () if found is None else tuple(reductions(found.figures))
        head = ("key left out", "unique records", "correct matches", "reduction")
        return TagList(table(Table("The risk without one key", head, rows))) if rows else None

    @render_part
    def risk_rest() -> TagList | None:
        found = _found(desk)
        if found is None:
            return None
        return TagList(table(risk_table(of_the_file(found.figures))), cautions(found.figures))

    @render_part
    def risk_model() -> TagList | None:
        found = _found(desk)
        if found is None:
            return None
        listed = [one for one in sections(found.figures) if "model" in one.title]
        if not listed:
            return TagList(tags.p("The population is known, so that no model is needed."))
        return shown(block for one in listed for block in one.blocks)

    @render_chart
    def risk_path() -> Any:
        found = _found(desk, late=True)
        model = None if found is None else found.worst.model
        return None if model is None else desk.drawn("path", model, lambda: _path(model))


def _path(model: ModelFigures) -> Any:
    return path_chart(model) if model.path else None


RISK = Tab("risk", "Risk now", "How risky is the file before protection?", panel, connect, begin)
