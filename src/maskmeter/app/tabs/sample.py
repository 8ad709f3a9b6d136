"""The tab of the sample: which part of the population the file holds."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from htmltools import Tag, TagChild, TagList, tags
from shiny import ui

from maskmeter.app import changes
from maskmeter.app.blocks import facts
from maskmeter.app.controls import button, choice, group, missing, number, onward, radio
from maskmeter.app.desk import Desk
from maskmeter.app.outputs import render_part
from maskmeter.app.results import FileEntry, OpenedFile, SamplingNow
from maskmeter.app.tabs.tab import Tab, lacking
from maskmeter.app.work import Work
from maskmeter.app.workbench import Workbench
from maskmeter.errors import InputError
from maskmeter.evidence.wording import percent
from maskmeter.formats.numbers import number_in
from maskmeter.page import Fact
from maskmeter.plan.schema import Data

WORK = "Looking at the sample"
KINDS = {
    "fraction": "I know which share of the population is in the file",
    "weights": "A column holds survey weights",
    "population": "I have a file of the whole population",
}


def panel() -> TagList:
    """Return the tab: the choice, and what it implies."""
    return TagList(
        tags.p(
            "Somebody who is alone in the file is rarely alone in the population: the smaller the"
            " sample, the safer. That is why the sample matters.",
            class_="under",
        ),
        ui.output_ui("sample_form"),
        ui.output_ui("sample_now"),
    )


def connect(desk: Desk) -> None:
    """Say what the tab shows, and what its controls do."""
    bench = desk.bench

    @render_part
    def sample_form() -> TagList:
        file = desk.seen().file
        if file is None:
            return missing("No file is open yet.", "Open a file", "file")
        kind = desk.draft.sampled or _kind(bench.plan.data)
        return TagList(
            group(
                "How was the file sampled?",
                *(radio(words, "sampled", one, on=one == kind) for one, words in KINDS.items()),
            ),
            _entry(kind, file, bench, desk.listed()[1]),
            _household(file, bench.plan.data),
        )

    @render_part
    def sample_now() -> TagList | None:
        bench = desk.seen()
        if bench.file is None:
            return None
        if not bench.prepared or bench.changed_on_disk:
            return lacking(desk)
        found = bench.sampling_ready
        if found is not None:
            entered = desk.draft.sampled
            return _now(found, former=bool(entered) and entered != _kind(bench.plan.data))
        again = None if desk.quick.running else button("Look at the sample", "sample")
        return TagList(tags.p("The sample was not looked at yet.", class_="under"), again)

    _actions(desk)


def begin(desk: Desk) -> None:
    """Look at the sample, if that was not done yet."""
    bench = desk.bench
    wait = bench.file is None or not bench.prepared or bench.changed_on_disk
    if not wait and bench.sampling_ready is None:
        _look(desk, once=True)


def _look(desk: Desk, *, once: bool = False) -> None:
    bench = desk.bench

    def look(work: Work) -> None:
        bench.look_at_sample(work)

    desk.shared.follow(WORK, look, once=once)


def _actions(desk: Desk) -> None:
    bench = desk.bench

    def fraction(text: str) -> None:
        share = _percent(text)
        bench.apply(lambda plan: changes.with_fraction(plan, share))

    def weights(column: str) -> None:
        if column:
            bench.apply(lambda plan: changes.with_weights(plan, column))

    def population(path: str) -> None:
        bench.apply(lambda plan: changes.with_population(plan, path))

    desk.on("sample", lambda _: _look(desk))
    desk.on("sampled", lambda kind: desk.shared.change(sampled=kind))
    desk.on("fraction", fraction)
    desk.on("weights", weights)
    desk.on("population", population)
    desk.on("household", lambda name: bench.apply(partial(changes.with_household, column=name)))


def _percent(text: str) -> float:
    share = number_in(text)
    if share is None or not 0 < share <= 100:
        raise InputError("Give the share of the population in percent, above 0 and up to 100.")
    return share / 100


def _kind(data: Data) -> str:
    if data.population is not None:
        return "population"
    return "weights" if data.weights is not None else "fraction"


def _entry(
    kind: str, file: OpenedFile, bench: Workbench, entries: tuple[FileEntry, ...]
) -> TagChild:
    """Return what has to be entered for a kind of sampling."""
    data = bench.plan.data
    if kind == "weights":
        columns = {"": "Choose a column"} | {
            one.name: one.title
            for one in file.columns
            if one.name not in data.keys and (one.numeric or one.role == "weights")
        }
        return choice("Column of weights", "weights", columns, chosen=data.weights or "")
    if kind == "population":
        found = {"": "None"} | {one.path: one.name for one in entries if one.kind == "data"}
        chosen = "" if data.population is None else bench.folder.name(Path(data.population))
        if chosen:
            found.setdefault(chosen, chosen)
        note = "Files of the folder that is open on the first tab."
        return choice("File of the population", "population", found, chosen=chosen, note=note)
    given = data.fraction if isinstance(data.fraction, float | int) else None
    shown = None if given is None else 100 * given
    return number(
        "Share of the population, in percent", "fraction", shown, min="0", max="100",
        note="1 means that one in a hundred people is in the file.",
    )  # fmt: skip


def _household(file: OpenedFile, data: Data) -> Tag:
    """Return the choice of the column that numbers the households."""
    chosen = data.household or ""
    apart = {*data.keys, data.weights} - {chosen}
    columns = {"": "None"} | {one.name: one.title for one in file.columns if one.name not in apart}
    note = (
        "With it, the risk of households is measured as well, and the check looks at their numbers."
    )
    return choice("Column of household numbers", "household", columns, chosen=chosen, note=note)


def _now(found: SamplingNow, *, former: bool) -> TagList:
    """Return what the sampling implies; a `former` one holds until another is entered."""
    listed = [Fact("Records", f"{found.records:,}")]
    if found.fraction is not None:
        listed.append(Fact("Share in the file", percent(found.fraction)))
    if found.population is not None:
        counted = "counted" if found.kind == "population" else "expected"
        listed.append(Fact("Population", f"{found.population:,.0f}", counted))
    cautions = [
        tags.p(tags.strong("Caution.", class_="mark caution"), " ", one, class_="aside caution")
        for one in found.cautions
    ]
    known = found.kind != "unknown"
    words = f"Sampled with {found.words}." if known else found.words
    if known and former:
        words = f"Until you enter it, the plan has the file sampled with {found.words}."
    return TagList(
        tags.p(
            words,
            class_="aside caution" if found.faulty else "under",
        ),
        facts(listed) if known else None,
        *cautions,
        onward("See the risk", "risk") if known else None,
    )


SAMPLE = Tab(
    "sample", "Sample", "Which part of the population is in the file?", panel, connect, begin
)
