"""The tab where the file is protected: each setting leaves a point on the map."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from htmltools import Tag, TagList, tags
from shiny import reactive, req, ui

from maskmeter.app.controls import button, onward
from maskmeter.app.desk import Desk
from maskmeter.app.outputs import chart_place, render_chart, render_part
from maskmeter.app.points import figures_of, points_table
from maskmeter.app.results import OpenedFile, Tried
from maskmeter.app.setting_form import (
    ACTIONS,
    MOVING,
    complete,
    entries_of,
    joined_to,
    note,
    parted,
    setting_form,
)
from maskmeter.app.settings import Setting, fitted
from maskmeter.app.state import OF_THE_PLAN
from maskmeter.app.tabs.tab import MEASURING, Tab, idle, lacking
from maskmeter.app.target import target_form
from maskmeter.app.tries import TRYING
from maskmeter.app.work import Work
from maskmeter.app.workbench import Workbench
from maskmeter.errors import InputError
from maskmeter.evidence.drawings import map_drawing, option_frame
from maskmeter.evidence.schema import MapFigures
from maskmeter.plan.schema import TargetPlan
from maskmeter.plurals import plural
from maskmeter.riskutility.riskmap import UNCHANGED, map_table

TRY, REFINE = "Trying the setting", "Drawing it again"
FIND = "Looking for a release"


def panel() -> TagList:
    """Return the tab: the controls beside the map, and the points below it."""
    return TagList(
        ui.output_ui("protect_missing"),
        tags.div(
            tags.div(
                ui.output_ui("protect_form"),
                ui.output_ui("protect_now"),
                ui.output_ui("protect_target"),
            ),
            tags.div(
                ui.output_ui("protect_note"),
                chart_place("protect_map", click="choose"),
                ui.output_ui("protect_points"),
            ),
            class_="bench",
        ),
        ui.output_ui("protect_next"),
    )


def connect(desk: Desk) -> None:
    """Say what the tab shows, and what its controls do."""
    _show_controls(desk)
    _show_map(desk)
    _setting_actions(desk)
    _map_actions(desk)


def begin(desk: Desk) -> None:
    """Put a first point on the map, or measure those again whose keys or sample have changed."""
    if desk.bench.ready and not _measured(desk.bench):
        _measure(desk, once=True)


def _measure(desk: Desk, *, once: bool = False) -> None:
    bench, setting = desk.bench, _setting(desk)
    first = not bench.tried and not bench.pending and complete(setting)
    desk.shared.change(setting=setting)

    def task(work: Work) -> str:
        if first:
            _attempt(desk, setting, work)
        return bench.measure(work)

    desk.shared.follow(MEASURING, task, once=once)


def _measured(bench: Workbench) -> bool:
    """Return True when every point of the map is measured, the file as it is among them."""
    return not bench.pending and any(one.label == UNCHANGED for one in bench.tried)


def _show_controls(desk: Desk) -> None:
    bench = desk.bench

    @render_part
    def protect_missing() -> TagList | None:
        return lacking(desk)

    @render_part
    async def protect_form() -> TagList | None:
        file = desk.seen().file
        return await _form(desk, file) if file is not None and bench.ready else None

    @render_part
    def protect_now() -> Tag | None:
        tried = desk.seen().tried
        found, former = _beneath(desk, tried)
        if found is None:
            return None
        # Where no record of the file as it is is unique, there is nothing to be a share of.
        unique = any(one.point.share > 0 for one in tried)
        return figures_of(found, unique=unique, former=former and desk.moving() is not None)

    @render_part
    def protect_target() -> TagList | None:
        plan = desk.seen().plan
        if not bench.ready:
            return None
        able: dict[str, str] = {} if plan.target is not None else {"disabled": "disabled"}
        first = tags.small("Set a target first.") if able else None
        return TagList(
            target_form(plan.target),
            tags.p(button("Find it for me", "find", kind="main", **able), first, class_="buttons"),
        )


def _beneath(desk: Desk, tried: Sequence[Tried]) -> tuple[Tried | None, bool]:
    """Return the point whose figures stand below the controls, and whether it is of others before.

    That of the setting, or the release of the plan where the setting was not measured.
    """
    at = {one.label: one for one in tried}
    own = at.get(desk.draft.resting or TRYING)
    former = desk.draft.measured != _setting(desk)
    if own is not None and (not former or desk.quick.running):
        return own, former
    return at.get(_chosen(desk)), False


async def _form(desk: Desk, file: OpenedFile) -> TagList:
    bench, setting = desk.bench, _setting(desk)
    keys = [one for one in file.columns if one.name in bench.keys]
    recoded = setting.method == "recode" and setting.key
    named = await to_thread(bench.categories, setting.key[0]) if recoded else {}
    after = _after(bench, setting)
    return TagList(
        setting_form(setting, keys, named, joined=desk.draft.join, after=after),
        tags.p(button("Put it on the map", "keep"), class_="buttons"),
    )


def _show_map(desk: Desk) -> None:
    bench = desk.bench
    drawn: list[OpenedFile | None] = [None]  # the file whose map is shown

    @reactive.calc
    async def known() -> MapFigures | None:
        """Return the map; that of the same file stays as long as its points have to be measured."""
        bench = desk.seen_late()
        if not bench.ready or _unfit(bench):
            return None
        if not _measured(bench):
            req(drawn[0] is not bench.file or desk.quick.running is None, cancel_output=True)
            return None
        drawn[0] = bench.file
        return await to_thread(bench.map_figures)

    @render_part
    def protect_note() -> TagList | None:
        return _note(desk)

    @render_chart
    async def protect_map() -> Any:
        found = await known()
        if found is None:
            return None
        return await to_thread(map_drawing, found, chosen=_chosen(desk))

    @render_part
    async def protect_points() -> TagList | None:
        found, chosen = await known(), _chosen(desk)
        if found is None:
            return None
        listed = map_table(
            option_frame(found), measure=found.measure, intruder=found.intruder, chosen=chosen
        )
        return points_table(listed.caption, listed.head, listed.rows, chosen)

    @render_part
    def protect_next() -> TagList | None:
        able = desk.seen().plan.step and bench.ready
        return TagList(onward("Check the release", "check")) if able else None


def _unfit(bench: Workbench) -> bool:
    """Return True when no model fits the file: then the figures of its releases mean nothing."""
    return any(one.label == UNCHANGED and not one.assessable for one in bench.tried)


def _chosen(desk: Desk) -> str:
    return desk.bench.chosen if desk.bench.plan.step else ""


def _setting(desk: Desk) -> Setting:
    """Return what the controls are set to, as far as the plan has the keys for it."""
    return fitted(desk.draft.setting, desk.bench.keys)


def _after(bench: Workbench, setting: Setting) -> str:
    """Return the name of the steps that a setting follows, or may follow; "" if there are none."""
    steps = setting.first or tuple(bench.plan.step)
    return (bench.label_of(steps) or OF_THE_PLAN) if steps else ""


def _setting_actions(desk: Desk) -> None:
    bench = desk.bench

    def attempt(setting: Setting) -> None:
        desk.shared.change(setting=setting, join=(), resting="")
        if complete(setting):
            desk.shared.follow(TRY, lambda work: _attempt(desk, setting, work))
        else:
            bench.forget(TRYING)  # it was another one

    def settle(setting: Setting) -> None:
        desk.shared.change(setting=setting, join=())
        if complete(setting):
            desk.quick.start(REFINE, lambda work: _rest(desk, setting, work))

    def changed(action: str, value: Any) -> None:
        setting = _setting(desk)
        setting = replace(setting, **entries_of(action, value, setting))
        (attempt if action in MOVING else settle)(setting)

    for action in ACTIONS:
        desk.on(action, partial(changed, action))

    def after(asked: Mapping[str, Any]) -> None:
        first = tuple(bench.plan.step) if asked["on"] else ()
        settle(replace(_setting(desk), first=first))

    desk.on("after", after)
    desk.on("settle", lambda _: settle(_setting(desk)))
    desk.on("keep", lambda _: settle(_complete(desk)))
    _recode_actions(desk, settle)


def _recode_actions(desk: Desk, settle: Callable[[Setting], None]) -> None:
    """Say what the controls of joined categories do."""

    def join(asked: Mapping[str, Any]) -> None:
        kept = tuple(one for one in desk.draft.join if one != asked["name"])
        desk.shared.change(join=(*kept, str(asked["name"])) if asked["on"] else kept)

    desk.on("join", join)

    def join_them(name: str) -> None:
        setting = _setting(desk)
        known = desk.bench.categories(setting.key[0])
        settle(joined_to(setting, name, desk.draft.join, known))

    desk.on("join-them", join_them)
    desk.on("part", lambda name: settle(parted(_setting(desk), name)))


def _attempt(desk: Desk, setting: Setting, work: Work) -> None:
    work(TRY, 0, 0)  # another setting may have come
    desk.bench.try_setting(setting, label=TRYING)
    desk.shared.tried(setting)


def _rest(desk: Desk, setting: Setting, work: Work) -> None:
    """Leave the point of a setting on the map, and draw it again."""
    work(REFINE, 0, 0)  # another setting may have come
    label = desk.bench.settle(setting)
    desk.shared.tried(setting, label)
    desk.bench.refine(label, work)


def _complete(desk: Desk) -> Setting:
    setting = _setting(desk)
    if not complete(setting):
        raise InputError("Say first which categories are to be joined.")
    return setting


def _map_actions(desk: Desk) -> None:
    bench = desk.bench

    def choose(label: str) -> str:
        chosen = label
        if label == TRYING:
            chosen = bench.settle(_setting(desk))
            desk.shared.tried(_setting(desk), chosen)
        bench.choose(chosen)
        _show(desk, chosen)
        return f"The plan now has {chosen}."

    def find(_: str) -> None:
        target = bench.plan.target
        if target is None:
            raise InputError("Set a target first.")
        desk.jobs.start(FIND, lambda work: _find(desk, target, work))

    desk.on("choose", choose)
    desk.on("forget", bench.forget)
    desk.on("measure-points", lambda _: _measure(desk))
    desk.on("find", find)


def _find(desk: Desk, target: TargetPlan, work: Work) -> str:
    found = desk.bench.find(target, work)
    if found.met:
        _show(desk, found.label)
    return found.summary


def _show(desk: Desk, label: str) -> None:
    """Show the figures of a point below the controls, until these are used again."""
    desk.shared.tried(_setting(desk), label)


def _note(desk: Desk) -> TagList | None:
    """Return what is said above the map."""
    bench = desk.seen()
    if bench.pending and not desk.quick.running:  # somebody stopped it
        return TagList(tags.p(button("Measure the points", "measure-points", kind="main")))
    if bench.pending:
        return TagList(tags.p("The points of the map are being measured.", class_="under"))
    if _unfit(bench):
        words = "The risk is not assessable with these keys, so there is no map. Risk now says why."
        return TagList(tags.p(words, class_="aside caution"))
    said = (idle(bench.idle_changes), _set_aside(bench.set_aside))
    return TagList(note(), *said) if bench.tried else None


def _set_aside(labels: Sequence[str]) -> Tag | None:
    """Return which points are not on the map."""
    if not labels:
        return None
    column = plural(len(labels), "It needs", "They need")
    words = f"Not on the map: {', '.join(labels)}. {column} a column that is not ticked as a key."
    return tags.p(words, class_="under")


PROTECT = Tab("protect", "Protect", "How is the file protected?", panel, connect, begin)
