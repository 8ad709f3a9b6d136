"""The tab of the keys: what an intruder may know of a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from htmltools import Tag, TagChild, TagList, tags
from shiny import ui

from maskmeter.app import changes
from maskmeter.app.blocks import facts
from maskmeter.app.controls import button, given_numbers, missing, onward, tick
from maskmeter.app.desk import Desk
from maskmeter.app.outputs import render_part
from maskmeter.app.problems import Problem
from maskmeter.app.results import FileColumn, KeysNow, KeyWarning, OpenedFile
from maskmeter.app.tabs.tab import Tab, fault, lacking
from maskmeter.app.work import Work
from maskmeter.app.workbench import Workbench
from maskmeter.display import SIZES
from maskmeter.errors import InputError
from maskmeter.evidence.wording import Numbers, percent
from maskmeter.page import Fact
from maskmeter.plan import Plan
from maskmeter.plan.schema import Scenario
from maskmeter.plurals import counted, plural

WORK = "Counting the keys"
_FEW = 12  # numbers, up to which nobody needs bands
_DASH = "–"  # noqa: RUF001 - nothing to tell yet


def panel() -> TagList:
    """Return the tab: the counts, the warnings and the columns."""
    return TagList(
        tags.p(
            "Tick the columns whose values an intruder may know from elsewhere: where somebody"
            " lives, their age, their job.",
            class_="under",
        ),
        ui.output_ui("key_counts"),
        ui.output_ui("key_warnings"),
        ui.output_ui("key_columns"),
    )


def connect(desk: Desk) -> None:
    """Say what the tab shows, and what its controls do."""

    @render_part
    def key_counts() -> TagList | None:
        bench = desk.seen()
        if bench.file is None or not bench.keys:
            return None
        if bench.changed_on_disk:
            return lacking(desk)
        data = bench.plan.data
        sampled = any((data.fraction, data.weights, data.population))
        stopped = desk.quick.running is None
        return _counts(bench.keys_now, sampled=sampled, stopped=stopped)

    @render_part
    def key_warnings() -> TagList | None:
        bench = desk.seen()
        if bench.file is None or not bench.keys or bench.changed_on_disk:
            return None
        now, problem = bench.keys_now, bench.problem() if bench.prepared else None
        found = [*map(_unknown, bench.unknown_keys), *map(_warning, now.warnings or ())]
        wrong = Problem(now.fault, "keys") if now.fault else None
        if problem is not None and problem.part:
            wrong = problem
        return TagList(
            wrong and fault(wrong), tags.ul(*found, class_="warnings") if found else None
        )

    @render_part
    def key_columns() -> TagList:
        bench = desk.seen()
        if bench.file is None:
            return missing("No file is open yet.", "Open a file", "file")
        return _columns(bench.file, bench.plan)

    _actions(desk)
    _value_actions(desk)


def begin(desk: Desk) -> None:
    """Count the ticked keys, if they were not counted yet."""
    bench = desk.bench
    if bench.file is None or not bench.keys or bench.changed_on_disk:
        return
    if not bench.keys_now.done:
        desk.shared.follow(WORK, lambda work: _look(bench, work), once=True)


def _look(bench: Workbench, work: Work) -> None:
    bench.look_at_keys(work)


def _actions(desk: Desk) -> None:
    bench = desk.bench

    def key(asked: Mapping[str, object]) -> None:
        file = bench.file
        if file is None:
            return
        name, on = str(asked["name"]), bool(asked["on"])

        def ticked(plan: Plan) -> Plan:
            keys = {*plan.data.keys, name} if on else {*plan.data.keys} - {name}
            return changes.with_keys(
                plan, [one.name for one in file.columns if one.name in keys], file
            )

        bench.apply(ticked)

    def untick(name: str) -> None:
        file = bench.file
        if file is not None:
            bench.apply(lambda plan: changes.without_key(plan, name, file))

    def proposed(_: str) -> None:
        file = bench.file
        if file is not None:
            keys = [one.name for one in file.columns if one.role == "key"]
            bench.apply(lambda plan: changes.with_keys(plan, keys, file))

    desk.on("count", lambda _: desk.shared.follow(WORK, lambda work: _look(bench, work)))
    desk.on("key", key)
    desk.on("untick", untick)
    desk.on("proposed", proposed)
    for action, change in _CHANGES.items():
        desk.on(action, partial(_applied, bench, change))


def _value_actions(desk: Desk) -> None:
    """Say what the controls of bands, and of codes for missing values, do."""
    bench = desk.bench

    def banded(name: str) -> None:
        bounds = bench.bands_for(name)
        bench.apply(lambda plan: changes.with_bands(plan, name, bounds))

    def set_bands(asked: Mapping[str, str]) -> None:
        name, bounds = asked["value"], given_numbers(asked["text"])
        if len(bounds) < 2 or list(bounds) != sorted(set(bounds)):
            raise InputError("Give at least two lower bounds, from low to high.")
        change = partial(changes.with_bands, column=name, bounds=bounds)
        bench.key_counts([name], change(bench.plan))  # it refuses bands that do not fit the column
        bench.apply(change)

    def missing_codes(name: str) -> None:
        found = bench.keys_now.warnings or ()
        codes = next((one.codes for one in found if one.codes and one.column == name), ())
        if codes:
            bench.apply(partial(changes.with_missing_codes, column=name, codes=codes))

    desk.on("missing-codes", missing_codes)
    desk.on("bands", banded)
    desk.on("set-bands", set_bands)


_CHANGES: dict[str, Callable[[Plan, str], Plan]] = {
    "no-bands": lambda plan, name: changes.with_bands(plan, name, ()),
    "drop": changes.without_column,
    "undrop": changes.with_column,
    "no-missing-codes": lambda plan, name: changes.with_missing_codes(plan, name, ()),
    "codes": changes.as_codes,
}


def _applied(bench: Workbench, change: Callable[[Plan, str], Plan], name: str) -> None:
    bench.apply(lambda plan: change(plan, name))


def _counts(found: KeysNow, *, sampled: bool, stopped: bool) -> TagList:
    counts = found.counts
    again = None if found.done or not stopped else tags.p(button("Count the keys", "count"))
    if counts is None:
        words = None if found.done or again else tags.p("The keys are counted.", class_="under")
        return TagList(words, again)
    told = f"{percent(counts.share)} of {counts.records:,}"
    listed = [
        Fact("Unique records", f"{counts.uniques:,}", told),
        *(
            Fact(f"In cells of {size}", f"{many:,}")
            for size, many in zip(SIZES[1:], counts.cell_sizes[1:], strict=True)
        ),
    ]
    return TagList(facts([*listed, _expected(found, sampled=sampled)]), again)


def _expected(found: KeysNow, *, sampled: bool) -> Fact:
    matches = found.matches
    if matches is not None and matches.assessable:
        told = f"{percent(matches.share)} of the uniques"
        return Fact("Expected matches", Numbers(None).matches(matches.total), told)
    why = "not assessable"
    if matches is None:
        why = "not yet: Risk now says why" if sampled else "once the sample is known"
    return Fact("Expected matches", _DASH, why if found.done else "in a moment")


def _unknown(name: str) -> Tag:
    press = button("Untick", "untick", name, kind="quiet", aria_label=f"Untick {name}")
    return tags.li(
        tags.span(f"The plan has the key {name}, which is no column of this file. "), press
    )


def _warning(one: KeyWarning) -> Tag:
    parts: list[TagChild] = [tags.span(one.text, " ")]
    if one.bands:
        parts.append(button("Use bands", "bands", one.column, kind="quiet"))
        parts.append(button("They are codes", "codes", one.column, kind="quiet"))
    if one.codes:
        parts.append(button("Count them as missing", "missing-codes", one.column, kind="quiet"))
    if one.kind == "kept":
        words = f"Drop {one.other}"
        parts.append(button(words, "drop", one.other, kind="quiet"))
    parts.append(
        button("Untick", "untick", one.column, kind="quiet", aria_label=f"Untick {one.column}")
    )
    return tags.li(*parts)


def _columns(file: OpenedFile, plan: Plan) -> TagList:
    scenarios = plan.scenario
    head = tags.tr(
        tags.th("column", scope="col"),
        tags.th("categories", scope="col", class_="figure"),
        tags.th("what it looks like", scope="col"),
    )
    rows = (_column(one, plan) for one in file.columns)
    drawn = tags.table(
        tags.caption("The columns of the file", class_="unseen"),
        tags.thead(head),
        tags.tbody(*rows),
    )
    return TagList(
        _scenarios(scenarios),
        tags.p(button("Tick what plan init proposes", "proposed", kind="quiet")),
        tags.div(drawn, class_="wide", tabindex="0", role="group", aria_label="Columns"),
        onward("Say how they were sampled", "sample") if plan.data.keys or scenarios else None,
    )


def _scenarios(named: Mapping[str, Scenario]) -> Tag | None:
    """Return the scenarios that a plan brought along; the ticks are one more."""
    if not named:
        return None
    listed = ", ".join(f"{name} ({', '.join(one.keys)})" for name, one in named.items())
    words = f"The plan has {counted(len(named), 'scenario')} of its own: {listed}."
    return tags.p(words, " What is ticked here is one more.", class_="aside")


def _column(one: FileColumn, plan: Plan) -> Tag:
    """Return the row of a column: whether it is a key, and what the plan says of its values."""
    data, on = plan.data, one.name in plan.data.keys
    bounds, codes = data.bands.get(one.name, []), data.missing_codes.get(one.name, [])
    looks: list[TagChild] = [one.why]
    if one.missing:
        looks.append(f"; {counted(one.missing, 'record')} without a value")
    if codes:
        listed = ", ".join(f"{code:g}" if isinstance(code, float) else str(code) for code in codes)
        words = f" {listed} {plural(len(codes), 'counts', 'count')} as missing. "
        undo = {"kind": "quiet", "aria_label": f"Do not count them as missing: {one.name}"}
        looks += [words, button("Undo that", "no-missing-codes", one.name, **undo)]
    if one.name in plan.release.drop:
        keep = button("Keep it", "undrop", one.name, kind="quiet", aria_label=f"Keep {one.name}")
        looks += [" It is left out of the released file. ", keep]
    if on and one.bands and not bounds:
        looks += [" ", button("Use bands", "bands", one.name, kind="quiet")]
    if on and one.numeric and (bounds or one.categories > _FEW):
        looks.append(_bands(one.name, bounds))
    many = counted(len(bounds), "band") if on and bounds else f"{one.categories:,}"
    return tags.tr(
        tags.th(tick(one.title, "key", one.name, on=on), scope="row"),
        tags.td(many, class_="figure"),
        tags.td(*looks),
        class_="on" if on else None,
    )


def _bands(name: str, bounds: Sequence[float]) -> Tag:
    """Return the bands of a key of numbers, and the controls that set or undo them."""
    listed, line = ", ".join(f"{one:g}" for one in bounds), f"bounds {name}"
    given = tags.input(
        type="text", data_line=line, value=listed, autocomplete="off", placeholder="0, 16, 30"
    )
    undo = button("Undo bands", "no-bands", name, kind="quiet") if bounds else None
    return tags.details(
        tags.summary(f"In bands from {listed}" if bounds else "Put it into bands"),
        tags.label(tags.span("Lower bounds of the bands"), given, class_="field"),
        tags.p(button("Set them", "set-bands", name, data_from=line), undo, class_="buttons"),
    )


KEYS = Tab("keys", "Keys", "What may an intruder know?", panel, connect, begin, reads=False)
