"""The sections of a report on some figures, below its first screen.

Exact figures make the agency's report, redacted ones the page for the public: what is not in the
figures is not on the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from maskmeter.display import SIZES
from maskmeter.evidence.audit_blocks import change_blocks, unchanged_blocks
from maskmeter.evidence.check_blocks import check_blocks
from maskmeter.evidence.drawings import (
    drivers_chart,
    map_drawing,
    option_frame,
    path_chart,
    raad_chart,
)
from maskmeter.evidence.glossary import glossary
from maskmeter.evidence.household_blocks import household_blocks
from maskmeter.evidence.records import RecordTables
from maskmeter.evidence.schema import (
    Comparison,
    Figures,
    IntruderFigures,
    KeyFigures,
    LossFigures,
    MapFigures,
    StepFigures,
)
from maskmeter.evidence.wording import (
    Numbers,
    mean_loss,
    percent,
    sampling,
    share_changed,
    step_done,
)
from maskmeter.page import Beside, Block, Figure, Fold, Points, Section, Table, Terms, Text, filled
from maskmeter.plurals import counted, plural
from maskmeter.risk.by_keys import SUMMED
from maskmeter.riskutility.layers import layer_table
from maskmeter.riskutility.riskmap import map_table

_FEW = 20  # records of a group, which a matrix of its own then nearly describes one by one
_INTRUDERS = 3  # place of the last column of matches in the table of risks
_FEW_RELEASES = 8  # whose table stays open beside what each layer costs
_SIDE_BY_SIDE = 2  # columns of figures that a table may have and share its row with another
_SHORT = 12  # rows that a table may have and stay open


def sections(figures: Figures, records: RecordTables | None = None) -> list[Section]:
    """Return the sections below the first screen; those that have nothing to say are left out.

    `records` are the tables about single records, which only the agency may see.
    """
    parts: tuple[tuple[str, Iterable[Block]], ...] = (
        ("The risk", _risk(figures)),
        ("What was changed", change_blocks(figures)),
        ("The risk without a matrix", unchanged_blocks(figures)),
        ("Does the file give itself away?", check_blocks(figures.check)),
        ("How the file was protected", _how(figures)),
        ("What was assessed", _what(figures)),
        ("Which keys drive the risk", _keys(figures)),
        ("The risk of single records", () if records is None else records.blocks(figures)),
        ("Information loss", _loss(figures)),
        ("The releases compared", _choices(figures)),
        ("The model behind the estimate", _model(figures)),
        ("What was not assessed", [Points(figures.not_assessed)]),
        ("Glossary", [Fold("What the words mean", (Terms(glossary(figures)),))]),
    )
    return filled(parts)


def comparison_sections(known: Comparison) -> list[Section]:
    """Return the sections of a comparison of releases."""
    return [
        Section("The candidates", (map_figure(known.map), *_releases(known.map))),
        Section("What was compared", (keys_table(known.keys, known.scenarios),)),
    ]


def risk_table(figures: Figures) -> Table:
    """Return the risk of every scenario, before and after protection, as far as it is known."""
    head = (
        "scenario",
        "unique records",
        "exact match",
        "informed",
        "share",
        "95 % interval",
        "over 0.5",
    )
    rows = [(name, *_measured(risks, figures)) for name, risks in figures.risks]
    known = [place for place in range(len(head)) if all(row[place] for row in rows)]
    whose = figures.worst.intruder
    of = "the informed intruder" if whose == "informed" else "exact matching"
    more = f"; share and interval for {of}" if max(known) > _INTRUDERS else ""
    return Table(
        f"Expected correct matches among the unique records, by intruder{more}",
        tuple(head[place] for place in known),
        tuple(tuple(row[place] for place in known) for row in rows),
    )


def _measured(risks: IntruderFigures, figures: Figures) -> tuple[str, ...]:
    """Return a row of figures; those that are not known are empty."""
    say, risk = Numbers(figures.rounded_to), risks.of(figures.worst.intruder)
    if not risk.assessable:
        return (say.count(risk.uniques), *["not assessable"] * 5)
    interval = "exact" if figures.population_known else ""
    return (
        say.count(risk.uniques),
        say.matches(risks.exact_match.total),
        say.matches(risks.informed.total),
        "" if risk.share is None else percent(risk.share),
        interval if risk.interval is None else say.between(risk.interval),
        "" if risk.above_half is None else f"{risk.above_half:,}",
    )


def cell_sizes(figures: Figures) -> Table:
    """Return the number of records in cells of 1, 2, 3, 4 and 5 or more: k-anonymity counts."""
    counts = {name: risks.exact_match.cell_sizes for name, risks in figures.risks}
    rows = tuple(
        (size, *(f"{one[place]:,}" for one in counts.values())) for place, size in enumerate(SIZES)
    )
    return Table("Records by the size of their cell (k-anonymity)", ("cell of", *counts), rows)


def keys_table(keys: Sequence[KeyFigures], scenarios: Mapping[str, Sequence[str]]) -> Table:
    """Return the keys of a file, and which of them are known in which scenario."""
    rows = tuple(
        (
            key.title,
            f"{key.categories:,}",
            *("yes" if key.name in known else "" for known in scenarios.values()),
        )
        for key in keys
    )
    caption = "The keys, and who knows them" if scenarios else "The keys an intruder may know"
    return Table(caption, ("key", "categories", *scenarios), rows)


def _risk(figures: Figures) -> Iterator[Block]:
    worst = figures.worst
    yield risk_table(figures)
    if figures.rounded_to not in (None, 1):
        yield Text(
            "Correct matches are rounded up, and unique records down, to multiples of"
            f" {figures.rounded_to}."
        )
    if not figures.population_known:
        yield Text("The risk was estimated from the file by a log-linear model of the keys.")
    if figures.layers and figures.map is None:
        yield layer_table(figures.layers)
    if worst.other_measures:
        matched, informed = worst.risks.exact_match, worst.risks.informed
        exact = (
            ("tau (2.8)", "exact matching, population known", f"{matched.total:,.1f}"),
            ("informed", "an intruder who knows the method", f"{informed.total:,.1f}"),
        )
        more = ((one.equation, one.meaning, f"{one.total:,.1f}") for one in worst.other_measures)
        head = ("equation", "meaning", "matches")
        yield Table("The risk by the paper's equations", head, (*exact, *more))
    empty = worst.risks.exact_match.without_target
    if empty:
        yield Text(
            f"{counted(empty, 'unique record')} {plural(empty, 'has', 'have')} a combination of keys"
            " that nobody in the population truly has: exact matching finds no target there."
        )
    for words in dict.fromkeys(one.text for one in (*figures.cautions, *worst.cautions)):
        yield Text(words, "Caution")
    yield from household_blocks(figures)


def _how(figures: Figures) -> Iterator[Block]:
    if figures.audit is not None:  # another section says what is known of it
        return
    if figures.steps or figures.finish:
        yield Points((*map(step_done, figures.steps), *figures.finish))
        for step in figures.steps:
            if step.note:
                yield Text(step.note)
    if figures.changed is not None:
        share = share_changed(figures)
        yield Text(f"In total, {share} of the records were changed in at least one key.")
    groups = figures.groups
    few = [one for one in groups if 0 < one.records < _FEW and one.expected]
    if few and len(few) > len(groups) / 2:
        yield Text(
            f"{len(few):,} of {len(groups):,} groups hold fewer than {_FEW} records. A matrix for so"
            " few nearly reveals who was moved, so read these risks as those of an intruder who"
            " knows.",
            "Caution",
        )
    if groups:
        rows = tuple(
            (
                f"{one.step}: {one.group}",
                f"{one.records:,}",
                percent(one.changed),
                percent(one.expected),
                percent(one.asked),
            )
            for one in groups
        )
        head = ("step and group", "records", "achieved", "expected", "asked")
        shares = Table("Share of records changed", head, rows)
        title = f"Share of records changed in {len(rows):,} groups"
        yield shares if len(rows) <= _SHORT else Fold(title, (shares,))


def steps_table(steps: Sequence[StepFigures]) -> Table:
    """Return the share of its records that each step changed."""
    rows = tuple(
        (
            one.label,
            f"{one.records or 0:,}",
            *(percent(share or 0.0) for share in (one.asked, one.expected, one.changed)),
        )
        for one in steps
    )
    head = ("step", "records", "asked", "expected", "achieved")
    return Table("Share of records changed", head, rows)


def _what(figures: Figures) -> Iterator[Block]:
    worst, names = figures.worst, tuple(key.name for key in figures.keys)
    combinations = prod(key.categories for key in figures.keys)
    yield Text(
        f"A file of {counted(figures.records, 'record')} with {counted(len(names), 'key')}"
        f" ({counted(combinations, 'combination')}). Sampling: {sampling(figures.sampling)}."
    )
    several = len(figures.scenarios) > 1 or worst.keys != names
    known = {one.name: one.keys for one in figures.scenarios} if several else {}
    keys = keys_table(figures.keys, known)
    if not worst.risk.cell_sizes:
        yield keys
    elif len(figures.risks) > _SIDE_BY_SIDE:
        yield from (cell_sizes(figures), keys)
    else:
        yield Beside(cell_sizes(figures), keys)
    yield Text("The figures assume the following:")
    yield Points(worst.assumptions)


def reductions(figures: Figures) -> list[tuple[str, str, str, str]]:
    """Return for each key left out: the key, the unique records, the matches and the reduction."""
    say, whole = Numbers(figures.rounded_to), figures.worst.risk.total or 0.0
    if not figures.worst.risk.uniques:
        return []
    return [
        (
            figures.title(one.key),
            say.count(one.uniques),
            say.matches(one.total),
            percent(1 - (one.total or 0.0) / whole if whole else 0.0),
        )
        for one in figures.worst.without_one_key
    ]


def _keys(figures: Figures) -> Iterator[Block]:
    worst = figures.worst
    if not worst.risk.uniques or not figures.assessable:
        return
    if worst.many_keys:
        yield Text(f"Not measured: with {counted(len(worst.keys), 'key')} it would take too long.")
    named = [figures.title(key) for key in worst.drivers]
    if named:
        yield Text(f"The keys that drive the risk, the most important first: {', '.join(named)}.")
    rows = reductions(figures)
    if rows:
        head = ("key left out", "unique records", "correct matches", "reduction")
        table = Table("The risk without one key", head, tuple(rows))
        drawn = Figure("Correct matches when one key is not known", drivers_chart(figures))
        yield Beside(drawn, table)
        if worst.summed:
            yield Text(SUMMED)
    helping = [figures.title(one.key) for one in worst.better_without]
    if helping:
        yield Text(
            f"An intruder would do better without {' or '.join(helping)}: after protection"
            f" {plural(len(helping), 'this key is', 'these keys are')} wrong more often than"
            f" {plural(len(helping), 'it helps', 'they help')}.",
            "Caution",
        )


def _loss(figures: Figures) -> Iterator[Block]:
    if figures.mean_loss is not None:
        yield Text(
            f"Two-way tables of the protected file lose {mean_loss(figures)} on average: cells and"
            " associations, 0 is unchanged."
        )
    if figures.loss:
        head = ("table", "loss", "RAAD", "Cramer's V", "between-row variances")
        rows = tuple(map(_lost, figures.loss))
        yield Table(
            "Information loss of the named tables and the strongest associations", head, rows
        )
    if figures.pairs:
        caption = "RAAD of every two-way table of the keys: 100 is unchanged"
        drawn = Figure(caption, raad_chart(figures))
        moved = tuple(
            (
                figures.title(one.key),
                percent(one.changed),
                percent(one.total_variation),
                f"{one.hellinger:.3f}",
            )
            for one in figures.margins
            if one.changed
        )
        heads = ("key", "records changed", "total variation", "Hellinger")
        table = Table("Changed keys, and the change in their counts", heads, moved)
        yield Beside(drawn, table) if moved else drawn


def _lost(one: LossFigures) -> tuple[str, ...]:
    """Return the row of a table whose loss was measured."""
    changes = [change for change in one.bvr.values() if change is not None]
    between = f"{min(changes):+.1f}% to {max(changes):+.1f}%" if changes else "none"
    strength = "none" if one.rcv is None else f"{one.rcv:+.1f}%"
    return one.title, f"{one.worst:.1f}%", f"{one.raad:.1f}", strength, between


def _choices(figures: Figures) -> Iterator[Block]:
    """Yield the releases compared, if any; their map is on the first screen."""
    if figures.map is None:
        return
    if figures.choice:
        yield Text(figures.choice)
    yield Text(f"On the frontier, from least loss to least risk: {figures.map.ranking}.")
    if len(figures.scenarios) > 1:
        yield Text("Each release is shown at its worst scenario.")
    yield from _releases(figures.map, figures.chosen or "")


def _releases(known: MapFigures, chosen: str = "") -> Iterator[Block]:
    """Yield the figures of the releases of a map."""
    if known.layers:
        yield layer_table(known.layers)
    frame = option_frame(known)
    every = map_table(frame, measure=known.measure, intruder=known.intruder, chosen=chosen)
    folded = Fold(f"The figures of {counted(len(frame), 'release')}", (every,))
    yield folded if known.layers and len(frame) > _FEW_RELEASES else every
    for caution in known.cautions:
        yield Text(caution.text, "Caution")


def map_figure(known: MapFigures, chosen: str = "") -> Figure:
    """Return the risk-utility map of some releases."""
    caption = "Risk and information loss of the releases compared"
    return Figure(caption, map_drawing(known, chosen=chosen))


def _model(figures: Figures) -> Iterator[Block]:
    model = figures.worst.model
    if model is None:
        return
    for line in model.summary.split("\n"):
        yield Text(line)
    if model.gains:
        gains = tuple((one.term, f"{one.gain:,.1f}") for one in model.gains)
        yield Table("Terms that gained most", ("term", "gain in log likelihood"), gains)
    elif len(model.path) > 1:
        yield Figure("Goodness of fit along the search: z2 near 0 is good", path_chart(model))
    rows = tuple(
        (
            step.added or "independence",
            f"{step.parameters:,}",
            *("" if z is None else f"{z:.2f}" for z in (step.z1, step.z2)),
            "" if step.tau2 is None else f"{step.tau2:,.1f}",
        )
        for step in model.path
    )
    head = ("term added", "parameters", "z1", "z2", "tau2, unadjusted")
    tried = Table("The models tried, in order", head, rows)
    what = "The score path, to compare" if model.kind == "shrunk" else "The path of the search"
    yield Fold(f"{what}: {counted(len(rows), 'model')}", (tried,))
